#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# Several hosts in the option file, with two real servers, one a replica of the other: a host that is down, a replica
# that is read-only, a planned switch, a primary that dies, and a failover that lost the last commits.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/scripts/lib/mariadb-lab.sh"
. "$JOBSTACK_SOURCE/tests/lib/replica.sh"
a=$JOBSTACK_TEST_DIR/a b=$JOBSTACK_TEST_DIR/b
chmod 711 "$JOBSTACK_TEST_DIR"
at_end 'db_lab_down "$a"; db_lab_down "$b"'
check 'a server' server_up "$a" 1
check 'another one' server_up "$b" 2
pa=$(server_port "$a") pb=$(server_port "$b")
check '... which is a replica' replica_of "$b" "$a"
check 'a database' db_lab_database "$a" hosts
free_ports 1
nobody=$PORT

# hosts NAME LIST: an option file; sql asks the server of one of them.
hosts() { (umask 077 && sed -e "/^database=/i host=$2" "$a/hosts.cnf" >"$1.cnf"); }
hosts both "127.0.0.1:$pa, 127.0.0.1:$pb"
sed "s/^port=.*/port=$pb/" "$a/hosts.cnf" >"on-b.cnf" && chmod 600 on-b.cnf
on_a() { JOBSTACK_TEST_CNF=$a/hosts.cnf "$@"; }
on_b() { JOBSTACK_TEST_CNF=$PWD/on-b.cnf "$@"; }
export JOBSTACK_DEFAULTS_FILE=$PWD/both.cnf
check 'init' jobstack init -q
check 'the replica has it, too' caught_up "$b" "$a"

# who is asked
check 'the first that works is taken' says 0 "connected to hosts@127.0.0.1:$pa/hosts" jobstack status -v
hosts down "127.0.0.1:$nobody,127.0.0.1:$pa"
check 'one that is down is passed over' says 0 "connected to hosts@127.0.0.1:$pa/hosts" \
	jobstack status -v --defaults-file down.cnf
hosts replica "127.0.0.1:$pb,127.0.0.1:$pa"
check 'one that is read-only is passed over' says 0 "connected to hosts@127.0.0.1:$pa/hosts" \
	jobstack status -v --defaults-file replica.cnf
hosts none "127.0.0.1:$nobody,127.0.0.1:$pb,localhost.invalid"
all="127.0.0.1:$nobody,127.0.0.1:$pb,localhost.invalid:$pa/"
check 'none will do: each is named with what it said' says 69 \
	"$all.*127.0.0.1:$nobody: .*; 127.0.0.1:$pb: it is read-only.*; localhost.invalid:$pa: " \
	jobstack status --defaults-file none.cnf
hosts alone "127.0.0.1:$pb"
check 'a replica alone: it says so' says 69 "127.0.0.1:$pb/hosts can't be written: it is read-only: a replica" \
	jobstack push --defaults-file alone.cnf /x
sed '/^\[client\]/!b;n;s/.*/host=127.0.0.1/' "$b/admin.cnf" >root.cnf && chmod 600 root.cnf
printf '[jobstack]\ndatabase=hosts\n' >>root.cnf
check '... even to one who may write there' says 69 'it is read-only' jobstack push --defaults-file root.cnf /x
hosts bad 'a,,b'
check 'a list that makes no sense' says 2 'bad.cnf, line 7: .* host is invalid: a host is missing next to a comma' \
	jobstack status --defaults-file bad.cnf
sed "s/^host=.*:.*/host=127.0.0.1:$pa/" both.cnf >one.cnf && chmod 600 one.cnf

# Commands leave a line each, and take a little, so that what is in the middle stays there for some seconds.  On a busy machine
# that may be too short: the last quarter of 1000 waits for $1.go.
record() {
	echo ": {}; ${2-} [ \$JOBSTACK_ENTRY -le 750 ] || until [ -e $PWD/$1.go ]; do sleep 0.05; done
		echo \"\$JOBSTACK_ENTRY \$JOBSTACK_ATTEMPT\" >>$PWD/$1.ran"
}
in_the_middle() { # STACK SERVER: it has begun
	read -r finished _ < <("on_$2" ledger "$1")
	((finished >= 200)) || { echo "$finished done"; return 1; }
}
more_than() { read -r finished _ < <("on_$2" ledger "$1") && ((finished > $3)); }
each_once() { # STACK SERVER N: each of N entries has one outcome, of its one attempt
	is "each of $3 entries of $1 is done, by one attempt" "$("on_$2" ledger "$1") $("on_$2" sql "SELECT COUNT(*),
		COUNT(DISTINCT entry_id),MAX(attempt) FROM attempt JOIN stack USING(stack_id) WHERE name='$1'")" \
		"$3 0 0 0 0 0 $3"$'\t'"$3"$'\t'1
}

# a single host turns read-only for a while: that is an outage, and no more
numbered 1 600 | jobstack push -q -s alone >/dev/null
timeout 300 jobstack-worker --defaults-file one.cnf -q -s alone --slots 2 --shell -- \
	"$(record alone "sleep 0.01;")" 2>alone.err &
worker=$!
check 'a worker is at work' wait_for 30 more_than alone a 20
read_only "$a" 1
check '... and says that its server is read-only now' wait_for 30 \
	grep -q "can't be written: .*read.only.*trying again" alone.err
read_only "$a" 0
check '... it goes on when that is over' wait $worker
each_once alone a 600
is '... each command ran once' "$(sort -u alone.ran | wc -l) $(wc -l <alone.ran)" '600 600'
check 'the audit' on_a audit alone

# while no server takes writes, a worker that starts waits, and a command waits with --connect-timeout
numbered 1 3 | jobstack push -q -s begin >/dev/null
read_only "$a" 1
check 'a command that is not told to ends' says 69 'it is read-only' jobstack status --defaults-file one.cnf
check '... one that is told to waits for so long' says 69 'it is read-only.*trying again for up to [0-9.]+ s.*it is read-only' jobstack status --defaults-file one.cnf --connect-timeout 2
timeout 300 jobstack-worker --defaults-file one.cnf -s begin --slots 1 --shell -- ': {}' 2>begin.err &
worker=$!
timeout 300 jobstack status --defaults-file both.cnf --connect-timeout 5m begin >begin.out 2>status.err &
status=$!
waits() { grep -q "can't be written: .*read.only.*trying again for up to" "$1"; }
check 'a worker waits' wait_for 30 waits begin.err
check '... and a command' wait_for 30 waits status.err
read_only "$a" 0
check '... the worker works when that is over' wait $worker
check '... and the command goes on' wait $status
each_once begin a 3
is '... each said so once' "$(grep -c 'trying again' begin.err) $(grep -c 'trying again' status.err)" '1 1'

# a planned switch: the primary becomes read-only, the replica takes over
numbered 1 1000 | jobstack push -q -s switch >/dev/null
timeout 300 jobstack-worker -q -s switch --slots 2 --shell -- "$(record switch "sleep 0.004;")" 2>switch.err &
worker=$!
check 'a worker is in the middle' wait_for 30 in_the_middle switch a
switch() { read_only "$a" 1 && caught_up "$b" "$a" && promote "$b"; }
check 'the switch' switch
touch switch.go
check '... the worker goes on there, and ends well' wait $worker
each_once switch b 1000
is '... each command ran once' "$(sort -u switch.ran | wc -l) $(wc -l <switch.ran)" '1000 1000'
check 'the audit' on_b audit switch
check 'commands find the new primary' says 0 "connected to hosts@127.0.0.1:$pb/hosts" jobstack status -v
check 'the old one is a replica now' replica_of "$a" "$b"

# the primary dies in the middle; what it has answered, the replica has (semi-synchronous)
numbered 1 1000 | jobstack push -q -s dies >/dev/null
check 'no commit without the replica' semi_sync "$b" "$a" 1
timeout 300 jobstack-worker -q -s dies --slots 2 --shell -- "$(record dies "sleep 0.004;")" 2>dies.err &
worker=$!
check 'a worker is in the middle' wait_for 30 in_the_middle dies b
server_kill "$b"
check 'the primary is dead, the replica takes over' promote "$a"
touch dies.go
check '... the worker goes on there, and ends well' wait $worker
each_once dies a 1000
is '... each command ran once' "$(sort -u dies.ran | wc -l) $(wc -l <dies.ran)" '1000 1000'
check 'the audit' on_a audit dies

# the old primary comes back, as a replica: what it had and nobody else, it must lose (here: all of it, made anew)
check 'the dead one is thrown away' db_lab_down "$b"
rm -rf "$b"
check '... and a new one made' server_up "$b" 3
check '... a replica of the primary' replica_of "$b" "$a"
pb=$(server_port "$b")
hosts both "127.0.0.1:$pa, 127.0.0.1:$pb"
sed "s/^port=.*/port=$pb/" "$a/hosts.cnf" >on-b.cnf

# a failover that lost the last commits: who was ahead is fenced, and stops; nothing is closed that was not
numbered 1 1000 | jobstack push -q -s lost >/dev/null
timeout 300 jobstack-worker -q -s lost --slots 2 --shell -- "$(record lost "sleep 0.02;")" 2>ahead.err &
worker=$!
check 'a worker is in the middle' wait_for 30 in_the_middle lost a
check 'the replica falls behind' replica_halt "$b"
read -r closed _ < <(on_b ledger lost)
check '... while the worker goes on' wait_for 30 more_than lost a $((closed + 100))
timeout 300 jobstack-worker -q -s lost --lease 300 --grace 1 --slots 1 --shell -- \
	"echo \$\$ >$PWD/late; $(record lost); exec sleep 1000" 2>late.err &
late=$!
check '... and another one comes, whom the replica will not know' wait_for 30 test -s late
late_worker=$(on_a worker_pids lost | tail -n 1)
server_kill "$a"
check 'the primary is dead, the replica takes over' read_only "$b" 0
touch lost.go
kill -URG "$late_worker" # a heartbeat now
status=0
wait $worker || status=$?
like 'the worker that was ahead stops' "$status $(cat ahead.err)" '^1 .*the database was set back to an earlier state .*it no longer has the last updates of worker'
status=0
wait $late || status=$?
like 'the one that is not known there stops, too' "$status $(cat late.err)" '^1 .*the database was set back to an earlier state .*it no longer has worker'
check '... with its command' none_of_ours "$(<late)"
check 'the audit' on_b audit lost
read -r now _ < <(on_b ledger lost)
is 'nothing that was lost counts as done' "$now" "$closed"
on_b jobstack requeue -q -s lost -t lost
check 'a later worker finishes everything' worker -s lost --slots 2 --shell -- "$(record lost)"
is '... to the last' "$(on_b ledger lost)" '1000 0 0 0 0 0'
is '... with one outcome an attempt, and one done an entry' "$(on_b sql "SELECT
	COUNT(DISTINCT entry_id,attempt)=COUNT(*),SUM(outcome=0),COUNT(DISTINCT IF(outcome=0,entry_id,NULL))
	FROM attempt JOIN stack USING(stack_id) WHERE name='lost'")" $'1\t1000\t1000'
is '... each command ran' "$(cut -d' ' -f1 lost.ran | sort -u | wc -l)" 1000
check 'the audit' on_b audit lost
finish
