#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: db
#
# What workers ask slurmctld by themselves, counted by slurmctld (sdiag), on a Slurm of its own: at the start once per job;
# nothing while all live, also if one is frozen or has lost its connection; at once after a loss, and then not again in the
# time that the site wants; one question for all stacks of the user; again while a job is being ended; nobody in the place of
# one that was killed when it was to ask; nothing if the site wants that.  A person may always ask.  Each worker's row names
# another host, so that the process table of this one proves nothing.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/scripts/lib/slurm-lab.sh"
set +e
lab=$JOBSTACK_TEST_DIR/slurm
chmod 711 "$JOBSTACK_TEST_DIR"
at_end 'slurm_lab_down "$lab"'
at_end 'kill_ours ${PIDS[*]-}'
check 'a Slurm of its own' slurm_lab_up "$lab" 4 8
. "$lab/env.sh"
printf '#!/bin/bash\n[[ ! -e %q ]] || sleep 5\n' "$PWD/slow" >epilog
chmod +x epilog
echo "Epilog=$PWD/epilog" >>"$lab/slurm.conf"
check '... whose nodes have something to do after a job' scontrol reconfigure
unset JOBSTACK_MODULE_DIR JOBSTACK_SLURM
jobstack init -q
export SBATCH_OUTPUT=$PWD/slurm-%j.out
PIDS=()
printf '%s\n' '[site]' 'slurm-every = 1h' >hour.cnf
printf '%s\n' '[site]' 'slurm-every = never' >never.cnf
export JOBSTACK_SITE_FILE=$PWD/hour.cnf

# rpcs REGEX: how many of these slurmctld has got
rpcs() { sdiag | awk -v what="^REQUEST_($1)\$" '/by message type/ {on = 1} /by user/ {on = 0} on && $1 ~ what && match($0, /count:[0-9]+/) {n += substr($0, RSTART + 6, RLENGTH - 6)} END {print n + 0}'; }
question='NODE_INFO_SINGLE|JOB_USER_INFO|JOB_INFO_SINGLE|JOB_INFO|JOB_STEP_INFO|BUILD_INFO'
mark() { asked=$(rpcs "$question"); }
asked_nothing() { is "$1" "$(rpcs "$question")" "$asked"; }
# One for the cluster's name, then one each for jobs, steps and nodes.  All but the first may be repeated three times.
asked_once() {
	local n=$(($(rpcs "$question") - asked)) nodes=${2-1}
	check "$1 ($n)" test "$n" -ge 2 -a "$n" -le $((9 + 4 * nodes))
}

# ---- a start
cat >many.sbatch <<'W'
#!/bin/bash
exec srun -Q jobstack-worker -q -s many --batch 1 -- bash -c 'touch "up.$JOBSTACK_ENTRY"; until [[ -e up.1 && -e up.2 && -e up.3 && -e up.4 && -e up.5 && -e up.6 ]]; do sleep 0.1; done'
W
numbered 1 6 | jobstack push -q -s many >/dev/null
one=$(rpcs JOB_INFO_SINGLE) conf=$(rpcs BUILD_INFO)
sbatch -Q -n6 many.sbatch # --wait would ask, too
check 'a job of six workers' wait_for 60 ledger_is many '6 0 0 0 0 0'
one=$(($(rpcs JOB_INFO_SINGLE) - one)) conf=$(($(rpcs BUILD_INFO) - conf))
check "... has asked for itself once at most ($one)" test "$one" -le 1
# before it asks about a job, it compares the cluster's name
is '... and once how the cluster is set up' "$((conf - one))" 1

# ---- all live
cat >w.sbatch <<'W'
#!/bin/bash
exec jobstack-worker -q -s "$1" --batch 1 --idle-timeout 1h -- sh -c 'echo "$JOBSTACK_ENTRY" >>runs.$JOBSTACK_STACK; exec sleep 1000'
W
connected() { [[ $(sql "SELECT COUNT(*) FROM worker JOIN stack USING(stack_id) WHERE name='$1' AND ended IS NULL AND IS_FREE_LOCK(CONCAT('jobstack.worker.',HEX(token)))=0") == "$2" ]]; }
busy() { [[ $(ledger "$1") == *" 0 $2" ]]; }
# workers STACK N: N workers that are busy, each in a job, and then one that is idle
workers() {
	local i
	numbered 1 "$2" | jobstack push -q -s "$1" >/dev/null
	for ((i = 0; i < $2; i++)); do sbatch -Q -n1 w.sbatch "$1"; done
	wait_for 60 busy "$1" "$2" || fail "$1: they run" "$(ledger "$1"; cat slurm-*.out)"
	sbatch -Q -n1 w.sbatch "$1"
	wait_for 60 connected "$1" $(($2 + 1)) || fail "$1: all are connected" "$(ledger "$1"; cat slurm-*.out)"
	sql "UPDATE worker JOIN stack USING(stack_id) SET identity=JSON_SET(identity,'\$.host',CONCAT('elsewhere',worker_id)) WHERE name='$1'"
	mapfile -t -O ${#PIDS[@]} PIDS < <(worker_tree "$1")
}
tree_of() { # WORKER: its keeper, it and its commands
	local pid
	pid=$(sql "SELECT JSON_VALUE(identity,'\$.pid') FROM worker WHERE worker_id=$1")
	is_ours "$pid" && process_tree "$(ps -o ppid= -p "$pid" | tr -d ' ')"
}
choose() { # STACK: sets CHOSEN, a busy worker, and TREE
	CHOSEN=$(sql "SELECT MIN(worker_id) FROM worker JOIN stack USING(stack_id) JOIN claim USING(stack_id,worker_id) WHERE name='$1' AND ended IS NULL")
	mapfile -t TREE < <(tree_of "$CHOSEN")
}
lose() { # STACK: a busy worker is killed whole, so that nobody speaks for it
	choose "$1"
	kill -STOP "${TREE[@]}"
	kill -KILL "${TREE[@]}"
}
recovered() { [[ $(sql "SELECT ended IS NOT NULL FROM worker WHERE worker_id=$1") == 1 ]]; }
lives() { check "$2" test "$(sql "SELECT ended IS NULL FROM worker WHERE worker_id=$1")" = 1; }
# rounds STACK: its workers have sent so many heartbeats that some looks have come and gone
beats() { sql "SELECT SUM(seq) FROM worker JOIN stack USING(stack_id) WHERE name='$1' AND ended IS NULL"; }
beats_are() { (($(beats "$1") >= $2)); }
rounds() { wait_for 60 beats_are "$1" $(($(beats "$1") + 12)); }
time_passes() { sql "UPDATE slurm_answer SET asked=asked-INTERVAL 1 HOUR WHERE text LIKE '%: jobs%'"; }
mark
workers a 4
workers b 2
is 'the next jobs know how the cluster is set up' "$(($(rpcs BUILD_INFO) - $(rpcs JOB_INFO_SINGLE)))" "$((conf - one))"
mark
check 'all live' rounds a
check '... for a while' rounds b
asked_nothing '... and nobody asks slurmctld'
choose a
kill -STOP "${TREE[@]}"
check 'one is frozen' rounds a
asked_nothing '... and stays connected: nobody asks'
asks() { (($(rpcs JOB_STEP_INFO) > $1)); }
steps=$(rpcs JOB_STEP_INFO) # before the heartbeat is set back: somebody may ask at once
time_passes # on a busy machine somebody may have asked at the start
sql "UPDATE worker SET beat=UTC_TIMESTAMP(6)-INTERVAL 10 MINUTE WHERE worker_id=$CHOSEN"
check '... until half of its lease is over' wait_for 30 asks "$steps"
kill -CONT "${TREE[@]}"
lives "$CHOSEN" '... and it lives'
sql "UPDATE worker SET beat=UTC_TIMESTAMP(6) WHERE worker_id=$CHOSEN" # before its next heartbeat it would still be a reason

# ---- losses
mark
time_passes
lose a
check 'a worker is lost: it is recovered at once' wait_for 30 recovered "$CHOSEN"
like '... by what Slurm says' "$(sql "SELECT reason FROM worker WHERE worker_id=$CHOSEN")" '^its Slurm job [0-9]+ ended .FAILED'
asked_once '... after one question'
mark
lose a
first=$CHOSEN
lose b
second=$CHOSEN
check 'two more are lost, in two stacks' rounds a
check '... and for a while' rounds b
asked_nothing '... nobody asks within the time that the site wants'
lives "$first" '... so they are not recovered yet'
time_passes
check 'when that is over, they are' wait_for 30 recovered "$first"
check '... both' wait_for 30 recovered "$second"
asked_once '... after one question for both stacks' 2
mark
touch slow
time_passes
lose a
check 'while a job is being ended, the question is repeated' wait_for 30 recovered "$CHOSEN"
rm slow
asked_once '... within one'

# ---- the connection of one that lives is cut
mark
time_passes
choose b
connection="SELECT IS_USED_LOCK(CONCAT('jobstack.worker.',HEX(token))) FROM worker WHERE worker_id=$CHOSEN"
before=$(sql "$connection")
sql "KILL $before"
another() { [[ $(sql "$connection") != "$before" && $(sql "$connection") != NULL ]]; }
check 'a connection that is cut is replaced' wait_for 30 another
lives "$CHOSEN" '... and the worker keeps its entry'
check '... after one question at most' test $(($(rpcs "$question") - asked)) -le 13

# ---- who asks is killed: a squeue that hangs
mkdir wrap
cat >wrap/squeue <<W
#!/bin/bash
echo "\$\$ \$PPID" >>$PWD/calls
exec sleep 1000
W
chmod +x wrap/squeue
: >calls
calls() { wc -l <calls; }
calls_are() { (($(calls) >= $1)); }
old=$PATH
export JOBSTACK_SLURM=commands PATH=$PWD/wrap:$PATH
workers c 1
: >calls # at the start it may be asked
choose c
kill -STOP "${TREE[@]}"
kill -KILL "${TREE[@]}"
time_passes
check 'with the commands' rounds c
is '... a connection that is gone is no reason to ask, since they prove nothing' "$(calls)" 0
sql "UPDATE worker SET beat=UTC_TIMESTAMP(6)-INTERVAL 10 MINUTE WHERE worker_id=$CHOSEN"
check '... half of a lease is one' wait_for 30 calls_are 1
read -r group parent <calls
look=$(ps -o ppid= -p "$parent" | tr -d ' ')
check '... by a process below a keeper' is_ours "$look"
kill -KILL "$look" "$parent" "$group" 2>/dev/null
check 'it is killed while squeue hangs' rounds c
is '... nobody asks in its place before the time is over' "$(calls)" 1
time_passes
check '... then somebody does' wait_for 30 calls_are 2
gone() { ! is_ours "$(tail -n1 calls | cut -d' ' -f1)"; }
check 'a squeue that hangs is ended' wait_for 60 gone
check '... and not run again' rounds c
is '... within the time' "$(calls)" 2
lives "$CHOSEN" '... and nothing is proven'
PATH=$old
unset JOBSTACK_SLURM
lose b
check 'meanwhile a worker is lost that is with the module: it is recovered at once' wait_for 30 recovered "$CHOSEN"

# ---- a host whose Slurm does not work
numbered 1 1 | jobstack push -q -s e >/dev/null
sbatch -Q -n1 w.sbatch e
wait_for 60 busy e 1
SLURM_CONF=$PWD/none SLURM_CLUSTER_NAME=$(sql "SELECT JSON_VALUE(identity,'\$.cluster') FROM worker WHERE worker_id=$CHOSEN") jobstack-worker -q -s e --idle-timeout 1h -- true 2>/dev/null &
broken=$!
mapfile -t -O ${#PIDS[@]} PIDS < <(process_tree "$broken")
wait_for 60 connected e 1
sql "UPDATE worker JOIN stack USING(stack_id) SET identity=JSON_SET(identity,'\$.host',CONCAT('elsewhere',worker_id)) WHERE name='e'"
time_passes
lose e
given_back() { [[ $(sql "SELECT COUNT(*) FROM slurm_answer WHERE text LIKE '--------%: jobs\n'") == 1 ]]; }
check 'a host whose Slurm does not work asks in vain' wait_for 30 given_back
kill "$broken"
sbatch -Q -n1 w.sbatch e
wait_for 60 connected e 1
is '... and others do not ask at once' "$(sql "SELECT ended IS NULL FROM worker WHERE worker_id=$CHOSEN")" 1
sql "UPDATE slurm_answer SET asked=asked-INTERVAL 15 MINUTE WHERE text LIKE '--------%: jobs%'"
check '... but in a quarter of the time' wait_for 30 recovered "$CHOSEN"

# ---- a site that wants no questions
export JOBSTACK_SITE_FILE=$PWD/never.cnf
mark
workers d 1
lose d
check 'a site that wants none: a worker is lost' rounds d
asked_nothing '... nobody asks, neither at the start nor then'
lives "$CHOSEN" '... it is not recovered'
like '... until a person wants it' "$(jobstack recover -s d 2>&1)" '1 recovered from 1 dead worker'
for s in many a b c d e; do check "audit of $s" audit $s; done
finish
