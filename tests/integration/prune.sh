#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack prune: what goes and what stays; the archive, also when it can't be written or the prune is killed; beside workers, pushes
# and requeues.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
older() { # STACK TABLE CONDITION: moves ends, and the times of lists, two days back
	local id
	id=$(sql "SELECT stack_id FROM stack WHERE name='$1'")
	sql "UPDATE $2 SET ended=ended-INTERVAL 2 DAY WHERE stack_id=$id AND $3"
	case $2 in
	attempt) sql "UPDATE worker SET oldest=oldest-172800 WHERE stack_id=$id AND oldest>172800; UPDATE closed SET oldest=oldest-172800 WHERE stack_id=$id;
		UPDATE stream SET oldest=oldest-172800 WHERE stack_id=$id" ;;
	worker) sql "UPDATE worker SET newest=IF(newest>172800,newest-172800,newest) WHERE stack_id=$id AND $3" ;;
	esac
}
rows() { sql "SELECT COUNT(*) FROM $2 JOIN stack USING(stack_id) WHERE name='$1'${3+ AND $3}"; }
pruned() { jobstack prune -s "$1" --json "${@:2}" | python3 -c 'import json,sys; o=json.load(sys.stdin); print(o["entries"],o["attempts"],o["workers"],o["pushes"])'; }

# entries 10, 20 and 30 die; 7, 14, 21, 28 are done at their second attempt, all others at their first
numbered 1 30 | jobstack push -q -s some --unique --max-attempts 2 --retry-delay 0 >/dev/null
check 'a stack that is finished' worker -s some --slots 2 --shell -- \
	': {}; echo "out $JOBSTACK_ENTRY"; [ $((JOBSTACK_ENTRY % 10)) != 0 ] && [ $((JOBSTACK_ENTRY % 7)) != 0 -o $JOBSTACK_ATTEMPT = 2 ]'
is '...' "$(ledger some) $(rows some attempt)" '27 3 0 0 0 0 37'
check '--older-than has to be given' says 2 'older-than' jobstack prune -s some
for bad in soon -1 1w 400d ''; do
	check "no duration: $bad" says 2 "older-than takes a duration .*not \"$bad\"" jobstack prune -s some --older-than "$bad"
done
check 'an archive that can not be made' says 2 '"nosuch/a" .*No such file' jobstack prune -s some --older-than 0 --archive nosuch/a
check '... that is a directory' says 2 'Is a directory' jobstack prune -s some --older-than 0 --archive .
check '... that is no file' says 2 'is not a regular file' jobstack prune -s some --older-than 0 --archive /dev/null
echo 'results of a year' >precious
check '... that is something else' says 2 'is not a jobstack archive' jobstack prune -s some --older-than 0 --archive precious
is '... which is untouched' "$(cat precious)" 'results of a year'
is 'nothing has gone' "$(ledger some) $(rows some attempt)" '27 3 0 0 0 0 37'

older some attempt 'entry_id<=15'
is 'a dry run' "$(pruned some --older-than 1d --dry-run --archive dry)" '14 16 0 0'
check '... writes nothing' test ! -e dry
is '... and takes nothing away' "$(ledger some) $(rows some attempt)" '27 3 0 0 0 0 37'
jobstack export -s some --format jsonl >exported
check 'prune' prints 0 'pruned 14 entries with 16 attempts from "some" (ended over 24 h 0 min ago), and the records of 0 workers and 0 pushes' \
	jobstack prune -s some --older-than 1d --archive a.jsonl
is '... of the rest' "$(ledger some) $(rows some attempt) $(rows some entry)" '13 3 0 0 0 0 21 16'
check '... the ledger balances' jobstack check
check 'the archive has each attempt, as export told it' python3 - <<'P'
import json
gone = [i for i in range(1, 16) if i % 10]
kept = [json.loads(l) for l in open("a.jsonl")]
assert all(list(o)[0] == "stack" and o.pop("stack") == "some" for o in kept)
assert kept == [o for o in map(json.loads, open("exported")) if o["entry"] in gone], kept
assert [(o["attempt"], o["outcome"]) for o in kept if o["entry"] == 7] == [(1, "failed"), (2, "done")], kept
P
like 'status tells' "$(jobstack status -s some)" 'pruned    14 '
like '... beside what is done' "$(jobstack status -s some)" 'done      13 and 14 pruned '
like '... and of all stacks' "$(jobstack status | tr -s ' ')" ' DONE PRUNED DEAD '
is '... in JSON' "$(jobstack status -s some --json | python3 -c 'import json,sys; o=json.load(sys.stdin); print(o["pushed"],o["done"],o["pruned"])')" '30 13 14'
check 'what has gone is not there' says 2 'there is no entry "5"' jobstack show -s some 5
check '... by its name' says 2 'there is no entry "/d/5"' jobstack show -s some /d/5
check '... and can not be requeued' says 2 'there is no entry' jobstack requeue -s some 5
check 'it is not pushed again' prints 0 '1 pushed, 30 skipped (known already)' sh -c 'seq -f /d/%.0f 31 | jobstack push -s some --unique'
check '... but by who does not ask' prints 0 '1 pushed' jobstack push -s some /d/5
like '... which is another entry' "$(jobstack show -s some /d/5)" '^entry     32'
check 'the ledger balances' jobstack check
check 'what was not done stays' worker -s some -- false
is 'all that is done' "$(pruned some --older-than 0)" '13 15 0 0'
is '... stays out of the archive that was not named' "$(wc -l <a.jsonl)" 16
is 'none is left' "$(ledger some) $(pruned some --older-than 0)" '0 5 0 0 0 0 0 0 0 0'
check '... the ledger balances' jobstack check

# workers and pushes: those of the last hour stay, and those of whom something is left
older some worker 'ended IS NOT NULL'
older some push 'ended IS NOT NULL'
is 'workers and pushes of dead entries stay' "$(pruned some --older-than 1d --dry-run) $(pruned some --older-than 1d)" '0 0 0 0 0 0 0 0'
numbered 1 8 | jobstack push -q -s gone --max-attempts 1 >/dev/null
check 'a worker that is done' worker -s gone --max-entries 3 -- true
check 'one with a dead entry' worker -s gone --max-entries 1 -- false
while popped=$(jobstack pop -q -s gone); do (eval "$popped" && jobstack close -q); done
is '... and four scripts' "$(ledger gone) $(rows gone worker)" '7 1 0 0 0 0 6'
older gone attempt 1=1
is 'what ended in the last hour stays' "$(pruned gone --older-than 1d)" '7 7 0 0'
older gone worker 1=1
older gone push 1=1
is '... and then it goes' "$(pruned gone --older-than 1d) $(rows gone worker) $(rows gone push)" '0 0 5 0 1 1'
sql "INSERT INTO push(token,stack_id,atomic,started,beat,ended) SELECT REPEAT('a',16),stack_id,1,created,created-INTERVAL 9 DAY,created-INTERVAL 9 DAY FROM stack WHERE name='gone';
	INSERT INTO entry SELECT stack_id,9,'/held' FROM stack WHERE name='gone'; UPDATE stack SET tail=9,pushed=9 WHERE name='gone';
	INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,ids,attempt,fails,losses,due,push_id) SELECT stack_id,2,0,9,9,9,NULL,1,0,0,NULL,(SELECT MAX(push_id) FROM push) FROM stack WHERE name='gone'"
is 'the row of a push that holds something stays' "$(pruned gone --older-than 1d)" '0 0 0 0'
check '... or its entries were lost' jobstack check
check '... which the next push takes away' jobstack push -q -s gone /more
older gone push 'ended IS NOT NULL'
is '... then it goes' "$(pruned gone --older-than 1d) $(rows gone entry)" '0 0 0 1 2'
jobstack requeue -q -s gone
check 'the others are done, too' worker -s gone -- true
older gone attempt 1=1
is '... with its last entry a push goes' "$(pruned gone --older-than 1d --dry-run) $(pruned gone --older-than 1d)" '2 3 1 2 2 3 1 2'
is '... and who pushed what' "$(rows gone push) $(rows gone push_range)" '0 0'
check 'the ledger balances' jobstack check

# many that can go, between many that can't: of 4,500 every fifth is dead, and every third was done at its second attempt
numbered 1 4500 | jobstack push -q -s mixed >/dev/null
sql "SET @s=(SELECT stack_id FROM stack WHERE name='mixed'); DELETE FROM span WHERE stack_id=@s;
	INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) SELECT @s,entry_id,1,1,IF(entry_id%3 AND entry_id%5,0,1),IF(entry_id%3 AND entry_id%5,1,0),
		UTC_TIMESTAMP(6) FROM entry WHERE stack_id=@s;
	INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) SELECT @s,entry_id,2,1,0,1,UTC_TIMESTAMP(6) FROM entry
		WHERE stack_id=@s AND entry_id%3=0 AND entry_id%5<>0;
	INSERT INTO set_aside(stack_id,entry_id,attempt,\`rank\`) SELECT @s,entry_id,1,0 FROM entry WHERE stack_id=@s AND entry_id%5=0;
	INSERT INTO closed(stack_id,worker_id,seq,oldest,newest,list) VALUES(@s,1,1,UNIX_TIMESTAMP()-9,UNIX_TIMESTAMP(),'1-4500:1,');
	UPDATE stack SET done=3600,dead=900 WHERE stack_id=@s"
check 'a mixed stack balances' jobstack check -s mixed
is '... its done ones go' "$(pruned mixed --older-than 0)" '3600 4800 0 0'
is '... and only they' "$(ledger mixed) $(rows mixed attempt) $(rows mixed entry)" '0 900 0 0 0 0 900 900'
check '... it still balances' jobstack check -s mixed

# an entry whose attempts are in two pages of those that are read (20,000), and one that has more than a page
numbered 1 10002 | jobstack push -q -s pages >/dev/null
sql "SET @s=(SELECT stack_id FROM stack WHERE name='pages'); DELETE FROM span WHERE stack_id=@s;
	INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) SELECT @s,entry_id,k,1,k=1 AND entry_id>1,k=2 OR entry_id=1,UTC_TIMESTAMP(6)
		FROM entry JOIN (SELECT 1 k UNION SELECT 2) n WHERE stack_id=@s AND entry_id<10002 AND (k=1 OR entry_id>1);
	INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) SELECT @s,10002,entry_id+k,1,3,0,UTC_TIMESTAMP(6)
		FROM entry JOIN (SELECT 0 k UNION SELECT 10002 UNION SELECT 20004) n WHERE stack_id=@s;
	INSERT INTO closed(stack_id,worker_id,seq,oldest,newest,list) VALUES(@s,1,1,UNIX_TIMESTAMP()-9,UNIX_TIMESTAMP(),'1-10002:1,');
	UPDATE attempt SET outcome=0,final=1 WHERE stack_id=@s AND entry_id=10002 AND attempt=30006; UPDATE stack SET done=10002 WHERE stack_id=@s"
is 'more than a page goes' "$(pruned pages --older-than 0 --dry-run) $(pruned pages --older-than 0)" '10002 50007 0 0 10002 50007 0 0'
is '... and nothing is left' "$(ledger pages) $(rows pages attempt) $(rows pages entry)" '0 0 0 0 0 0 0 0'

# the archive's disk is full: what is not on it is not removed
numbered 1 40 | jobstack push -q -s full >/dev/null
worker -s full --slots 2 -- true
mkdir small
check 'a full disk' own_mounts bash -c 'mount -t tmpfs -o size=16k none small && jobstack prune -s full --older-than 0 --archive small/a 2>said
	echo "$? $(wc -c <small/a)" >answer'
is '... is an error, and leaves no half line' "$(cat answer)" '2 0'
like '... says why' "$(cat said)" 'archive "small/a" .*No space left'
is '... and nothing went' "$(ledger full) $(rows full attempt)" '40 0 0 0 0 0 40'
check 'two at one archive' fails_with 1 flock -x a.jsonl jobstack prune -s full --older-than 0 --archive a.jsonl
is '... nothing went' "$(rows full entry)" 40

# killed when the chunk is in the archive, and its transaction waits for a session of ours, until the server gives it up
lines() { [[ $(wc -l <"$1") == "$2" ]]; }
waiting() { sql "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%pruned=pruned+%' AND id<>CONNECTION_ID()"; }
nobody_waits() { [[ $(waiting) == 0 ]]; }
coproc HOLD { exec "$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_CNF" -N -B -n "$(sed -n 's/^database=//p' "$JOBSTACK_TEST_CNF")"; }
holder=$HOLD_PID # bash forgets it when it ends
echo "START TRANSACTION; SELECT 1 FROM stack WHERE name='full' FOR UPDATE;" >&"${HOLD[1]}"
read -r -u "${HOLD[0]}" _
jobstack prune -q -s full --older-than 0 --archive b.jsonl &
pid=$!
check 'a chunk is in the archive' wait_for 20 lines b.jsonl 40
kill -KILL $pid
wait $pid 2>/dev/null
check 'the prune is killed' wait_for 20 nobody_waits
echo "ROLLBACK;" >&"${HOLD[1]}"
exec {HOLD[1]}>&-
wait "$holder" 2>/dev/null
is '... nothing went' "$(ledger full)" '40 0 0 0 0 0'
truncate -s -20 b.jsonl
check 'the next one goes on, behind the last whole line' says 0 'removed the incomplete last line' jobstack prune -s full --older-than 0 --archive b.jsonl
check '... and the archive has all, some twice' python3 - <<'P'
import json
entries = [json.loads(l)["entry"] for l in open("b.jsonl")]
assert len(entries) == 79 and set(entries) == set(range(1, 41)), entries
P
is '... all went' "$(ledger full) $(rows full attempt) $(rows full entry)" '0 0 0 0 0 0 0 0'

# beside workers, requeues, pushes, and another prune
numbered 1 300 | jobstack push -q -s beside --unique --max-attempts 2 --retry-delay 0 >/dev/null
for i in 1 2; do
	worker -s beside --slots 2 --idle-timeout 300 --shell -- ': {}; [ $(((JOBSTACK_ENTRY + JOBSTACK_ATTEMPT) % 9)) != 0 ]' &
	pids[i]=$!
done
for i in 3 4; do
	(
		for ((n = 0; n < 6; n++)); do
			jobstack requeue -q -s beside -t done >/dev/null || (($? == 1)) || exit 1 # 1: there was none
			jobstack prune -q -s beside --older-than 0 --archive "beside$i.jsonl" &&
				jobstack push -q -s beside --unique /d/$n /d/$((300 + n)) >/dev/null || exit 1
		done
	) &
	pids[i]=$!
done
checks=0
while kill -0 "${pids[3]}" 2>/dev/null || kill -0 "${pids[4]}" 2>/dev/null; do
	jobstack check -s beside >checked || cat checked
	checks=$((checks + 1))
done >wrong
is "the ledger balances all the time ($checks looks)" "$(cat wrong)" ''
for i in 3 4; do check 'requeues and prunes' wait "${pids[i]}"; done
for i in 1 2; do check 'workers' wait "${pids[i]}"; done
jobstack requeue -q -s beside -t dead >/dev/null
check 'what is left' worker -s beside --slots 2 -- true
check 'all goes' jobstack prune -q -s beside --older-than 0 --archive beside3.jsonl
is '... each once' "$(ledger beside) $(sql "SELECT CONCAT(pushed,' ',pruned) FROM stack WHERE name='beside'") $(rows beside attempt)" \
	"0 0 0 0 0 0 $(rows beside name) $(rows beside name) 0"
check '... and none without having been kept' python3 - <<'P'
import json
kept = {json.loads(l)["datapath"] for f in ("beside3.jsonl", "beside4.jsonl") for l in open(f)}
assert all("/d/%d" % i in kept for i in range(0, 306)), len(kept)
P
check 'the ledgers balance' jobstack check
finish
