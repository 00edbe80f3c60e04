#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# An entry looked for by its name, in a stack without --unique, where no index knows it: in pieces, of which none takes long, and whoever
# waits at a terminal is told how far it is.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
jobstack push -q /first /twice /twice >/dev/null
digits='(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)'
sql "INSERT INTO entry SELECT 1,10+a.d+10*b.d+100*c.d+1000*d.d+10000*e.d+100000*f.d,'/more' FROM $digits a,$digits b,$digits c,$digits d,$digits e,
	(SELECT 0 d UNION SELECT 1) f; UPDATE stack SET tail=200009"
number() { jobstack show "$1" --json | sed -nE 's/^\{"entry":([0-9]+),.*/\1/p'; }
is 'the first of all' "$(number /first)" 1
is 'the last of several' "$(number /twice) $(number /more)" '3 200009'
check 'one that is not there' says 2 'no entry' jobstack show /nosuch

# somebody has the table, so the first piece takes long
name=$(sed -n 's/^database=//p' "$JOBSTACK_TEST_CNF")
waits() { [[ $(sql 'SHOW FULL PROCESSLIST' | awk -F'\t' '/Waiting for table/ && $6 >= 3' | wc -l) == "$1" ]]; }
coproc HOLD { "$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_ADMIN_CNF" -N -B -n "$name"; }
holder=$HOLD_PID
echo 'LOCK TABLES entry WRITE; SELECT 1;' >&"${HOLD[1]}"
read -r -u "${HOLD[0]}" _
jobstack show /first >out 2>said &
plain=$!
"$JOBSTACK_SOURCE/tests/support/in-pty" --size 200x24 --out seen -- jobstack show /first >/dev/null 2>&1 &
pty=$!
check 'two wait' wait_for 30 waits 2
exec {HOLD[1]}>&-
wait "$holder" 2>/dev/null
wait $plain $pty
like 'a terminal is told' "$(<seen)" 'searching for this name: [0-9]+ of 200009 entries read in [0-9]+ s'
is '... and nobody else' "$(<said)" ''
finish
