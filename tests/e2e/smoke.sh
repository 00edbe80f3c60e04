#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: slurm
# shellcheck disable=SC2016
#
# Each subcommand of jobstack does what it is for, once, and so does the worker: on a real MariaDB (the one of `jobstack server`),
# on this machine and in a Slurm job.  `scripts/test --quick` runs this instead of the tests that look closely.
#
# Every call is recorded.  At the end the record is compared with what `jobstack --spec` lists, so that a new subcommand fails
# this test until it is called here.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
export HOME=$PWD/home JOBSTACK_TEST_CNF=$PWD/home/.config/jobstack/client.cnf
unset XDG_CONFIG_HOME XDG_DATA_HOME JOBSTACK_DEFAULTS_FILE
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
chmod 711 "$JOBSTACK_TEST_DIR" home
record=$PWD/called
jobstack() { echo "$1" >>"$record" && timeout 300 jobstack "$@"; }
jobstack-worker() { echo jobstack-worker >>"$record" && timeout 300 jobstack-worker -q "$@"; }
printed() { jq -r "$1" <<<"$2"; } # FILTER JSON

at_end 'jobstack server stop -q --data data'
check 'server start' jobstack server start -q --data data --memory 32M
check 'init: there are tables' eval 'jobstack init -q && [[ $(sql "SELECT COUNT(*) FROM stack") == 0 ]]'
is 'push' "$(numbered 1 4 | jobstack push -s s --max-attempts 1)" '4 pushed'
check 'the worker: one of four fails' jobstack-worker -s s --slots 2 -- sh -c 'echo "this is $1"; test "$1" != /d/3' sh
check '... the ledger' ledger_is s '3 1 0 0 0 0'
check 'check: it balances' jobstack check -q -s s
is 'status' "$(printed '"\(.stack) \(.done) \(.dead)"' "$(jobstack status -s s --json)")" 's 3 1'
check 'wait: something is dead' fails_with 1 jobstack wait -q -s s
check 'top: it needs a terminal' fails_with 2 jobstack top s
is 'list' "$(jobstack list -s s -t dead -o datapath,exit_code)" $'/d/3\t1'
is 'show' "$(printed '"\(.datapath) \(.attempts|length)"' "$(jobstack show -s s 3 --json)")" '/d/3 1'
is 'logs' "$(jobstack logs -s s 3)" 'this is /d/3'
is 'history' "$(jobstack history --json /d/3 | jq -r '"\(.entry) \(.exit_code)"' | head -n 1)" '3 1'
is 'export' "$(jobstack export -s s -o entry,outcome | tr -d '\r' | sort | tr '\n' ' ')" '1,done 2,done 3,failed 4,done entry,outcome '
is 'report' "$(printed '"\(.attempts.done) \(.attempts.failed)"' "$(jobstack report -s s --json)")" '3 1'
check 'requeue' eval 'jobstack requeue -q -s s && ledger_is s "3 0 1 0 0 0"'

check 'pause' eval 'jobstack pause -q -s s && fails_with 1 jobstack pop -q -s s && ledger_is s "3 0 1 0 0 0"'
check 'resume' jobstack resume -q -s s
eval "$(jobstack pop -s s)"
is 'pop' "$JOBSTACK_DATAPATH $(ledger s)" '/d/3 3 0 0 0 0 1'
renew_counts() { jobstack renew -q && [[ $(sql "SELECT seq>$1 FROM worker WHERE ended IS NULL") == 1 ]]; }
check 'renew' renew_counts "$(sql 'SELECT seq FROM worker WHERE ended IS NULL')"
check 'close' eval 'jobstack close -q && ledger_is s "4 0 0 0 0 0"'
unset JOBSTACK_STACK
check 'prune' eval 'jobstack prune -q -s s --older-than 0 && [[ $(sql "SELECT pruned FROM stack") == 4 ]]'
check 'drop' eval 'jobstack drop -q -s s --yes && [[ -z $(sql "SELECT name FROM stack") ]]'

numbered 1 3 | jobstack push -q -s policy >/dev/null
check 'set' eval 'jobstack set -q -s policy max-attempts=7 && [[ $(sql "SELECT max_attempts FROM stack") == 7 ]]'
check 'cancel' eval 'jobstack cancel -q -s policy --all && jobstack-worker -s policy -- touch ran && [[ ! -e ran ]]'
jobstack push -q -s hang /hang >/dev/null
jobstack-worker -s hang --shell -- ': {}; touch hangs; exec sleep 1000' &
check 'kill' eval 'wait_for 20 test -e hangs && jobstack kill -q -s hang /hang && wait $! && ledger_is hang "0 1 0 0 0 0"'
is 'run' "$(numbered 1 5 | jobstack run -s here --json -- true 2>/dev/null | jq -r '"\(.done) \(.dead) \(.left)"')" '5 0 0'

jobstack push -q -s lost /one >/dev/null
jobstack-worker -s lost -- sh -c 'touch began; exec sleep 1000' &
check 'an entry runs' wait_for 20 test -e began
freeze lost
kill_frozen
check 'recover: its worker is killed, it is in line again' eval 'jobstack recover -q -s lost && ledger_is lost "0 0 1 0 0 0"'

numbered 1 6 | jobstack push -q -s slurm >/dev/null
check 'submit' jobstack submit -q -s slurm --workers 2 --slots 1 -- sh -c 'test -n "$SLURM_JOB_ID"'
check '... Slurm does it' jobstack wait -q -s slurm --timeout 5m
check '... all of it' ledger_is slurm '6 0 0 0 0 0'
is '... in its job' "$(sql "SELECT COUNT(*) FROM attempt JOIN worker USING(worker_id) JOIN stack s ON s.stack_id=worker.stack_id WHERE s.name='slurm' AND JSON_VALUE(identity,'\$.job')>0")" 6
is 'doctor' "$(jobstack doctor --json | jq -r 'select(.level=="FAIL")')" ''
check 'server stop' eval 'jobstack server stop -q --data data && fails_with 1 jobstack server status -q --data data'

commands=$(command jobstack --spec | sed -n 's/^command\t\([^\t]*\)\t.*/\1/p' | sort)
check 'there are commands' test "$(wc -l <<<"$commands")" -gt 15
is 'each has been called' "$(sort -u "$record")" "$commands"
finish
