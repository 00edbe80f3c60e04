#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A machine that was suspended, and a virtual machine that was paused.  A suspended machine's CLOCK_BOOTTIME and wall clock
# have leapt when it goes on, its CLOCK_MONOTONIC has not; of a paused one only the wall clock has, once its host has set it.
# The leaps are made by tests/fault/shim.c.  All bounds are far from what the worker's own timers would do.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
cc -std=c17 -O2 -DCLOCK_ONLY -shared -fPIC -o shim.so "$JOBSTACK_SOURCE/tests/fault/shim.c" -ldl -pthread || exit 1
leap() { # SECONDS OF-BOOTTIME: the clocks from now on
	python3 -c 'import struct, sys; open("clock", "r+b").write(struct.pack("qq", *(int(s) * 10**9 for s in sys.argv[1:])))' "$@"
}
begin() { # STACK WORKER-ARGUMENTS...: a worker under clocks that leap
	stack=$1
	shift
	rm -f clock pids go
	printf '\0%.0s' {1..16} >clock
	env LD_PRELOAD="$PWD/shim.so" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" FAULT_CLOCK="$PWD/clock" \
		jobstack-worker -s "$stack" "$@" 2>"said.$stack" &
	worker=$!
}
runs() { [[ -e pids ]] && (($(wc -l <pids) == $1)); }
gone() { ! ps -o stat= -p "$1" | grep -v Z; } # a frozen worker collects nobody
first_gone() { gone "$(head -n1 pids)"; }
steps() { sql "SELECT seq FROM worker JOIN stack USING(stack_id) WHERE name='$stack'"; }
steps_again() { (($(steps) > before)); }
ended() { sql "SELECT CONCAT(outcome,' ',COALESCE(reason,'-')) FROM attempt JOIN stack USING(stack_id) WHERE name='$stack' ORDER BY entry_id,attempt"; }
# nothing is due before the next beat: the connection was let go
rests() { [[ $(sql 'SELECT COUNT(*) FROM information_schema.processlist WHERE id<>CONNECTION_ID()') == 0 ]]; }
stop() {
	kill -TERM $worker
	wait $worker
}
# shellcheck disable=SC2016
hang='echo $$ >>pids; exec sleep 1000'

jobstack push -q -s longer /a >/dev/null
begin longer --lease 60 --grace 0.2 -- sh -c "$hang"
check 'a command runs' wait_for 30 runs 1
leap 100 100
check 'suspended for longer than the lease: it ends at once' wait_for 30 first_gone
check '... and the entry is run again' wait_for 30 runs 2
is '... no failure is counted' "$(ended)" '3 the lease could not be kept'
# a worker that can't move: then the keeper sees to it
pkill -STOP -P $worker -x jobstack-worker
leap 200 200
check '... so does what runs under a worker that is frozen' wait_for 30 gone "$(tail -n1 pids)"
pkill -CONT -P $worker -x jobstack-worker
stop
check '... its audit' audit longer

for how in '' --persistent; do
	jobstack push -q -s "shorter$how" /a >/dev/null
	# shellcheck disable=SC2086
	begin "shorter$how" --lease 300 --grace 0.2 $how -- sh -c "$hang"
	check "a command runs ${how:-by itself}" wait_for 30 runs 1
	check '... and the worker waits for its next beat' wait_for 30 rests
	before=$(steps)
	leap 150 150
	check 'suspended for less than the lease, but for more than there is between two beats: the worker beats at once' wait_for 30 steps_again
	check '... and the command goes on' kill -0 "$(<pids)"
	before=$(steps)
	leap 250 150
	check 'the wall clock leaps: the worker beats' wait_for 30 steps_again
	before=$(steps)
	leap 0 150
	check '... also when it leaps back' wait_for 30 steps_again
	check '... and the command goes on' kill -0 "$(<pids)"
	stop
	check '... its audit' audit "shorter$how"
done

# While the beat is under way nothing starts of what is in the worker's hands.
{ seq -f '/quick/%.0f' 1 20; seq -f '/slow/%.0f' 1 5; } | jobstack push -q -s waits >/dev/null
# shellcheck disable=SC2016
begin waits --lease 300 --grace 0.2 --log-dir logs -- sh -c 'case $1 in /slow/*) echo $$ >>pids; while ! test -e go; do sleep 0.05; done;; esac' x {}
check 'a command runs, and others are next in line' wait_for 30 runs 1
mkfifo orders
"$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_CNF" -n -N -B "$(sed -n 's/^database=//p' "$JOBSTACK_TEST_CNF")" <orders >answers 7>&- &
session=$!
exec 7>orders
echo 'START TRANSACTION; SELECT 1 FROM worker WHERE ended IS NULL FOR UPDATE;' >&7
held() { [[ -s answers ]]; }
check "somebody's session holds the worker's row" wait_for 20 held
leap 100 0
spooled() { compgen -G 'logs/waits/*.spool' >/dev/null && [[ $(cat logs/waits/*.spool) == *"$1"* ]]; }
slow() { sql "SELECT entry_id FROM entry JOIN stack USING(stack_id) WHERE name='waits' AND datapath='/slow/$1'"; }
number=$(slow 1)
touch go
check 'the command ends, and its outcome can not be written' wait_for 30 spooled "$number"
is '... nothing has started since the leap' "$(wc -l <pids)" 1
exec 7>&-
wait $session
check '... until the beat is through' wait_for 30 runs 5
wait $worker
is '... and all is done' "$? $(ledger waits)" '0 25 0 0 0 0 0'
check '... its audit' audit waits

# It was given up while its machine was paused, and learns it from the beat.
jobstack push -q -s fenced /a >/dev/null
begin fenced --lease 300 --grace 0.2 -- sh -c "$hang"
check 'a command runs' wait_for 30 runs 1
sql "UPDATE worker JOIN stack USING(stack_id) SET ended=UTC_TIMESTAMP(6) WHERE name='fenced'"
leap 1000 0
check 'a machine that was paused past the lease: the command ends as soon as its wall clock is right' wait_for 30 first_gone
wait $worker
is '... and the worker ends' $? 1
like '... and says why' "$(cat said.fenced)" 'the lease was lost'
finish
