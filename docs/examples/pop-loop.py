#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A worker in Python: pop an entry of the stack airs-2012, work on it, close it, until nothing is ready.

jobstack-worker is the better choice where it fits (see pop-loop.sh); this is for programs that take long to start and
then do many entries.
"""

import base64
import json
import subprocess
import sys

STACK = "airs-2012"


def process(path: bytes) -> int:
    """The work on one file; the exit status to close it with."""
    return subprocess.run(["./retrieve.sh", path], check=False).returncode


def pop():
    """One entry, or None when nothing is ready."""
    answer = subprocess.run(["jobstack", "pop", "-q", "-s", STACK, "--format", "json"], stdout=subprocess.PIPE, check=False)
    if answer.returncode == 1:
        return None
    if answer.returncode != 0:
        sys.exit(1)  # pop has said why
    return json.loads(answer.stdout)


def close(entry, status: int):
    """Closes it.  Exit status 1 means that the lease was lost: somebody else has the entry."""
    answer = subprocess.run(
        ["jobstack", "close", "-q", "-s", STACK, str(entry["entry"]), "--attempt", str(entry["attempt"]), "--exit", str(status)],
        check=False,
    )
    if answer.returncode > 1:
        sys.exit(1)


def main():
    while True:
        entry = pop()
        if entry is None:
            return
        # a name that is not UTF-8 comes as base64
        if "datapath" in entry:
            path = entry["datapath"].encode()
        else:
            path = base64.b64decode(entry["datapath_base64"])
        status = process(path)
        close(entry, status if status >= 0 else 128 - status)  # a negative one is minus the signal's number


main()
