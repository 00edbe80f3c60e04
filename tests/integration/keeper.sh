#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The keeper and the lease: whoever of the two processes is killed or frozen, no command runs on behind it, what it held comes
# back at once, no failure is counted; and a command leaves nothing behind that could still write.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
begin() { # STACK WORKER-OPTIONS...: two commands that hang, each with a child that left its group
	local stack=$1
	shift
	numbered 1 10 | jobstack push -q -s "$stack" >/dev/null
	jobstack-worker -s "$stack" --slots 2 "$@" -- sh -c 'echo $$ >>pids; setsid sh -c "echo \$\$ >>pids; while sleep 0.02; do date >>alive; done" & sleep 1000' 2>said &
	keeper=$!
	check "$stack: two run" wait_for 20 ledger_is "$stack" '0 0 8 0 0 2'
	check '... and what they started' wait_for 20 sh -c '[ "$(wc -l <pids)" = 4 ]'
	child=$(pgrep -P "$keeper" -x jobstack-worker)
}
# Numbers of processes come again.  What this test started runs in its directory, whatever environment it has.
lives() { [[ /proc/$1/cwd -ef . ]]; }
commands_gone() {
	local pid
	while read -r pid; do ! lives "$pid" || return 1; done <pids
}
none_alive() { commands_gone && ! lives "$child"; }
ended_as() { sql "SELECT CONCAT(outcome,' ',COALESCE(reason,'-'),' ',COUNT(*)) FROM attempt JOIN stack USING(stack_id) WHERE name='$1' GROUP BY outcome,reason"; }
again() { rm -f pids alive; }

begin killed
kill -KILL "$child"
check 'the worker is killed: its commands end' wait_for 20 commands_gone
check '... its entries are back' wait_for 20 ledger_is killed '0 0 10 0 0 0'
wait "$keeper"
is '... the keeper ends as it did' $? 137
like '... and says so' "$(cat said)" 'killed by signal 9 \(Killed\): its commands were ended, 2 entries were requeued'
is '... two were lost' "$(ended_as killed)" '2 the worker was killed by signal 9 (Killed) 2'
check '... its audit' audit killed
again

begin keeper
kill -KILL "$keeper"
check 'the keeper is killed: the commands end' wait_for 20 commands_gone
check '... the entries are back' wait_for 20 ledger_is keeper '0 0 10 0 0 0'
check '... the worker ends' wait_for 20 none_alive
wait "$keeper"
is '... two were lost' "$(ended_as keeper)" '2 the worker ended, because the process that watches over it was killed 2'
check '... its audit' audit keeper
again

begin frozen --lease 8 --grace 0.5
kill -STOP "$child"
check 'a frozen worker: its commands end with the lease' wait_for 20 commands_gone
sql "UPDATE worker JOIN stack USING(stack_id) SET lease_us=3000000 WHERE name='frozen' AND ended IS NULL" # what others wait for
is '... its claims are still in its hands' "$(ledger frozen)" '0 0 8 0 0 2'
check '... others take them, and finish' worker -s frozen -- true
is '... everything' "$(ledger frozen)" '10 0 0 0 0 0'
kill -CONT "$child"
check '... it wakes and learns it' wait_for 20 none_alive
wait "$keeper"
is '... and ends with 1' $? 1
like '... and says so' "$(cat said)" 'the lease was lost'
like '... the loss has a reason' "$(ended_as frozen)" '2 silent for [0-9]+ s.* 2'
check '... its audit' audit frozen
again

begin asleep --lease 8 --grace 0.5
kill -STOP "$child"
check 'a frozen worker that nobody missed: its commands end' wait_for 20 commands_gone
kill -CONT "$child"
check '... it wakes, and goes on with new ones' wait_for 20 sh -c '[ "$(wc -l <pids)" = 8 ]'
like '... what was ended counts as no failure' "$(ended_as asleep)" '^3 the lease could not be kept 2$'
kill -TERM "$keeper"
wait "$keeper"
is '... TERM to the keeper drains the worker' $? 0
is '... and all goes back' "$(ledger asleep)" '0 0 10 0 0 0'
check '... nothing is left of the commands' commands_gone
check '... its audit' audit asleep
again

# nohup
numbered 1 2 | jobstack push -q -s nohup >/dev/null
nohup jobstack-worker -q -s nohup -- sh -c 'touch began; while ! test -e go; do sleep 0.05; done' >/dev/null 2>&1 &
keeper=$!
check 'under nohup: one runs' wait_for 20 test -e began
kill -HUP "$keeper" "$(pgrep -P "$keeper" -x jobstack-worker)"
touch go
wait "$keeper"
is '... a hangup is not heard' "$? $(ledger nohup)" '0 2 0 0 0 0 0'

# --on-lease-loss finish
begin finish --lease 8 --on-lease-loss finish
like 'finish says what it waives' "$(cat said)" 'an entry may run twice'
kill -STOP "$child"
sql "UPDATE worker JOIN stack USING(stack_id) SET beat=UTC_TIMESTAMP(6)-INTERVAL 9 SECOND,lease_us=2000000 WHERE name='finish' AND ended IS NULL"
check '... on this host nothing is taken while they run' says 1 'still runs here \(process [0-9]+, s[a-z]+\): kill it' jobstack recover -s finish
sql "UPDATE worker JOIN stack USING(stack_id) SET identity=JSON_SET(identity,'\$.host','elsewhere') WHERE name='finish' AND ended IS NULL"
check '... those on another take its entries' worker -s finish -- true
check '... while its commands run on' sh -c 'kill -0 $(head -1 pids)'
kill -KILL "$child"
wait "$keeper"
check '... until it is killed' commands_gone
is '... all is done, once' "$(ledger finish)" '10 0 0 0 0 0'
check '... its audit' audit finish
again

# what a command leaves behind
numbered 1 6 | jobstack push -q -s orphans >/dev/null
check 'commands that leave processes behind' worker -s orphans --slots 2 -- sh -c 'setsid sh -c "echo \$\$ >>pids; while sleep 0.01; do echo late; done" & sleep 0.2; echo mine $JOBSTACK_ENTRY'
check '... nothing is left of them' commands_gone
is '... nobody has written into the output of another' "$(for i in 1 2 3 4 5 6; do jobstack logs -s orphans $i | grep -c "mine $i\$"; done | tr -d '\n')" 111111
again

# ... also behind the last of many short ones, while a long one goes on
numbered 1 31 | jobstack push -q -s short >/dev/null
cat >leave <<'END'
case $JOBSTACK_ENTRY in
31) while ! test -e go2; do sleep 0.02; done ;;
2 | 9 | 16 | 23 | 30)
	setsid sh -c 'echo $$ >>pids; exec sleep 1000' &
	while ! grep -q . pids; do sleep 0.01; done
	;;
esac
END
: >pids
jobstack-worker -q -s short --slots 2 -- sh leave &
keeper=$!
check 'short commands that leave processes behind' wait_for 20 ledger_is short '30 0 0 0 0 1'
check '... nothing is left of them' wait_for 20 commands_gone
is '... while a long one goes on' "$(ledger short)" '30 0 0 0 0 1'
touch go2
wait "$keeper"
is '... and ends well' "$? $(ledger short)" '0 31 0 0 0 0 0'
again

# ... and what does not show at first whose it is, as a process that is just becoming another program
numbered 1 2 | jobstack push -q -s untold >/dev/null
cat >leave <<'END'
mine="JOBSTACK_WORKER=$JOBSTACK_WORKER JOBSTACK_ENTRY=$JOBSTACK_ENTRY JOBSTACK_ATTEMPT=$JOBSTACK_ATTEMPT"
case $JOBSTACK_ENTRY in
1)
	while ! test -e elder; do sleep 0.02; done # what runs then may have started it, by age
	setsid env -i PATH="$PATH" sh -c 'echo $$ >>pids; while ! test -e shows; do sleep 0.02; done; exec env '"$mine"' sleep 1000' &
	while ! grep -q . pids; do sleep 0.01; done
	;;
2) : >elder && while ! test -e go3; do sleep 0.02; done ;;
esac
END
: >pids
jobstack-worker -q -s untold --slots 2 -- sh leave &
keeper=$!
check 'left behind, and it can not be told by whom' wait_for 20 ledger_is untold '1 0 0 0 0 1'
check '... is left alone while a command runs' kill -0 "$(<pids)"
touch shows
check '... until it can be told' wait_for 20 commands_gone
is '... while the other goes on' "$(ledger untold)" '1 0 0 0 0 1'
touch go3
wait "$keeper"
is '... and ends well' "$? $(ledger untold)" '0 2 0 0 0 0 0'
again

# ... and what never shows it: when all that runs is younger
numbered 1 3 | jobstack push -q -s silent >/dev/null
cat >leave <<'END'
case $JOBSTACK_ENTRY in
1)
	while ! test -e began2; do sleep 0.02; done
	setsid env -i PATH="$PATH" sh -c 'echo $$ >>pids; sleep 1000' &
	while ! grep -q . pids; do sleep 0.01; done
	sleep 0.05 # the kernel tells ages in hundredths of a second
	;;
2 | 3)
	: >"began$JOBSTACK_ENTRY"
	while ! test -e "end$JOBSTACK_ENTRY"; do sleep 0.02; done
	;;
esac
END
: >pids
jobstack-worker -q -s silent --slots 2 -- sh leave &
keeper=$!
check 'left behind in silence: one younger runs, and one older' wait_for 20 test -e began3
check '... it is left alone' kill -0 "$(<pids)"
touch end2
check '... until the older one has ended' wait_for 20 commands_gone
check '... while the younger goes on' wait_for 20 ledger_is silent '2 0 0 0 0 1'
touch end3
wait "$keeper"
is '... and ends well' "$? $(ledger silent)" '0 3 0 0 0 0 0'
again

# ... but a daemon that a running command started lives as long as the entry does, though what was between them has ended
numbered 1 1 | jobstack push -q -s daemon >/dev/null
cat >leave <<'END'
(setsid sh -c 'echo $$ >between; sh -c "echo \$\$ >pids; while sleep 0.02; do echo tick >>ticks; done" & exit' &)
while ! grep -q . between pids; do sleep 0.02; done
while kill -0 "$(cat between)"; do sleep 0.02; done 2>/dev/null # it has ended, and was collected
: >ticks
while [ "$(wc -l <ticks)" -lt 3 ]; do kill -0 "$(cat pids)" || exit; sleep 0.02; done
END
check 'a daemon of a command that runs' worker -s daemon -- sh leave
is '... lives while it does' "$(ledger daemon)" '1 0 0 0 0 0'
check '... and is ended with the entry' wait_for 20 commands_gone
again

# children from before the worker was started are not ours, nor is what those start, whatever becomes of the worker
cat >before <<'END'
sh -c 'echo $$ >>pids; while ! test -e fork; do sleep 0.02; done; sh -c "setsid sh -c \"echo \\\$\\\$ >>pids; exec sleep 1000\" & wait \$!" & exec sleep 1000' &
exec "$@"
END
with_before() { # STACK COMMAND...: the worker of COMMAND, when an entry of STACK runs and the helper has forked
	local stack=$1
	shift
	numbered 1 3 | jobstack push -q -s "$stack" >/dev/null
	rm -f fork go4 && : >pids
	"$@" -s "$stack" -- sh -c 'while ! test -e go4; do sleep 0.02; done' 2>said &
	front=$!
	check "$stack: one runs" wait_for 20 ledger_is "$stack" '0 0 2 0 0 1'
	: >fork
	check '... and what was there before starts something' wait_for 20 sh -c '[ "$(wc -l <pids)" = 2 ]'
	kill -KILL "$(ps -o ppid= -p "$(tail -1 pids)")" # which becomes an orphan
	keeper=$(ps -o ppid= -p "$(worker_pids "$stack")" | tr -d ' ')
}
helpers_live() { xargs ps -o stat= -p <pids | grep -vc Z | grep -qx 2; }
with_before helper sh before jobstack-worker -q
: >go4
wait "$front"
is 'a worker beside a helper ends when all is done' "$? $(ledger helper)" '0 3 0 0 0 0 0'
check '... and leaves the helper alone' helpers_live
xargs kill <pids

with_before helperkill sh before jobstack-worker -q
kill -KILL "$(pgrep -P "$keeper" -x jobstack-worker)"
wait "$front"
is 'the worker beside a helper is killed' "$? $(ledger helperkill)" '137 0 0 3 0 0 0'
check '... and the helper is left alone' helpers_live
xargs kill <pids

with_before helperterm sh before jobstack-worker -q --grace 0.1
kill -TERM "$front"
wait "$front"
is 'TERM drains a worker beside a helper' "$? $(ledger helperterm)" '0 0 0 3 0 0 0'
check '... and the helper is left alone' helpers_live
xargs kill <pids

with_before helperfront sh before jobstack-worker -q
kill -KILL "$front"
wait "$front"
check 'what was started beside a helper is killed: the worker ends' wait_for 20 ledger_is helperfront '0 0 3 0 0 0'
check '... and leaves the helper alone' helpers_live
xargs kill <pids

# ... and orphans that come to us because this process had asked for them before it became a worker
with_before subreaper python3 -c 'import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) # PR_SET_CHILD_SUBREAPER
os.execvp(sys.argv[1], sys.argv[1:])' sh before jobstack-worker -q
kill -KILL "$(head -1 pids)"
: >go4
wait "$front"
is 'a worker that gets orphans ends when all is done' "$? $(ledger subreaper)" '0 3 0 0 0 0 0'
check '... and leaves them alone' kill -0 "$(tail -1 pids)"
xargs kill <pids 2>/dev/null
again

# an entry whose workers were lost twice runs with the other slots empty
numbered 1 8 | jobstack push -q -s alone >/dev/null
sql "UPDATE span SET losses=2 WHERE stack_id=(SELECT stack_id FROM stack WHERE name='alone')"
check 'lost twice before: one at a time' worker -s alone --slots 4 -- sh -c 'mkdir only && sleep 0.05 && rmdir only'
is '... all well' "$(ledger alone)" '8 0 0 0 0 0'
finish
