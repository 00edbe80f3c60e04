#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack-worker --persistent: one process a slot, and what becomes of every way in which it may answer, or not.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

outcomes() { sql "SELECT CONCAT_WS(' ',entry_id,attempt,ELT(outcome+1,'done','failed','lost','interrupted'),COALESCE(exit_code,'-'),COALESCE(signo,'-'))
	FROM attempt JOIN stack USING(stack_id) WHERE name='$1' ORDER BY entry_id,attempt"; }
reasons() { sql "SELECT CONCAT_WS(' ',entry_id,attempt,COALESCE(reason,'-')) FROM attempt JOIN stack USING(stack_id) WHERE name='$1'
	ORDER BY entry_id,attempt"; }
persistent() { worker --persistent "$@"; }

# A command whose behaviour stands in the names: it says its pid, then for each entry evaluates the last part of the name.
cat >by-name.sh <<'S'
echo $$ >>"$JOBSTACK_STACK.pids"
while IFS=' ' read -r entry attempt path; do
	eval "$(cat "acts/${path##*/}")"
done
echo eof >>"$JOBSTACK_STACK.eof"
S
mkdir acts
action() { printf '%s\n' "$2" >"acts/$1"; } # NAME COMMANDS
action ok 'echo done'
by_name() { persistent "$@" -- bash by-name.sh; }
# push_names STACK NAME...: once each, in this order
push_names() {
	local stack=$1
	shift
	printf '/d/%s\n' "$@" | jobstack push -q -s "$stack" --max-attempts 1 --retry-delay 0 >/dev/null
}

# many entries, one process a slot
numbered 1 3000 | jobstack push -q -s many >/dev/null
check 'many entries' persistent -s many --slots 3 --shell -- 'echo $$ >>many.pids; while read -r e a p; do printf "%s\n" "$p" >>"many.$$"; echo done; done'
is '... all done' "$(ledger many)" '3000 0 0 0 0 0'
is '... by one process a slot' "$(sort -u many.pids | wc -l) $(wc -l <many.pids)" '3 3'
is '... each once' "$(cat many.[0-9]* | sort | uniq -c | awk '$1==1' | wc -l)" 3000
check '... its audit' audit many
check '... no process is left' none_of_ours $(<many.pids)

# names of any bytes, and what the command finds in its environment
python3 - <<'P' >odd
import sys
names = [b"/with blank", b" leading and trailing ", b"/new\nline", b"\n", b"\r", b"/cr\rlf\r\n", b"/back\\slash\\n", b"\\", b"/\xff\xfe\x80",
         b"/" + bytes(range(1, 256)), b"/" + b"x" * 4095, b"\n" * 4096, b"done", b"failed 3"]
sys.stdout.buffer.write(b"".join(n + b"\0" for n in names))
P
cat >odd.py <<'P'
import os, re, sys
assert "JOBSTACK_ENTRY" not in os.environ and "JOBSTACK_DATAPATH" not in os.environ and "JOBSTACK_ATTEMPT" not in os.environ
assert os.environ["JOBSTACK_PERSISTENT"] == "1" and os.environ["JOBSTACK_STACK"] == "odd", os.environ
assert os.environ["JOBSTACK_SLOT"] in "12" and sys.argv[1:] == [os.environ["JOBSTACK_SLOT"]] and int(os.environ["JOBSTACK_WORKER"]) > 0
assert os.getpgid(0) == os.getpid()
for line in sys.stdin.buffer:
    entry, attempt, name = line[:-1].split(b" ", 2)
    name = re.sub(rb"\\(.)", lambda m: {b"n": b"\n", b"r": b"\r", b"\\": b"\\"}[m.group(1)], name)
    with open(b"got." + entry, "wb") as f:
        f.write(name)
    os.write(1, b"done\n")
P
jobstack push -q -0 -s odd -a odd >/dev/null
check 'odd names' env JOBSTACK_ENTRY=9 JOBSTACK_ATTEMPT=9 JOBSTACK_DATAPATH=x timeout 300 jobstack-worker -q -s odd --slots 2 --persistent -- python3 odd.py '{%}'
check '... byte for byte' python3 -c "
names = open('odd','rb').read().split(b'\0')[:-1]
for i, n in enumerate(names): assert open('got.%d' % (i + 1),'rb').read() == n, n"
jobstack push -q -s seen /x >/dev/null
check 'an ordinary command has no JOBSTACK_PERSISTENT' env JOBSTACK_PERSISTENT=1 timeout 300 jobstack-worker -q -s seen -- sh -c 'test -z "${JOBSTACK_PERSISTENT+x}"'

# answers
action 3 'echo failed 3 bad: thing'
action none 'echo failed 4'
action zero 'echo failed 0'
action 256 'echo failed 256 far'
action bare 'echo failed'
action text 'echo failed to do it; echo failed -1; echo failed 5x; echo "done "; echo " done"; echo failed 6'
action later 'if [ $attempt = 1 ]; then echo failed 75 not now; else echo done; fi'
action bytes 'printf "failed 7 \xc3\xa4\xff\x1b[1m\ttab\n"'
action long 'printf "failed 8 "; head -c 100000 /dev/zero | tr "\0" y; echo'
action fatal 'echo failed 9 fatal'
push_names answers ok 3 none zero 256 bare text later bytes long
check 'answers' by_name -s answers
is '... with their codes' "$(outcomes answers)" "1 1 done 0 -
2 1 failed 3 -
3 1 failed 4 -
4 1 failed 1 -
5 1 failed 1 -
6 1 failed 1 -
7 1 failed 6 -
8 1 interrupted 75 -
8 2 done 0 -
9 1 failed 7 -
10 1 failed 8 -"
is '... and messages' "$(reasons answers | cut -c1-70)" "1 1 -
2 1 bad: thing
3 1 failed 4
4 1 it answered \"failed\" with a code that is not 1 to 255
5 1 it answered \"failed\" with a code that is not 1 to 255: far
6 1 it answered \"failed\" without a code from 1 to 255
7 1 failed 6
8 1 deferred: not now
8 2 -
9 1 ä??[1m tab
10 1 $(printf 'y%.0s' {1..65})"
is '... bounded' "$(reasons answers | tail -1 | wc -c)" 245
is '... all by one process' "$(wc -l <answers.pids)" 1
is '... what is no answer is output' "$(jobstack logs -s answers 7)" $'failed to do it\nfailed -1\nfailed 5x\ndone \n done'
jobstack push -q -s fatal --max-attempts 3 /d/fatal >/dev/null
check '--fatal-exit' by_name -s fatal --fatal-exit 9
is '... dead at once' "$(ledger fatal)" '0 1 0 0 0 0'
action seat 'if [ $attempt = 1 ]; then echo failed 1 no licence left; else echo done; fi'
push_names seats seat
check '--defer-match knows answers' by_name -s seats --defer-match 'no licence'
is '... by their message' "$(outcomes seats)" $'1 1 interrupted 1 -\n1 2 done 0 -'

# output, kept apart
action one 'echo "out 1"; echo "err 1" >&2; echo done'
action quiet 'echo done'
action two 'printf "no end"; echo; echo "err 2" >&2; echo "out 2"; echo done; '
action big 'head -c 3000000 /dev/zero | tr "\0" x; echo; head -c 2000000 /dev/zero >&2; echo done'
push_names out one quiet two big one
check 'output' by_name -s out
is '... of each entry' "$(for e in 1 3 5; do jobstack logs -s out $e; done 2>both; cat both)" $'out 1\nno end\nout 2\nout 1\nerr 1\nerr 2\nerr 1'
is '... its stderr alone' "$(jobstack logs -s out 3 --stderr)" 'err 2'
is '... a line without an end, of megabytes' "$(jobstack logs -s out 4 --stdout | wc -c) $(jobstack logs -s out 4 --stderr | wc -c)" '3000001 2000000'
push_names before ok ok
check 'what is printed before a request' persistent -s before --shell -- 'echo up; echo uperr >&2; while read -r e a p; do echo done; echo "after $e"; done'
like '... goes with the next entry' "$(jobstack logs -s before 1 2>&1)" '^up.uperr'
push_names own one two one
check '--output and --error' by_name -s own --output 'own/{#}.out' --error 'own/{#}.err'
is '... a file an entry' "$(cat own/1.out own/1.err own/2.out own/2.err own/3.out)" $'out 1\nerr 1\nno end\nout 2\nerr 2\nout 1'
push_names dash one two
is '--output -' "$(by_name -s dash --output - 2>/dev/null)" $'out 1\nno end\nout 2'
push_names created ok ok
touch made.1
check '--creates' by_name -s created --creates 'made.{#}'
is '... there already: done; missing afterwards: failed' "$(outcomes created)" $'1 1 done - -\n2 1 failed 0 -'

# ends under an entry
action exit5 'exit 5'
action exit0 'exit 0'
action exit75 'if [ $attempt = 1 ]; then exit 75; else echo done; fi'
action kill 'kill -SEGV $$'
action kill9 'kill -KILL $$'
action last 'echo done; exit 3'
push_names ends ok exit5 ok exit0 ok kill ok kill9 ok exit75 last ok
check 'ends under an entry' by_name -s ends
is '... charge that entry' "$(outcomes ends | grep -v 'done 0 -')" "2 1 failed 5 -
4 1 failed 0 -
6 1 failed - 11
8 1 failed - 9
10 1 interrupted 75 -"
is '... with a reason' "$(reasons ends | grep -E '^(2|4|6) ')" "2 1 exit 5 without an answer
4 1 exit 0 without an answer
6 1 killed by signal 11 (Segmentation fault)"
is '... and no other' "$(ledger ends)" '8 4 0 0 0 0'
is '... a new process after each' "$(wc -l <ends.pids)" 7
check '... its audit' audit ends

# ends between two entries: the second waits for a fifo, until the process of the first is gone
mkfifo gate
action first 'echo done'
action gate 'echo $$ >gated; read -r go <gate; echo done'
push_names idle first gate first
timeout 300 jobstack-worker -q -s idle --persistent --slots 2 -- bash by-name.sh &
pid=$!
check 'an idle process' wait_for 20 ledger_is idle '2 0 0 0 0 1'
check '... two of them' wait_for 20 sh -c 'test $(wc -l <idle.pids) = 2'
check '... one waits for the gate' wait_for 20 test -s gated
kill -KILL "$(grep -vxF -f gated idle.pids)"
printf '/d/first\n/d/first\n' | jobstack push -q -s idle >/dev/null
check '... killed, charges nobody' wait_for 20 ledger_is idle '4 0 0 0 0 1'
echo go >gate
check '... it ends' wait $pid
is '... all done' "$(ledger idle) $(outcomes idle | grep -vc "done")" '5 0 0 0 0 0 0'
check '... its audit' audit idle

# --timeout
action hang 'sleep 1000'
action stubborn 'trap "" TERM; sleep 1000; sleep 1000'
action slowdone 'trap "echo done; trap - TERM" TERM; sleep 1000 & wait $!'
push_names slow ok hang ok stubborn ok slowdone ok
check '--timeout' by_name -s slow --timeout 6 --grace 0.3 # on a busy machine, a shell may need seconds to start and to answer
is '... the entry failed' "$(outcomes slow | cut -d' ' -f1,3)" $'1 done\n2 failed\n3 done\n4 failed\n5 done\n6 failed\n7 done'
like '... for that reason' "$(reasons slow | grep '^2 ')" 'timeout after 6\.'
is '... a new process after each' "$(wc -l <slow.pids)" 4

# --recycle
push_names recycle ok ok ok ok ok ok ok
check '--recycle' by_name -s recycle --recycle 3
is '... a new process after three' "$(wc -l <recycle.pids) $(wc -l <recycle.eof)" '3 3'
is '... and all is done' "$(ledger recycle)" '7 0 0 0 0 0'

# answers that nobody asked for (both in one write: a shell's own printf makes two, and what comes later may be taken for the
# next one's, as the page says)
action twice 'env printf "done\ndone\n"'
push_names unasked ok twice ok ok
check 'a second answer is told' says 0 'does not belong to a request.*docs/LANGUAGES.md' by_name -s unasked
is '... and charges nobody' "$(ledger unasked) $(outcomes unasked | grep -vc "done")" '4 0 0 0 0 0 0'
is '... a new process' "$(wc -l <unasked.pids)" 2
push_names early ok ok
check 'an answer to what was not read' says 0 'before it had read a request' persistent -s early --shell -- 'echo $$ >>early.pids; yes done'
is '... is none' "$(reasons early)" $'1 1 it answered before it had read the request\n2 1 it answered before it had read the request'
push_names mute ok ok
check 'a closed standard output' persistent -s mute --grace 0.2 --shell -- 'exec >&-; read -r line; sleep 1000'
like '... is no answer' "$(reasons mute)" '^1 1 it closed its standard input or output without an answer'
push_names deaf ok
check 'a closed standard input' persistent -s deaf --grace 0.2 --shell -- 'exec <&-; sleep 1000'
like '... is none either' "$(reasons deaf)" '^1 1 it closed its standard input or output without an answer'
push_names nothing ok
check 'a command that knows nothing of this' persistent -s nothing -- true
is '... fails, and says why' "$(reasons nothing)" '1 1 exit 0 without an answer'

# what is the worker's own fault, or wrong usage
push_names fault ok
check 'a command that is not there' fails_with 2 persistent -s fault -- nosuchcommand
check 'one that is not there for this slot' fails_with 2 persistent -s fault -- './no-{%}'
for place in '{}' '{/}' '{//}' '{.}' '{/.}' '{#}' 'x{}y'; do
	check "$place is refused" says 2 "can't be used in a persistent command" persistent -s fault -- cat "$place"
done
check '... in a script too' says 2 "can't be used in a persistent command" persistent -s fault --shell -- 'while read -r l; do echo {}; done'
check '... and the word of -I' says 2 "@ can't be used in a persistent command" persistent -s fault -I @ -- cat @
check '--recycle is for persistent commands' says 2 'recycle needs --persistent' worker -s fault --recycle 3 -- true
is '... no failure was counted' "$(ledger fault) $(outcomes fault)" '0 0 1 0 0 0 '
check '-I makes {} an ordinary word' persistent -s fault -I @ --shell -- ': {}; while read -r e a p; do echo done; done'
push_names dry ok 3
is '--dry-run prints what it would read' "$(by_name -s dry --dry-run)" $'1 1 /d/ok\n2 1 /d/3'
jobstack push -q -s again '/d/with blank' >/dev/null
persistent -s again --shell -- 'while read -r e a p; do echo "$e $a $p $JOBSTACK_PERSISTENT" >>again.got; echo done; done'
again=$(jobstack show -s again 1 | sed -n '/^by hand:/{n;p}')
bash -c "$again" >/dev/null
is 'the line that reruns it by hand' "$(cat again.got)" $'1 1 /d/with blank 1\n1 1 /d/with blank 1'

# drain: the running entry has its grace, idle processes are told by the end of their input
action wait 'echo $$ >>drain.running; sleep 1000 & wait'
push_names drain ok ok wait
timeout 300 jobstack-worker -q -s drain --persistent --slots 2 --grace 20 -- bash by-name.sh &
pid=$!
check 'TERM: one runs' wait_for 20 test -s drain.running
check '... the others are done' wait_for 20 ledger_is drain '2 0 0 0 0 1'
kill -TERM "$(pgrep -P $pid)" # of timeout
check '... it ends with 0' wait $pid
is '... it goes back without a failure' "$(ledger drain) $(reasons drain | grep '^3')" '2 0 1 0 0 0 3 1 the worker was told to end by a signal'
is '... the idle one saw the end of its input' "$(wc -l <drain.pids) $(wc -l <drain.eof)" '2 1'
check '... its audit' audit drain
action slow 'sleep 1; echo done'
push_names grace slow
timeout 300 jobstack-worker -q -s grace --persistent --grace 100 -- bash by-name.sh &
pid=$!
check 'TERM: it runs' wait_for 20 ledger_is grace '0 0 0 0 0 1'
check '... and has begun' wait_for 20 test -s grace.pids
kill -TERM "$(pgrep -P $pid)"
check '... it ends with 0' wait $pid
is '... within its grace it is done' "$(ledger grace)" '1 0 0 0 0 0'

# kill -9 of the worker: its keeper ends the commands, and the entries are back
action waitmany 'echo $$ >>killed.running; setsid sleep 1000 & sleep 1000'
push_names killed waitmany waitmany ok
timeout 300 jobstack-worker -q -s killed --persistent --slots 2 -- bash by-name.sh &
pid=$!
check 'kill -9: two run' wait_for 20 sh -c 'test $(wc -l <killed.running) = 2'
kill -KILL "$(pgrep -P "$(pgrep -P $pid)" -x jobstack-worker)"
check '... 128 + 9' fails_with 137 wait $pid
check '... its commands are gone' none_of_ours $(<killed.pids)
is '... and its entries back' "$(ledger killed) $(outcomes killed | cut -d' ' -f3 | sort | uniq -c | tr -s ' ')" '0 0 3 0 0 0  2 lost'
action waitmany 'echo done'
check '... they run again' by_name -s killed
is '... to their end' "$(ledger killed)" '3 0 0 0 0 0'
check '... its audit' audit killed

# kill -9 of the keeper; and of both
for who in keeper both; do
	action "wait$who" "echo \$\$ >>$who.running; sleep 1000"
	push_names $who "wait$who"
	timeout 300 jobstack-worker -q -s $who --persistent -- bash by-name.sh 2>/dev/null &
	pid=$!
	check "kill -9 of $who: it runs" wait_for 20 test -s $who.running
	keeper=$(pgrep -P $pid)
	if [[ $who == keeper ]]; then
		kill -KILL "$keeper"
	else
		freeze $who
		kill_frozen
	fi
	wait $pid
	check '... its command ends' wait_for 20 none_of_ours $(<$who.pids)
	check '... the entry comes back' wait_for 20 sh -c "jobstack recover -q -s $who >/dev/null 2>&1; jobstack list -s $who -t ready -o entry | grep -qx 1"
	check '... its audit' audit $who
done

# what a process left behind goes when it ends, and lives while it lives
action leave 'setsid sleep 1000 & echo $! >>left; echo done'
action bye 'kill -0 $(cat left) && echo alive >was; exit 1'
push_names left leave ok bye ok
check 'what a process left behind' by_name -s left
is '... lives as long as it does' "$(cat was)" alive
check '... and no longer' none_of_ours $(<left)

# the breaker
action bad 'echo failed 1 no'
for _ in {1..30}; do echo /d/bad; done | jobstack push -q -s breaker >/dev/null
check 'the first 20 all fail: the breaker' fails_with 1 by_name -s breaker
is '... pauses the stack' "$(sql "SELECT state FROM stack WHERE name='breaker'")" 1

# jobstack run
check 'jobstack run takes it' sh -c 'printf "a\nb\n" | jobstack run -q -s run --persistent --recycle 1 --shell -- "echo x >>run.pids; while read -r e a p; do echo done; done"'
is '... ' "$(ledger run) $(wc -l <run.pids)" '2 0 0 0 0 0 2'

# usage: of long entries only
action busy 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done'
push_names usage ok busy
check 'usage' by_name -s usage
is '... of a long entry' "$(sql "SELECT GROUP_CONCAT(user_us+system_us>=50000 ORDER BY entry_id) FROM attempt JOIN stack USING(stack_id) WHERE name='usage'")" '0,1'
is '... what is counted for a whole process is not known of one entry' "$(sql "SELECT COUNT(maxrss_kib)+COUNT(read_bytes)+COUNT(major_faults) FROM attempt JOIN stack USING(stack_id) WHERE name='usage'")" 0
finish
