#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# status --why with Slurm: the jobs of a stack that wait are named, with Slurm's own reason; others' are not.
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
finish
