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

# One INSERT into `worker` waits for a row, and meanwhile has the table's AUTO_INCREMENT lock: the others get error 1467.
hold_rows() { # QUERY: a session that holds what it locks, until release
	"$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_CNF" -n -N -B "$database" <orders >answers &
	session=$!
	exec 7>orders
	echo "START TRANSACTION; $1" >&7
}
release() { exec 7>&- && wait $session; }
numbered 1 50 | jobstack push -q -s counted >/dev/null
hold_rows 'SELECT COUNT(*)>=0 FROM worker FOR UPDATE;'
worker_is_held() { [[ $(<answers) == 1 ]]; }
check 'a session holds the table of workers' wait_for 20 worker_is_held
starting=()
for n in 1 2 3; do
	timeout 300 jobstack-worker -q -s counted -- true 2>worker.$n 7>&- &
	starting+=($!)
done
timeout 300 jobstack pop -q -s counted >popped 2>pop.err 7>&- &
starting+=($!)
inserting() { [[ $(sql 'SHOW FULL PROCESSLIST' | grep -c 'INSERT INTO worker') == 4 ]]; }
check 'three workers and a pop begin' wait_for 20 inserting
like '... who comes behind them gets error 1467' "$(sql "SET SESSION innodb_lock_wait_timeout=5; INSERT INTO worker(token,stack_id,kind,started,
	beat,lease_us,slots) SELECT REPEAT('w',16),1,0,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6),1,1 FROM stack LIMIT 1" 2>&1)" 'ERROR (1467|1205) '
check '... they wait' kill -0 "${starting[@]}"
check 'the session ends' release
for pid in "${starting[@]}"; do check '... and each goes on' wait "$pid"; done
is '... without a word' "$(cat worker.? pop.err)" ''
check '... the popped entry is closed' eval '(. ./popped && jobstack close)'
check '... all is done' worker -s counted -- true
is '... each entry once' "$(ledger counted) $(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='counted'")" '50 0 0 0 0 0 50'
check 'the audit' audit counted

# An online schema change replaces a table: for a moment it is not there.
numbered 1 400 | jobstack push -q -s swapped >/dev/null
timeout 300 jobstack-worker -v -s swapped --slots 2 --batch 5 --shell -- 'sleep 0.01; : {}' 2>swapped.err &
worker=$!
half_way() { read -r finished _ < <(ledger swapped) && ((finished >= 100)); }
check 'a worker is in the middle' wait_for 30 half_way
sql 'RENAME TABLE attempt TO attempt_old'
timeout 300 jobstack list -v -s swapped -t done >listed 2>list.err &
list=$!
check '... a table is gone: the worker waits' wait_for 20 grep -q "table is missing, trying again: .*attempt' doesn't exist" swapped.err
check '... and so does a command that looks' wait_for 20 grep -q 'table is missing, trying again' list.err
sql 'RENAME TABLE attempt_old TO attempt'
check '... the table is back: the command goes on' wait $list
check '... and the worker ends well' wait $worker
is '... each entry once' "$(ledger swapped) $(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='swapped'")" '400 0 0 0 0 0 400'
check 'the audit' audit swapped
finish
