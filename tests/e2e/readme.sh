#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016
#
# README.md: the session at its top prints what it shows, with the convert.sh that the page shows and three damaged files; the command
# for one machine works.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
page=$JOBSTACK_SOURCE/README.md
jobstack init -q
mkdir data backup
for i in {001..200}; do seq 1 50 | sed 's/$/,1.5/' | gzip >"data/$i.csv.gz"; done
for i in 013 077 148; do
	cp "data/$i.csv.gz" backup
	head -c 100 "backup/$i.csv.gz" >"data/$i.csv.gz"
done
sed -n '/^```bash$/,/^```$/ { /^```/d; p }' "$page" >convert.sh
chmod +x convert.sh
check 'the page shows a convert.sh that works' ./convert.sh data/001.csv.gz
is '... and writes what it says' "$(wc -l <data/001.tsv)" 50

status=0
timeout 500 python3 "$JOBSTACK_SOURCE/tests/lib/page.py" "$page" >said 2>&1 || status=$?
cat said
is 'the page works as it stands' "$status" 0
wanted=$(grep -cE '^(\$ |```sh$)' "$page")
check '... and all of it was run' test "$wanted" -ge 6 -a "$(grep -c '^ok - ' said)" -eq "$wanted"
is 'one machine: every file was converted' "$(find data -name '*.tsv' | wc -l)" 200

# the proof that this can fail: a session that shows something else
printf '```console\n$ echo one; false; echo two\none\n...\n$ echo three\nfour\n```\n' >other.md
check 'a page that shows something else is noticed' fails_with 1 python3 "$JOBSTACK_SOURCE/tests/lib/page.py" other.md
finish
