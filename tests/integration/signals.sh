#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Signals that whoever started a tool ignores (nohup, a shell's `&`, trap '') stay ignored: in the tool, in the worker it starts, and
# in the commands.  A hangup ends nothing that runs under nohup; TERM still makes a worker leave.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
cat >hold <<'S'
grep SigIgn /proc/$$/status | cut -f2 >"ignored.$$" && mv "ignored.$$" ignored
while ! test -e go; do sleep 0.05; done
S
ignores() { ((0x$(<ignored) >> ($1 - 1) & 1)); } # NUMBER: do the commands?
ignores_not() { ! ignores "$1"; }
below() { process_tree "$1" | sort -u; }
again() { rm -f go ignored said; }

# jobstack run, and a hangup for all of it
for how in nohup plainly; do
	again
	as=()
	[[ $how != nohup ]] || as=(nohup)
	numbered 1 3 >names
	"${as[@]}" jobstack run -q -s "$how" --slots 1 -a names -- sh hold >said 2>&1 &
	run=$!
	check "jobstack run $how: a command runs" wait_for 30 test -e ignored
	if [[ $how == nohup ]]; then
		check '... and ignores a hangup, as under nohup alone' ignores 1
		mapfile -t all < <(below $run)
		check '... below the tool: keeper, worker, command' test "${#all[@]}" -ge 4
		for pid in "${all[@]}"; do ! is_ours "$pid" || kill -HUP "$pid"; done 2>/dev/null # the command's own sleep may have ended
		touch go
		wait $run
		is '... a hangup for each of them ends none' "$? $(ledger nohup)" '0 3 0 0 0 0 0'
	else
		check '... and does not ignore a hangup' ignores_not 1
		kill -HUP $run
		wait $run
		is '... it ends by a hangup' "$? $(ledger plainly)" '129 0 0 3 0 0 0'
	fi
	check '... its audit' audit "$how"
done

# a terminal that goes away: the kernel's own hangup, to the session
again
cat >hang-up.py <<'P'
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
print(pid, flush=True)
sys.stdin.readline()
os.close(master)
print(os.waitpid(pid, 0)[1], flush=True)
P
mkfifo close.it
python3 hang-up.py bash -c 'nohup jobstack run -q -s terminal --slots 1 -a names -- sh hold >said 2>&1; echo "$?" >status' <close.it >told &
terminal=$!
exec 7>close.it
check 'under nohup in a terminal: a command runs' wait_for 30 test -e ignored
echo >&7
exec 7>&-
check '... the terminal goes, and its shell with it' wait_for 20 grep -qx 1 told
is '... the command runs on' "$(ledger terminal)" '0 0 2 0 0 1'
touch go
check '... and all is done' wait_for 30 ledger_is terminal '3 0 0 0 0 0'
wait $terminal
check '... its audit' audit terminal

# in the background of a script SIGINT is ignored; TERM is heard
again
numbered 1 2 | jobstack push -q -s background >/dev/null
jobstack-worker -q -s background -- sh hold &
keeper=$!
check 'a worker in the background of a script' wait_for 30 test -e ignored
check '... its commands ignore SIGINT, as they would without it' ignores 2
kill -INT $keeper "$(pgrep -P $keeper)"
touch go
wait $keeper
is '... which does not make it leave' "$? $(ledger background)" '0 2 0 0 0 0 0'

# TERM asks a worker to leave in any case: behind it comes Slurm's KILL
again
numbered 1 2 | jobstack push -q -s term >/dev/null
(trap '' TERM && exec jobstack-worker -q -s term --grace 0.2 -- sh hold) &
keeper=$!
check 'a worker whose script ignores TERM' wait_for 30 test -e ignored
check '... its commands do not' ignores_not 15
kill -TERM $keeper
wait $keeper
is '... it leaves, and gives back' "$? $(ledger term)" '0 0 0 2 0 0 0'
check '... its audit' audit term

# other tools: a push that reads a pipe
mkfifo pipe
for signal in HUP INT TERM; do
	(trap '' $signal && exec jobstack push -q -s push.$signal) <pipe >said 2>&1 &
	push=$!
	exec 8>pipe
	numbered 1 3000 >&8
	check "a push with SIG$signal ignored" wait_for 20 sh -c "jobstack status -q -s push.$signal >/dev/null 2>&1"
	kill -$signal $push
	numbered 3001 4000 >&8
	exec 8>&-
	wait $push
	is '... goes on to its end' "$? $(ledger push.$signal)" '0 0 0 4000 0 0 0'
done
finish
