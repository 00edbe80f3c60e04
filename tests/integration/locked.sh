#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Somebody's session holds rows that we need, and does not let go: a command gives up in time and says why, a worker
# waits, and nothing is half done.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
numbered 1 50 | jobstack push -q -s held >/dev/null
mkfifo orders
database=$(sed -n 's/^database=//p' "$JOBSTACK_TEST_CNF")
"$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_CNF" -n -N -B "$database" <orders >answers &
session=$!
exec 7>orders
echo 'START TRANSACTION; SELECT 1 FROM stack FOR UPDATE; SELECT 1 FROM span FOR UPDATE;' >&7
rows_are_held() { [[ $(<answers) == $'1\n1' ]]; }
check 'a session holds the rows' wait_for 20 rows_are_held
timeout 300 jobstack-worker -q -s held -- true 2>worker.err 7>&- &
worker=$!
status=0
said=$(timeout 300 jobstack pause -s held 2>&1) || status=$?
like 'a command that needs them gives up, and says why' "$status $said" \
	'^69 .*again and again: Lock wait timeout.*\(1205\)'
is '... nothing has happened' "$(ledger held) $(sql "SELECT state FROM stack")" '0 0 50 0 0 0 0'
check 'the worker waits' kill -0 $worker
exec 7>&-
check 'the session ends' wait $session
check '... and the worker works' wait $worker
is '... each entry once' "$(ledger held) $(sql 'SELECT COUNT(*) FROM attempt')" '50 0 0 0 0 0 50'
check 'the audit' audit held
finish
