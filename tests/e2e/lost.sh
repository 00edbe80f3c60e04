#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: db
#
# What Slurm proves of a worker's end, and what it does not: a job that was cancelled, ran into its wall time or ended, a step that
# ended while its job runs on; against a slurmd, a slurmstepd and a slurmctld killed with -9, a node that is set down, a
# job that was requeued.  Has a Slurm of its own.  Each worker is killed with -9 whole, so that nobody is left to speak for it,
# and its row names another host, so that the process table of this one proves nothing.  Slurm is asked through the plugin, and
# whenever it is, through Slurm's commands as well: they never prove anything, but name the same reason for a silence.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/scripts/lib/slurm-lab.sh"
set +e
lab=$JOBSTACK_TEST_DIR/slurm
chmod 711 "$JOBSTACK_TEST_DIR"
at_end 'slurm_lab_down "$lab"'
at_end 'kill_ours ${PIDS[*]-}'
check 'a Slurm of its own' slurm_lab_up "$lab" 5 4
. "$lab/env.sh"
unset JOBSTACK_MODULE_DIR
jobstack init -q
export SBATCH_OUTPUT=$PWD/slurm-%j.out
PIDS=()

# A job whose worker hangs on one entry, with a lease of hours; started again, it does not begin another.
cat >hang.sbatch <<'S'
#!/bin/bash
[[ ${SLURM_RESTART_COUNT-0} == 0 && ! -e again.$SLURM_JOB_ID ]] || exec sleep 1000
touch again.$SLURM_JOB_ID
srun -Q jobstack-worker -q -s "$1" --batch 1 --lease 2h -- sh -c 'echo "$JOBSTACK_ENTRY $$" >>runs.$JOBSTACK_STACK; exec sleep 1000'
sleep 1000
S
runs() { [[ $(ledger "$1") == *' 1' && -s runs.$1 ]]; }
# elsewhere STACK: its worker is on another host, and was silent for a while
elsewhere() {
	mapfile -t -O ${#PIDS[@]} PIDS < <(worker_tree "$1")
	sql "UPDATE worker JOIN stack USING(stack_id) SET identity=JSON_SET(identity,'\$.host','elsewhere'),beat=beat-INTERVAL 10 SECOND WHERE name='$1' AND ended IS NULL"
}
# hang STACK OPTION...: such a job, in $JOB, on a stack of three; waits until it runs
hang() {
	local stack=$1
	shift
	numbered 1 3 | jobstack push -q -s "$stack" >/dev/null
	JOB=$(sbatch --parsable "$@" hang.sbatch "$stack")
	wait_for 60 runs "$stack" || fail "$stack: it runs" "$(ledger "$stack"; squeue; cat slurm-"$JOB".out)"
	elsewhere "$stack"
}
die() {
	freeze "$1"
	kill_frozen
}
takes() { # STACK REASON: recover takes one entry back, and says why; with the commands it would only after a silence
	local text
	text=$(JOBSTACK_SLURM=commands jobstack recover --dry-run -s "$1" 2>&1)
	if [[ $2 == *'silent for'* ]]; then
		[[ $text =~ ($2) ]] || { echo "the commands: $text"; return 1; }
	else
		[[ $text == *"nothing "*recover* ]] || { echo "the commands: $text"; return 1; }
	fi
	text=$(jobstack recover -s "$1" 2>&1)
	[[ $text =~ ($2):\ 1\ entry\ requeued ]] || { echo "$text; $(squeue; squeue -s; sinfo -N)"; return 1; }
}
no_proof() { # STACK: recover takes nothing, as often as it is asked
	local how text
	for how in module commands module; do
		text=$(JOBSTACK_SLURM=$how jobstack recover -s "$1" 2>&1)
		[[ $text == *"nothing "*recover* && $(ledger "$1") == *' 1' ]] || { echo "$text"; return 1; }
	done
}
state_is() { [[ $(scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p') == "$2" ]]; }
node_is() { [[ $(sinfo -h -n "$1" -o %T) =~ $2 ]]; }
no_steps() { [[ -z $(squeue -h -s -j "$1" -o %i | grep -v batch) ]]; }
process_of() { tail -n1 "runs.$1" | cut -d' ' -f2; } # of the stack's last command
alive() { proc_alive "$1"; }
dead() { ! proc_alive "$1"; }
# over STACK: its lease is over, and has been for long: silence is all that is left
over() { sql "UPDATE worker JOIN stack USING(stack_id) SET beat=UTC_TIMESTAMP(6)-INTERVAL 600 SECOND,lease_us=3000000 WHERE name='$1' AND ended IS NULL"; }
slurmd_of() { cat "$lab/slurmd-$1.pid"; }
slurmd_start() { (cd "$lab" && exec_bare log/start.log slurmd -f "$lab/slurm.conf" -N "$1"); }

# the wall time needs more than a minute: meanwhile the others
hang wall -w n5 --time=1
wall=$JOB
die wall

# ---- proofs
hang step -w n1
check 'one that lives is not taken from' no_proof step
die step
check 'a step that ended while its job runs on' wait_for 30 takes step "its Slurm step $JOB\.0 ended"
check '... really' state_is "$JOB" RUNNING
like '... is the reason on record' "$(jobstack show -s step 1)" "lost: its Slurm step $JOB.0 ended"
scancel "$JOB"

hang cancel -w n1
die cancel
scancel "$JOB"
check 'a job that was cancelled' wait_for 40 state_is "$JOB" CANCELLED
check '... is a proof' wait_for 20 takes cancel "job cancelled \(Slurm job $JOB CANCELLED\)"

# what a script pops outlives the step that popped it, but not the job
cat >pop.sbatch <<'S'
#!/bin/bash
srun -Q jobstack pop -q -s pop --lease 2h >popped
sleep 1000
S
jobstack push -q -s pop /1 >/dev/null
job=$(sbatch --parsable -w n1 pop.sbatch)
check "a script's pop" wait_for 30 test -s popped
check '... its step ends' wait_for 20 no_steps "$job"
sql "UPDATE worker SET beat=beat-INTERVAL 10 SECOND WHERE ended IS NULL AND kind=1"
check '... which is no proof' no_proof pop
scancel "$job"
check '... the end of the job' wait_for 40 state_is "$job" CANCELLED
check '... is one' wait_for 20 takes pop "job cancelled \(Slurm job $job CANCELLED\)"

# sbatch hands the environment of the step it was called from on to the batch script
numbered 1 3 | jobstack push -q -s batch >/dev/null
cat >batch.sbatch <<'S'
#!/bin/bash
jobstack-worker -q -s batch --batch 1 --lease 2h -- sh -c 'echo "$JOBSTACK_ENTRY $$" >>runs.batch; exec sleep 1000'
sleep 1000
S
JOB=$(SLURM_STEP_ID=7 SLURM_STEPID=7 sbatch --parsable -w n1 batch.sbatch)
check 'a worker in a batch script, with the step of another job in its environment' wait_for 30 runs batch
elsewhere batch
check '... lives, and is not taken from' no_proof batch
die batch
check '... dead, while the script goes on: no proof' no_proof batch
scancel "$JOB"
check '... until it is over' wait_for 40 takes batch "job cancelled \(Slurm job $JOB CANCELLED\)"

# of salloc's own shell Slurm knows nothing: the end of the job is not its end
numbered 1 3 | jobstack push -q -s shell >/dev/null
salloc -Q -w n4 --no-shell
JOB=$(squeue -h -w n4 -o %i)
SLURM_JOB_ID=$JOB SLURMD_NODENAME=n4 SLURM_CLUSTER_NAME=lab timeout 300 jobstack-worker -q -s shell --batch 1 --lease 2h -- \
	sh -c 'echo "$JOBSTACK_ENTRY $$" >>runs.shell; exec sleep 1000' &
check "a worker in salloc's shell" wait_for 30 runs shell
elsewhere shell
check '... lives: no proof' no_proof shell
scancel "$JOB"
check '... the job ends' wait_for 40 state_is "$JOB" CANCELLED
check '... the worker does not: no proof' no_proof shell
die shell

# ---- slurmd is killed with -9 under a running entry: the task runs on, and nobody else gets its entry
hang slurmd -w n2
task=$(process_of slurmd)
kill -KILL "$(slurmd_of n2)"
check 'slurmd killed with -9: no proof' no_proof slurmd
check '... until Slurm says the node is down' wait_for 60 node_is n2 down
check '... and when it does: no proof' no_proof slurmd
check '... the task runs on' alive "$task"
check '... while others finish the rest' timeout 300 srun -Q -w n1 jobstack-worker -q -s slurmd --idle-timeout 0 -- sh -c 'echo "$JOBSTACK_ENTRY $$" >>runs.slurmd'
is '... but not that entry' "$(sort runs.slurmd | cut -d' ' -f1 | uniq -c | tr -s ' ')" $' 1 1\n 1 2\n 1 3'
is '... which is in its hands' "$(ledger slurmd)" '2 0 0 0 0 1'
die slurmd
wait_for 60 dead "$task"
check '... dead, on a node that does not answer: no proof' no_proof slurmd
over slurmd
check 'when its lease is over, the reason is the node' takes slurmd 'node failed \(n2\): silent for 6[0-9][0-9] s'
slurmd_start n2

# ---- slurmstepd is killed with -9: its task lives on
hang stepd -w n1
stepd=$(process_of stepd) # another cluster may have a step of this name
until [[ -z $stepd || $(ps -o comm= -p "$stepd") == slurmstepd ]]; do stepd=$(ps -o ppid= -p "$stepd" | tr -d ' '); done
check 'the slurmstepd' test -n "$stepd"
kill -KILL "$stepd"
check '... killed with -9: the task lives on' alive "$(process_of stepd)"
check '... no proof' no_proof stepd
die stepd
scancel "$JOB"

# ---- a node that is set down
hang down -w n3 --no-requeue
freeze down
kill -STOP "$(slurmd_of n3)" # else it would kill the job's processes, and they would hear the TERM before
PIDS+=("$(slurmd_of n3)")
scontrol update node=n3 state=down reason=test
check 'a node that is set down: NODE_FAIL' wait_for 20 state_is "$JOB" NODE_FAIL
check '... no proof' no_proof down
kill_frozen
check '... dead or not' no_proof down
over down
# slurmctld may have taken the node back, by what slurmd said just before it froze: then it is the job that tells
check '... but the reason, when its lease is over' takes down "node failed \(n3\): silent for 6[0-9][0-9] s|node failed \(Slurm job $JOB NODE_FAIL\), node n3 does not answer: silent for 6[0-9][0-9] s"
kill -CONT "$(slurmd_of n3)"

# ---- a job that was requeued is another one
hang requeue -w n1
die requeue
restarts() { [[ $(scontrol show job "$1") == *Restarts=1* ]]; }
scontrol requeue "$JOB"
check 'scontrol requeue' wait_for 60 restarts "$JOB"
check '... it runs again, under the same number' wait_for 60 state_is "$JOB" RUNNING
check '... no proof' no_proof requeue
over requeue
check '... but the reason, when its lease is over' takes requeue "its Slurm job $JOB was requeued: silent for 6[0-9][0-9] s"
scancel "$JOB"

# ---- slurmctld is killed with -9 right after the start, and does not know of it any more
slurmctld_start() { (cd "$lab" && exec_bare log/start.log slurmctld -f "$lab/slurm.conf"); }
hang ctld -w n4
task=$(process_of ctld)
kill -KILL "$(<"$lab/slurmctld.pid")"
alone() { ! timeout 5 sinfo >/dev/null 2>&1; }
check 'slurmctld killed with -9: said' wait_for 30 sh -c 'jobstack recover -s ctld 2>&1 | grep -q "Slurm could not be asked about 1 worker"'
rm -f "$lab/slurmctld.pid"
slurmctld_start
wrong=''
for _ in {1..20}; do
	was_alive=0
	! alive "$task" || was_alive=1
	jobstack recover -s ctld >said 2>&1
	((!was_alive)) || ! alive "$task" || [[ $(ledger ctld) == *' 1' ]] || wrong+=$(<said)
	sleep 0.2
done
is '... back again: nothing is taken while the task runs' "$wrong" ''
die ctld 2>/dev/null

# ---- the wall time
check 'wall time: the job is over' wait_for 150 state_is "$wall" TIMEOUT
check '... which is a proof' wait_for 20 takes wall "wall time \(Slurm job $wall TIMEOUT\)"
for s in step cancel pop batch shell slurmd stepd down requeue ctld wall; do check "audit of $s" audit $s; done
finish
