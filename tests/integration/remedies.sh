#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Remedies: each is chosen by the number of the error's reason, and stands behind the message of just that error.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
numbered 1 3 | jobstack push -q -s stack >/dev/null

# ------------------------------------------------------------------------------------------------------ the stack's state
check 'no such stack' says 2 'there is no stack "nosuch": `jobstack status` lists the stacks, `jobstack push` creates one' jobstack list -s nosuch
check '... the only one, where none is named' says 1 'no entry of the stack "stack"' jobstack list -t dead
jobstack push -q -s other /o
like '... the newest, for what only looks' "$(jobstack list -t ready)" '1 *ready.*/o'
check '... nothing is changed by a guess' says 2 'no stack is named, and there are several: name a stack with -s; `jobstack status` lists the stacks' jobstack requeue
jobstack drop -q --yes other
check 'no such entry' says 2 'there is no entry "?99"? in the stack "stack": `jobstack list -s stack -t all` lists the entries' \
	jobstack show -s stack 99
jobstack set -q -s stack max-attempts=1
jobstack pop -s stack >/dev/null
check 'what runs' says 1 'the stack "stack" has running entries \(1\): wait until they end, or end them with `jobstack kill -s stack ENTRY`' jobstack drop -s stack --yes
check 'an entry is dead' fails_with 0 jobstack close -s stack 1 --exit 3
sql "UPDATE stack SET max_failures=1,state=1 WHERE name='stack'"
check 'as many are dead as may be' says 1 'max-failures \(1\), at which it pauses: `jobstack requeue -s stack` puts the dead entries back in the queue.*then `jobstack resume -s stack` continues' \
	jobstack resume -s stack
mkfifo names
jobstack push -q -s stack --atomic <names >/dev/null 2>&1 &
exec 7>names
printf '/a\n' >&7
check 'a push is under way' wait_for 20 eval '[[ $(sql "SELECT COUNT(*) FROM push WHERE ended IS NULL") == 1 ]]'
check 'it is in the way of a drop' says 1 'a push to the stack "stack" is under way: wait until it has ended; a push that was killed no longer counts' \
	jobstack drop -s stack --yes
exec 7>&-
wait
jobstack cancel -q -s stack --all
check 'cancelled' says 1 'the stack "stack" is cancelled: nothing can be pushed to it: `jobstack resume -s stack` undoes the cancel' jobstack push -s stack /b
sql "UPDATE stack SET state=3 WHERE name='stack'"
check 'half dropped' says 1 'the stack "stack" is being dropped: wait until it is gone; if that drop was interrupted' jobstack push -s stack /b
sql "UPDATE jobstack_version SET version=12; INSERT INTO worker(token,stack_id,kind,started,beat,lease_us,slots,node)
	SELECT REPEAT('w',16),stack_id,0,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6),60000000,1,'h' FROM stack WHERE name='stack'"
check 'workers of an older schema' says 1 'would fail after the upgrade: worker [0-9]+ on h .*: let them end \(SIGTERM drains a worker\), then run `jobstack init` again' \
	jobstack init
sql "DELETE FROM worker WHERE node='h'"
check '... and without them' jobstack init -q --schema-dir "$JOBSTACK_SOURCE/tests/integration/made_up"

# ------------------------------------------------------------------------------------------------------------- the worker
jobstack push -q -s work /dev/null >/dev/null
printf 'no program\n' >plain
check 'the worker: no such stack' says 2 'there is no stack "nosuch": push to it first' jobstack-worker -s nosuch -- true
check 'the worker: no such option' says 2 'no option --nosuch: see --help' jobstack-worker --nosuch -- true
check 'the worker: no such program' says 2 'not found in .*: load its module' jobstack-worker -s work -- nosuch-program
check 'the worker: not executable' says 2 'not executable .*: make it executable with chmod \+x' jobstack-worker -s work -- ./plain
run_on_names() { printf '/dev/null\n' | jobstack run -q "$@"; }
check 'run tries the worker before a push makes the stack' says 0 '^$' run_on_names -s later -- true
is '... and then makes it' "$(ledger later)" '1 0 0 0 0 0'
check '... but not if the command cannot be run' says 2 'not found in .*: load its module' run_on_names -s never -- nosuch-program
is '... which leaves no stack' "$(ledger never)" ''

# ------------------------------------------------------------------------------------------------------------ the database
sed 's/^password=.*/password=wrong/' "$JOBSTACK_TEST_CNF" >wrong.cnf
{ cat "$JOBSTACK_TEST_CNF" && echo 'ssl-mode=REQUIRED'; } >tls.cnf
sed 's/^host=.*/host=nowhere.invalid/' "$JOBSTACK_TEST_CNF" >nowhere.cnf
chmod 600 wrong.cnf tls.cnf nowhere.cnf
check 'a host that does not resolve' says 69 'the name does not resolve here: use the IP address' jobstack status --defaults-file nowhere.cnf
check 'a wrong password' says 77 'refused the user or the password: Access denied for user .*: correct user and password in wrong.cnf, or ask' jobstack status --defaults-file wrong.cnf
check '... for the worker' says 77 'correct user and password in wrong.cnf' jobstack-worker --defaults-file wrong.cnf -s work -- true
if sql 'SELECT @@have_ssl' | grep -q YES; then
	check 'the server has TLS' says 0 '' jobstack status --defaults-file tls.cnf
else
	check 'no TLS' says 69 'check ssl-ca and the other ssl- lines in tls.cnf' jobstack status --defaults-file tls.cnf
fi
sql "INSERT INTO jobstack_version VALUES(99,UTC_TIMESTAMP(6))"
check 'a newer schema' says 69 'newer than the version [0-9]* of this program: install the newer jobstack on this machine' jobstack list -s work
check '... for the worker' says 69 'newer than the version [0-9]* of this program: install the newer jobstack on this machine' jobstack-worker -s work -- true
sql 'DELETE FROM jobstack_version'
check 'no schema' says 69 'no jobstack schema yet: run `jobstack init`' jobstack list -s work
finish
