#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A database that is set back to an earlier state (a restored backup; a failover that lost commits is in hosts.sh) while workers,
# a push and a script are at work: each says what has happened, and check --logs lists what the database has forgotten.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
dump=$(command -v mariadb-dump || command -v mysqldump)
database=$(sed -n 's/^database=//p' "$JOBSTACK_TEST_CNF")
tables=$(sql "SELECT table_name FROM information_schema.tables WHERE table_schema='$database' AND table_type='BASE TABLE' AND table_name<>'jobstack_version'")
back_up() {
	# shellcheck disable=SC2086 # names
	"$dump" --defaults-file="$JOBSTACK_TEST_CNF" --no-tablespaces --no-create-info --single-transaction --skip-add-locks --skip-disable-keys \
		--hex-blob "$database" $tables >"$1"
}
restore() { # in one transaction: nobody sees half of it
	{
		echo 'SET FOREIGN_KEY_CHECKS=0;START TRANSACTION;'
		for table in $tables; do echo "DELETE FROM \`$table\`;"; done
		cat "$1"
		echo 'COMMIT;'
	} | "$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_CNF" "$database"
}
cat >job.sh <<'S'
echo "$JOBSTACK_ENTRY" >>"$DIR/ran.$JOBSTACK_STACK"
echo "entry $JOBSTACK_ENTRY"
[[ $JOBSTACK_ENTRY -le 5 || -e $DIR/more ]] || touch "$DIR/waits.$JOBSTACK_STACK"
until [[ $JOBSTACK_ENTRY -le 5 || -e $DIR/more ]]; do sleep 0.05; done
[[ $JOBSTACK_ENTRY -le 10 ]] || { echo $$ >"$DIR/pid.$JOBSTACK_STACK" && exec sleep 1000; }
S
export DIR=$PWD
declare -A pid
start() { # STACK
	timeout 300 jobstack-worker -s "$1" --slots 1 --lease 60 --grace 1 -- bash job.sh 2>"$1.err" &
	pid[$1]=$!
}
numbered 1 20 | jobstack push -q -s steps >/dev/null
printf '%s\n' /with/a\\back '/with/a tab	' '/p/3' >names
jobstack push -q -s born -a names >/dev/null
numbered 4 20 | jobstack push -q -s born >/dev/null
printf '%s\n' /s/1 /s/2 | jobstack push -q -s script >/dev/null
jobstack push -q -s pushed /pushed/0 >/dev/null
start steps
check 'a worker has done some' wait_for 30 test -e waits.steps
check '... and the database knows' wait_for 30 sh -c 'jobstack status -s steps --json | grep -q "\"done\":5,"'
check 'a backup is made' back_up state.sql

# what happens after it will be forgotten
touch more
start born
numbered 1 20 | jobstack push -q -s new >/dev/null
start new
mkfifo names.fifo made.fifo end.fifo
jobstack push -s pushed <names.fifo 2>push.err &
push=$!
exec 7>names.fifo
echo /pushed/1 >&7
jobstack push -s made <made.fifo 2>made.err &
made=$!
jobstack push -s pushed <end.fifo 2>end.err &
end=$!
exec 9>end.fifo
echo /end/1 >&9
exec 8>made.fifo
echo /made/1 >&8
check 'pushes are under way' wait_for 30 sh -c 'jobstack status -s made --json | grep -q "\"pushed\":1," && jobstack status -s pushed --json | grep -q "\"pushed\":3,"'
popped=$(jobstack pop -q -s script)
close_popped() { (eval "$popped" && jobstack close -q); }
for stack in steps born new; do
	check "$stack: the worker goes on" wait_for 30 test -s pid.$stack
	check '... the database has its outcomes' wait_for 30 sh -c "test \$(jobstack list -s $stack -t done -o entry | wc -l) -ge 10"
done
check 'the logs say nothing else' prints 0 '' jobstack check -q --logs jobstack-logs
workers=$(sql 'SELECT JSON_VALUE(identity,"$.pid") FROM worker WHERE ended IS NULL AND kind=0')
check 'the backup is restored' restore state.sql
kill -URG $workers # a heartbeat now

echo /pushed/2 >&7
echo /made/2 >&8
exec 7>&- 8>&- 9>&-
status=0
wait $push || status=$?
like 'the push says what has happened' "$status $(<push.err)" '^1 jobstack push: the database was set back to an earlier state.*no longer has'
status=0
wait $end || status=$?
like '... when it has only to end, too' "$status $(<end.err)" '^1 jobstack push: the database was set back.* no longer has this push: push the names again with --unique'
status=0
wait $made || status=$?
like '... of a stack that was made since, too' "$status $(<made.err)" '^1 jobstack push: the stack "made" is gone: it was dropped, or the database was set back'
check 'the script is told' says 2 'was never popped.*set back' close_popped
for stack in steps born new; do
	status=0
	wait "${pid[$stack]}" || status=$?
	is "$stack: the worker ends" "$status" 1
	check '... with its command' none_of_ours "$(<pid.$stack)"
done
like 'steps: it says what has happened' "$(<steps.err)" 'the database was set back to an earlier state .*it no longer has the last updates of worker [0-9]+'
like 'born: it, too' "$(<born.err)" 'the database was set back to an earlier state .*it no longer has worker [0-9]+'
like 'new: it, too' "$(<new.err)" 'the stack "new" is gone: it was dropped, or the database was set back to a time before it was created'
unlike 'nobody speaks of a lease' "$(cat -- *.err)" 'the lease was lost'
is 'what the database has balances' "$(jobstack check -q; echo $?)" 0

check 'the logs tell of more than the database has' fails_with 1 jobstack check --logs jobstack-logs
jobstack check --logs jobstack-logs >listed
is '... of each outcome that was forgotten' "$(grep -c '^steps: entry \([6-9]\|10\) (/d/[0-9]*), attempt 1: exit 0 at .*the database has no such attempt$' listed) $(grep -c '^born: entry' listed)" '5 11' # and what was interrupted
like '... with the names as they were' "$(<listed)" 'born: entry 2 \(/with/a tab\\x09\), attempt 1: exit 0'
is '... of a stack that is not there' "$(grep -c '^new: entry .*no such entry$' listed)" 11
like '... and how many' "$(tail -n1 listed)" '^steps: 5 outcomes in the files below jobstack-logs/steps are not in the database$'
like 'as JSON' "$(jobstack check --logs jobstack-logs -s born --json)" '"stack":"born","logs":1,"attempts":11,"running":0,"forgotten":11,"unread":0,"found":\[\{"entry":1,"attempt":1,"datapath":"/with/a\\\\back"'
worker -s born -- true
check 'other runs do not count as these' sh -c 'jobstack check -s born --logs jobstack-logs | grep -q "a different attempt under this number"'
check 'no logs' says 2 "has no workers' logs" jobstack check --logs "$JOBSTACK_TEST_DIR/jobstack-logs/steps"
check 'no directory' says 2 "can't read nowhere" jobstack check --logs nowhere
echo x >jobstack-logs/steps/x.log
check 'a log that is damaged is named' says 2 "x.log is damaged, or is not a worker's log \(byte 0\).*files could not be read" jobstack check --logs jobstack-logs
is '... and the others are compared' "$(jobstack check --logs jobstack-logs 2>/dev/null | grep -c '^steps: entry')" 5
rm jobstack-logs/steps/x.log
mkdir jobstack-logs/steps/directory.log
mkfifo jobstack-logs/steps/fifo.log jobstack-logs/steps/fifo.spool
status=0
timeout 60 jobstack check -q --logs jobstack-logs -s steps >listed 2>&1 || status=$?
is 'what is no file is passed over' "$status $(grep -c 'no such attempt$' listed)" '1 5'
header='==> entry 2 attempt 7 exit 0 2026-01-01T00:00:00Z out'
mkdir -p hostile/steps
{
	printf '%s 0 err 0 path /%08000d\n\n' "$header" 0
	printf '%s 0 err 0 path /a\\x1\n\n' "$header"
	printf '%s 9223372036854775807 err 9223372036854775807 path /a\n\n' "$header"
} >hostile/steps/x.log
check 'a name that is too long, an escape that is cut, a wrong sum of lengths: no crash' says 2 'x.log is damaged' \
	jobstack check --logs hostile -s steps
sed -i '$d' hostile/steps/x.log && sed -i '$d' hostile/steps/x.log
status=0
jobstack check --logs hostile -s steps >listed 2>&1 || status=$?
is '... and what can be read is listed' "$status $(grep -c 'attempt 7: exit 0' listed)" '1 2'
finish
