#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A database of an earlier version: what its schema holds is there after `jobstack init`, which may be killed before each table, and
# be called twenty times at once; until then every command says what to do.  (The migration is made up: see made_up.)
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
name=$(sed -n 's/^database=//p' "$JOBSTACK_TEST_CNF")
client() { "$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_CNF" -N -B -n "$name"; }
version() { sql 'SELECT MAX(version) FROM jobstack_version'; }
newest=$(jobstack --version | sed -n 's/.*(schema \([0-9]*\)).*/\1/p')
tables=(stack push name entry span worker running_limit claim attempt set_aside)
made=$JOBSTACK_SOURCE/tests/integration/made_up
init() { jobstack init --schema-dir "$made" "$@"; }

# The earlier version, with something in each table: 1 done at the second attempt, 2 dead, 3 in a worker's hands (by now silent), 4
# waits, 5 to 9 ready, 10 held by an atomic push.
first_version() {
	local table
	sql 'DROP VIEW IF EXISTS JobManagement'
	for table in $(sql 'SHOW TABLES' | grep -v '^its_'); do sql "DROP TABLE $table"; done
	jobstack init -q
	client <"$made/before.sql"
	sql "INSERT INTO stack(stack_id,name,popping_order,tail,pushed,named,done,dead,cwd,created,note) VALUES(7,'old',0,10,10,10,1,1,'/work dir',UTC_TIMESTAMP(6),x'6675C39F');
		INSERT INTO entry VALUES(7,1,'/d/1'),(7,2,x'2FFF0A'),(7,3,'/d/3'),(7,4,'/d/4'),(7,5,'/d/5'),(7,6,'/d/6'),(7,7,'/d/7'),(7,8,'/d/8'),(7,9,'/d/9'),(7,10,'/d/10');
		INSERT INTO name SELECT stack_id,UNHEX(SHA2(datapath,256)),entry_id FROM entry;
		INSERT INTO push(push_id,token,stack_id,pushed,atomic,started,beat) VALUES(3,REPEAT('p',16),7,1,1,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6));
		INSERT INTO worker(worker_id,token,stack_id,seq,kind,started,beat,lease_us,slots,done,dead,node,identity) VALUES
			(4,REPEAT('v',16),7,9,0,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6)-INTERVAL 2 SECOND,1000000,1,0,0,'h','{\"argv\": \"a\\\\u0000b\\\\u0000\"}');
		INSERT INTO claim VALUES(7,4,9,3,3,NULL,1,1,0,0,0,UTC_TIMESTAMP(6));
		INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,ended,log_at,log_out) VALUES
			(7,1,1,4,1,0,3,UTC_TIMESTAMP(6),10,20),(7,1,2,4,0,1,0,UTC_TIMESTAMP(6),30,40),(7,2,1,4,1,0,1,UTC_TIMESTAMP(6),NULL,NULL),(7,4,1,4,1,0,1,UTC_TIMESTAMP(6),NULL,NULL);
		INSERT INTO set_aside(stack_id,entry_id,attempt,\`rank\`,reason) VALUES(7,2,1,-4,'fatal exit');
		INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,attempt,fails,losses,due,push_id) VALUES(7,1,0,4,4,4,2,1,0,UTC_TIMESTAMP(6),NULL),(7,0,0,9,5,9,1,0,0,NULL,NULL),(7,2,-3,10,10,10,1,0,0,NULL,3)"
}
# The columns of the first version, and what stands in them.
columns() { sql "SELECT CONCAT(table_name,' ',GROUP_CONCAT('\`',column_name,'\`' ORDER BY ordinal_position)) FROM information_schema.columns
	WHERE table_schema=DATABASE() AND table_name IN($(printf "'%s'," "${tables[@]}")'') AND table_name<>'running_limit' GROUP BY table_name"; }
content() {
	local table list
	while read -r table list; do
		echo "$table"
		sql "SELECT $list FROM $table ORDER BY 1,2,3" | od -c
	done <first.columns
}

first_version
columns >first.columns
is 'the columns of nine tables' "$(wc -l <first.columns)" 9
content >before
for command in status 'push -s old /more' 'pop -s old' 'list -s old' 'show 1' 'requeue -s old' 'set -s old' 'pause -s old' 'drop -s old --yes' \
	'prune -s old --older-than 1d' check 'recover -s old' 'run -- true'; do
	# shellcheck disable=SC2086 # they are words
	check "an old schema: $command" says 69 "schema version 12, older than the version $newest of this program.*run .jobstack init" \
		jobstack $command </dev/null
done
check 'an old schema: a worker' says 69 "older than the version $newest" worker -s old -- true
content >after
check '... and nothing was changed' cmp before after

check 'without a migration' says 1 "can.t change schema version 12 into its own: save with the program that made it what you need" jobstack init
is '... nothing was changed' "$(version)" 12

# killed before each of the tables: a session of ours has it in use, so that its ALTER has to wait
waits() { [[ $(sql "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata lock%'") == 1 ]]; }
for table in stack attempt running_limit; do
	first_version
	content >before
	coproc HOLD { client; }
	holder=$HOLD_PID # bash forgets it when it ends
	echo "START TRANSACTION; SELECT COUNT(*) FROM $table;" >&"${HOLD[1]}"
	read -r -u "${HOLD[0]}" _
	jobstack init --schema-dir "$made" -q &
	init=$!
	check "init comes to the table $table" wait_for 20 waits
	kill -KILL $init
	wait $init 2>/dev/null
	is '... is killed there: the version is the last whole one' "$(version)" 12
	check '... and so is the rest, for the commands' says 69 'run .jobstack init' jobstack status
	exec {HOLD[1]}>&-
	wait "$holder" 2>/dev/null
	check '... again' init -q
	content >after
	is '... it is whole' "$(version) $(cmp before after && echo same)" "$newest same"
done

# twenty at once
first_version
content >before
inits=()
for _ in {1..20}; do
	jobstack init --schema-dir "$made" >>said 2>&1 &
	inits+=($!)
done
bad=0
for init in "${inits[@]}"; do wait "$init" || bad=$((bad + 1)); done
is 'twenty at once: all end well' "$bad" 0
is '... one did it' "$(grep -c "12.*$newest" said) $(wc -l <said)" '1 20'
content >after
is '... it is whole' "$(version) $(cmp before after && echo same)" "$newest same"
check '... balanced' jobstack check -s old
is 'what was not counted then is not known' "$(jobstack list -s old -t dead -o entry,major_faults)" $'2\t-'
check 'the limits are there' prints 0 $'max-attempts=3\nmax-losses=5\nretry-delay=5s\nmax-running=2\nmax-starts=none\nmax-failures=none\nstrict-order=0' jobstack set -s old max-running=2
taken_back() { jobstack recover -q -s old && [[ $(sql 'SELECT COUNT(*) FROM claim') == 0 ]]; }
check 'what the old worker held is taken back' wait_for 30 taken_back
check 'and it is worked on' sh -c 'mkdir d && cd d && exec timeout 300 jobstack-worker -q -s old --idle-timeout 0.1s --chdir . -- true'
is '... to where the push is' "$(ledger old)" '8 1 0 0 1 0'
check '... balanced' jobstack check -s old

# A worker of the first version is alive: it would fail after the upgrade.  Later it has left its outcome in a spool, and is gone.
# (The worker is of this version; its rows are taken to a database of the first one.)
cp "$JOBSTACK_DEFAULTS_FILE" its.cnf
jobstack push -q -s late /go >/dev/null
JOBSTACK_DEFAULTS_FILE=its.cnf jobstack-worker -q -s late -- sh -c 'until test -e go; do sleep 0.05; done' 2>late.err &
keeper=$!
at_work() { [[ $(sql "SELECT running IS NOT NULL FROM worker JOIN stack USING(stack_id) WHERE name='late'") == 1 ]]; }
check 'a worker is at work' wait_for 60 at_work
sed -i 's/^port=.*/port=1/; s/^socket=.*/socket=none/' its.cnf
# shellcheck disable=SC2046
for id in $(sql "SELECT id FROM information_schema.processlist WHERE db=DATABASE() AND id<>CONNECTION_ID()"); do sql "KILL $id" 2>/dev/null; done
touch go
check '... and loses its database' wait_for 60 eval 'compgen -G "jobstack-logs/late/*.spool" >/dev/null && grep -q " o " jobstack-logs/late/*.spool'
worker=$(pgrep -P $keeper -x jobstack-worker)
kill -KILL $keeper "$worker"
wait $keeper 2>/dev/null
id=$(sql "SELECT stack_id FROM stack WHERE name='late'")
while read -r table _; do sql "CREATE TABLE its_$table AS SELECT * FROM $table WHERE stack_id=$id"; done <first.columns
first_version
while read -r table list; do sql "INSERT INTO $table($list) SELECT $list FROM its_$table; DROP TABLE its_$table"; done <first.columns
sql "UPDATE worker SET beat=UTC_TIMESTAMP(6) WHERE stack_id=$id"
number=$(sql "SELECT worker_id FROM worker WHERE stack_id=$id")
check 'no upgrade while it lives' says 1 \
	"workers of the older schema version 12 are alive and would fail after the upgrade: worker $number on [^ ]+ .stack .late..: let them end .SIGTERM drains a worker., then run .jobstack init. again" jobstack init --schema-dir "$made"
is '... nothing was changed' "$(version)" 12
sql "UPDATE worker SET beat=beat-INTERVAL 1 HOUR WHERE stack_id=$id"
check 'when it has been silent for its lease' init -q
is '... the schema is the newest' "$(version)" "$newest"
like 'its spool is delivered' "$(jobstack close --replay jobstack-logs/late/*.spool 2>&1)" '^1 delivered, 0 delivered before, 0 too late'
is '... and counts' "$(sql "SELECT GROUP_CONCAT(entry_id,' ',outcome) FROM attempt WHERE stack_id=$id")" '1 0'
check '... balanced' jobstack check -s late
finish
