#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Steering as it is typed: set, pause, resume, cancel, drop, limits; with bad input, beside real workers, killed in the middle, and by
# two people at once.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
field() { jobstack status -s "$1" --json | python3 -c "import json,sys; print(json.load(sys.stdin)['$2'])"; }
state_is() { [[ $(sql "SELECT state FROM stack WHERE name='$1'") == "$2" ]]; }
alive() { [[ $(sql "SELECT COUNT(*) FROM worker JOIN stack USING(stack_id) WHERE name='$1' AND ended IS NULL") == "$2" ]]; }

# ------------------------------------------------------------------------------------------------------------------- words
numbered 1 5 | jobstack push -q -s words >/dev/null
policy=$'max-attempts=3\nmax-losses=5\nretry-delay=5s\nmax-running=none\nmax-starts=none\nmax-failures=none\nstrict-order=0'
check 'set alone prints the policy' prints 0 "$policy" jobstack set -s words
check '... which can be given again' prints 0 "$policy" jobstack set -s words $policy
check 'all of it at once' prints 0 $'max-attempts=4\nmax-losses=6\nretry-delay=1.5s\nmax-running=7\nmax-starts=6/min\nmax-failures=8\nstrict-order=1' \
	jobstack set -s words max-attempts=4 max-losses=6 retry-delay=1.5s max-running=7 max-starts=6/m max-failures=8 priority=-3 strict-order=1
check 'JSON' prints 0 '{"stack":"words","max_attempts":4,"max_losses":6,"retry_delay_seconds":90.0,"max_running":null,"max_starts":6,"starts_seconds":60.0,"max_failures":8,"strict_order":1}' \
	jobstack set -s words --json retry-delay=1:30 max-running=none
is '... priority' "$(sql "SELECT DISTINCT \`rank\` FROM span JOIN stack USING(stack_id) WHERE name='words'")" 3
check 'quiet' prints 0 '' jobstack set -q -s words max-failures=none
for bad in color=red color '=1' '' --max-attempts=3 MAX-RUNNING=1 'max-running =1'; do
	check "no policy: $bad" says 2 'no policy|not KEY=VALUE|no option' jobstack set -s words "$bad"
done
for bad in max-attempts= max-attempts=0 max-attempts=-1 max-attempts=1.5 max-attempts=x max-attempts=99999999999 max-losses=0 max-losses=none \
	max-running=0 max-running=-1 max-running=2,5 max-failures=few priority=high priority=1e3 strict-order=2 strict-order=yes retry-delay=soon retry-delay=-5 retry-delay=999d; do
	check "no value: $bad" says 2 "${bad%%=*} takes .*, not \"${bad#*=}\"" jobstack set -s words "$bad"
done
check 'all or nothing' says 2 'max-running takes a whole number from 1 to [0-9]*, or none' jobstack set -s words max-attempts=9 max-running=x
is '... nothing' "$(sql "SELECT max_attempts FROM stack WHERE name='words'")" 4
for command in 'set max-running=1' pause resume 'cancel --all' 'drop --yes' 'prune --older-than 1d'; do
	check "no such stack: $command" says 2 'there is no stack "nosuch"' jobstack ${command%% *} -s nosuch ${command#"${command%% *}"}
	check "no stack's name: $command" says 2 "not a valid stack" jobstack ${command%% *} -s 'a/b' ${command#"${command%% *}"}
done
for command in pause resume; do
	check "unexpected argument: $command" says 2 'unexpected argument' jobstack $command -s words words words
	check "no such option: $command" says 2 'no option --nosuch' jobstack $command -s words --nosuch
done
for command in 'cancel --all' 'drop --yes' 'prune --older-than 1d'; do
	check "what destroys needs its -s: $command" says 2 'name the stack' env JOBSTACK_STACK=words jobstack $command
done
check 'pausing does not' env JOBSTACK_STACK=words jobstack pause -q -m 'for the test'
like '... and says why' "$(jobstack status -s words)" 'for the test'
check 'again' prints 0 'the stack "words" was paused already: 5 ready, 0 waiting, 0 running' jobstack pause -s words -m 'for the test'
check 'resume' prints 0 'the stack "words" is open again: 5 ready, 0 waiting, 0 running' jobstack resume -s words
unlike '... forgets why' "$(jobstack status -s words)" 'for the test'
check 'cancel' prints 0 'the stack "words" is cancelled now: 5 cancelled, 0 running' jobstack cancel -s words --all
check '... is no place to push to' says 1 'is cancelled' jobstack push -s words /more
check '... nor to requeue to' says 1 'is cancelled' jobstack requeue -s words
check '... nothing is popped from it' fails_with 1 jobstack pop -s words
check 'cancel, JSON' prints 0 '{"stack":"words","state":"cancelled","changed":false}' jobstack cancel -s words --all --json
check 'pause leaves a cancel as it is' says 1 'is cancelled, so there is nothing to pause: .jobstack resume -s words. undoes the cancel' jobstack pause -s words
is '... it is cancelled still' "$(jobstack status -s words --json | jq -r .state)" cancelled
check 'resume takes it back' prints 0 '{"stack":"words","state":"open","changed":true}' jobstack resume -s words --json
check '... and it is worked on' worker -s words --slots 2 -- true
check '... to the end' ledger_is words '5 0 0 0 0 0'

# ------------------------------------------------------------------------------------------------------------------ entries
# 1 to 3 are dead, 4 is done, 5 runs, 6 to 12 are ready
numbered 1 12 | jobstack push -q -s some --max-attempts 1 >/dev/null
check 'three die' worker -s some --max-entries 3 -- false
check 'one is done' worker -s some --max-entries 1 -- true
eval "$(jobstack pop -q -s some)"
check 'cancel without entries' says 2 'name the entries to cancel.*jobstack cancel some --all. cancels all' jobstack cancel -s some
check '... with all, and some' says 2 'can.t be used with' jobstack cancel -s some --all 6
check '... what runs' says 2 'running entries can.t be cancelled: use .jobstack kill' jobstack cancel -s some -t running
check '... what is done' says 2 'only ready, waiting and dead .* not -t done' jobstack cancel -s some -t 'done'
check '... no number' says 2 'n takes a whole number from 1 on, not "0"' jobstack cancel -s some -n 0
check '... no such entry' says 2 'there is no entry "99"' jobstack cancel -s some 99
check 'none matches' says 1 'no cancellable entry .* matches these options' jobstack cancel -s some --match '*.nc'
check 'a dry run' prints 0 '2 would be cancelled' jobstack cancel -s some -t dead --match '/d/[13]' --dry-run
check 'dead ones are settled' prints 0 '2 cancelled' jobstack cancel -s some -t dead --match '/d/[13]' --note $'no \e[1mdata'
check '... one that is not dead is not' prints 1 '0 cancelled' jobstack cancel -s some -t dead --match '/d/[56]'
like 'show tells why' "$(jobstack show -s some 3)" 'state     cancelled: no .x1b.1mdata'
is '... and list' "$(jobstack list -s some -t cancelled --json | jq -c '[.entry,.attempt,.note]' | tr '\n' ' ')" '[1,1,"no \u001b[1mdata"] [3,1,"no \u001b[1mdata"] '
check 'by number and by name' prints 0 '2 cancelled' jobstack cancel -s some 8 /d/10
check '... again' prints 0 '0 cancelled, 2 cancelled before' jobstack cancel -s some 8 10
check 'what can not be' prints 1 '1 cancelled, 2 refused' jobstack cancel -s some 4 5 11
like '... and why' "$(cat said)" 'entry 5 ./d/5. is refused: it is running: use .jobstack kill -s some 5..*entry 4 ./d/4. is refused: it is done'
check '... in JSON' prints 0 '{"stack":"some","cancelled":0,"already":1,"refused":0,"missing":0,"dry_run":false}' jobstack cancel -s some 11 --json
check 'the rest of one range' prints 0 '1 cancelled' jobstack cancel -s some -t ready --match '/d/9' -n 5
is 'status counts them' "$(jobstack status -s some --json | jq -c '[.ready,.running,.done,.dead,.cancelled]')" '[3,1,1,1,6]'
like '... and check proves it' "$(jobstack check -s some --json)" '"balances":true.*"cancelled":6'
check '... by the tables' audit some
is 'export has them' "$(jobstack export -s some --what entries -t cancelled -o entry,attempt,note | tr -d '\r' | tail -n 1)" '11,0,'
check 'resume does not return them' jobstack resume -q -s some
pop_some() { for ((i = 0; i < $1; i++)); do jobstack pop -q -s some --json; done | jq -c '[.entry,.attempt]' | tr '\n' ' '; }
is 'they are not popped' "$(pop_some 4)" '[6,1] [7,1] [12,1] '
check 'requeue does' prints 0 '6 requeued' jobstack requeue -s some -t cancelled
is '... with their history' "$(pop_some 2)" '[1,2] [3,2] '
check '... the ledger balances' audit some
jobstack cancel -q -s some -t ready
check 'what is cancelled goes with the stack' prints 0 'the stack "some" is cancelled now: 4 cancelled, 6 running' jobstack cancel -s some --all
is '... and stays so when it is open again' "$(jobstack resume -q -s some; jobstack list -s some -t cancelled -o entry | tr '\n' ' ')" '8 9 10 11 '

# ------------------------------------------------------------------------------------------------------------------ asking
in_pty() { "$JOBSTACK_SOURCE/tests/support/in-pty" --size 200x24 --out seen "$@"; }
check 'done entries run again: a terminal is asked' fails_with 1 in_pty expect='run 5 done entries of the stack "words" again. .y/N. ' send=$'n\n' expect='nothing was changed' -- \
	jobstack requeue -s words -t done
check '... nor without an answer' fails_with 1 in_pty expect='y/N' send=$'\4' -- jobstack requeue -s words -t done
check 'prune: a terminal is asked' fails_with 1 in_pty expect='remove 5 done entries of the stack "words", without an archive. .y/N. ' send=$'x\n' -- \
	jobstack prune -s words --older-than 0
check '... nothing has changed' ledger_is words '5 0 0 0 0 0'
check 'requeue --yes does not ask' in_pty -- jobstack requeue -s words -t done -n 1 --yes
check '... a named entry: a terminal is asked, too' in_pty expect='run 1 done entry of the stack "words" again. .y/N. ' send=$'y\n' -- jobstack requeue -s words 3
check 'nobody is asked without a terminal' prints 0 '1 requeued' jobstack requeue -s words -t done -n 1
check '... and they run' worker -s words -- true
check '... to the end' ledger_is words '5 0 0 0 0 0'

# -------------------------------------------------------------------------------------------------------------------- drop
check 'drop without a terminal wants --yes' says 2 '--yes is required' jobstack drop -s words </dev/null
check 'a terminal is asked' python3 - <<'P'
import os, pty
def drop(answer):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("jobstack", ["jobstack", "drop", "-s", "words"])
    text = b""
    while b"[y/N]" not in text:
        text += os.read(fd, 1000)
    os.write(fd, answer)
    try:
        while True:
            more = os.read(fd, 1000)
            if not more:
                break
            text += more
    except OSError:
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.decode()
status, text = drop(b"\n")
assert status == 1 and "nothing was changed" in text and '5 entries (5 done, 0 dead' in text, (status, text)
status, text = drop(b"n\n")
assert status == 1, (status, text)
status, text = drop(b"y\n")
assert status == 0 and "dropped the stack" in text, (status, text)
P
check 'it is gone' says 2 'there is no stack' jobstack status -s words
numbered 1 3 | jobstack push -q -s busy >/dev/null
eval "$(jobstack pop -s busy)"
unset JOBSTACK_STACK
check 'drop while one runs' says 1 'the stack "busy" has running entries \(1\).*recover' jobstack drop -s busy --yes
check '... leaves it as it was' ledger_is busy '0 0 2 0 0 1'
check '... open' state_is busy 0
jobstack close -q -s busy
mkfifo names
jobstack push -q -s busy <names >/dev/null &
pusher=$!
exec 7>names
echo /more >&7
check 'drop while somebody pushes' wait_for 20 ledger_is busy '1 0 3 0 0 0'
check '...' says 1 'a push to the stack "busy" is under way' jobstack drop -s busy --yes
exec 7>&-
wait $pusher
check 'then it goes' prints 0 '{"stack":"busy","dropped":4}' jobstack drop -s busy --yes --json

# killed in the middle, between two pieces of 5,000 spans: a session of ours holds one of the 12,000 retries
numbered 1 12000 | jobstack push -q -s killed --unique --max-running 3 >/dev/null
worker -s killed --max-entries 1 -- true
numbered 1 1 | jobstack push -q -s another >/dev/null
sql "SET @s=(SELECT stack_id FROM stack WHERE name='killed'); DELETE FROM span WHERE stack_id=@s;
	INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,attempt,fails,losses,due) SELECT @s,0,0,entry_id,entry_id,entry_id,2,1,0,NULL FROM entry WHERE stack_id=@s AND entry_id>1"
spans_are() { [[ $(sql "SELECT COUNT(*) FROM span WHERE stack_id=(SELECT stack_id FROM stack WHERE name='killed')") == "$1" ]]; }
check 'all are retries' spans_are 11999
coproc HOLD { exec "$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_CNF" -N -B -n "$(sed -n 's/^database=//p' "$JOBSTACK_TEST_CNF")"; }
echo "START TRANSACTION; SELECT pos FROM span WHERE stack_id=$(sql "SELECT stack_id FROM stack WHERE name='killed'") AND class=0 AND \`rank\`=0 AND pos=9000 FOR UPDATE;" >&"${HOLD[1]}"
read -r -u "${HOLD[0]}" held
is 'a retry is held' "$held" 9000
jobstack drop -q -s killed --yes 2>drop.err &
dropper=$!
check 'a drop waits for it' wait_for 20 spans_are 6999
check '... status, and a pop of another stack, do not' eval 'state_is killed 3 && jobstack status >/dev/null && eval "$(jobstack pop -s another)" && jobstack close -q -s another'
kill -KILL $dropper
wait $dropper 2>/dev/null
is 'it is killed: the stack is half gone' "$(field killed state)" dropping
for command in 'push /more' 'push --unique /more' 'pause' 'resume' 'cancel --all' 'cancel 1' 'set max-running=1' 'requeue' 'prune --older-than 0'; do
	check "nothing can be done with it: $command" says 1 'being dropped.*jobstack drop' jobstack ${command%% *} -s killed ${command#"${command%% *}"}
done
check '... no worker begins' says 1 'being dropped' worker -s killed -- true
check '... nothing is popped' says 1 'is being dropped' jobstack pop -s killed
echo "ROLLBACK;" >&"${HOLD[1]}"
exec {HOLD[1]}>&-
check '... though spans are left, which nobody holds' eval 'fails_with 1 jobstack pop -s killed && ! spans_are 0'
check 'drop again goes on' prints 0 'dropped the stack "killed" with 12000 entries' jobstack drop -s killed --yes
check 'and nothing of it is left' jobstack check

# workers that idle leave
for end in cancel drop; do
	numbered 1 3 | jobstack push -q -s idle >/dev/null
	jobstack pause -q -s idle
	timeout 300 jobstack-worker -s idle --idle-timeout 300 -- true 2>idle.err &
	pid=$!
	check "a worker idles ($end)" wait_for 20 alive idle 1
	check '... and says what it waits for' wait_for 20 grep -q 'the stack is paused: `jobstack resume -s idle` continues it' idle.err
	check "... the stack goes" jobstack $end -q -s idle --yes $([[ $end == drop ]] || echo --all)
	status=0
	wait $pid || status=$?
	is '... and so does it, with 0' "$status" 0
	[[ $end == drop ]] || jobstack resume -q -s idle
done
check 'nothing is left behind' jobstack check
numbered 1 4 | jobstack push -q -s stop >/dev/null
worker -s stop --slots 1 --batch 1 --shell -- ': {}; touch began; until [ -e go ]; do sleep 0.05; done' &
pid=$!
check 'cancel while one runs' wait_for 20 test -e began
check '...' jobstack cancel -q -s stop --all
touch go
status=0
wait $pid || status=$?
is '... it ends as ever, and the worker leaves with 0' "$status $(field stop done) $(field stop cancelled)" '0 1 3'

# ------------------------------------------------------------------------------------------------------------------ limits
cat >counted <<'S'
#!/bin/sh
# counts how many of it there are, and the most that there were; when the limit is raised, each stays until there are five
add() { flock lock sh -c 'n=$(($(cat now) + $1)); echo $n >now; [ $n -le $(cat most) ] || echo $n >most' add "$1"; }
add 1
echo >>began
# the rest waits for the raise, however long that takes
[ "$(wc -l <began)" -le 14 ] || until [ -e raised ]; do sleep 0.05; done
if [ -e raised ]; then
	until [ "$(cat most)" -ge 5 ] || [ -e late ]; do sleep 0.05; done
else
	sleep 0.05
fi
add -1
S
chmod +x counted
echo 0 | tee now >most
numbered 1 60 | jobstack push -q -s limit --max-running 2 >/dev/null
for i in 1 2; do
	worker -s limit --slots 8 -- ./counted &
	pids[i]=$!
done
some_done() { (($(field limit done) >= $1)); }
check 'two workers with eight slots each work' wait_for 30 some_done 12
is '... never more than two commands at once' "$(cat most)" 2
touch raised
check 'the limit is raised while they run' jobstack set -q -s limit max-running=5
check '... up to it' wait_for 20 grep -qx 5 most
touch late
for i in 1 2; do
	status=0
	wait "${pids[i]}" || status=$?
	is "... worker $i ends well" "$status" 0
done
is '... and never beyond' "$(cat most now)" $'5\n0'
check '... all is done' ledger_is limit '60 0 0 0 0 0'
check '... once' audit limit
# below a limit, what ends is followed at once: with a wait of a second or two between them, twenty would take far longer
numbered 1 20 | jobstack push -q -s brisk --max-running 1 >/dev/null
check 'one at a time, one after the other' worker -s brisk --slots 8 -- true
pauses=$(sql "SELECT COUNT(*) FROM attempt a JOIN attempt b ON b.stack_id=a.stack_id AND b.entry_id=a.entry_id+1 JOIN stack s ON
	s.stack_id=a.stack_id WHERE name='brisk' AND b.started>a.ended+INTERVAL 900000 MICROSECOND")
check "... at once, as a rule ($pauses paused)" test "$pauses" -lt 10
check 'a script and a worker share it' ledger_is brisk '20 0 0 0 0 0'

numbered 1 2000 | jobstack push -q -s fails --max-attempts 1 --max-failures 3 >/dev/null
# one in two is well, or the worker would stop for a reason of its own
check 'a worker stops at max-failures' worker -s fails --slots 1 --idle-timeout 0.1s --shell -- ': {}; [ $((JOBSTACK_ENTRY % 2)) = 0 ]'
check '... the stack is paused' state_is fails 1
like '... status tells why' "$(jobstack status -s fails)" 'max-failures: 3 entries are dead'
dead=$(field fails dead)
check "... soon after ($dead)" test "$dead" -lt 400 -a "$dead" -ge 3
is '... with nothing in its hands' "$(field fails running)" 0
check 'resume says what is in the way' says 1 'has reached its max-failures \(3\).*requeue.*max-failures=none' jobstack resume -s fails
check '... which can be raised' jobstack set -q -s fails max-failures=2000
check '... then it goes on' jobstack resume -q -s fails
seq -f '/r/%.0f' 6 >six
check 'run has them too' sh -c 'jobstack run -q -s run --max-running 2 --max-failures 3 -- true <six'
is '... for the stack' "$(jobstack set -s run | sed -n '4p;6p')" $'max-running=2\nmax-failures=3'
check '... and no other values' says 2 'max-running takes a whole number from 1' jobstack run -s run --max-running 0 -- true
check '... either' says 2 'max-failures takes a whole number from 1' jobstack run -s run --max-failures=x -- true

# one in two is well, and one more comes after the pause: run ends, though the stack has entries left
check 'run ends when its stack pauses' says 1 'paused, because of its max-failures.*jobstack status -s halts --why' timeout 100 sh -c \
	'numbered() { seq -f /h/%.0f $1 $2; }; { numbered 1 400; until jobstack status -s halts | grep -q paused; do sleep 0.1; done; numbered 401 401; } 2>/dev/null |
	jobstack run -s halts --slots 1 --max-attempts 1 --max-failures 3 --shell -- ": {}; [ \$((JOBSTACK_ENTRY % 2)) = 0 ]"'
check '... with what is left' test "$(field halts ready)" -gt 0
check '... again, too' says 1 'paused, because of its max-failures' timeout 100 jobstack run -s halts </dev/null

# -------------------------------------------------------------------------------------------------------------------- kill
me=$(id -un)
cat >hang <<'S'
#!/bin/sh
# what it does is in its name; each start is on record
case $1 in *stubborn) trap '' TERM ;; esac
echo "$JOBSTACK_ENTRY" >>kill.started
case $1 in
*stubborn) sleep 1000 & wait; sleep 1000 ;;
*hang) exec sleep 1000 ;;
esac
S
chmod +x hang
started() { [[ -e kill.started && $(sort kill.started | uniq | wc -l) == "$1" ]]; }
asked() { [[ $(sql "SELECT COUNT(*) FROM worker WHERE kills IS NOT NULL AND ended IS NULL") == "$1" ]]; }
seq -f '/k/%.0f.hang' 1 2 | jobstack push -q -s kill >/dev/null
jobstack push -q -s kill /k/3.ok /k/4.stubborn /k/5.hang /k/6.hang >/dev/null
worker -s kill --slots 3 --grace 0.2 --lease 100 --idle-timeout 300 -- ./hang {} &
pid=$!
check 'three start' wait_for 20 started 4
check 'a command is killed by its number' says 0 "entry 1 is dead: killed by $me" jobstack kill -s kill 1
is '... at once, by TERM' "$(jobstack list -s kill -t dead -o datapath,signal,reason)" "/k/1.hang	15	killed by $me"
like '... and shown so' "$(jobstack list -s kill -t dead)" ' 1 killed .*/k/1.hang'
check '... again: nothing changes' says 0 "entry 1 is dead: killed by $me" jobstack kill -s kill 1
check 'by its name, though it ignores TERM; beside one that has ended' says 1 "entry 3 is not running, but done.*entry 4 is dead: killed" \
	jobstack kill -s kill /k/4.stubborn 3
is '... with what it has started' "$(jobstack list -s kill -t dead -o entry,signal | tail -n 1)" $'4\t9'
check 'the next ones start' wait_for 20 started 6
sql "UPDATE worker SET identity=JSON_SET(identity,'\$.host','elsewhere'),node='elsewhere' WHERE ended IS NULL"
nudge() { kill -URG "$(worker_pids kill)"; } # the next heartbeat is now
jobstack kill -s kill 2 2>kill.err &
killer=$!
told() { asked 1 || grep -q 'is dead' kill.err; } # its next heartbeat may come at any time
check 'elsewhere: it is asked' wait_for 20 told
check '... which is said' wait_for 20 grep -q "entry 2 runs on elsewhere (user $me): its worker ends it with its next update, within 33" kill.err
nudge
check '... with the next heartbeat it ends' wait $killer
like '... which is said, too' "$(<kill.err)" 'entry 2 is dead'
freeze kill
jobstack kill -s kill 5 2>kill.err &
killer=$!
check 'who is killed while it waits' wait_for 20 asked 1
kill -KILL $killer
wait $killer 2>/dev/null
set -m # or what runs in the background would ignore Ctrl-C
jobstack kill -s kill 5 2>again.err &
killer=$!
set +m
check '... or gives up' wait_for 20 grep -q 'entry 5 runs on elsewhere' again.err
kill -INT $killer
wait $killer
like '... is told' "$(cat again.err)" 'entry 5 has not ended yet; the request stays, and .jobstack show -s kill 5. shows'
jobstack kill -q -s kill 5 &
killer=$!
kill -CONT "${FROZEN[@]}"
nudge
check '... has asked nevertheless' wait $killer
jobstack push -q -s kill /k/7.hang >/dev/null
check 'the worker works on' wait_for 20 started 7
freeze kill
jobstack kill -q -s kill 6 &
killer=$!
check 'a worker dies before it learns of it' wait_for 20 asked 1
kill_frozen
wait $pid 2>/dev/null
sql "UPDATE worker SET identity=JSON_SET(identity,'\$.host','$(uname -n)') WHERE ended IS NULL"
check '... its entries are recovered' jobstack recover -q -s kill
check '... and that one is dead' wait $killer
check '... the other one is queued: that is for cancel' says 1 'entry 7 is not running, but ready \(its process on .*: .jobstack cancel -s kill 7. gives it up' jobstack kill -s kill 7
check '... all of it is accounted for' ledger_is kill '1 5 1 0 0 0'
check '... once' audit kill
eval "$(jobstack pop -s kill)"
unset JOBSTACK_STACK
check 'what a script has popped' says 1 "entry 7 was popped by a script on .* \(user $me\): end that script, then .jobstack close -s kill 7 --exit 1. records it" \
	jobstack kill -s kill 7
check 'no entry' says 2 'name the entries to kill' jobstack kill -s kill
check '... none of that name' says 2 'there is no entry "/k/8"' jobstack kill -s kill /k/8
check '... no stack' says 2 'there is no stack "nosuch"' jobstack kill -s nosuch 1
check '... the newest stack by its place only' says 2 'name the stack' jobstack kill -s @ 1
rm kill.started
numbered 1 60 | jobstack push -q -s ahead >/dev/null
worker -s ahead --slots 1 --shell -- ': {}; echo $JOBSTACK_ENTRY >>kill.started; [ $JOBSTACK_ENTRY != 30 ] || exec sleep 1000' &
pid=$!
check 'many are claimed ahead' wait_for 20 started 30
ahead() { last=$(sql "SELECT MAX(hi) FROM claim JOIN stack USING(stack_id) WHERE name='ahead'"); ((last > 30)); }
check '... of one that hangs, too' wait_for 20 ahead
jobstack kill -q -s ahead "$last" &
killer=$!
check 'one of them is to be killed' wait_for 20 asked 1
check '... after the one that runs' jobstack kill -q -s ahead 30
check '... it is' wait $killer
wait $pid
is '... without a start' "$(grep -c . kill.started) $(grep -cx "$last" kill.started) $(ledger ahead)" '59 0 58 2 0 0 0 0'
jobstack push -q -s stays /k/1 /k/2 >/dev/null
worker -s stays --persistent --shell -- 'while read -r e a p; do [ $e = 2 ] || { : >stays; sleep 1000 & wait; }; echo done; done' &
pid=$!
check 'a persistent command runs' wait_for 20 test -e stays
check '... and is killed' jobstack kill -q -s stays /k/1
check '... the next one begins' wait $pid
check '... and ends' ledger_is stays '1 1 0 0 0 0'

# ---------------------------------------------------------------------------------------------------------------- together
# few fail: retries come first, and a worker whose first twenty all fail would pause the stack
numbered 1 400 | jobstack push -q -s both --max-attempts 2 --retry-delay 0 >/dev/null
worker -s both --slots 2 --idle-timeout 300 --shell -- ': {}; [ $((JOBSTACK_ENTRY % 25)) != 0 ]' &
pid=$!
steer() {
	local i
	for ((i = 0; i < 6; i++)); do
		{ jobstack pause -q -s both || [[ $? == 1 ]]; } && jobstack set -q -s both max-running=$((RANDOM % 4 + 1)) priority=$((RANDOM % 9)) &&
			jobstack cancel -q -s both --all && jobstack resume -q -s both && jobstack set -q -s both max-running=none || return 1
	done
}
for i in 1 2; do
	steer &
	pids[i]=$!
done
for i in 1 2; do
	check 'two steer at once: none is refused, but a pause of what is cancelled' wait "${pids[i]}"
done
jobstack resume -q -s both
# their last cancel may have sent the worker off
check 'the stack is whole' jobstack check -q -s both
wait $pid
check '... and worked off' worker -s both --slots 2 --shell -- ': {}; [ $((JOBSTACK_ENTRY % 25)) != 0 ]'
check '... to the end' ledger_is both '384 16 0 0 0 0'
jobstack drop -q -s both --yes 2>one.err &
one=$!
two=0
jobstack drop -q -s both --yes 2>two.err || two=$?
status=0
wait $one || status=$?
like 'two drop at once: it is gone, or was' "$status $two" '^[02] [02]$'
check '... and nothing is left' jobstack check
finish
