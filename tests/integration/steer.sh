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
policy=$'max-attempts=3\nmax-losses=5\nretry-delay=5s\nmax-running=none\nmax-failures=none'
check 'set alone prints the policy' prints 0 "$policy" jobstack set -s words
check '... which can be given again' prints 0 "$policy" jobstack set -s words $policy
check 'all of it at once' prints 0 $'max-attempts=4\nmax-losses=6\nretry-delay=1.5s\nmax-running=7\nmax-failures=8' \
	jobstack set -s words max-attempts=4 max-losses=6 retry-delay=1.5s max-running=7 max-failures=8 priority=-3
check 'JSON' prints 0 '{"stack":"words","max_attempts":4,"max_losses":6,"retry_delay_seconds":90.0,"max_running":null,"max_failures":8}' \
	jobstack set -s words --json retry-delay=1:30 max-running=none
is '... priority' "$(sql "SELECT DISTINCT \`rank\` FROM span JOIN stack USING(stack_id) WHERE name='words'")" 3
check 'quiet' prints 0 '' jobstack set -q -s words max-failures=none
for bad in color=red color '=1' '' --max-attempts=3 MAX-RUNNING=1 'max-running =1'; do
	check "no policy: $bad" says 2 'no policy|not KEY=VALUE|no option' jobstack set -s words "$bad"
done
for bad in max-attempts= max-attempts=0 max-attempts=-1 max-attempts=1.5 max-attempts=x max-attempts=99999999999 max-losses=0 max-losses=none \
	max-running=0 max-running=-1 max-running=2,5 max-failures=few priority=high priority=1e3 retry-delay=soon retry-delay=-5 retry-delay=999d; do
	check "no value: $bad" says 2 "${bad%%=*} takes .*, not \"${bad#*=}\"" jobstack set -s words "$bad"
done
check 'all or nothing' says 2 'max-running takes a whole number from 1 to [0-9]*, or none' jobstack set -s words max-attempts=9 max-running=x
is '... nothing' "$(sql "SELECT max_attempts FROM stack WHERE name='words'")" 4
for command in 'set max-running=1' pause resume 'cancel -q' 'drop --yes' 'prune --older-than 1d'; do
	check "no such stack: $command" says 2 'there is no stack "nosuch"' jobstack ${command%% *} -s nosuch ${command#"${command%% *}"}
	check "no stack's name: $command" says 2 "not a valid stack" jobstack ${command%% *} -s 'a/b' ${command#"${command%% *}"}
done
for command in pause resume cancel drop; do
	check "unexpected argument: $command" says 2 'unexpected argument' jobstack $command -s words words
	check "no such option: $command" says 2 'no option --nosuch' jobstack $command -s words --nosuch
done
for command in cancel 'drop --yes' 'prune --older-than 1d'; do
	check "what destroys needs its -s: $command" says 2 'name the stack to' env JOBSTACK_STACK=words jobstack $command
done
check 'pausing does not' env JOBSTACK_STACK=words jobstack pause -q -m 'for the test'
like '... and says why' "$(jobstack status -s words)" 'for the test'
check 'again' prints 0 'the stack "words" was paused already: 5 ready, 0 waiting, 0 running' jobstack pause -s words -m 'for the test'
check 'resume' prints 0 'the stack "words" is open again: 5 ready, 0 waiting, 0 running' jobstack resume -s words
unlike '... forgets why' "$(jobstack status -s words)" 'for the test'
check 'cancel' prints 0 'the stack "words" is cancelled now: 5 cancelled, 0 running' jobstack cancel -s words
check '... is no place to push to' says 1 'is cancelled' jobstack push -s words /more
check '... nor to requeue to' says 1 'is cancelled' jobstack requeue -s words
check '... nothing is popped from it' fails_with 1 jobstack pop -s words
check 'cancel, JSON' prints 0 '{"stack":"words","state":"cancelled","changed":false}' jobstack cancel -s words --json
check 'pause leaves a cancel as it is' says 1 'is cancelled, so there is nothing to pause: .jobstack resume -s words. undoes the cancel' jobstack pause -s words
is '... it is cancelled still' "$(jobstack status -s words --json | jq -r .state)" cancelled
check 'resume takes it back' prints 0 '{"stack":"words","state":"open","changed":true}' jobstack resume -s words --json
check '... and it is worked on' worker -s words --slots 2 -- true
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
assert status == 1 and "not dropped" in text and '5 entries (5 done, 0 dead' in text, (status, text)
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

# killed in the middle: a session of ours holds an entry, where it has to wait
numbered 1 3 | jobstack push -q -s killed --unique --max-running 3 >/dev/null
worker -s killed --max-entries 1 -- true
coproc HOLD { exec "$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_CNF" -N -B -n "$(sed -n 's/^database=//p' "$JOBSTACK_TEST_CNF")"; }
echo "START TRANSACTION; SELECT entry_id FROM entry WHERE stack_id=$(sql "SELECT stack_id FROM stack WHERE name='killed'") AND entry_id=3 FOR UPDATE;" >&"${HOLD[1]}"
read -r -u "${HOLD[0]}" held
is 'an entry is held' "$held" 3
jobstack drop -q -s killed --yes 2>drop.err &
dropper=$!
check 'a drop waits for it' wait_for 20 state_is killed 3
kill -KILL $dropper
wait $dropper 2>/dev/null
is 'it is killed: the stack is half gone' "$(field killed state)" dropping
for command in 'push /more' 'push --unique /more' 'pause' 'resume' 'cancel' 'set max-running=1' 'requeue' 'prune --older-than 0'; do
	check "nothing can be done with it: $command" says 1 'being dropped.*jobstack drop' jobstack ${command%% *} -s killed ${command#"${command%% *}"}
done
check '... no worker begins' says 1 'being dropped' worker -s killed -- true
check '... nothing is popped' fails_with 1 jobstack pop -s killed
echo "ROLLBACK;" >&"${HOLD[1]}"
exec {HOLD[1]}>&-
check 'drop again goes on' prints 0 'dropped the stack "killed" with 3 entries' jobstack drop -s killed --yes
check 'and nothing of it is left' jobstack check

# workers that idle leave
for end in cancel drop; do
	numbered 1 3 | jobstack push -q -s idle >/dev/null
	jobstack pause -q -s idle
	timeout 300 jobstack-worker -s idle --idle-timeout 300 -- true 2>idle.err &
	pid=$!
	check "a worker idles ($end)" wait_for 20 alive idle 1
	check '... and says what it waits for' wait_for 20 grep -q 'the stack is paused: `jobstack resume -s idle` continues it' idle.err
	check "... the stack goes" jobstack $end -q -s idle $([[ $end == cancel ]] || echo --yes)
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
check '...' jobstack cancel -q -s stop
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
check 'resume says what is in the way' says 1 'has reached its max-failures \(3\).*requeue.*max-failures=N' jobstack resume -s fails
check '... which can be raised' jobstack set -q -s fails max-failures=2000
check '... then it goes on' jobstack resume -q -s fails
seq -f '/r/%.0f' 6 >six
check 'run has them too' sh -c 'jobstack run -q -s run --max-running 2 --max-failures 3 -- true <six'
is '... for the stack' "$(jobstack set -s run | tail -n2)" $'max-running=2\nmax-failures=3'
check '... and no other values' says 2 'max-running takes a whole number from 1' jobstack run -s run --max-running 0 -- true
check '... either' says 2 'max-failures takes a whole number from 1' jobstack run -s run --max-failures=x -- true

# ---------------------------------------------------------------------------------------------------------------- together
# few fail: retries come first, and a worker whose first twenty all fail would pause the stack
numbered 1 400 | jobstack push -q -s both --max-attempts 2 --retry-delay 0 >/dev/null
worker -s both --slots 2 --idle-timeout 300 --shell -- ': {}; [ $((JOBSTACK_ENTRY % 25)) != 0 ]' &
pid=$!
steer() {
	local i
	for ((i = 0; i < 6; i++)); do
		{ jobstack pause -q -s both || [[ $? == 1 ]]; } && jobstack set -q -s both max-running=$((RANDOM % 4 + 1)) priority=$((RANDOM % 9)) &&
			jobstack cancel -q -s both && jobstack resume -q -s both && jobstack set -q -s both max-running=none || return 1
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
