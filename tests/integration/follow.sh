#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# The stream of attempts (`jobstack export --follow` and `--after`): each attempt comes once, while the reader, workers
# and the server are killed.  test_schedules_stream.c tests how transactions can interfere with each other.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
own_server follow
jobstack init -q
recorded() { sql "SELECT CONCAT(entry_id,' ',attempt) FROM attempt JOIN stack USING(stack_id) WHERE name='$1' ORDER BY 1"; }
got() { jq -r '"\(.entry) \(.attempt)"' "$@" | LC_ALL=C sort; }
same() { diff <(recorded "$1" | LC_ALL=C sort) <(got "${@:2}") | head -5; }

# ---- a cursor and where it leads
numbered 1 30 | jobstack push -q -s a --max-attempts 2 --retry-delay 0
check 'a worker, one by one' worker -s a --batch 1 -- sh -c 'test $JOBSTACK_ENTRY != 7'
check 'from the first' eval 'jobstack export -s a --after 0 --json -o entry,attempt,outcome >a.jsonl'
is '... each attempt' "$(same a a.jsonl)" ''
is '... with its cursor first, in the order of the stream' "$(jq -c 'keys_unsorted' a.jsonl | sort -u) $(jq -r .cursor a.jsonl | sort -u | wc -l)" \
	'["cursor","entry","attempt","outcome"] 31'
is 'the same again' "$(jobstack export -s a --after 0 --json -o entry,attempt,outcome | cmp - a.jsonl && echo same)" same
tenth=$(sed -n 10p a.jsonl | jq -r .cursor) last=$(tail -n 1 a.jsonl | jq -r .cursor)
is 'behind the tenth' "$(jobstack export -s a --after "$tenth" --json -o entry,attempt,outcome | diff - <(tail -n +11 a.jsonl) && echo same)" same
is '... those that failed, as CSV' "$(jobstack export -s a --after 0 -t failed -o entry,attempt | tr -d '\r' | sed 's/^[0-9.]*,//')" $'cursor,entry,attempt\n7,1\n7,2'
is 'behind the last' "$(jobstack export -s a --after "$last" --json)" ''
jobstack requeue -q -s a 3 7
check '... another run' worker -s a -- true
is '... has what came' "$(jobstack export -s a --after "$last" --json | got)" $'3 2\n7 3'
check 'no cursor' says 2 'the cursor "7" is not the field' jobstack export -s a --after 7
numbered 1 1 | jobstack push -q -s b
check "another stack's" says 2 'belongs to another stack' jobstack export -s b --after "$last"
check 'a cursor that the database has forgotten' says 1 'the database was set back' jobstack export -s a --after "${last%%.*}.99999.1.1"
check 'entries' says 2 'are for attempts, not for --what entries' jobstack export -s a --after 0 --what entries

# ---- a follower that is killed, workers that are killed, a server that is killed
: >out.jsonl
follow() { # goes on behind the last complete line
	local last
	last=$(grep -c '' out.jsonl)
	[[ -z $(tail -c 1 out.jsonl) ]] || { head -n $((last - 1)) out.jsonl >whole && cp whole out.jsonl; }
	last=$(tail -n 1 out.jsonl | jq -r .cursor)
	jobstack export -s long --follow --after "${last:-0}" --json >>out.jsonl 2>>follow.err &
	follower=$!
}
at_least() { (($(grep -c '' out.jsonl) >= $1)); }
numbered 1 3000 | jobstack push -q -s long --max-attempts 2 --retry-delay 0 --max-losses 9
follow
jobstack-worker -q -s long --slots 2 --batch 1 -- sh -c 'test $((JOBSTACK_ENTRY%50)) != 3' &
one=$!
jobstack-worker -q -s long --slots 2 -- true &
two=$!
jobstack-worker -q -s long --lease 10 -- true &
for n in 300 700; do
	check "the follower gets $n" wait_for 60 at_least $n
	kill -9 $follower
	wait $follower 2>/dev/null
	follow
done
pid=$(worker_pids long | tail -n 1)
check 'a worker is killed' kill_ours "$pid"
check 'it follows on' wait_for 60 at_least 1200
server_kill
check 'a server that comes back' server_start
check 'all are done or dead' wait_for 120 eval '[[ $(ledger long) == *" 0 0 0 0" ]]'
check '... and followed' wait_for 60 eval '(($(grep -c "" out.jsonl) == $(recorded long | wc -l)))'
wait $one $two
check 'the follower is still there' kill -0 $follower
kill -TERM $follower
status=0
wait $follower || status=$?
is '... until it is told to end' "$status" 143
is 'each attempt came once' "$(same long out.jsonl)" ''
is 'to all who follow in the same order' "$(jobstack export -s long --after 0 --json | cmp - out.jsonl && echo same)" same
check 'the audit' audit long

# ---- what is removed
numbered 1 300 | jobstack push -q -s old
check 'a history' worker -s old -- true
jobstack export -s old --after 0 --json >/dev/null
numbered 301 310 | jobstack push -q -s old
check 'more' worker -s old -- true
jobstack export -s old --after 0 --json -o entry,attempt >old.jsonl
blocks() { sql "SELECT COUNT(*) FROM stream JOIN stack USING(stack_id) WHERE name='$1'"; }
check '... blocks' eval '(($(blocks old) >= 2))'
check 'a prune' jobstack prune -q -s old --older-than 0 --yes
is '... leaves the last of them' "$(blocks old) $(jobstack export -s old --after 0 --json)" '1 '
numbered 311 320 | jobstack push -q -s old
check '... and what comes then' worker -s old -- true
is '... is behind what there was' "$(jobstack export -s old --json --after "$(tail -n 1 old.jsonl | jq -r .cursor)" | got | wc -l)" 10
jobstack export -s b --follow --json >b.jsonl 2>b.err &
follower=$!
check 'a stack that is dropped' jobstack drop -q -s b --yes
status=0
wait $follower || status=$?
is '... ends who follows it' "$status" 2
check 'a drop' jobstack drop -q -s long --yes
is '... leaves nothing' "$(sql 'SELECT COUNT(*) FROM stream LEFT JOIN stack USING(stack_id) WHERE name IS NULL OR name="long"') $(sql 'SELECT COUNT(*) FROM closed LEFT JOIN stack USING(stack_id) WHERE name IS NULL')" '0 0'

# ---- commands that read, and get a signal while their query waits, die by that signal and print nothing
sql_admin() { "$SQL_CLIENT" --defaults-file="$lab/admin.cnf" -e "$1"; }
mkfifo orders
"$SQL_CLIENT" --defaults-file="$lab/admin.cnf" -n -N -B follow <orders >answers &
session=$!
exec 7>orders
a_query_waits() { [[ $(sql "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata%'") == 1 ]]; }
for command in 'report a' 'report --io a' 'export -s a' 'export -s a --follow' 'export -s a --after 0' 'history /d/3' 'list -s a -t done'; do
	echo "LOCK TABLES attempt WRITE; SELECT '$command';" >&7
	check "the table is locked: $command" wait_for 20 eval '[[ $(tail -n 1 answers) == "$command" ]]'
	# shellcheck disable=SC2086
	jobstack $command >told.out 2>told.err 7>&- &
	reader=$!
	check '... it waits' wait_for 20 a_query_waits
	kill -TERM $reader
	echo 'UNLOCK TABLES;' >&7
	status=0
	wait $reader || status=$?
	is '... and dies by the signal, without a word' "$status $(cat told.err)" '143 '
done
exec 7>&-
wait $session

# ---- an account that may only read
sql_admin "CREATE USER reader@'%' IDENTIFIED BY 'Reader-1'; GRANT SELECT ON follow.* TO reader@'%'"
sed 's/^user=.*/user=reader/; s/^password=.*/password=Reader-1/' "$JOBSTACK_TEST_CNF" >reader.cnf && chmod 600 reader.cnf
is 'reads what others have read' "$(jobstack export --defaults-file reader.cnf -s a --after 0 --json | got | wc -l)" 33
numbered 31 32 | jobstack push -q -s a
worker -s a -- true
check '... and nothing more' says 77 'does not permit it' jobstack export --defaults-file reader.cnf -s a --after 0 --json
finish
