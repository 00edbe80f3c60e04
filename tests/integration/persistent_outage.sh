#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# Persistent commands while the database is away, and while their worker can't move: a short outage costs nothing, a lease that
# can't be kept ends them.  Has a server of its own, which is killed and started again.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
own_server out
jobstack init -q

cat >serve.sh <<'S'
echo $$ >>"$JOBSTACK_STACK.pids"
while IFS=' ' read -r entry attempt path; do
	echo "$entry" >>"$JOBSTACK_STACK.ran"
	case $path in
	*/gate) read -r go <"$JOBSTACK_STACK.gate" ;;
	*/stay) [[ $attempt != 1 ]] || sleep 1000 ;;
	esac
	echo done
done
S

# a short outage: the process goes on, and is the same afterwards
mkfifo short.gate
printf '/d/gate\n' | jobstack push -q -s short >/dev/null
numbered 1 200 | jobstack push -q -s short >/dev/null
timeout 300 jobstack-worker -q -s short --persistent --lease 300 -- bash serve.sh 2>short.said &
pid=$!
check 'it waits' wait_for 20 test -s short.ran
server_kill
echo go >short.gate
check 'an outage: the outcome waits on the disk' wait_for 20 compgen -G 'jobstack-logs/short/*.spool'
check 'the server comes back' server_start
check '... the worker ends well' wait $pid
is '... all is done' "$(ledger short)" '201 0 0 0 0 0'
is '... by one process, each once' "$(wc -l <short.pids) $(sort -u short.ran | wc -l) $(wc -l <short.ran)" '1 201 201'
check '... its audit' audit short

# a long one: the entry's process is ended before the lease is over, and so is an idle one
printf '/d/a\n/d/stay\n' | jobstack push -q -s long >/dev/null
timeout 300 jobstack-worker -q -s long --persistent --slots 2 --lease 8 --grace 0.3 -- bash serve.sh 2>long.said &
pid=$!
check 'two processes, one is idle' wait_for 20 sh -c 'test $(wc -l <long.pids) = 2 && test $(wc -l <long.ran) = 2'
server_kill
wait $pid
is 'a lease that is over: 69' $? 69
check '... no process is left' none_of_ours $(<long.pids)
check 'the server comes back' server_start
check '... what was done is delivered' sh -c 'for f in $(sed -n "s/.*close --replay \([^ ]*\).*/\1/p" long.said | tr -d "\`" | sort -u); do jobstack close --replay "$f" || exit; done'
check '... what ran comes back' wait_for 30 sh -c 'jobstack recover -q -s long >/dev/null 2>&1; jobstack list -s long -t ready,done -o entry | sort | tr "\n" " " | grep -qx "1 2 "'
check '... and is done' timeout 300 jobstack-worker -q -s long --persistent -- bash serve.sh
is '... once' "$(ledger long)" '2 0 0 0 0 0'
check '... its audit' audit long

# a worker that does not move: its keeper ends the processes when the lease is over
printf '/d/a\n/d/stay\n' | jobstack push -q -s stop >/dev/null
timeout 300 jobstack-worker -q -s stop --persistent --slots 2 --lease 8 --grace 0.3 -- bash serve.sh 2>stop.said &
pid=$!
check 'two processes' wait_for 20 sh -c 'test $(wc -l <stop.pids) = 2 && test $(wc -l <stop.ran) = 2'
worker=$(pgrep -P "$(pgrep -P $pid)" -x jobstack-worker)
kill -STOP "$worker"
check 'a worker that is stopped: its processes are ended' wait_for 20 none_of_ours $(<stop.pids)
kill -CONT "$worker"
wait $pid
check '... the entry comes back without a failure, and is done' wait_for 30 sh -c 'timeout 300 jobstack-worker -q -s stop --persistent --idle-timeout 0 -- bash serve.sh; jobstack status -s stop --json | grep -q "\"done\": *2"'
is '... no failure was counted' "$(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='stop' AND outcome=1")" 0
check '... its audit' audit stop
finish
