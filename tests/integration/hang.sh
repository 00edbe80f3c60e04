#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A file that does not answer (here a pipe that nobody reads, or that nobody has opened) keeps one slot busy and nothing else: other
# commands run on, end, and time out; the lease is kept; it is said; a worker that is told to go goes.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
names() { # STACK NAME...
	local stack=$1
	shift
	printf '%s\n' "$@" | jobstack push -q -s "$stack" --retry-delay 0 >/dev/null
}
state() { sql "SELECT CONCAT(attempt,' ',ELT(outcome+1,'done','failed','lost','interrupted')) FROM attempt JOIN stack USING(stack_id) WHERE name='$1' AND entry_id=$2 ORDER BY attempt" | paste -sd, ; }
outcome_is() { [[ $(state "$1" "$2") == "$3"* ]]; } # ... so far
beats() { sql "SELECT seq FROM worker JOIN stack USING(stack_id) WHERE name='$1' ORDER BY worker_id DESC LIMIT 1"; }
beats_past() { (($(beats "$1") > $2)); }
exists() { [[ -e $1 ]]; }
# Numbers of processes come again: only what is still a job of ours is looked at, or ended.
runs() { [[ " $(jobs -pr | tr '\n' ' ')" == *" $1 "* ]]; }
gone() { ! runs "$1"; }
end_job() { ! runs "$1" || kill -KILL "$1"; }
said() { grep -qE "$1" "$2"; }
mkdir started
holds() { [[ $(readlink "/proc/$1/fd/3") == */"$2" ]]; } # its descriptor 3 may still be what it inherited
# full NAME: a pipe of that name, held open and full
full() {
	mkfifo "$1"
	sleep 1000 3<>"$1" &
	at_end "end_job $!"
	wait_for 30 holds $! "$1"
	timeout 200 dd if=/dev/zero of="$1" bs=4096 oflag=nonblock status=none 2>/dev/null # ends when the pipe is full
	:
}
# background STACK OUT ERR ARGS...: a worker of the stack, whose output goes there
declare -A keeper
background() {
	local stack=$1 out=$2 err=$3
	shift 3
	jobstack-worker -s "$stack" --grace 0.5 "$@" >"$out" 2>"$err" &
	keeper[$stack]=$!
	at_end "end_job $!"
}
ended() { # STACK STATUS: its worker has ended so
	local status=0
	wait_for 60 gone "${keeper[$1]}" || return 1
	wait "${keeper[$1]}" || status=$?
	((status == $2)) || { echo "status $status"; return 1; }
}
# A lease of eight seconds is kept by a busy machine, too; of one that only has to last, more.
act='touch "started${1%%-*}"; case $1 in /noisy*) seq 1 20000;; /long*) sleep 12;; /stuck*) echo out;; esac'

# all of them at once: most of it is waiting
full pipe
names out /noisy /long /a /b /c
background out pipe out.err --slots 2 --lease 8 --output - -- sh -c "$act" sh
full pipe2
names term /noisy2 /long2
background term pipe2 term.err --slots 2 --lease 300 --timeout 8 --output - -- sh -c "${act/sleep 12/sleep 1000}" sh
mkdir own
mkfifo own/stuck own/stuckb
names start /stuck /stuckb /long3 /d /e
background start start.out start.err --slots 3 --lease 8 --output 'own/{/}' -- sh -c "$act" sh
echo 'while read -r e a p; do touch "started$p"; case $p in /pnoisy) seq 1 20000 >&2;; esac; echo done; done' >loop.sh
full pipe3
names persist /pnoisy /p2 /p3 /p4
background persist persist.out pipe3 -q --persistent --slots 2 --lease 300 --output - -- sh loop.sh
cat >stale.sh <<'X'
[ ! -e deaf ] || { touch next; until [ -e begin ]; do sleep 0.1; done; }
while read -r e a p; do
	touch "started$p"
	[ "$p" != /sa ] || { until [ -e go ]; do sleep 0.05; done; seq 1 100; }
	[ "$p" != /sb ] || [ -e deaf ] || { until [ -e answered ]; do sleep 0.05; done; exec <&-; touch deaf; until [ -e end ]; do sleep 0.05; done; exit 7; }
	echo done
	[ "$p" != /sa ] || touch answered
done
X
full pipe5
names stale /sa /sb /sc
background stale pipe5 stale.err --persistent --lease 300 --slots 2 --output - -- sh stale.sh
full pipe4
names mute /long4 /f /g
background mute mute.out pipe4 -v --slots 2 --lease 8 -- sh -c "$act" sh
names heart /long5
background heart heart.out heart.err --lease 8 -- sh -c "${act/sleep 12/exec sleep 1000}" sh

# its output goes to a pipe that nobody reads
check 'an entry whose output nobody takes' wait_for 30 exists started/long
check '... is said to wait' wait_for 40 said 'slot [12] has waited for [1-9][0-9]+ s to keep the output of entry 1: a file system does not answer \(standard output\)' out.err
check '... another, of more than a lease, is not killed' wait_for 30 outcome_is out 2 '1 done'
check '... and those behind it run' wait_for 30 outcome_is out 5 '1 done'
is '... the first has no outcome' "$(state out 1)" ''
check '... the lease is kept' wait_for 30 beats_past out "$(($(beats out) + 2))"
cat pipe >taken &
at_end "end_job $!"
check '... when somebody reads it, the worker ends' ended out 0
is '... all is done, once' "$(ledger out) $(state out 1)" '5 0 0 0 0 0 1 done'
like '... and that is said' "$(cat out.err)" 'answers again'
is '... the output is whole' "$(tr -d '\0' <taken | wc -l)" 20000

# a time limit, meanwhile; and TERM
check 'a time limit holds while another slot hangs' wait_for 30 outcome_is term 2 '1 failed'
wait_for 30 exists started/noisy2
kill -TERM "${keeper[term]}"
check '... TERM ends the worker' ended term 0
is '... what it could not keep the output of goes back' "$(state term 1)" '1 interrupted'
is '... with the reason' "$(sql "SELECT reason FROM attempt JOIN stack USING(stack_id) WHERE name='term' AND entry_id=1")" 'its output could not be kept: a file system does not answer'
check '... and runs again' worker -s term -- true
check '... nothing is lost or doubled' audit term

# a command that can't be started: the file for its output does not open
check 'starts that hang' wait_for 30 outcome_is start 3 '1 done'
check '... keep nobody else from work' wait_for 30 outcome_is start 5 '1 done'
check '... that is said' wait_for 40 said 'has waited for [1-9][0-9]+ s to start the command of entry' start.err
check '... the lease is kept' wait_for 30 beats_past start "$(($(beats start) + 2))"
check '... no command has begun' test ! -e started/stuck
timeout 200 cat own/stuck >stuck.out
check '... when the file opens, it runs' wait_for 30 outcome_is start 1 '1 done'
is '...' "$(cat stuck.out)" out
kill -TERM "${keeper[start]}"
check '... TERM ends the worker, though another hangs' ended start 0
is '... whose entry goes back' "$(state start 2) $(ledger start)" '1 interrupted 4 0 1 0 0 0'
check '... without having run' test ! -e started/stuckb
check '... nothing is lost or doubled' audit start

# a persistent command
check 'a persistent command' wait_for 30 outcome_is persist 4 '1 done'
kill -TERM "${keeper[persist]}"
check '... TERM ends the worker' ended persist 0
check '... nothing is lost or doubled' audit persist

# one answers, and its output hangs; that another was deaf came in the same moment, and is old when the first goes on
check 'two persistent commands' wait_for 30 exists started/sa
wait_for 30 exists started/sb
pid=$(worker_pids stale)
kill -STOP "$pid"
touch go
check '... one answers, one is deaf' wait_for 30 exists deaf
kill -CONT "$pid"
touch end
check '... the deaf one ends' wait_for 30 outcome_is stale 2 '1 failed'
is '... while the other one hangs' "$(state stale 1)" ''
check '... the next one has time to begin' wait_for 30 exists next
cat pipe5 >/dev/null &
at_end "end_job $!"
check '... which goes on' wait_for 30 outcome_is stale 1 '1 done'
beats=$(beats stale)
nudged() { kill -URG "$pid" && beats_past stale $((beats + 4)); } # a heartbeat now
check '... and the worker to look at it' wait_for 30 nudged
touch begin
check '... and the worker ends' ended stale 0
is '... nobody is blamed for another' "$(state stale 2) $(state stale 3)" '1 failed,2 done 1 done'

# nobody reads what the worker itself says
check 'a worker that can say nothing' ended mute 0
is '... has done all of it, once' "$(ledger mute) $(state mute 1)" '3 0 0 0 0 0 1 done'

# the heart: of a worker whose commands nobody looks after it does not beat
cat >stop_thread.py <<'X'
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
for request in (0x4206, 0x4207):  # PTRACE_SEIZE, PTRACE_INTERRUPT
	if libc.ptrace(request, int(sys.argv[1]), None, None) != 0:
		sys.exit("ptrace: errno %d" % ctypes.get_errno())
open("stopped", "w").close()
time.sleep(1000)
X
wait_for 30 exists started/long5
pid=$(worker_pids heart)
for task in /proc/"$pid"/task/*; do
	[[ $(cat "$task/comm") != jobstack-loop ]] || loop=${task##*/}
done
python3 stop_thread.py "$loop" &
stopper=$!
at_end "end_job $stopper"
check 'the loop of a worker stops' wait_for 30 exists stopped
check '... another worker takes back what it held' timeout 300 jobstack-worker -q -s heart -- true
is '... as lost' "$(state heart 1)" '1 lost,2 done'
kill -KILL $stopper
check '... and it ends when it goes on' ended heart 1
check '... nothing is lost or doubled' audit heart
finish
