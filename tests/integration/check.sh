#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack check: a healthy ledger balances at every moment, however busy; each kind of damage is found, and the entry named.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

# ------------------------------------------------------------------------------------------------------------ nothing yet
check 'no stacks: nothing is wrong' fails_with 0 jobstack check
check 'a stack that is not there' fails_with 2 jobstack check -s nosuch
check 'a word too many' fails_with 2 jobstack check nosuch
check 'a bad name' fails_with 2 jobstack check -s 'a/b'

# ------------------------------------------------------------------------------------------------- healthy while it is busy
# Everything at once: pushes (plain, unique, atomic and failing), workers that fail and die, scripts, requeues, LIFO.
export JOBSTACK_STACK=busy
numbered 1 500 | jobstack push -q --max-attempts 2 --retry-delay 0.1s >/dev/null
numbered 1 300 | jobstack push -q -s lifo --lifo --unique --max-attempts 2 --retry-delay 0 >/dev/null
cat >pusher <<'S'
while :; do
	seq -f /more/%.0f $RANDOM 3 33000 | head -n 2500 | jobstack push -q >/dev/null
	seq -f /uniq/%.0f $RANDOM 7 33000 | head -n 2500 | jobstack push -q -s lifo --unique >/dev/null
	{ seq -f /atom/%.0f 1 2500; ((RANDOM % 2)) || echo relative; } | (cd / && jobstack push -q -s lifo --atomic >/dev/null 2>&1)
done
S
cat >requeuer <<'S'
while :; do
	jobstack requeue -q -t dead,lost,done >/dev/null
	jobstack requeue -q -s lifo -t dead,done >/dev/null
done
S
cat >script <<'S'
while :; do
	eval "$(jobstack pop -q)" && jobstack close -q --exit $((RANDOM % 3)) >/dev/null 2>&1
	eval "$(jobstack pop -q -s lifo)" && jobstack close -q --exit $((RANDOM % 2)) >/dev/null 2>&1
done
S
cat >workers <<'S'
while :; do
	timeout -s KILL 1.5 jobstack-worker -q --lease 5s --slots 2 -- sh -c 'exit $(($$ % 3))' {} >/dev/null 2>&1
	jobstack-worker -q -s lifo --slots 2 --max-entries 300 -- sh -c 'exit $(($$ % 2))' {} >/dev/null 2>&1
done
S
busy=()
for what in pusher requeuer script workers; do
	setsid bash $what >/dev/null 2>&1 &
	busy+=($!)
done
end_busy() {
	local pid
	for pid in "${busy[@]}"; do kill -KILL -- "-$pid"; done 2>/dev/null
	wait "${busy[@]}" 2>/dev/null
	busy=()
}
nothing_runs() { # shellcheck disable=SC2046
	none_of_ours $(pgrep -x 'jobstack(-worker|-keeper)?')
}
at_end end_busy
checks=0 bad=0
declare -A ledgers=()
# for ten seconds; on a busy machine until it has changed four times
read -r from _ </proc/uptime
while read -r now _ </proc/uptime && now=$((10#${now/./} - 10#${from/./})) && ((now < 1000 || (now < 20000 && ${#ledgers[@]} < 4))); do
	for name in busy lifo; do
		checks=$((checks + 1))
		jobstack check -s $name >checked 2>&1 || { bad=$((bad + 1)) && cat checked; }
	done
	# and something is going on
	ledgers[=$(sed -nE 's/.* ([0-9]+) entries, ([0-9]+) attempts/\1 \2/p' checked)]=1
done >wrong
end_busy
check 'what they started ends, too' wait_for 20 nothing_runs # or it would be in the way of what follows
changes=${#ledgers[@]}
echo "# $checks checks while all were at work; $changes different ledgers: $(tail -n1 checked)"
check 'it was checked while it changed' test "$changes" -ge 4
is 'a busy ledger always balances' "$(head -n 20 wrong)" ''
check 'and afterwards, all stacks' jobstack check
check 'in the words of the tables' audit busy

# ------------------------------------------------------------------------------------------------------------------ damage
# A small stack with everything in it; each damage is done to it anew:
#   1-3 done; 4 dead after one attempt; 5 failed once and waits; 6-9 in worker's claim, of which 6 is done; 10 to 19 ready;
#   20, 22, 24 back in line as a list (after being requeued); 30 to 34 held by an atomic push; done by a unique push
# numbers FROM TO: a table of them, in the words of both servers
numbers() { echo "(WITH RECURSIVE s(seq) AS (SELECT $1 UNION ALL SELECT seq+1 FROM s WHERE seq<$2) SELECT seq FROM s) n"; }
unset JOBSTACK_STACK
make() {
	sql "DELETE FROM span; DELETE FROM claim; DELETE FROM attempt; DELETE FROM set_aside; DELETE FROM name; DELETE FROM entry;
		DELETE FROM worker; DELETE FROM push; DELETE FROM push_range; DELETE FROM stack; DELETE FROM running_limit;
		INSERT INTO stack(stack_id,name,popping_order,tail,pushed,named,done,dead,created,max_attempts)
			VALUES(7,'hurt',2*$1,34,34,34,2,1,NOW(),2);
		INSERT INTO entry SELECT 7,seq,CONCAT('/d/',seq) FROM $(numbers 1 34);
		INSERT INTO name SELECT 7,UNHEX(SHA2(datapath,256)),entry_id FROM entry;
		INSERT INTO push(push_id,token,stack_id,atomic,started,beat) VALUES(3,REPEAT('p',16),7,1,NOW(),NOW());
		INSERT INTO worker(worker_id,token,stack_id,seq,kind,started,beat,lease_us,slots,done)
			VALUES(5,REPEAT('w',16),7,9,0,NOW(),NOW(),300000000,1,12);
		INSERT INTO worker(worker_id,token,stack_id,seq,kind,started,beat,lease_us,slots,done,dead,ended)
			VALUES(4,REPEAT('v',16),7,9,0,NOW(),NOW(),300000000,1,5,1,NOW());
		INSERT INTO claim VALUES(7,5,9,6,9,NULL,3,1,0,0,0,NOW());
		INSERT INTO set_aside VALUES(7,4,1,0,'fatal exit',NULL,NULL,0);
		INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended)
			VALUES(7,1,1,4,0,1,NOW()),(7,2,1,4,1,0,NOW()),(7,2,2,4,0,1,NOW()),(7,3,1,5,0,1,NOW()),(7,4,1,4,1,0,NOW()),
			(7,5,1,5,1,0,NOW()),(7,6,1,5,0,1,NOW()),(7,20,1,5,0,0,NOW()),(7,22,1,5,0,0,NOW()),(7,24,1,5,0,0,NOW());
		INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended)
			SELECT 7,seq,1,5,0,1,NOW() FROM $(numbers 21 29) WHERE seq NOT IN(22,24);
		INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,ids,attempt,fails,losses,due,push_id) VALUES(7,1,0,IF($1,-5,5),5,5,NULL,2,1,0,NOW(),NULL),(7,0,0,IF($1,-10,19),10,19,NULL,1,0,0,NULL,NULL),
			(7,2,-3,IF($1,-30,34),30,34,NULL,1,0,0,NULL,3),
			(7,0,0,IF($1,-20,24),0,2,'0000000014,0000000016,0000000018,',2,0,0,NULL,NULL);
		UPDATE worker SET done=9 WHERE worker_id=5; ${2-}"
}
for lifo in 0 1; do
	make $lifo
	check "the ledger to be hurt balances (lifo $lifo)" jobstack check -s hurt
done
like 'and it says so' "$(jobstack check -s hurt)" '^the ledger of hurt balances: 34 entries, 17 attempts$'

by_hand() { (echo "START TRANSACTION WITH CONSISTENT SNAPSHOT; SET @js_name='hurt';" && cat "$JOBSTACK_SOURCE/schema/check.sql") |
	"$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_CNF" -N -B "$(sed -n 's/^database=//p' "$JOBSTACK_TEST_CNF")"; }
is 'the statements by hand: no row' "$(by_hand 2>&1)" ''
make 0 'DELETE FROM span WHERE class=1; UPDATE stack SET pushed=35'
is 'by hand: each finding is a row' "$(by_hand | cut -f1,2 | tr '\t\n' ' ;')" 'lost 5;counter 0;'

# hurt WHAT KIND ENTRY WORDS SQL: after SQL, check ends with 1 and names ENTRY (0: none) as KIND, with WORDS
hurt() {
	local said status=0 line
	make 0 "$5"
	said=$(jobstack check -s hurt 2>&1) || status=$?
	is "$1: status 1" "$status" 1
	line="hurt: $2: "
	(($3 == 0)) || line+="entry $3 \(/d/$3\): "
	check "$1: it is said" grep -qE "^$line.*$4" <<<"$said" || printf '%s\n' "$said" | sed 's/^/#   /'
	like "$1: the last line" "$said" 'the ledger of hurt does not balance: .*[0-9]+ '"$2"
}
hurt 'a span is gone' lost 15 'nowhere' "DELETE FROM span WHERE class=0 AND pos=19"
hurt 'a list is gone' lost 22 'nowhere.*on record: 1' "DELETE FROM span WHERE class=0 AND pos=24"
hurt 'a waiting span is gone' lost 5 'nowhere' 'DELETE FROM span WHERE class=1'
hurt 'a claim is gone' lost 8 'nowhere' 'DELETE FROM claim'
hurt 'a dead row is gone' lost 4 'nowhere.*on record: 1' 'DELETE FROM set_aside'
hurt 'the last attempt is gone' lost 1 'nowhere' 'DELETE FROM attempt WHERE entry_id=1'
hurt 'final is gone' lost 2 'nowhere' 'UPDATE attempt SET final=0 WHERE entry_id=2'
hurt 'a span is cut too short' lost 10 'nowhere' 'UPDATE span SET lo=11 WHERE pos=19'
hurt 'a list is cut too short' lost 20 'nowhere' 'UPDATE span SET lo=1 WHERE pos=24'
hurt 'a span overlaps' doubled 13 'ready row in the table `span` at rank 0, pos 13 .*and in the ready row in the table `span` at rank 0, pos 19' \
	"INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,ids,attempt,fails,losses,due,push_id) VALUES(7,0,0,13,12,13,NULL,1,0,0,NULL,NULL)"
hurt 'a list overlaps' doubled 14 'ready row in the table `span` at rank 5, pos 16' \
	"INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,ids,attempt,fails,losses,due,push_id) VALUES(7,0,5,16,0,1,'000000000E,0000000010,',1,0,0,NULL,NULL)"
hurt 'a span over what runs' doubled 7 'ready row.*and in claim 9 of worker 5' \
	"INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,ids,attempt,fails,losses,due,push_id) VALUES(7,0,1,7,7,7,NULL,1,0,0,NULL,NULL)"
hurt 'a span over what is done' doubled 2 'ready row.*done entries by attempt 2' \
	"INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,ids,attempt,fails,losses,due,push_id) VALUES(7,0,1,2,2,2,NULL,3,0,0,NULL,NULL)"
hurt 'dead and in line' doubled 11 'ready row.*the dead entries' "INSERT INTO set_aside VALUES(7,11,0,0,NULL,NULL,NULL,0)"
hurt 'dead and done' doubled 3 'done.*dead' "INSERT INTO set_aside VALUES(7,3,1,0,NULL,NULL,NULL,0)"
hurt 'dead and it runs' doubled 9 'claim 9 of worker 5.*dead' "INSERT INTO set_aside VALUES(7,9,0,0,NULL,NULL,NULL,0)"
hurt 'two claims' doubled 8 'claim 3 of worker 5 .*and in claim 9 of worker 5' \
	"INSERT INTO claim VALUES(7,5,3,8,8,NULL,1,1,0,0,0,NOW())"
hurt 'two claims of one attempt, open miscounted' claim 6 'says 2 unfinished entries, but there are 3' 'UPDATE claim SET open=2'
hurt 'an attempt under a claim is gone' claim 6 'says 3 unfinished entries, but there are 4' 'DELETE FROM attempt WHERE entry_id=6'
hurt 'a claim of an ended worker' claim 6 'claim 9 of worker 5.* that has ended' 'UPDATE worker SET ended=NOW() WHERE worker_id=5'
hurt 'a claim of no worker' claim 6 'claim 9 of worker 5.* that does not exist' 'DELETE FROM worker WHERE worker_id=5'
hurt 'a claim with nothing open' claim 1 'no unfinished entry left' 'INSERT INTO claim VALUES(7,5,2,1,2,NULL,0,1,0,0,0,NOW())'
hurt 'a claim that ends before it begins' claim 0 'ends before it begins' 'INSERT INTO claim VALUES(7,5,2,9,2,NULL,1,1,0,0,0,NOW())'
hurt 'a claim of another stack' claim 6 "belongs to a worker of another stack" 'UPDATE worker SET stack_id=8 WHERE worker_id=5'
hurt 'a claim that is too long' claim 6 'has more than 500 entries' 'UPDATE claim SET hi=600'
hurt 'a list of a claim that is cut off' claim 6 'not as long as it says' "UPDATE claim SET lo=0,hi=3,ids='0000000006,0000000007,'"
hurt 'a list of a claim out of order' claim 6 'not in ascending order' \
	"UPDATE claim SET lo=0,hi=3,ids='0000000006,0000000008,0000000007,0000000009,'"
hurt 'a list of a claim that is nonsense' claim 0 "can't be read" \
	"UPDATE claim SET lo=0,hi=3,ids='0000000006,0000000007,0000000008;0000000009,'"
hurt 'a claim with a wrong attempt' attempt 8 'claim 9 of worker 5 for attempt 2; attempts on record: none' 'UPDATE claim SET attempt=2'
hurt 'a span with a wrong attempt' attempt 14 'pos 19 for attempt 3; attempts on record: none' \
	'UPDATE span SET attempt=3 WHERE pos=19'
hurt 'an attempt too many' attempt 24 'pos 24 for attempt 2; attempts on record: 1 done, 2 failed' \
	'INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) VALUES(7,24,2,5,1,0,NOW())'
hurt 'an attempt above the claim' attempt 7 'claim 9 of worker 5 for attempt 1; attempts on record: 3 failed' \
	'INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) VALUES(7,7,3,5,1,0,NOW())'
hurt 'an attempt in between is gone' attempt 2 'done entries by attempt 2; attempts on record: 2 done' 'DELETE FROM attempt WHERE entry_id=2 AND attempt=1'
hurt 'two ends' doubled 2 'by attempt 1, and in the done entries by attempt 2' 'UPDATE attempt SET final=1 WHERE entry_id=2'
hurt 'an end before the end' attempt 3 'done entries by attempt 1; attempts on record: 1 done, 2 failed' \
	'INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) VALUES(7,3,2,5,1,0,NOW())'
hurt 'an attempt 0' attempt 11 'attempts on record: 0 failed' \
	'INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) VALUES(7,11,0,5,1,0,NOW())'
hurt 'a failure that ends it' attempt 1 'done entries by attempt 1; attempts on record: 1 failed' 'UPDATE attempt SET outcome=1 WHERE entry_id=1'
hurt 'dead by another attempt' attempt 4 'dead entries after attempt 2; attempts on record: 1 failed' 'UPDATE set_aside SET attempt=2'
hurt 'counted what never was' attempt 5 'counts 2 failures' 'UPDATE span SET fails=2 WHERE class=1'
hurt 'a failure that never was' attempt 13 'pos 19 for attempt 1 after 1 failures and 0 losses; attempts on record: none' \
	'UPDATE span SET fails=1 WHERE pos=19'
hurt 'a failure of a list that never was' attempt 22 'for attempt 2 after 1 failures and 0 losses; attempts on record: 1 done' \
	'UPDATE span SET fails=1 WHERE pos=24'
hurt 'losses of a claim that never were' attempt 8 'counts 0 failures and 2 losses' 'UPDATE claim SET losses=2'
hurt 'losses that never were' attempt 12 'counts 0 failures and 1 losses of this entry, but these attempts are on record: none' 'UPDATE span SET losses=1 WHERE pos=19'
hurt 'a span that ends before it begins' span 0 'ends before it begins' 'UPDATE span SET lo=20 WHERE pos=19'
hurt 'a place in line that is wrong' span 10 'pos 18.*pos that does not match' 'UPDATE span SET pos=18 WHERE pos=19'
hurt 'a list out of order' span 22 'not in ascending order' \
	"UPDATE span SET ids='0000000016,0000000014,0000000018,' WHERE pos=24"
hurt 'a list that is cut off' span 0 'not as long as it says' "UPDATE span SET ids='0000000014,0000000016,' WHERE pos=24"
hurt 'a list that is nonsense' span 0 "can't be read" "UPDATE span SET ids='0000000014,0000xx0016,0000000018,' WHERE pos=24"
hurt 'and the entry that was there is lost' lost 22 'nowhere' "UPDATE span SET ids='0000000014,0000xx0016,0000000018,' WHERE pos=24"
hurt 'waiting for ever' span 5 'is waiting, but has no time' 'UPDATE span SET due=NULL WHERE class=1'
hurt 'held for nobody' span 30 'held for a push that does not exist' 'DELETE FROM push'
hurt 'no such class' span 30 'class that does not exist' 'UPDATE span SET class=4 WHERE class=2'
hurt 'lo that overflows' span 0 'ends before it begins|not as long' \
	'UPDATE span SET lo=18446744073709551615,hi=18446744073709551615 WHERE pos=24'
hurt 'pushed is wrong' counter 0 'pushed: 35 by the counters, 34 by the rows' 'UPDATE stack SET pushed=35'
hurt 'done is wrong' counter 0 'done: 12 by the counters, 11 by the rows' 'UPDATE stack SET done=done+1'
hurt "a worker's done is wrong" counter 0 'done: 10 by the counters, 11 by the rows' 'UPDATE worker SET done=done-1 WHERE worker_id=5'
hurt 'dead is wrong' counter 0 'dead: -1 by the counters, 1 by the rows' 'UPDATE stack SET dead=-1'
hurt 'the running_limit is missing' counter 0 'no row in the table `running_limit`' 'UPDATE stack SET max_running=10,limited=1'
hurt 'moved is wrong' counter 0 'moved: 1 by the counters, 0 by the rows' 'UPDATE stack SET moved=1,pushed=35'
hurt 'moved and done' doubled 3 'done.*the moved entries after attempt 1' "INSERT INTO set_aside VALUES(7,3,1,0,NULL,1,1,2); UPDATE stack SET moved=1"
hurt 'pruned is wrong' counter 0 'pushed: 34 by the counters, 35 by the rows' 'UPDATE stack SET pruned=1'
hurt 'pruned is nonsense' counter 0 'pushed: 34 by the counters, 18446744073709551649 by the rows' 'UPDATE stack SET pruned=18446744073709551615'
hurt 'done is nonsense' counter 0 'done: 9223372036854775816 by the counters, 11 by the rows' 'UPDATE stack SET done=9223372036854775807'
hurt 'the tail is wrong' stray 34 'above the last one that the stack assigned, 30' 'UPDATE stack SET tail=30'
hurt 'a name is gone' name 17 'the table `name` has no row' "DELETE FROM name WHERE hash=UNHEX(SHA2('/d/17',256))"
hurt 'a name is wrong' name 18 'hash of another datapath' "UPDATE name SET entry_id=18 WHERE hash=UNHEX(SHA2('/d/17',256))"

# Intervals over many blocks of 64 numbers, and in two of the pieces of 1,048,576: entries 1 to 1000 and 1048001 to 1049000.
# long WHAT KIND ENTRY N SQL: after SQL, check ends with 1, names ENTRY as KIND, and finds N of that kind
span="INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,attempt,fails,losses) VALUES"
long() {
	local said status=0
	make 0 "DELETE FROM entry; DELETE FROM name; DELETE FROM attempt; DELETE FROM set_aside; DELETE FROM claim; DELETE FROM span;
		UPDATE worker SET done=0 WHERE worker_id=5; UPDATE stack SET tail=1049000,pushed=2000,named=NULL,done=0,dead=0;
		INSERT INTO entry SELECT 7,seq,CONCAT('/d/',seq) FROM $(numbers 1 1000);
		INSERT INTO entry SELECT 7,seq,CONCAT('/d/',seq) FROM $(numbers 1048001 1049000);
		$span(7,0,0,100,1,100,1,0,0),(7,0,0,1000,101,1000,1,0,0),(7,0,0,1049000,1048001,1049000,1,0,0); $5"
	said=$(jobstack check -s hurt 2>&1) || status=$?
	is "$1: status" "$status" "$(($4 > 0))"
	(($4 == 0)) || like "$1: it is said" "$said" "hurt: $2: entry $3[ :]"
	(($4 == 0)) || like "$1: the last line" "$said" "does not balance: .*$4 $2"
}
long 'long spans' none 0 0 ''
long 'long spans overlap' doubled 400 101 "$span(7,0,0,500,400,500,1,0,0)"
long 'long spans overlap twice' doubled 400 101 "$span(7,0,0,500,400,500,1,0,0),(7,0,1,500,400,500,1,0,0)"
long 'long spans overlap by one' doubled 1000 1 "$span(7,0,1,1000,1000,1000,1,0,0)"
long 'long spans of different attempts overlap' doubled 200 101 "$span(7,0,0,300,200,300,2,0,0)"
long 'three spans overlap' doubled 700 1 "$span(7,0,1,700,700,700,1,0,0),(7,0,2,700,700,700,1,0,0)"
long 'a long span is cut' lost 101 199 'UPDATE span SET lo=300 WHERE pos=1000'
long 'a long span of another attempt' attempt 500 900 'UPDATE span SET attempt=2 WHERE pos=1000'
long 'a span goes on where no entry is' stray 320 36 'DELETE FROM entry WHERE entry_id BETWEEN 310 AND 600'
long 'spans meet where no entry is' stray 1001 1 "UPDATE span SET hi=1001,pos=1001 WHERE pos=1000"
long 'a span over two pieces' stray 1048000 1 "UPDATE span SET lo=1048000 WHERE pos=1049000"
long 'lost in two pieces' lost 1048100 1699 "UPDATE span SET hi=300,pos=300 WHERE pos=1000; UPDATE span SET lo=1049000 WHERE pos=1049000"
long 'failures of a long span' attempt 900 900 'UPDATE span SET fails=1 WHERE pos=1000'

# what has no datapath to tell
make 0
sql "INSERT INTO name VALUES(7,REPEAT('x',32),77)"
like 'a name of no entry' "$(jobstack check -s hurt)" 'name: entry 77: there is no such entry, but the table `name` has a row for it; 1 of its rows fit no entry, but 0 entries were pruned'
make 0 'UPDATE entry SET entry_id=9223372036854775808 WHERE entry_id=34'
like 'an entry with a number that none can have' "$(timeout 300 jobstack check -s hurt)" \
	'stray: entry 9223372036854775808 \(/d/34\): its number is above the last one'
make 0
sql 'DELETE FROM entry WHERE entry_id>32'
like 'the last entries are gone' "$(jobstack check -s hurt)" 'stray: entry 33: there is no such entry, .*the held row'
make 0
sql "DELETE FROM entry WHERE entry_id IN(12,3,4); UPDATE stack SET pushed=31; DELETE FROM name WHERE entry_id IN(12,3,4);
	INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) VALUES(7,99,1,5,1,0,NOW());
	INSERT INTO set_aside VALUES(7,98,1,0,NULL,NULL,NULL,0);
	INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,ids,attempt,fails,losses,due,push_id) VALUES(7,0,0,1099511627775,1000,1099511627775,NULL,1,0,0,NULL,NULL),
		(7,0,0,2000,0,1,'00000007CF,00000007D0,',1,0,0,NULL,NULL)"
said=$(timeout 300 jobstack check -s hurt)
for line in 'entry 12: there is no such entry.*in the ready row' 'entry 3: .*in the done entries' 'entry 4: .*in the dead entries' \
	'entry 99: .*attempts on record: 1 failed' 'entry 98: .*in the dead entries' 'entry 1000: .*pos 1099511627775' \
	'entry 1099511627775: ' 'entry 1999: ' 'entry 2000: '; do
	check "stray: $line" grep -qE "stray: $line" <<<"$said"
done
# rows of stacks that are not there
make 0
sql 'UPDATE stack SET stack_id=8; INSERT INTO running_limit(stack_id) VALUES(9); INSERT INTO push_range VALUES(7,1,1,1)'
said=$(jobstack check 2>&1) && fail 'rows of no stack: status 1'
for table in entry span claim attempt set_aside name worker push push_range; do
	like "rows of no stack: $table" "$said" "the table $table has rows of stack number 7, which does not exist"
done
like 'rows of no stack: running_limit' "$said" 'running_limit has rows of stack number 9'

# ---------------------------------------------------------------------------------------------------------- much, and JSON
make 0
sql "DELETE FROM span; INSERT INTO entry SELECT 7,35+1000*m.seq+n.seq,CONCAT(x'2FFF',n.seq) FROM $(numbers 0 999) JOIN
	(SELECT 0 seq UNION SELECT 1 UNION SELECT 2) m; UPDATE stack SET tail=3034,pushed=3034,named=NULL; DELETE FROM name"
said=$(jobstack check -s hurt)
is 'as many as are told' "$(grep -c ': lost: ' <<<"$said")" 1000
like 'and how many there are' "$said" 'does not balance: 3019 lost \(the first 1000 are listed\)'
check 'JSON: status 1' fails_with 1 jobstack check -s hurt --json
jobstack check -s hurt --json >said
is 'JSON: one line' "$(wc -l <said)" 1
check 'JSON: what it holds' python3 - <<'P'
import json
o = json.load(open('said'))
assert o['stack'] == 'hurt' and o['balances'] is False and o['entries'] == 3034 and o['found']['lost'] == 3019, o
assert o['done'] == 11 and o['dead'] == 1 and o['running'] == 3 and o['ready'] == 0
assert len(o['findings']) == 1000 and o['findings'][0]['entry'] == 5 and o['findings'][0]['datapath'] == '/d/5'
assert o['findings'][0]['kind'] == 'lost' and o['findings'][999]['datapath_base64']
P
make 0
sql "DELETE FROM stack WHERE name<>'hurt'; UPDATE stack SET state=2"
check 'a cancelled stack balances' jobstack check --json
jobstack check --json >said
check 'JSON: of a cancelled stack' python3 - <<'P'
import json
o = json.load(open('said'))
assert o['balances'] and o['state'] == 'cancelled' and o['ready'] == 0 and o['cancelled'] == 19 and o['found']['lost'] == 0, o
P
is 'quiet says nothing of what is well' "$(jobstack check -q)" ''

# a worker that pops a damaged list points to the check, and does not blame the memory
make 0 "DELETE FROM span WHERE pos<>24; UPDATE span SET ids='0000000014,0000xx0016,0000000018,'"
said=$(timeout 300 jobstack-worker -s hurt --slots 4 -- true 2>&1 >/dev/null)
is 'a worker that pops a damaged list ends' $? 70
like '... and says what tells more' "$said" 'a claim in the database is damaged: `jobstack check -s hurt` tells more'

# what it says of a damaged datapath can't reach a terminal
make 0
sql "DELETE FROM entry WHERE entry_id=10; INSERT INTO entry VALUES(7,10,x'2F0A1B5B33316D726564'); DELETE FROM span WHERE pos=19;
	UPDATE stack SET named=NULL; DELETE FROM name"
like 'control characters' "$(jobstack check -s hurt)" '\(/\\x0a\\x1b\[31mred\)'
finish
