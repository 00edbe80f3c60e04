# SPDX-License-Identifier: BSD-2-Clause
"""Entries for a Python function: jobstack-worker -s STACK --persistent -- python3 work.py, where work.py is

    import jobstack_persistent

    def process(datapath):            # a str that open() takes; os.fsencode(datapath) gives the bytes
        ...

    jobstack_persistent.run(process)

What `process` raises fails the entry, with the exception as its reason; Failed chooses the code (75: again later, uncharged).
What it prints, and what the programs print that it starts, is the entry's output.  See PERSISTENT.md.
"""
import os
import re
import sys


class Failed(Exception):
    """Fails the entry with this code (1 to 255)."""

    def __init__(self, message="", code=1):
        super().__init__(message)
        self.code = code


_BYTE = {b"\\n": b"\n", b"\\r": b"\r", b"\\\\": b"\\"}


def run(process):
    # the answers go where standard output went; whatever is printed from now on goes to standard error
    answers = os.dup(1)
    os.set_inheritable(answers, False)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    for line in requests:
        path = line.rstrip(b"\n").split(b" ", 2)[2]
        try:
            process(os.fsdecode(re.sub(rb"\\[nr\\]", lambda m: _BYTE[m.group()], path)))
            answer = "done"
        except Exception as e:
            answer = "failed %d %s" % (e.code if isinstance(e, Failed) else 1, str(e) if isinstance(e, Failed) else repr(e))
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(answers, answer.replace("\n", " ").encode(errors="replace")[:1000] + b"\n")
