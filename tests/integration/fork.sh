#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A machine that gives no process, no thread, or no wait: no command that runs is harmed, each entry is done once and no failure is counted;
# the worker says what it lacks, and leaves when it waits in vain.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
cc -std=c17 -O2 -shared -fPIC -o forks.so "$JOBSTACK_SOURCE/tests/fault/forks.c" -ldl -pthread || exit 1
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 # of a build with it: forks.so comes before
attempts_of() { sql "SELECT CONCAT_WS(' ',COUNT(*),SUM(outcome<>0),MAX(attempt)) FROM attempt JOIN stack USING(stack_id) WHERE name='$1'"; }
workers() { sql "SELECT COUNT(*) FROM worker JOIN stack USING(stack_id) WHERE name='$1' AND ended IS NULL"; }
shortage='Resource temporarily unavailable|Cannot allocate memory'

# limited N STACK OPTIONS...: a worker in the background, that may have N processes and threads.  Root has no such limit; so it is
# a user who has no other processes, or one in a user name space, where the count begins anew.
cp "$JOBSTACK_BIN/jobstack-worker" . # the tree may lie where others can't read it
chmod 711 .
limited() {
	local n=$1 stack=$2 as=(unshare -U --map-current-user)
	shift 2
	mkdir "$stack" && cp "$JOBSTACK_DEFAULTS_FILE" "$stack/my.cnf"
	if ((EUID == 0)); then
		nobody_else=$((nobody_else + 1))
		as=(setpriv --reuid="$nobody_else" --regid="$nobody_else" --clear-groups)
		chown -R "$nobody_else" "$stack"
	fi
	(cd "$stack" && JOBSTACK_DEFAULTS_FILE=my.cnf TMPDIR=$PWD exec "${as[@]}" prlimit --nproc="$n" -- ../jobstack-worker -s "$stack" "$@" 2>said) &
	pid=$!
}
nobody_else=$((10000 + $$ * 2 % 50000)) # a number that containers know, too
sleep 1000 & # what runs under a limit can't start a sleep, and lives as long as this one
holder=$!
at_end 'kill_ours $holder'

# no process for any command: it waits a while, so it begins first
numbered 1 8 | jobstack push -q -s none >/dev/null
limited 7 none --slots 8 -- true
none=$pid

# enough processes for three commands, and none for a check of other workers
numbered 1 8 | jobstack push -q -s some >/dev/null
limited 10 some --slots 8 -- sh -c 'echo $$ >>pids; exec tail -s 0.1 --pid="$1" -f /dev/null' sh "$holder"
some=$pid
three_run() { [[ $(wc -l <some/pids) == 3 ]] && xargs kill -0 <some/pids; }
check 'processes for three commands: three run' wait_for 30 three_run
check '... it says, once, why no more do' wait_for 30 grep -qE 'Resource temporarily unavailable .*ulimit -u.*: only 3 of 8 slots are in use' some/said
check '... and gives back what can not be started' wait_for 30 ledger_is some '0 0 4 0 0 4'

# a look at other workers, where one was killed with its keeper, that can't be begun twice
numbered 1 3 | jobstack push -q -s look >/dev/null
cat >hold <<'S'
touch "began.$JOBSTACK_ENTRY.$JOBSTACK_ATTEMPT"
while ! test -e go; do sleep 0.05; done
S
jobstack-worker -q -s look --slots 1 -- sh hold 2>/dev/null &
check 'a worker has one' wait_for 30 test -e began.1.1
freeze look
kill_frozen
wait $!
: >fired
LD_PRELOAD=$PWD/forks.so FAULT_FIRED=fired FAULT_FORK=1-2 FAULT_FORK_IN=jobstack-keeper jobstack-worker -q -s look --slots 3 -- sh hold &
look=$!
twice_refused() { (($(stat -c %s fired) == 2)); }
check 'the keeper gets no process for a look, twice' wait_for 60 twice_refused
check '... the third takes back what the dead one had' wait_for 60 test -e began.1.2
is '... the commands ran on' "$(echo began.*) $(ledger look)" 'began.1.1 began.1.2 began.2.1 began.3.1 0 0 0 0 0 3'
touch go
wait $look
is '... to their end' "$? $(ledger look) $(attempts_of look)" '0 3 0 0 0 0 0 4 1 2'
rm -f go

# the Nth process or thread is refused, once or for a while
sweep() { # STACK OPTION...: status 0; or what is missing is told, and another worker does the rest
	local stack=$1 status=0
	shift
	timeout 200 env LD_PRELOAD="$PWD/forks.so" jobstack-worker -q -s "$stack" "$@" -- true 2>said.sweep || status=$?
	if ((status != 0)); then
		((status == 70)) && grep -qE "$shortage" said.sweep || { echo "status $status, said: $(<said.sweep)"; return 1; }
		[[ $(workers "$stack") == 0 ]] || { echo 'its worker has not ended'; return 1; }
		worker -s "$stack" -- true || return 1
	fi
	[[ $(ledger "$stack") == '4 0 0 0 0 0' && $(attempts_of "$stack") == '4 0 1' ]] || { ledger "$stack"; attempts_of "$stack"; return 1; }
	audit "$stack"
}
refused=0
for number in 11 12; do
	for n in 1 2 3 4 5 6 7 4-9; do
		numbered 1 4 | jobstack push -q -s "n$n.$number" >/dev/null
		: >fired
		FAULT_FIRED=fired FAULT_FORK=$n FAULT_FORK_ERRNO=$number check "process $n is refused (errno $number)" sweep "n$n.$number" --slots 2
		refused=$((refused + ($(stat -c %s fired) > 0)))
	done
done
is '... each of them was' "$refused" 16
rm -f fired

# jobstack run
for n in 1 2 3 4 5; do
	status=0
	numbered 1 4 | LD_PRELOAD=$PWD/forks.so FAULT_FORK=$n jobstack run -q -s "run$n" -- true >said.run 2>&1 || status=$?
	like "run: process $n is refused" "$status $(<said.run)" "^(0|70 .*($shortage))"
	check '... again, and all is done' sh -c "seq -f /d/%.0f 1 4 | jobstack run -q -s run$n -- true >said.run2 2>&1 || { cat said.run2; false; }"
	is '... once, and no failure was counted' "$(ledger run$n) $(attempts_of run$n)" '4 0 0 0 0 0 4 0 1'
done

# what a worker waits with fails: the kernel refuses to poll more descriptors than may be open
stack=poll
numbered 1 6 | jobstack push -q -s "$stack" >/dev/null # (the search for leaks would have to open files)
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 jobstack-worker -s "$stack" --slots 2 --grace 0.3 --lease 300 -- sh -c 'echo $$ >>pids; exec sleep 1000' 2>said.poll &
keeper=$!
check 'a worker with two commands' wait_for 30 sh -c '[ "$(wc -l <pids)" = 2 ]'
child=$(pgrep -P $keeper -x jobstack-worker)
prlimit --pid "$child" --nofile=2:1024
check '... that can not wait any more: they end' wait_for 30 none_of_ours $(<pids)
prlimit --pid "$child" --nofile=1024:1024 2>/dev/null # or it could not connect anew; it may have ended
wait $keeper
is '... and it leaves' "$? $(ledger "$stack") $(workers "$stack")" '70 0 0 6 0 0 0 0'
like '... says why' "$(<said.poll)" 'poll: Invalid argument: the entries are back in the queue'
is '... and charges nobody' "$(sql "SELECT SUM(outcome<>3) FROM attempt JOIN stack USING(stack_id) WHERE name='$stack'")" 0
check '... its audit' audit "$stack"

# the two from the beginning
check 'no process for any command: it leaves' wait_for 60 none_of_ours "$none"
wait "$none"
is '... with 70; its entries are back, no failure is counted' "$? $(ledger none) $(attempts_of none)" '70 0 0 8 0 0 0 0'
like '... it says why' "$(<none/said)" "no command could be started for 30 s: can't run true: Resource temporarily unavailable .*\`ulimit -u\`"
check '... its audit' audit none
check 'processes for three commands: the same three run' three_run
is '... it has told its need once' "$(grep -c 'slots are in use' some/said)" 1
kill $holder
wait "$some"
is '... all eight are done, each once' "$? $(ledger some) $(attempts_of some)" '0 8 0 0 0 0 0 8 0 1'
check '... its audit' audit some
finish
