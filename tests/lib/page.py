# SPDX-License-Identifier: BSD-2-Clause
"""page.py FILE: runs a page of the documentation as it stands: each block ```sh in order, in one bash, in this directory; a
block ```text says what the block before it prints; a block ```bash is only shown.  A block ```console is a session in a
terminal: each line that begins with "$ " is a command, and the lines below it are all that it prints.  Says "ok" or "not ok"
for each.

What is printed is compared line by line: "..." is anything, in a line or as a line of its own; so are numbers with a point,
times, durations, process ids, ports and names of nodes; blanks count as one.  /home/me is this directory.  What the page shows must come in
that order; a block without a ```text may print what it likes.  A block that fails stops the page.
"""
import os
import re
import subprocess
import sys

MARK = "@@ block ends with "


def blocks(page):
    found, heading = [], "?"
    for kind, text, title in re.findall(r"^```(\w+)\n(.*?)^```$|^#+ ([^\n]*)$", page, re.S | re.M):
        if title:
            heading = title
        elif kind == "sh":
            found.append([heading, text, None])
        elif kind == "text":
            found[-1][2] = text
        elif kind == "console":
            found += [[heading, command, printed] for command, printed in re.findall(r"^(\$ [^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", text, re.M)]
        elif kind != "bash":
            sys.exit("a block of the kind " + kind)
    return found


def runnable(text):
    """A block as the shell gets it.  Of a command in a session only the last exit status counts."""
    return "set +e\n%s\nstatus=$?\nset -e\n(exit $status)" % text[2:] if text.startswith("$ ") else text.rstrip("\n")


def plain(text):
    text = text.replace("/home/me", os.getcwd())
    for pattern, word in ((r"\d{4}-\d\d-\d\d[T ][\d:.]+Z?", "TIME"), (r"\d+(\.\d+)? (s|ms|min|h)( \d+ (s|min|h))*\b", "DURATION"),
                          (r"\b(pid|job) \d+", r"\1 N"), (r"(?<=[\w.]):\d{4,5}\b", ":PORT"), (r"\d+\.\d+", "N.N"), (r"\bn\d\b", "NODE"), (r"[ \t]+", " ")):
        text = re.sub(pattern, word, text)
    return [line.strip() for line in text.splitlines()]


def agrees(got, wanted):
    """None, or the first line of WANTED that GOT does not have."""
    at, skip = 0, False
    for line in plain(wanted):
        if line == "...":
            skip = True
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")) + "$")
        while at < len(got) and not pattern.match(got[at]):
            if not skip:
                return line
            at += 1
        if at == len(got):
            return line
        at, skip = at + 1, False
    return None if skip or at == len(got) else "(no more: %s)" % got[at]


def main():
    with open(sys.argv[1]) as f:
        found = blocks(f.read())
    script = "".join("{ %s\n} 2>&1 </dev/null\necho; echo '%s'$?\n" % (runnable(text), MARK) for _, text, _ in found)
    shell = subprocess.run(["bash", "-e"], input=script.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    parts = re.split(r"\n?" + MARK + r"(\d+)\n", shell.stdout.decode("utf-8", "replace"))
    failed = 0
    for number, (heading, text, wanted) in enumerate(found):
        said, status = (parts[2 * number], parts[2 * number + 1]) if 2 * number + 1 < len(parts) else (parts[-1], "no end")
        bad = None if status == "0" else "status %s" % status
        if bad is None and wanted is not None:
            lines = plain(said)
            while lines and not lines[-1]:
                lines.pop()
            missing = agrees(lines, wanted)
            bad = missing and "it does not print: " + missing
        name = "%s: %s" % (heading, text.strip().splitlines()[-1][:70])
        print("%sok - %s" % ("not " if bad else "", name))
        if bad:
            failed += 1
            print("# " + bad + "\n" + "\n".join("#   " + line for line in said.splitlines()[-40:]))
            if status != "0":
                break
    sys.exit(1 if failed or not found else 0)


main()
