#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""typed.py bash|zsh RCFILE TEXT...

What a person sees who types TEXT and then Tab: for each TEXT one line with the command line as it is then, and behind a tab
what the shell listed, if it did.  The shell is a real one, interactive, on a terminal of its own; it runs RCFILE first, which
binds ^G to writing the line to the file $TYPED.
"""
import os
import pty
import re
import select
import signal
import sys
import time

LIMIT = 100  # seconds, for a busy machine; a wait for a condition, never the condition


class Shell:
    def __init__(self, kind, rcfile):
        self.typed = os.path.join(os.getcwd(), "typed")
        environment = dict(os.environ, TYPED=self.typed, TERM="dumb", PS1="> ", COLUMNS="4000", HISTFILE="/dev/null")
        argv = ["bash", "--noprofile", "--rcfile", rcfile, "-i"]
        if kind == "zsh":
            os.makedirs("zdot", exist_ok=True)
            with open(rcfile) as source, open("zdot/.zshrc", "w") as copy:
                copy.write(source.read())
            environment["ZDOTDIR"] = os.path.join(os.getcwd(), "zdot")
            argv = ["zsh", "-i"]
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, environment)

    def read_for(self, seconds):
        out = b""
        end = time.monotonic() + seconds
        while time.monotonic() < end and select.select([self.fd], [], [], 0.02)[0]:
            try:
                out += os.read(self.fd, 65536)
            except OSError:
                break
        return out

    def line(self):
        """Types ^G until the line has been written, and gives it with what was printed meanwhile."""
        printed = b""
        if os.path.exists(self.typed):
            os.unlink(self.typed)
        end = time.monotonic() + LIMIT
        os.write(self.fd, b"\x07")
        while time.monotonic() < end:
            printed += self.read_for(0.05)
            if os.path.exists(self.typed):
                with open(self.typed) as file:
                    text = file.read()
                if text.endswith("\n"):
                    return text[:-1], printed
        raise SystemExit("the shell did not answer: %r" % printed)

    def complete(self, text):
        os.write(self.fd, b"\x15" + text.encode())  # ^U: from an empty line
        self.line()
        os.write(self.fd, b"\t")
        line, printed = self.line()
        if line == text:
            os.write(self.fd, b"\t")  # the second Tab lists
            line, more = self.line()
            printed += more
        listed = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f]", b" ", printed).decode(errors="replace")
        return "%s\t%s" % (line, " ".join(listed.split()))

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def main():
    shell = Shell(sys.argv[1], sys.argv[2])
    try:
        shell.line()
        for text in sys.argv[3:]:
            print(shell.complete(text))
    finally:
        shell.end()


main()
