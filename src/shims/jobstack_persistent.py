# SPDX-License-Identifier: BSD-2-Clause
"""Runs a Python function for each entry: jobstack-worker -s STACK --persistent -- python3 work.py, where work.py is

    import jobstack_persistent

    def process(datapath):            # a str that open() takes; os.fsencode(datapath) gives the bytes
        ...

    jobstack_persistent.run(process)

If `process` raises an exception, the entry fails, and the exception is the reason. Failed chooses the exit code (75: try again
later, not counted as a failure). What `process` and the programs that it starts print is the entry's output. See LANGUAGES.md.
"""
import os
import re
import sys


class Failed(Exception):
    """Fails the entry with this exit code (1 to 255)."""

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
