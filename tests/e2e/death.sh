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
hanging() { [[ -e hanging.$1 && $(wc -l <"hanging.$1") == 2 ]]; } # two commands of the stack
running_on() { sql "SELECT JSON_VALUE(identity,'\$.pid') FROM worker JOIN stack USING(stack_id) WHERE name='$1' AND ended IS NULL"; }

# a job of a minute, looked at in the end: entries of 9 s; nothing is started that would not finish
cat >minute.sbatch <<'S'
#!/bin/bash
exec srun -Q jobstack-worker -s "$1" --margin 15 -- sh -c 'sleep 9'
S
declare -A minute
for how in module commands; do
	numbered 1 20 | jobstack push -q -s "$how" >/dev/null
	minute[$how]=$(JOBSTACK_SLURM=$how submit -n1 --time=1 --output="$how.out" minute.sbatch "$how")
done

# a time limit that is extended after the job has begun.  (What Slurm 23.02 and later write into the environment stays as it was.)
cat >longer.sbatch <<'S'
#!/bin/bash
export SLURM_JOB_START_TIME=$(date +%s)
export SLURM_JOB_END_TIME=$((SLURM_JOB_START_TIME + 60))
[[ $2 == same ]] || scontrol update JobId="$SLURM_JOB_ID" TimeLimit=10 || exit
exec srun -Q jobstack-worker -s "$1" --margin 100 -- true
S
declare -A longer
for how in module commands; do
	for limit in longer same; do
		numbered 1 3 | jobstack push -q -s $how.$limit >/dev/null
		longer[$how.$limit]=$(JOBSTACK_SLURM=$how submit -n2 --time=1 --output="$how.$limit.out" longer.sbatch $how.$limit $limit)
	done
done

# two workers hang on one entry each; one is killed
cat >hang.sbatch <<'S'
#!/bin/bash
exec srun -Q jobstack-worker -s "$1" --batch 1 --idle-timeout 1 -- sh -c 'test ! -e hang || { echo $$ >>"hanging.$JOBSTACK_STACK"; exec sleep 1000; }'
S
numbered 1 20 | jobstack push -q -s worker >/dev/null
touch hang
job=$(submit -N2 -n2 hang.sbatch worker)
check 'two workers on two nodes' wait_for 60 hanging worker
is '... with one entry each' "$(ledger worker)" '0 0 18 0 0 2'
rm hang
target=$(running_on worker | head -1) other=$(running_on worker | tail -1)
lost=$(sql "SELECT lo FROM claim JOIN worker USING(worker_id) JOIN stack ON stack.stack_id=worker.stack_id WHERE name='worker' AND JSON_VALUE(identity,'\$.pid')=$target")
check 'one is killed with -9' kill -KILL "$target"
check '... what it held is in line again' wait_for 30 ledger_is worker '0 0 19 0 0 1'
mapfile -t commands <hanging.worker
for c in "${commands[@]}"; do
	[[ $(ps -o ppid= -p "$c" | tr -d ' ') == "$other" ]] && kill "$c" 2>/dev/null
done
check 'the other one finishes the rest, without anybody stepping in' wait_for 60 ledger_is worker '20 0 0 0 0 0'
check '... and then leaves' wait_for 60 gone "$job"
like '... with the loss and its reason on record' "$(jobstack show -s worker "$lost")" 'lost: the worker was killed by signal 9'
check 'its audit' audit worker

# logs -f from another host goes into the job, and prints all of it although the job ends with the command
cat >say.sbatch <<'S'
#!/bin/bash
exec srun -Q jobstack-worker -s said -- sh -c 'echo begun; touch begun; until test -e said; do sleep 0.1; done; echo end; exit 3'
S
jobstack push -q -s said --max-attempts 1 /said >/dev/null
job=$(submit -n1 say.sbatch)
check 'a command runs in a job' wait_for 60 test -e begun
elsewhere=(unshare --uts)
((EUID == 0)) || elsewhere=(unshare -U --map-current-user --keep-caps --uts)
"${elsewhere[@]}" sh -c 'hostname elsewhere; exec timeout 300 jobstack logs -s said -f 1' >followed 2>&1 &
follower=$!
check 'logs -f from another host' wait_for 60 grep -q begun followed
touch said
check '... ends with the command' wait "$follower"
like '... has all of it' "$(grep -v slurmstepd followed)" $'^begun\nend\n.*entry 1 attempt 1: exit 3 on '
check '... the job ends' wait_for 60 gone "$job"

# a job is cancelled: its workers drain, no failure is counted, they hold nothing any more
touch hang
numbered 1 10 | jobstack push -q -s cancel >/dev/null
job=$(submit -n2 hang.sbatch cancel)
check 'scancel: two run' wait_for 60 hanging cancel
scancel "$job"
check '... all goes back by itself' wait_for 60 ledger_is cancel '0 0 10 0 0 0'
is '... no failure counted' "$(sql "SELECT DISTINCT outcome FROM attempt JOIN stack USING(stack_id) WHERE name='cancel'")" 3
check '... the job ends' wait_for 60 gone "$job"

# scancel beside a command that will not end: what Slurm leaves us of time is less than the grace
cat >deaf.sbatch <<'S'
#!/bin/bash
exec srun -Q jobstack-worker -s "$1" --grace 60 -- sh -c 'trap "" TERM; touch "$JOBSTACK_STACK"; while :; do sleep 0.1; done'
S
jobs=()
for how in module commands; do
	jobstack push -q -s "deaf.$how" /deaf >/dev/null
	jobs+=("$(JOBSTACK_SLURM=$how submit -n1 deaf.sbatch "deaf.$how")")
done
check 'a deaf command runs' wait_for 60 test -e deaf.module
check '... and another one' wait_for 60 test -e deaf.commands
scancel "${jobs[@]}"
for how in module commands; do
	check '... it goes back before Slurm kills us' wait_for 30 ledger_is "deaf.$how" '0 0 1 0 0 0'
	is '... interrupted, not lost' "$(sql "SELECT outcome FROM attempt JOIN stack USING(stack_id) WHERE name='deaf.$how'")" 3
done
for job in "${jobs[@]}"; do check '... the job ends' wait_for 60 gone "$job"; done

# all of a job is killed at once: its end, known to Slurm, is the proof
numbered 1 10 | jobstack push -q -s killed >/dev/null
job=$(submit -n2 hang.sbatch killed)
check 'all workers of a job killed: two run' wait_for 60 hanging killed
sql "UPDATE worker SET identity=JSON_SET(identity,'\$.host','elsewhere') WHERE ended IS NULL" # so that the process table of this host proves nothing
mapfile -t pids < <(running_on killed)
mapfile -t keepers < <(ps -o ppid= -p "${pids[*]}" | tr -d ' ')
kill -STOP "${keepers[@]}" # so that they can't do anything about it
kill -KILL "${pids[@]}"
kill -KILL "${keepers[@]}"
check '... the job ends' wait_for 60 gone "$job"
mapfile -t commands <hanging.killed
kill_ours "${commands[@]}"
rm -f hang
missed() { [[ $(jobstack status killed) == *'no worker has been connected for '*'`jobstack recover -s killed` looks'* ]]; }
check '... nobody is left to notice it: status says what to type' wait_for 60 missed
like "... of which the commands' word is no proof" "$(JOBSTACK_SLURM=commands jobstack recover -s killed 2>&1)" 'nothing .*recover'
like '... what it had is taken back on the word of Slurm' "$(jobstack requeue -s killed 2>&1)" '2 recovered'
like '... which is the reason on record' "$(sql "SELECT reason FROM attempt JOIN stack USING(stack_id) WHERE name='killed' AND outcome=2 LIMIT 1")" 'Slurm job'
check '... and runs' timeout 300 srun -Q -n2 jobstack-worker -q -s killed -- true
is '... to the end' "$(ledger killed)" '10 0 0 0 0 0'
check 'its audit' audit killed

for how in module commands; do
	for limit in longer same; do check "$limit, $how: the workers leave" wait_for 60 gone "${longer[$how.$limit]}"; done
	is 'with an extended time limit they went on' "$(ledger $how.longer)" '3 0 0 0 0 0'
	like '... and said why' "$(cat $how.longer.out)" 'the job ends in (9 min|10 min) [0-9]+ s now: its time limit was changed'
	is 'without they did not' "$(ledger $how.same)" '0 0 3 0 0 0'
	like '... because the job ends soon' "$(cat $how.same.out)" 'the job ends in [0-9.]+ s: no more entries'
	is '... and Slurm was asked about each job once' \
		"$(sql "SELECT COUNT(*) FROM slurm_answer WHERE text REGEXP 'job (${longer[$how.longer]}|${longer[$how.same]}), restart'")" 2
	check "the job of a minute, $how: the worker has left" wait_for 90 gone "${minute[$how]}"
	like '... in time, and says why' "$(cat "$how.out")" 'the job ends in [0-9.]+ s'
	is '... nothing was interrupted' "$(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='$how' AND outcome<>0")" 0
	like '... something was done' "$(ledger "$how")" '^[1-5] 0 1[5-9] 0 0 0$'
done
finish
