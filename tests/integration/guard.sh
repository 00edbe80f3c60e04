#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The time guard: what would not finish before the job's end is not started; an entry that the wall time interrupts does not count
# as failed, but one that had all of the time, again and again, is set aside.  The job's end is what Slurm (23.02 and later)
# says in the environment; tests/e2e/death.sh has a real job.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
export SLURM_CONF=$PWD/there-is-none SLURM_JOB_ID=77
job() { # SECONDS [START]: a job that ends in so many seconds, with the second; it begins now, or START seconds later
	wait_for 20 sh -c 'test "$(date +%s)" -gt '"$(date +%s)"
	export SLURM_JOB_START_TIME SLURM_JOB_END_TIME
	SLURM_JOB_START_TIME=$(date +%s)
	SLURM_JOB_END_TIME=$((SLURM_JOB_START_TIME + $1))
	SLURM_JOB_START_TIME=$((SLURM_JOB_START_TIME + ${2-0}))
}
count() { ledger "$1" | cut -d' ' -f"$2"; }

numbered 1 20 | jobstack push -q -s learned >/dev/null
job 14
text=$(timeout 300 jobstack-worker -s learned --margin 6 --slots 1 -- sh -c 'sleep 1' 2>&1 >/dev/null) && status=0 || status=$?
is 'the job ends: the worker leaves before' "$status" 0
like '... and says why' "$text" 'the job ends in [0-9.]+ s, and 95 % of the entries take up to [0-9]'
check '... some are done' test "$(count learned 1)" -ge 1
is '... the rest is in line' "$(count learned 3)" "$((20 - $(count learned 1)))"
is '... nothing was interrupted' "$(sql "SELECT COUNT(*) FROM attempt WHERE outcome<>0")" 0
is '... in time' "$(sql "SELECT MAX(ended)<='1970-01-01'+INTERVAL $SLURM_JOB_END_TIME SECOND FROM attempt")" 1
check 'its audit' audit learned

before=$(ledger learned)
job 20
check 'what others learned counts from the first entry on' worker -s learned --margin 19.5 -- sh -c 'sleep 1'
is '... none is started' "$(ledger learned)" "$before"
job 3600
read -r from _ </proc/uptime
check 'a job with time enough' worker -s learned --slots 20 -- true
read -r to _ </proc/uptime
is '... does all' "$(ledger learned)" '20 0 0 0 0 0'

numbered 1 3 | jobstack push -q -s long --max-attempts 1 >/dev/null
sql "UPDATE stack SET max_losses=2 WHERE name='long'"
# The entry must begin before the first tenth of its job is over.  So the job begins in some seconds, one before its end: in ten
# times as many as a whole worker has just taken on this machine, and four.
length=$((5 + (10#${to/./} - 10#${from/./}) / 10))
for try in first second; do
	job $length $((length - 1))
	jobstack-worker -q -s long --margin 0 --grace 0.2 -- sh -c 'test $JOBSTACK_ENTRY = 1 || exit 0; touch ran; exec sleep 1000' &
	pid=$!
	check "$try: one runs" wait_for 20 test -e ran
	rm -f ran
	check '... until the wall time' wait_for $length sh -c '[ "$(date +%s)" -ge '"$SLURM_JOB_END_TIME"' ]'
	kill -TERM $pid
	wait $pid
done
is 'an entry that had all of the wall time twice is set aside' "$(sql "SELECT CONCAT(entry_id,' ',reason) FROM set_aside JOIN stack USING(stack_id) WHERE name='long'")" '1 it does not finish within the wall time'
is '... by two interruptions' "$(sql "SELECT DISTINCT CONCAT(outcome,' ',reason) FROM attempt JOIN stack USING(stack_id) WHERE name='long' AND entry_id=1")" '3 wall time: the entry did not finish in the time of a whole job'
job 3600
check '... the others are done' worker -s long -- true
is '... all' "$(ledger long)" '2 1 0 0 0 0'
check 'its audit' audit long
check '--margin takes a duration' fails_with 2 worker -s long --margin much -- true
finish
