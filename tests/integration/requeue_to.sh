#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# requeue --to STACK: dead entries go to another stack, once, however many do it at once and whoever is killed in the middle; what
# they are then, here and there; what is refused.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

# all_dead STACK N [PATH]: a stack with N dead entries, by one or two attempts
all_dead() {
	seq -f "${3-/d}/%.0f" "$2" | jobstack push -q -s "$1"
	sql "SELECT stack_id INTO @s FROM stack WHERE name='$1'; DELETE FROM span WHERE stack_id=@s;
		INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,ended)
			SELECT @s,entry_id,n,0,1,0,n,UTC_TIMESTAMP(6) FROM entry JOIN (SELECT 1 n UNION SELECT 2) x ON n<=1+entry_id%3 DIV 2 WHERE stack_id=@s;
		INSERT INTO set_aside(stack_id,entry_id,attempt,\`rank\`) SELECT @s,entry_id,1+entry_id%3 DIV 2,0 FROM entry WHERE stack_id=@s;
		UPDATE stack SET dead=$2 WHERE stack_id=@s"
	jobstack check -q -s "$1"
}
count() { sql "SELECT $2 FROM stack WHERE name='$1'"; }
names() { sql "SELECT datapath FROM entry JOIN stack USING(stack_id) WHERE name='$1'" | sort; }
balances() { for stack; do jobstack check -q -s "$stack" || return 1; done; }

# ---- what is refused
check 'a stack with dead entries' all_dead a 1200
check 'the same stack' says 2 'is the same stack' jobstack requeue -s a --to a
check 'an invalid name' says 2 "is not a valid stack name" jobstack requeue -s a --to 'x/y'
check 'done ones' says 2 'moves only dead entries' jobstack requeue -s a --to b -t 'done'
check 'no such stack' says 2 'there is no stack "nosuch"' jobstack requeue -s nosuch --to b
echo /x | jobstack push -q -s gone
jobstack cancel -q -s gone --all
check 'a cancelled one' says 1 'the stack "gone" is cancelled: nothing can be pushed to it' jobstack requeue -s a --to gone
sql "UPDATE stack SET state=3 WHERE name='gone'"
check 'one that is being dropped' says 1 'is being dropped' jobstack requeue -s a --to gone
is 'nothing has moved' "$(ledger a)" '0 1200 0 0 0 0'

# ---- what it is
check 'a dry run' prints 0 '400 would be moved to b' jobstack requeue -s a --to b --exit 2 --dry-run
check '... makes no stack' says 2 'there is no stack' jobstack status -s b
check 'nothing matches' says 1 'no requeueable entry of the stack "a" matches these options' jobstack requeue -s a --to b --exit 7
check '... makes none either' says 2 'there is no stack' jobstack status -s b
jobstack set -q -s a max-attempts=7
check 'those with exit 2' prints 0 '400 moved to b' jobstack requeue -s a --to b --exit 2
is 'they are there' "$(ledger b),$(names b | md5sum)" "0 0 400 0 0 0,$(seq 2 3 1200 | sed 's,^,/d/,' | sort | md5sum)"
is '... as new, with the policy of retries' "$(sql "SELECT DISTINCT attempt,fails,losses,max_attempts FROM span JOIN stack USING(stack_id) WHERE name='b'")" $'1\t0\t0\t7'
is 'and not here' "$(ledger a) $(count a moved)" '0 800 0 0 0 0 400'
is 'status --json' "$(jobstack status -s a --json | python3 -c 'import json, sys; o = json.load(sys.stdin); print(o["pushed"], o["dead"], o["moved"], o["pruned"])')" '1200 800 400 0'
is 'list -t dead' "$(jobstack list -s a -t dead -o entry | wc -l)" 800
is 'list -t failed' "$(jobstack list -s a -t failed -o entry | wc -l)" 800
is 'list -t moved: where to' "$(jobstack list -s a -t moved -n 2 -o entry,state,exit_code,to_stack,to_entry | tr '\n\t' ',:')" '2:moved:2:b:1,5:moved:2:b:2,'
is 'list -t all: each once' "$(jobstack list -s a -t all -o entry | sort -u | wc -l)" 1200
like 'show' "$(jobstack show -s a 5)" $'\nstate +moved to b as entry 2\n.*attempt 2: failed: exit 2'
is 'show --json' "$(jobstack show -s a 5 --json | python3 -c 'import json, sys; o = json.load(sys.stdin); print(o["state"], o["to_stack"], o["to_entry"])')" 'moved b 2'
check 'it does not come back' prints 1 '0 requeued, 1 refused' jobstack requeue -s a 5
check '... nor go twice' prints 1 '0 moved to c, 1 refused' jobstack requeue -s a 5 --to c
like '... which is said' "$(cat said)" 'entry 5 .* is refused: it is moved'
check '-t moved' says 2 'moved entries can.t be requeued here' jobstack requeue -s a -t moved
check 'named ones, as JSON' prints 0 '{"stack":"a","to":"b","moved":2,"taken_back":0,"refused":1,"missing":0,"dry_run":false}' jobstack requeue -s a --to b --json 1 2 3
check '-n' prints 0 '10 moved to b' jobstack requeue -s a --to b -n 10 -t dead
check 'the others go back into their own line' prints 0 '788 requeued' jobstack requeue -s a
check 'both balance' balances a b
check 'and what was moved is done there' worker -s b --slots 2 --batch 100 -- true
is '... all of it' "$(ledger b)" '412 0 0 0 0 0'
jobstack drop -q --yes -s b
like 'show: the other stack is gone' "$(jobstack show -s a 5)" $'\nstate +moved to a stack that was dropped as entry 2\n'
is '... in a list' "$(jobstack list -s a 5 -o state,to_stack,to_entry)" $'moved\t-\t2'

# ---- priority and order
echo /low | jobstack push -q -s lifo --lifo
echo /high | jobstack push -q -s lifo --priority 7
for _ in 1 2; do jobstack pop -q -s lifo >/dev/null; done
for e in 1 2; do jobstack close -q -s lifo $e --attempt 1 --exit 1; done
sql "INSERT INTO set_aside(stack_id,entry_id,attempt,\`rank\`) SELECT stack_id,lo,1,\`rank\` FROM span JOIN stack USING(stack_id) WHERE name='lifo';
	UPDATE stack SET dead=2 WHERE name='lifo'; DELETE p FROM span p JOIN stack USING(stack_id) WHERE name='lifo'"
check 'a last-in stack' jobstack requeue -q -s lifo --to lifo2
is '... the other is one, too; priorities stay' "$(sql "SELECT popping_order,\`rank\`,pos,lo,hi FROM span JOIN stack USING(stack_id) WHERE name='lifo2' ORDER BY \`rank\`" | tr '\n\t' ', ')" \
	'2 -7 -2 2 2,2 0 -1 1 1,'
check 'both balance' balances lifo lifo2

# ---- a stack of unique names
printf '/d/1\n/u\n' | jobstack push -q -s unique --unique
all_dead u 3 >/dev/null
check 'to a stack of unique names' jobstack requeue -q -s u --to unique
check 'both balance' balances u unique
is 'a unique push knows them' "$(printf '/d/2\n/d/3\n/new\n' | jobstack push -s unique --unique --json | python3 -c 'import json, sys; o = json.load(sys.stdin); print(o["pushed"], o["skipped"])')" '1 2'

# ---- relative names
mkdir one other
(cd one && all_dead r 2 rel)
(cd other && echo rel | jobstack push -q -s other)
check 'they belong to another directory' says 1 "in the stack \"other\" were pushed in [^ ]*/other, those in \"r\" in [^ ]*/one" jobstack requeue -s r --to other
check '... nothing has moved' ledger_is r '0 2 0 0 0 0'
echo /abs | jobstack push -q -s absolute
check 'a stack without any takes over' jobstack requeue -q -s r --to absolute
is '... where they belong' "$(count absolute cwd)" "$PWD/one"
check 'both balance' balances r absolute

# ---- many at once: two to one stack, two to another, one back into its own line, and from the other side, too
check 'two stacks' all_dead x 4000
check '... with dead entries' all_dead y 2000 /y
for i in 1 2; do
	jobstack requeue -s x --to y --json >race.y$i &
	jobstack requeue -s x --to z --json >race.z$i &
	jobstack requeue -s y --to x --match '/y/*' --json >race.x$i &
done
jobstack requeue -s x --match '/d/*' --json >race.back &
wait
sum() { cat "$@" | sed 's/.*\(moved\|requeued\)":\([0-9]*\).*/\2/' | awk '{ n += $1 } END { print n }'; }
is 'each went once' "$(sum race.y? race.z? race.back) $(sum race.x?)" '4000 2000'
is '... as the stacks say' "$(count x moved) $(count y moved)" "$(sum race.y? race.z?) 2000"
is '... and the names' "$(sql "SELECT COUNT(DISTINCT datapath),COUNT(*) FROM entry e WHERE (stack_id,entry_id) NOT IN
	(SELECT stack_id,entry_id FROM set_aside WHERE to_stack IS NOT NULL) AND stack_id IN(SELECT stack_id FROM stack WHERE name IN('x','y','z'))")" $'6000\t6000'
check 'all balance' balances x y z

# ---- killed in the middle, again and again: behind so many that have moved, while the next ones wait for a row that somebody holds
check 'a stack' all_dead k 3000
mkfifo hold
moved() { (($(count k moved) >= $1)); }
for at in 700 1300 2600; do
	"$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_CNF" -N -B -n "$(sed -n 's/^database=//p' "$JOBSTACK_TEST_CNF")" <hold >held &
	holder=$!
	exec 8>hold
	echo "START TRANSACTION; SELECT 'held' FROM set_aside WHERE stack_id=$(count k stack_id) AND entry_id=$at FOR UPDATE;" >&8
	check "entry $at is held" wait_for 20 grep -q held held
	before=$(count k moved)
	jobstack requeue -q -s k --to k2 8>&- &
	mover=$!
	check '... what comes before it moves' wait_for 20 moved $((before + (at - 1 - before) / 500 * 500))
	kill -KILL $mover
	wait $mover 2>/dev/null
	check '... killed: both balance' balances k k2
	exec 8>&-
	wait $holder
done
check 'and the rest' wait_for 20 eval 'jobstack requeue -q -s k --to k2; moved 3000'
is 'in the end all have moved, each once' "$(count k moved) $(names k2 | md5sum)" "3000 $(names k | md5sum)"
check 'both balance' balances k k2
finish
