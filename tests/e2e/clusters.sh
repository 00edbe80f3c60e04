#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: db
# shellcheck disable=SC2016
#
# Two Slurm clusters that give out the same job numbers, used by one account from one host.  A worker is judged by the cluster that
# it names and by no other, wherever $SLURM_CONF leads; nobody asks about a job, or cancels one, in the wrong cluster.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/scripts/lib/slurm-lab.sh"
set +e
lab=$JOBSTACK_TEST_DIR
chmod 711 "$lab"
at_end 'slurm_lab_down "$lab/a"; slurm_lab_down "$lab/b"'
slurm_lab_tune() { sed -i "s/^ClusterName=.*/ClusterName=${1##*/}/" "$1/slurm.conf"; }
check 'the cluster a' slurm_lab_up "$lab/a" 1 4
check 'the cluster b' slurm_lab_up "$lab/b" 1 4
in_a() { (. "$lab/a/env.sh" && "$@"); }
in_b() { (. "$lab/b/env.sh" && "$@"); }
jobstack init -q
by_commands() { [[ ${JOBSTACK_SLURM-} == commands ]]; }
runs() { [[ $(ledger s) == *' 1' ]]; }
state_is() { [[ $(scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p') == "$2" ]]; }
no_proof() { # COMMAND...: recover, run by it, takes nothing
	local i text
	for i in 1 2; do
		text=$("$@" jobstack recover -s s 2>&1)
		[[ $text == *"nothing "*recover* && $(ledger s) == *' 1' ]] || { echo "$text"; return 1; }
	done
}
misled() { in_b env SLURM_CLUSTER_NAME=a "$@"; } # the environment of a, but $SLURM_CONF leads to b

# ---- a worker in a; in b its job's number has ended
numbered 1 3 | jobstack push -q -s s >/dev/null
cat >hang.sbatch <<'S'
#!/bin/bash
srun -Q jobstack-worker -q -s s --batch 1 --lease 2h -- sh -c 'exec sleep 1000'
sleep 1000
S
job=$(in_a sbatch --parsable --output=hang.out hang.sbatch)
check 'a worker runs in a' wait_for 60 runs
is 'a job in b has the same number' "$(in_b timeout 60 sbatch --wait --parsable --output=/dev/null --wrap true)" "$job"
check '... and has ended' in_b state_is "$job" COMPLETED
# nothing but the cluster tells the two jobs apart
sql "UPDATE worker SET identity=JSON_REMOVE(JSON_SET(identity,'\$.host','elsewhere'),'\$.job_start_us'),beat=beat-INTERVAL 10 SECOND WHERE ended IS NULL"
check 'which proves nothing: asked from b' no_proof in_b
check '... from a shell of a that leads to b' no_proof misled
like '... who says why' "$(misled jobstack recover -s s 2>&1)" 'could not be asked about 1 worker: the cluster that answers is "b", not "a": type `unset SLURM_CONF`, or set it to the slurm.conf of "a"'
sql "UPDATE worker SET identity=JSON_REMOVE(identity,'\$.cluster') WHERE ended IS NULL"
check '... of a worker that names no cluster' no_proof in_b
sql "UPDATE worker SET identity=JSON_SET(identity,'\$.cluster','a') WHERE ended IS NULL"
check '... by a worker in b, which does the rest' in_b timeout 60 srun -Q jobstack-worker -q -s s --idle-timeout 0 -- true
is '... but not that entry' "$(ledger s)" '2 0 0 0 0 1'

# ---- in a job of a, $SLURM_CONF leads to b, where a job of this number ends soon
cat >misled.sbatch <<S
#!/bin/bash
export SLURM_CONF=$lab/b/slurm.conf
unset SLURM_JOB_START_TIME SLURM_JOB_END_TIME
until [[ -e go ]]; do sleep 0.1; done
jobstack-worker -s t -- true 2>worker.err
jobstack pop -s p --json >/dev/null 2>pop.err
PYTHONDONTWRITEBYTECODE=1 JOBSTACK_LIBRARY=$JOBSTACK_BIN/libjobstack.so PYTHONPATH=$JOBSTACK_SOURCE/src/python \\
	python3 -c 'import jobstack; jobstack.Stack("u").pop()' 2>python.err
jobstack doctor --json >doctor.out 2>&1
S
jobstack push -q -s t /1 >/dev/null
jobstack push -q -s p /1 >/dev/null
jobstack push -q -s u /1 >/dev/null
in_a timeout 60 srun -Q true # b has counted one job more
next=$(in_a sbatch --parsable --output=misled.out misled.sbatch)
other=$(in_b sbatch --parsable --time=1 --output=/dev/null --wrap 'sleep 1000')
is 'a job in b has the number of another job in a' "$other" "$next"
check '... and runs' in_b wait_for 30 state_is "$other" RUNNING
touch go
check '... which ends' in_a wait_for 60 state_is "$next" COMPLETED
why='the cluster that answers is "b", not "a"'
like 'its worker is not told of the wrong end' "$(cat worker.err)" "Slurm does not say when this job ends \\($why"
unlike '... nor bound by it' "$(cat worker.err)" 'the job ends in'
like 'a pop is not either' "$(cat pop.err)" "lease is 12 hours.*$why"
like '... nor one in Python' "$(cat python.err)" 'the lease is 12 hours'
like 'doctor says so' "$(cat doctor.out)" 'this job is in the cluster \\"a\\"'

# ---- the worker dies, and its job with it
mapfile -t hanging < <(worker_tree s)
kill -STOP "${hanging[@]}"
kill_ours "${hanging[@]}"
in_a scancel "$job"
check 'its job is cancelled' in_a wait_for 40 state_is "$job" CANCELLED
check '... b can not tell' no_proof in_b
reason="job cancelled \\(Slurm job $job CANCELLED\\)"
if by_commands; then
	check '... a can, but the commands prove nothing' no_proof in_a
	sql "UPDATE worker SET beat=UTC_TIMESTAMP(6)-INTERVAL 600 SECOND,lease_us=3000000 WHERE ended IS NULL AND done=0 AND JSON_VALUE(identity,'\$.job')=$job"
	like '... until the lease is over' "$(in_a jobstack recover -s s 2>&1)" "$reason: silent for 6[0-9][0-9] s: 1 entry requeued"
else
	like '... a can' "$(in_a jobstack recover -s s 2>&1)" "$reason: 1 entry requeued"
fi
check 'its audit' audit s

# ---- a server's jobs in a are not cancelled in b
data=$PWD/data
server() { local verb=$1; shift; timeout 300 jobstack server "$verb" --data "$data" --client-file "$PWD/client.cnf" "$@"; }
waiting=$(in_a server submit --parsable --begin=now+1hour)
like 'a job for a server waits in a' "$waiting" '^[0-9]+$'
check 'stop in b: refused' says 1 'in the Slurm cluster "a", and this host uses "b"' in_b server stop
check '... it waits on' in_a state_is "$waiting" PENDING
check 'stop in a' in_a server stop -q
check '... cancels it' in_a wait_for 20 state_is "$waiting" CANCELLED
finish
