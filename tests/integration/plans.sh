#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# What the server does for a statement does not grow with the stack: every statement that workers, scripts, pushers and
# onlookers send is taken from the server's own log, and its plan is looked at, with nothing else there, on an empty stack
# beside a deep one, and on the deep one: no table is walked through, nothing is sorted, and the rows that were really examined
# are few.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
own_server plans
jobstack init -q
admin() { "$SQL_CLIENT" --defaults-file="$lab/admin.cnf" -N -B plans -e "$1"; }
admin "SET GLOBAL log_output='TABLE',GLOBAL long_query_time=0,GLOBAL slow_query_log=1"
[[ $(admin 'SELECT VERSION()') != *MariaDB* ]] || admin "SET GLOBAL log_slow_filter=''"
plans() { "$JOBSTACK_SOURCE/tests/support/plans" "$lab/admin.cnf" plans plans "${1-100}" "$(admin 'SELECT COUNT(*) FROM span')" "${2-}"; }
forget() { admin 'TRUNCATE mysql.slow_log'; }

# all_that_is_done STACK: a push, a worker whose entries end well and ill, a script, those who look.  Ten entries a step.
all_that_is_done() {
	numbered 1 60 | jobstack push -q -s "$1" --max-attempts 2 --retry-delay 0
	worker -s "$1" --slots 2 --batch 10 --max-entries 40 -- sh -c 'exit $((JOBSTACK_ENTRY % 2))'
	for _ in 1 2 3; do
		(eval "$(jobstack pop -s "$1")" && jobstack renew && jobstack close --exit 0) || return 1
	done
	jobstack status -s "$1" && jobstack recover -q -s "$1"
}
check 'all that is done' all_that_is_done alone
check '... finds its rows, with nothing else there' plans

# A deep stack: thousands of scattered entries that were requeued after they had failed, 400,000 in a row, two thousand that wait
# for their time, each by itself; and the workers of years.
seq -f '/d/%.0f' 4000 | jobstack push -q -s deep --max-attempts 1
check 'entries that fail' worker -s deep --slots 2 --max-entries 4000 --shell -- ': {}; [ $((JOBSTACK_ENTRY % 2)) = 1 ]'
check '... are requeued' jobstack requeue -q -s deep -t dead
check '400,000 more' sh -c 'seq -f /m/%.0f 400000 | jobstack push -q -s deep'
sql "SELECT stack_id,lo,hi INTO @s,@lo,@hi FROM span JOIN stack USING(stack_id) WHERE name='deep' ORDER BY hi DESC LIMIT 1;
	DELETE FROM span WHERE stack_id=@s AND lo=@lo;
	INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,attempt,fails,losses,due) SELECT @s,1,0,entry_id,entry_id,entry_id,1,0,0,
		UTC_TIMESTAMP(6)+INTERVAL 1 HOUR FROM entry WHERE stack_id=@s AND entry_id BETWEEN @lo AND @hi;
	INSERT INTO worker(token,stack_id,seq,kind,started,beat,lease_us,ended,slots,node) SELECT LPAD(entry_id,16,'w'),@s,9,0,
		UTC_TIMESTAMP(6),UTC_TIMESTAMP(6),1000000,UTC_TIMESTAMP(6),1,'h' FROM entry WHERE stack_id=@s AND entry_id<=20000"
check 'its ledger' jobstack check -q -s deep
sql "SELECT CONCAT('# class ',class,': ',SUM(hi-lo+1),' entries in ',COUNT(*),' spans, ',SUM(ids IS NOT NULL),' of them lists') FROM span GROUP BY class"
forget
check 'all that is done beside it' all_that_is_done beside
check '... finds its rows' plans
check 'pops from shards beside it' env JOBSTACK_TEST_CNF="$lab/plans.cnf" "$JOBSTACK_BIN/tests/integration_test_shards"
check '... find their rows' plans 100 span
check 'all that is done on it' all_that_is_done deep
check '... finds its rows' plans
check 'what was scattered is done' worker -s deep --slots 2 --max-entries 3200 -- true
is '... all of it' "$(sql "SELECT COUNT(*) FROM span JOIN stack USING(stack_id) WHERE name='deep' AND ids IS NOT NULL")" 0
forget
check 'all that is done in a row' all_that_is_done deep
check '... finds its rows' plans

# Entries are chosen among as many: no query looks at more than a piece of them, whether few fit or none.
sql "SELECT stack_id,lo,hi INTO @s,@lo,@hi FROM span JOIN stack USING(stack_id) WHERE name='deep' AND ids IS NULL AND class=0 AND hi-lo>50000 LIMIT 1;
	DELETE FROM span WHERE stack_id=@s AND lo=@lo;
	INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,ended) SELECT @s,entry_id,1,1,1,0,entry_id%100,
		UTC_TIMESTAMP(6) FROM entry WHERE stack_id=@s AND entry_id BETWEEN @lo AND @hi;
	INSERT INTO set_aside(stack_id,entry_id,attempt,\`rank\`) SELECT @s,entry_id,1,0 FROM entry WHERE stack_id=@s AND entry_id BETWEEN @lo AND @hi;
	UPDATE stack SET dead=dead+@hi-@lo+1 WHERE stack_id=@s;
	ANALYZE TABLE attempt,set_aside" >/dev/null
check 'many are dead' jobstack check -q -s deep
chosen() { # COUNT ARGS...: so many are listed
	[[ $(jobstack list -q -s deep -o entry "${@:2}" | wc -l) == "$1" ]]
}
named() { # FROM STEP TO: by more numbers than MariaDB leaves in a list by itself
	jobstack list -q -s deep -t failed,lost,waiting -o entry $(seq "$@") >/dev/null
}
all_that_is_chosen() {
	local of
	chosen 0 -t ready,waiting,running,failed,lost,moved --match '/nothing*[0-9]' && chosen 0 -t all --reason nothing || return 1
	for of in --match=/nothing --exit=101 --node=nothing; do
		chosen 0 -t 'done',dead "$of" && fails_with 1 jobstack requeue -q -s deep "$of" || return 1
	done
	fails_with 1 jobstack requeue -q -s deep -t 'done' --older-than 1h && fails_with 1 jobstack requeue -q -s deep --to elsewhere --reason nothing &&
		named 1 300 400000 && chosen 3 -t all 7 70007 300007 && jobstack show -s deep 300007 && jobstack requeue -q -s deep --exit 42 -n 300 &&
		jobstack requeue -q -s deep --to elsewhere --exit 43 && jobstack requeue -q -s deep --to elsewhere --exit 44
}
forget
check 'all that is chosen' all_that_is_chosen
check '... is looked for in pieces' plans 90000
check 'the ledger' jobstack check -q -s deep

# The history of a file is found by the keys, however deep the stacks are.
check 'the index of datapaths' jobstack history -q /m/1
forget
check 'the history of files' jobstack history -q /m/300000 /d/5
check '... is found by the keys' plans 100 path
finish
