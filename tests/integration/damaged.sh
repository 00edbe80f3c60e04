#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Damaged claims stop no stack.  Entries that have an outcome already are left out with a message, the others come back, other
# workers' entries as well, and `jobstack check` names the command.  The damage is made by SQL.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
numbers() { echo "(WITH RECURSIVE s(seq) AS (SELECT $1 UNION ALL SELECT seq+1 FROM s WHERE seq<$2) SELECT seq FROM s) n"; }

# 1-54 done by worker 51, which has ended; 55-70, 76-80 and 86-90 ready; 71-75 in a claim of worker 53, which is dead.  Worker 52 is
# dead and holds 81-85.
make() { # SQL
	sql "DELETE FROM span; DELETE FROM claim; DELETE FROM attempt; DELETE FROM set_aside; DELETE FROM entry; DELETE FROM worker;
		DELETE FROM closed; DELETE FROM stack;
		INSERT INTO stack(stack_id,name,popping_order,tail,pushed,done,dead,created) VALUES(7,'torn',0,90,90,54,0,NOW());
		INSERT INTO entry SELECT 7,seq,CONCAT('/d/',seq) FROM $(numbers 1 90);
		INSERT INTO worker(worker_id,token,stack_id,seq,kind,started,beat,lease_us,slots,done,ended)
			VALUES(51,REPEAT('a',16),7,9,0,NOW(),NOW()-INTERVAL 1 HOUR,1000000,1,54,NOW()),
			(52,REPEAT('b',16),7,9,0,NOW(),NOW()-INTERVAL 1 HOUR,1000000,1,0,NULL),
			(53,REPEAT('c',16),7,9,0,NOW(),NOW()-INTERVAL 1 HOUR,1000000,1,0,NULL);
		INSERT INTO claim VALUES(7,52,70,81,85,NULL,5,1,0,0,0,NOW()),(7,53,9,71,75,NULL,5,1,0,0,0,NOW());
		INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended)
			SELECT 7,seq,1,51,0,1,NOW() FROM $(numbers 1 54);
		INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,ids,attempt,fails,losses) VALUES(7,0,0,70,55,70,NULL,1,0,0),
			(7,0,0,80,76,80,NULL,1,0,0),(7,0,0,90,86,90,NULL,1,0,0); $1"
}
# all that is left is done, once; and those who wait see the end
drains() {
	check '... a worker does the rest' worker -s torn --slots 4 --batch 9 -- true
	check '... and who waits sees the end' timeout 60 jobstack wait -q -s torn
	is '... all are done' "$(ledger torn)" '90 0 0 0 0 0'
	check '... each once, by the tables' audit torn
	check '... and the ledger balances' jobstack check -s torn
}
advised() { # what check says at its end
	jobstack check -s torn >checked
	grep -F '`jobstack recover -s torn`' checked
}

make ''
check 'sound: it balances' jobstack check -s torn
is '... and no command is named' "$(advised)" ''

# -------------------------------------------------------------------------------------------- claims that count what is closed
make "INSERT INTO claim SELECT 7,52,seq,seq,seq,NULL,1,1,0,0,0,NOW() FROM $(numbers 1 54)"
is 'of a dead worker, 54 of them: counted' "$(ledger torn)" '54 0 26 0 0 64'
check '... check names the command' advised
check '... one comes back, and so do the others' says 0 'damaged: 54 of the entries of worker 52 .entry 1 is' jobstack recover -s torn
is '... by the tables' "$(ledger torn)" '54 0 36 0 0 0'
drains

make "INSERT INTO claim VALUES(7,51,9,7,7,NULL,1,1,0,0,0,NOW())"
is 'of an ended worker: the states sum to one too much' "$(ledger torn)" '54 0 26 0 0 11'
check '... check names the command' advised
check '... recover says what it would do' prints 0 '11 would be recovered from 3 dead workers' jobstack recover -s torn --dry-run
check '... recover finds it' prints 0 '10 recovered from 3 dead workers' jobstack recover -s torn
is '... the counters are as before' "$(ledger torn)" '54 0 36 0 0 0'
drains
make "INSERT INTO claim VALUES(7,51,9,7,7,NULL,1,1,0,0,0,NOW())"
check 'a worker finds it by itself, before it leaves' worker -s torn --slots 4 --idle-timeout 2s -- true
is '... ' "$(sql 'SELECT COUNT(*) FROM claim WHERE worker_id=51')" 0

# a claim with entries, of a worker that has ended, and of one whose row was pruned
make "UPDATE worker SET ended=NOW() WHERE worker_id=52; DELETE FROM worker WHERE worker_id=53"
check 'open claims of ended workers: check names the command' advised
check '... the entries come back' prints 0 '10 recovered from 2 dead workers' jobstack recover -s torn
is '... as lost attempts' "$(sql 'SELECT COUNT(*) FROM attempt WHERE outcome=2')" 10
drains

# ------------------------------------------------------------------------------------------------------------ in two places
make "INSERT INTO claim VALUES(7,51,9,72,73,NULL,2,1,0,0,0,NOW()),(7,52,3,73,74,NULL,2,1,0,0,0,NOW()),(7,52,4,74,74,NULL,1,1,0,0,0,NOW())"
check 'in two claims and three: check names the command' advised
check '... recover' says 0 'damaged: ' jobstack recover -s torn
is '... each comes back once' "$(ledger torn)" '54 0 36 0 0 0'
check '... by the tables' audit torn
drains
make "INSERT INTO claim VALUES(7,51,9,68,70,NULL,3,1,0,0,0,NOW())"
check 'in a claim and in line: recover' says 0 'damaged: 3 of the entries of worker 51' jobstack recover -s torn
is '... it stays in line' "$(ledger torn)" '54 0 36 0 0 0'
drains
make "INSERT INTO claim VALUES(7,51,9,7,8,NULL,2,1,0,0,0,NOW()); DELETE FROM attempt WHERE entry_id=7; INSERT INTO set_aside VALUES(7,7,0,0,NULL,NULL,NULL,1);
	UPDATE stack SET done=53,cancelled=1; UPDATE worker SET done=53 WHERE worker_id=51"
check 'in a claim and cancelled: recover' says 0 'damaged: 1 of the entries of worker 51 .entry 7' jobstack recover -s torn
is '... it stays cancelled' "$(ledger torn)" '53 0 36 0 0 0'
check '... by the tables' audit torn

# ---------------------------------------------------------------------------------- a live worker's outcome that is no longer new
# A list of three, one of which gets an outcome from elsewhere while all of them run.
make 'DELETE FROM claim; DELETE FROM worker WHERE worker_id<>51; DELETE FROM span; DELETE FROM entry WHERE entry_id>57;
	UPDATE stack SET pushed=57,tail=57,done=54; INSERT INTO span(stack_id,class,`rank`,pos,lo,hi,ids,attempt,fails,losses)
	VALUES(7,0,0,57,55,57,NULL,1,0,0)'
worker -s torn --slots 3 --batch 3 -- sh -c 'touch "began${1##*/}"; until [ -e go ]; do sleep 0.05; done' - {} >worker.out 2>&1 &
all_run() { [[ -e began55 && -e began56 && -e began57 ]]; }
check 'three run' wait_for 20 all_run
sql "INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) VALUES(7,56,1,51,0,1,NOW());
	UPDATE stack SET done=done+1; UPDATE worker SET done=done+1 WHERE worker_id=51"
touch go
wait $!
is 'the worker goes on to its end' $? 0
like '... it says what did not count' "$(cat worker.out)" 'damaged: 1 of the entries of worker [0-9]+ \(entry 56 is'
is '... all are done' "$(ledger torn)" '57 0 0 0 0 0'
is '... the first outcome is kept' "$(sql 'SELECT worker_id FROM attempt WHERE entry_id=56')" 51
check '... the ledger balances' jobstack check -s torn
check '... by the tables' audit torn

# ------------------------------------------------------------------------------------------------------ what can't be mended
make "INSERT INTO claim VALUES(7,52,3,0,0,'0000xx0016,',1,1,0,0,0,NOW())"
check 'a claim that can not be read: the others of its worker come back' says 0 "a claim of worker 52 can't be read" jobstack recover -s torn
is '... ' "$(ledger torn)" '54 0 36 0 0 1'
make "DELETE FROM claim WHERE worker_id=52; INSERT INTO claim VALUES(7,52,3,0,0,'0000xx0016,',1,1,0,0,0,NOW())"
check 'of a worker with no other: said' says 70 'a claim in the database is damaged: `jobstack check -s torn`' jobstack recover -s torn
is '... and those of other workers come back' "$(sql 'SELECT COUNT(*) FROM claim WHERE worker_id=53')" 0
make "DELETE FROM span WHERE pos=90"
jobstack check -s torn >checked
like 'nowhere: check says that no command helps' "$(cat checked)" 'lost: no command of jobstack puts this right'
finish
