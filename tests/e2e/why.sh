#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# status --why with Slurm: the jobs of a stack that wait are named, with Slurm's own reason; others' are not.  And runs that break
# before their first entry: status and wait say why, with the job's log, and suggest no command that has just failed.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
numbered 1 3 | jobstack push -q -s mine >/dev/null
job() { sbatch --parsable --output=/dev/null "$@" --wrap 'sleep 1'; }
whys() { jobstack status --why --json -s mine | python3 -c 'import json, sys
for w in json.load(sys.stdin)["why"]: print(w["why"], w["text"])'; }

is 'nothing of it is in Slurm' "$(whys)" 'no_workers 3 are ready, and no worker is running'
held=$(job --hold --job-name=jobstack-mine)
later=$(job --begin=now+1hour --job-name=other --comment=jobstack:mine)
array=$(job --hold --array=1-40%5 --job-name=jobstack-mine)
job --hold --job-name=jobstack-mine2 >/dev/null
job --hold --job-name=other@place --comment=$'two\nlines' >/dev/null
text=$(whys)
like 'one that is held' "$text" "slurm_pending its Slurm job $held in the partition [^ ]+ is PENDING: JobHeldUser"
like 'one for later, known by its comment, and when' "$text" "its Slurm job $later in .* is PENDING: BeginTime, expected to start at 20[0-9-]+T[0-9:]+Z"
like 'an array is one line' "$text" "its Slurm job ${array}_\\[1-40%5\\] in .* is PENDING: JobHeldUser"
is '... and no other stack is meant' "$(grep -c slurm_ <<<"$text")" 3
like 'in words' "$(jobstack status --why -s mine)" $'\nmine: its Slurm job '
like 'with jobs on their way no worker is asked for' "$text" 'no_workers 3 are ready, and no worker is running yet, but Slurm has jobs for this stack'
running=$(sbatch --parsable --output=/dev/null --job-name=jobstack-mine --wrap 'sleep 600')
check 'one that runs, but no worker yet' wait_for 60 sh -c "jobstack status --why -s mine | grep -q 'its Slurm job $running is RUNNING'"
is 'without Slurm that is left out' "$(SLURM_CONF=$PWD/there-is-none whys)" 'no_workers 3 are ready, and no worker is running'
scancel "$held" "$later" "$array" "$running"

# start STACK WORD...: submits one worker for its two entries, held until release; the job's number is in $job
start() { local s=$1; shift; numbered 1 2 | jobstack push -q -s "$s" >/dev/null; job=$(jobstack submit "$s" --workers 1 --hold --parsable "$@"); }
release() { scontrol release "$job"; wait_for 100 sh -c "! squeue -h -j $job 2>/dev/null | grep -q ."; }
again='submit .* --again. continues'
start queued -- true {}
text=$(jobstack status queued)
like 'a job that waits: status tells it' "$text" "no worker is running yet: its Slurm job $job in the partition [^ ]+ is PENDING: JobHeldUser"
unlike '... and suggests no second one' "$text" "$again"
like '... it begins, and wait ends with its work' "$(scontrol release "$job"; timeout 300 jobstack wait queued 2>&1)" '2 done, 0 dead, 0 left'
scontrol create partition=closed nodes=ALL state=down >/dev/null
start down --partition=closed -- true {}
scontrol release "$job"
check 'a partition that is down' wait_for 40 sh -c "jobstack status --why down | grep -q 'its Slurm job $job in the partition closed is PENDING: .*PartitionDown'"
scancel "$job"
scontrol delete partition=closed
printf '#!/bin/sh\nexit 0\n' >mytool
chmod +x mytool
PATH=$PATH:$PWD start missing --sbatch "--export=HOME" -- mytool {}
check 'a command that the node does not have' release
check '... wait says why, and ends' says 3 "missing: 2 left, but no worker is running: the last one ended .* ago on n[0-9]: can.t run mytool: not found in .*.log: $PWD/jobstack-logs/missing/slurm-$job.out.: correct that first" \
	timeout 300 jobstack wait -q missing
unlike '... status does not suggest the same' "$(jobstack status missing)" "$again"
# a script that goes with its first entry
printf '#!/bin/sh\nrm -f "$0"\n' >once.sh
chmod +x once.sh
start vanished -- ./once.sh {}
check 'a script that is deleted in the middle' release
like '... status tells it' "$(jobstack status vanished | tr -d '\n')" 'no worker is running: the last one ended .*: can.t run .*once.sh: .*correct that first'
mkdir there
start left --chdir "$PWD/there" --sbatch "--chdir=$PWD" -- true {}
rmdir there
check 'a directory that is not there' release
like '... status tells it' "$(jobstack status left)" 'the last one ended .*: --chdir .*/there: No such file'
start short --time=1 --margin=10m -- true {}
check 'a wall time that is too short' release
like '... status tells it' "$(jobstack status short)" 'the last one ended .*: the job ends in .*: no more entries are started'
mkdir gone
cd gone || exit
start workless -- true {}
cd ..
rm -r gone
check "a job's directory that is not there" release
like '... status tells it' "$(jobstack status workless | tr '\n' ' ')" "before a worker began .its log.s directory is not on this host: $PWD/gone/jobstack-logs/workless/slurm-$job.out.*correct that first, then "
numbered 1 2 | jobstack push -q -s refused >/dev/null
check 'a job that sbatch rejects' says 1 'nvalid partition' jobstack submit refused --workers 1 --partition=nosuch -- true {}
like '... status tells it' "$(jobstack status refused | tr '\n' ' ')" 'no worker is running: sbatch rejected the last job .* ago: .*nvalid partition name'
like '... --why as well' "$(jobstack status --why refused)" 'sbatch rejected .*: correct what it rejected, and submit again'
start refused -- true {}
unlike '... until the next one' "$(jobstack status refused)" rejected
scancel "$job"
cp "$JOBSTACK_TEST_CNF" own.cnf
start mute --defaults-file "$PWD/own.cnf" -- true {}
rm own.cnf
check 'a job whose worker can not even say why' release
like '... is known from submit, with its log' "$(jobstack status mute)" "no worker is running: job $job ended as FAILED before a worker began .log: $PWD/jobstack-logs/mute/slurm-$job.out"
like '... --why as well' "$(jobstack status --why mute)" "no worker is running: job $job ended as FAILED before a worker began .*: correct that first"
check '... wait ends' says 3 "mute: 2 left, but .*job $job ended as FAILED" timeout 300 jobstack wait -q mute
jobstack pause -q -s mute --note 'the disk is full'
settle='remove the cause of the pause; then .jobstack resume -s mute., and .jobstack submit mute --again.'
like 'paused: what to do, in order' "$(jobstack status mute | tr '\n' ' ')" "reason +the disk is full.*$settle"
like '... --why as well' "$(jobstack status --why mute)" "it is paused .the disk is full.: $settle"
check '... wait ends' says 3 "mute: 2 left, but .*$settle" timeout 300 jobstack wait -q mute
jobstack resume -q -s mute
check 'wait stays where Slurm can not be asked' fails_with 124 env SLURM_CONF="$PWD/nosuch" jobstack wait -q mute --timeout 12
finish
