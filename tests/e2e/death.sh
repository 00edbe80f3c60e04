#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Death and departure under Slurm: a worker, a job or a node that dies in the middle costs only what it ran; the others finish the
# rest; list shows what is left, requeue runs it again.  scancel and a time limit are no deaths but departures.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
export SBATCH_OUTPUT=$PWD/slurm-%j.out
submit() { sbatch --parsable "$@"; }
gone() { [[ -z $(squeue -h -j "$1" -o %i 2>/dev/null) ]]; }
running_on() { sql "SELECT pid FROM worker JOIN stack USING(stack_id) WHERE name='$1' AND ended IS NULL"; }

# two workers hang on one entry each; one is killed
cat >hang.sbatch <<'S'
#!/bin/bash
exec srun -Q jobstack-worker -s "$1" --batch 1 --idle-timeout 1 -- sh -c 'test ! -e hang || { echo $$ >>hanging; exec sleep 1000; }'
S
numbered 1 20 | jobstack push -q -s worker >/dev/null
touch hang
job=$(submit -N2 -n2 hang.sbatch worker)
check 'two workers on two nodes' wait_for 60 ledger_is worker '0 0 18 0 0 2'
rm hang
victim=$(running_on worker | head -1)
check 'one is killed with -9' kill -KILL "$victim"
mapfile -t commands <hanging
for c in "${commands[@]}"; do
	[[ $(ps -o ppid= -p "$c" | tr -d ' ') == "$(running_on worker | tail -1)" ]] && kill "$c" 2>/dev/null
done
check 'the other one finishes the rest' wait_for 60 bash -c '. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"; case $(ledger worker) in "19 0 0 0 0 1"|"18 0 0 1 0 1") exit 0;; *) exit 1;; esac'
check '... and then leaves' wait_for 60 gone "$job"
xargs -r kill -KILL <hanging 2>/dev/null
like 'list shows what is left' "$(jobstack list -s worker)" 'running'
check 'requeue takes it back' jobstack requeue -s worker
check '... and it runs' timeout 60 srun -Q -n1 jobstack-worker -q -s worker -- true
is '... so all is done' "$(ledger worker)" '20 0 0 0 0 0'
check 'its audit' audit worker

# a job is cancelled: its workers drain, nothing is charged, nothing is left in their hands
touch hang
numbered 1 10 | jobstack push -q -s cancel >/dev/null
job=$(submit -n2 hang.sbatch cancel)
check 'scancel: two run' wait_for 60 ledger_is cancel '0 0 8 0 0 2'
scancel "$job"
check '... all goes back by itself' wait_for 60 ledger_is cancel '0 0 10 0 0 0'
is '... uncharged' "$(sql "SELECT DISTINCT outcome FROM attempt JOIN stack USING(stack_id) WHERE name='cancel'")" 3
check '... the job ends' wait_for 60 gone "$job"

# all of a job is killed at once: its end, known to Slurm, is the proof
numbered 1 10 | jobstack push -q -s killed >/dev/null
job=$(submit -n2 hang.sbatch killed)
check 'all workers of a job killed: two run' wait_for 60 ledger_is killed '0 0 8 0 0 2'
sql "UPDATE worker SET host='elsewhere' WHERE ended IS NULL" # so that the process table of this host proves nothing
running_on killed | xargs kill -KILL
check '... the job ends' wait_for 60 gone "$job"
xargs -r kill -KILL <hanging 2>/dev/null
rm -f hang
like '... what it had is taken back on the word of Slurm' "$(jobstack requeue -s killed 2>&1)" '2 taken back'
like '... which is the reason on record' "$(sql "SELECT reason FROM attempt JOIN stack USING(stack_id) WHERE name='killed' AND outcome=2 LIMIT 1")" 'Slurm job'
check '... and runs' timeout 60 srun -Q -n2 jobstack-worker -q -s killed -- true
is '... to the end' "$(ledger killed)" '10 0 0 0 0 0'
check 'its audit' audit killed
finish
