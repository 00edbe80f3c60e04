#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack wait: it ends when nothing is left to do, with a status that says how; in time; through pauses, and kindly.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
export TERM=xterm
unset NO_COLOR COLUMNS
in_pty() { "$JOBSTACK_SOURCE/tests/support/in-pty" "$@"; }
jobstack init -q
push() { local stack=$1; shift; jobstack push -q -s "$stack" "$@" >/dev/null; }
pop_and_close() { (eval "$(jobstack pop -s "$1")" && jobstack close --exit "$2"); }

like '--help' "$(jobstack wait --help)" '^usage: jobstack wait '
check 'a word is a stack' says 2 'there is no stack "x"' jobstack wait x
check 'an invalid time' says 2 'takes a duration' jobstack wait --timeout soon
check 'no such stack' says 2 'there is no stack "nosuch"' jobstack wait -s nosuch
push alone /1
push paused-one /1
jobstack pause -q -s paused-one
timeout 300 jobstack wait -q -s alone 2>alone.err &
alone=$!
push a /1 /2
check 'the time runs out' says 124 'the --timeout is over: .jobstack status -s a --why' jobstack wait -s a --timeout 0.3
like '... in JSON' "$(jobstack wait -s a --timeout 0 --json)" '"stack":"a".*"pushed":2,"done":0,"dead":0,"cancelled":0,"left":2,.*"timed_out":true'
timeout 300 jobstack wait -s a >waited &
waiter=$!
pop_and_close a 0
pop_and_close a 0
check 'all is done' wait $waiter
is '... and told' "$(cat waited)" '2 done, 0 dead, 0 left'
check '-q tells nothing' prints 0 '' jobstack wait -q -s a
push dead --max-attempts 1 /1 /2
pop_and_close dead 1
pop_and_close dead 0
check 'something is dead' says 1 'jobstack list -s dead -t dead' jobstack wait -s dead
push given-up /1 /2
pop_and_close given-up 0
jobstack cancel -q -s given-up --all
check 'something is cancelled' prints 1 '1 done, 0 dead, 0 left, the rest cancelled' jobstack wait -s given-up
# a pause is told once, and is no end
push paused /1
jobstack pause -q -s paused
timeout 300 jobstack wait -s paused >waited 2>said.err &
waiter=$!
check 'a pause is told' wait_for 20 grep -q 'is paused: .jobstack resume -s paused' said.err
jobstack resume -q -s paused
pop_and_close paused 0
check '... and waited for' wait $waiter
is '... told once' "$(grep -c paused said.err)" 1
# somebody who pushes
mkfifo pipe
jobstack push -q -s slow <pipe >/dev/null &
pusher=$!
exec 7>pipe
echo /1 >&7
check 'the first is there' wait_for 20 ledger_is slow '0 0 1 0 0 0'
pop_and_close slow 0
check 'while somebody pushes it is not over' fails_with 124 jobstack wait -q -s slow --timeout 0.3
exec 7>&-
wait $pusher
check '... and then it is' jobstack wait -q -s slow
# dropped, interrupted, on a terminal
push gone /1
timeout 300 jobstack wait -s gone 2>said.err &
waiter=$!
jobstack drop -q -y -s gone
check 'a stack that is dropped meanwhile' fails_with 2 wait $waiter
push t /1 /2
check 'progress on a terminal, in one line' fails_with 130 in_pty --size 20x5 --out w expect='0\.0 %, 2 left' signal=INT -- jobstack wait -s t
check '... of the terminal'\''s width' python3 -c '
import re
for line in re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", open("w", "rb").read().decode())):
    assert len(line) <= 20, line'
check 'SIGTERM ends it' fails_with 143 in_pty --out w expect='left' signal=TERM -- jobstack wait -s t
# nobody works there: that is told once, also with -q, with the reason of the last worker's end and without its command again
check 'no worker: said' wait_for 60 grep -q 'alone: 1 left, but no worker is running: .jobstack run -s alone COMMAND {}. starts one here' alone.err
check '--fail-idle ends it' says 3 'alone: 1 left, but no worker is running' timeout 100 jobstack wait -q -s alone --fail-idle=0.2
check '... not while the stack is paused' fails_with 124 jobstack wait -q -s paused-one --fail-idle=0 --timeout 0.5
push broken /1
check 'a command that is not there' fails_with 2 env PATH="$(dirname "$(command -v jobstack)"):/bin" jobstack-worker -s broken -- mytool {}
check '... is why nobody works there' says 3 "broken: 1 left, but no worker is running: the last one ended .* ago on .*: can.t run mytool: not found in .*: correct that first" \
	jobstack wait -q -s broken --fail-idle=0
like '... status tells it' "$(jobstack status -s broken)" $'\nno worker is running: the last one ended .* ago on .*: can.t run mytool: not found in '
like '... --why, too' "$(jobstack status -s broken --why)" '1 is ready, and no worker is running: the last one ended .*: can.t run mytool: .*: correct that first'
like '... --why of all stacks does not say more than it has read' "$(jobstack status --why)" $'broken: 1 is ready, and no worker is running: .jobstack run '
like '... and report' "$(jobstack report -s broken)" 'no worker is running: the last one ended .*: can.t run mytool'
like '... and programs' "$(jobstack status -s broken --json)" '"idle":"no worker is running: the last one ended .*: can.t run mytool'
check 'a directory that is not there' fails_with 2 jobstack-worker -s broken --chdir "$PWD/nosuch" -- true {}
check '... is told, too' says 3 "the last one ended .* --chdir .*/nosuch: No such file" jobstack wait -q -s broken --fail-idle=0
pop_and_close alone 0
check '... and waited for' wait $alone
is '... once' "$(wc -l <alone.err)" 1

# kindly: no connection is held by those who wait for long
for _ in 1 2 3; do timeout 300 jobstack wait -q -s t & done
connections() { sql "SELECT COUNT(*) FROM information_schema.processlist WHERE user=SUBSTRING_INDEX(CURRENT_USER(),'@',1)"; }
seldom() { [[ $(connections) == 1 ]]; }
check 'no connection is held in between' wait_for 20 seldom
pop_and_close t 0
pop_and_close t 0
wait
finish
