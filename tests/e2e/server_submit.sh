#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: slurm
# shellcheck disable=SC2016
#
# jobstack server submit: a private server in a Slurm job, its successors, and a worker that runs through the change.  The end of the
# wall time is the signal that Slurm would send; another node is a record that names one.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
export HOME=$PWD/home JOBSTACK_TEST_CNF=$PWD/home/.config/jobstack/client.cnf

chmod 711 "$JOBSTACK_TEST_DIR" home
unset XDG_CONFIG_HOME XDG_DATA_HOME JOBSTACK_DEFAULTS_FILE
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
data=$PWD/data
server() { local verb=$1; shift; timeout 500 jobstack server "$verb" --data "$data" "$@"; }
at_end 'server stop -q'
json() { server status --json | jq -r "$1"; }
runs_in() { [[ $(json '"\(.state) \(.job)"') == "running $1" ]]; }
up_in() { runs_in "$1" || { server status; scontrol show job "$1"; cat "data.job-$1.log"; return 1; }; }
has_next() { [[ $(json .jobs) =~ ^$1\ ([0-9]+)$ ]] && NEXT=${BASH_REMATCH[1]}; }
state_is() { [[ $(scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p') == "$2" ]]; }
log_says() { grep -qE "$2" "data.job-$1.log" || { cat "data.job-$1.log" && return 1; }; }
chain_is() { [[ $(squeue -h -n jobstack-server -o '%A' -A "$SBATCH_ACCOUNT" | wc -l) == "$1" ]]; }
logged_in() { jobstack status -q 2>/dev/null; }

check 'the verb stands first' says 2 'put submit before its options' jobstack server --data x submit
check 'no command' says 2 'takes no command after' server submit -- true
check 'too short a wall time' says 2 'give at least 4 minutes' server submit --time=3:30
check 'no sbatch' says 2 'there is no sbatch' env PATH=/proc/none "$(command -v jobstack)" server submit
check "what sbatch refuses" says 1 'not submitted: sbatch refused' bash -c "timeout 300 jobstack server submit --data $data --partition=nowhere 2>&1 | tr '\n' ' ' >&2; exit \${PIPESTATUS[0]}"
is '... leaves no chain' "$(json .jobs)" null

# ---- one that waits is taken away
check 'a job that waits' server submit -q --begin=now+1hour
check '... is seen' fails_with 1 bash -c "jobstack server status --data $data | grep -q '^waiting: job' && exit 1"
check '... a second is refused' says 1 'a job for this server is already submitted' server submit
check '... stop' server stop -q
check '... takes it away' wait_for 20 chain_is 0
is '... all of it' "$(json '"\(.state) \(.jobs)"')" 'stopped null'

# ---- one that can't be up
check 'a job that fails' says 1 'job [0-9]+ ended \(FAILED\) before its server was up: see .*/data.job-[0-9]+.log' \
	server submit -q --bind 127.0.0.1 --time=30 --program "$(command -v false)" --wait 300
is '... leaves no chain' "$(json .jobs)" null

# ---- up
first=$(server submit --bind 127.0.0.1 --memory 32M --time=30 --wait 300 --parsable)
like 'submitted' "$first" '^[0-9]+$'
check 'it runs in its job' up_in "$first"
check '... and the next one waits for its end' wait_for 20 has_next "$first"
second=$NEXT
like '... told' "$(server status)" "job: $first"$'\n.*'"waiting: job $second"
check 'a second chain is refused' says 1 "is already running, or may be, on .* in Slurm job $first" server submit
check 'clients get in' jobstack init -q
numbered 1 8 | jobstack push -q -s s >/dev/null
timeout 500 jobstack-worker -q -s s --batch 1 -- sh -c 'sleep 0.3' &
worker=$!
closed() { (($(sql 'SELECT COUNT(*) FROM attempt' 2>/dev/null || echo 0) >= $1)); }
check 'a worker works' wait_for 30 closed 2

# ---- the end of the wall time: what --signal=B:TERM@120 does
scancel --signal=TERM --batch "$first"
check 'the next job takes over' wait_for 60 runs_in "$second"
check '... after a clean end' wait_for 20 state_is "$first" COMPLETED
unlike '... nothing to recover' "$(cat "data.job-$second.log")" 'recover'
check '... and has one after it' wait_for 20 has_next "$second"
third=$NEXT
check 'the worker ends well' wait "$worker"
is '... having done it all' "$(ledger s)" '8 0 0 0 0 0'
check '... once each' audit s

# ---- the node dies, as far as can be seen; the record is of another host, in a job that still runs
jobstack push -q -s t /y >/dev/null
sleeper=$(sbatch --parsable --job-name=sleeper --output=/dev/null --wrap='sleep 1000')
check 'another job' wait_for 30 state_is "$sleeper" RUNNING
scontrol hold "$third"
pid=$(json .pid)
kill -KILL "$(ps -o ppid= -p "$pid" | tr -d ' ')" "$pid"
check 'a server that is killed' wait_for 30 state_is "$second" FAILED
sed -i "s/^host=.*/host=elsewhere/;s/^job=.*/job=$sleeper/;s/^bind=.*/bind=192.0.2.1/;s/^cluster=lab\$/cluster=another/" data/owner
check '... may still live on another node' says 1 'belongs to the server on the host elsewhere' server start
scontrol release "$third"
check 'the next job waits for a proof' wait_for 60 log_says "$third" "waiting for the server in Slurm job $sleeper on elsewhere to end: the cluster that answers is \"lab\", not \"another\""
check '... and takes nothing over' grep -qx host=elsewhere data/owner
scancel "$sleeper"
check 'that job has ended' wait_for 30 state_is "$sleeper" CANCELLED
check '... but the server was in another cluster, which has such a job, too' grep -qx host=elsewhere data/owner
sed -i 's/^cluster=another$/cluster=lab/' data/owner
check '... of this one: it takes over' wait_for 60 runs_in "$third"
check '... by the proof' log_says "$third" "Slurm job $sleeper, which ran the server of .* on elsewhere, has ended"
check '... what was committed is there' wait_for 20 logged_in
is '... all of it' "$(ledger t)" '0 0 1 0 0 0'

# ---- stop
check 'stop' server stop -q
check '... ends the chain' wait_for 30 chain_is 0
is '... and the server, cleanly' "$(json '"\(.state) \(.jobs)"')" 'stopped null'
check '... its job too' wait_for 20 state_is "$third" COMPLETED

# ---- a newer MariaDB comes while the chain goes on: the next job leaves the data alone, and says what to type
older=$(server submit --bind 127.0.0.1 --memory 32M --time=30 --wait 300 --parsable)
check 'a chain with an older server' wait_for 20 has_next "$older"
newer=$NEXT
for info in data/data/*upgrade_info; do printf 10.5.23-MariaDB >"$info"; done
scancel --signal=TERM --batch "$older"
check 'the next job does not start a newer one' wait_for 60 state_is "$newer" FAILED
check '... the chain ends' wait_for 20 chain_is 0
like '... status names the log' "$(server status)" "stopped.*log of the last job: $data.job-$newer.log"
upgrade=$(sed -n 's/.*the data are of MariaDB 10.5.23, and .* is newer .*: `\(.*\)` keeps a copy of the data and starts it$/\1/p' "data.job-$newer.log")
is '... which says what to type' "$upgrade" "jobstack server upgrade --data=$data --client-file=$HOME/.config/jobstack/client.cnf --memory=32M"
check '... then' log_says "$newer" 'then `jobstack server stop`, and `jobstack server submit` with its options as before'
check 'the upgrade' eval "$upgrade -q"
check '... keeps a copy' test -d data/data.10.5.23/mysql
is '... all is there' "$(ledger s)" '8 0 0 0 0 0'
server stop -q

# ---- scancel by a person does the same
fourth=$(server submit --bind 127.0.0.1 --memory 32M --time=30 --wait 300 --parsable)
check 'another chain' wait_for 20 has_next "$fourth"
scancel "$fourth"
check 'scancel' wait_for 30 chain_is 0
check '... is told' log_says "$fourth" 'stopped: no other job takes over'
is '... nothing is left of it' "$(json '"\(.state) \(.jobs)"')" 'stopped null'

# ---- a wall time that is over as soon as the server is up (the partition's, say): jobs would follow each other for ever
fifth=$(server submit --bind 127.0.0.1 --memory 32M --time=30 --wait 300 --parsable)
check 'one more chain' wait_for 20 has_next "$fifth"
scontrol update "JobId=$fifth" TimeLimit=2
scancel --signal=TERM --batch "$fifth"
check 'a wall time that leaves no time ends the chain' wait_for 30 chain_is 0
check '... is told' log_says "$fifth" "the job's wall time is too short for a server"
finish
