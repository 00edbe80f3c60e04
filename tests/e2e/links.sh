#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# The documentation's links lead somewhere: to files that are there, and to headings in them.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
cat >links.py <<'P'
import glob, os, re, sys

def plain(text): # without blocks, where a bracket is a bracket
    return re.sub(r"^```.*?^```$|^    [^\n]*$", "", text, flags=re.S | re.M)

def anchors(file):
    with open(file) as f:
        return [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", f.read(), re.M)]

bad = seen = 0
os.chdir(sys.argv[1])
for page in ["README.md", "CHANGELOG.md"] + glob.glob("docs/*.md"):
    with open(page) as f:
        text = plain(f.read())
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        seen += 1
        if not os.path.exists(target) or (anchor and anchor not in anchors(target)):
            bad += 1
            print("%s: %s leads nowhere" % (page, link))
sys.exit(1 if bad or not seen else 0)
P
check 'every link leads somewhere' python3 links.py "$JOBSTACK_SOURCE"
mkdir docs
echo '[x](docs/y.md) [h](#none)' | tee README.md >CHANGELOG.md
check '... and one that does not is noticed' fails_with 1 python3 links.py .
finish
