#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# Far more workers than the server has connections: all start in the same moment, all have a command running at once,
# all finish, and each entry is done once.  By hand, at the size that is promised:
#
#   JOBSTACK_CROWD='1000 151' ctest --test-dir build/dev -R integration.crowd --output-on-failure --timeout 600
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/scripts/lib/mariadb-lab.sh"
. "$JOBSTACK_SOURCE/tests/lib/replica.sh"
read -r many connections <<<"${JOBSTACK_CROWD:-60 12}"
patience=$((240 + many / 4))
lab=$JOBSTACK_TEST_DIR/db
chmod 711 "$JOBSTACK_TEST_DIR"
at_end 'db_lab_down "$lab"'
check 'a server' db_lab_up "$lab"
check '... stops' db_lab_stop "$lab"
sed -i "s/^max-connections=.*/max-connections=$connections/" "$lab/server.cnf"
check "... and comes back, with $connections connections" server_start "$lab"
check 'a database' db_lab_database "$lab" crowd
JOBSTACK_TEST_CNF=$lab/crowd.cnf
export JOBSTACK_DEFAULTS_FILE=$lab/crowd.cnf
jobstack init -q
# The tables are looked at as the administrator, for whom the server keeps a connection.
sql() { "$SQL_CLIENT" --defaults-file="$lab/admin.cnf" -N -B crowd -e "$1"; }
status_of() { sql "SHOW GLOBAL STATUS LIKE '$1'" | cut -f2; }
refused() { echo $(($(status_of Connection_errors_max_connections) + 0)); }
seconds() { cut -d. -f1 /proc/uptime; }

# crowd N STACK COMMAND: N workers that start when the gate is opened; each leaves its status in STACK.status.
crowd() {
	local i
	exec 8>gate
	flock -x 8
	for ((i = 0; i < $1; i++)); do
		(
			exec 8>&- 9>&- 2>>"$2.err"
			flock -s gate true
			status=0
			timeout "$patience" jobstack-worker -q -s "$2" --slots 1 --idle-timeout 300 --shell -- "$3" || status=$?
			echo $status >>"$2.status"
		) &
	done
	began=$(seconds)
	exec 8>&-
}
all_end_well() { # STACK N
	wait
	[[ $(sort "$1.status" | uniq -c | awk '{ print $1, $2 }') == "$2 0" ]] && return 0
	sort "$1.status" | uniq -c
	sort "$1.err" | uniq -c | sort -rn | head -20
	return 1
}
lines() { (($(wc -l <"$1") >= $2)); }
each_once() { # STACK N
	is "... each of $2 entries is done, once" "$(ledger "$1") $(sql "SELECT COUNT(*),COUNT(DISTINCT entry_id),
		SUM(outcome=0) FROM attempt JOIN stack USING(stack_id) WHERE name='$1'") $(wc -l <"$1.ran")" \
		"$2 0 0 0 0 0 $2"$'\t'"$2"$'\t'"$2 $2"
	check '... the audit' audit "$1"
}

# everybody's command runs, and nobody's ends before all do: they can't all hold a connection
barrier() { # N STACK
	numbered 1 $((3 * $1)) | jobstack push -q -s "$2" >/dev/null
	: >"$2.ran"
	exec 9>barrier
	flock -x 9
	crowd "$1" "$2" ": {}; echo \$JOBSTACK_ENTRY >>$PWD/$2.ran; exec flock -s $PWD/barrier true"
	check "$1 workers have a command running, all at once" wait_for $((patience / 5)) lines "$2.ran" "$1"
	echo "# after $(($(seconds) - began)) s"
	exec 9>&-
	check '... all end well' all_end_well "$2" "$1"
	echo "# after $(($(seconds) - began)) s"
	each_once "$2" $((3 * $1))
}
barrier "$many" many
is '... all connections were in use' "$(($(status_of Max_used_connections) >= connections))" 1
echo "# refused $(refused) times"
is '... and some were refused' "$(($(refused) > 0))" 1

# one user's share
sql "ALTER USER 'crowd'@'%' WITH MAX_USER_CONNECTIONS 5"
barrier 25 share
check '... who were refused' grep -q "trying again" share.err
sql "ALTER USER 'crowd'@'%' WITH MAX_USER_CONNECTIONS 0"

# in a Slurm job an idle connection stays, and a user lock shows it, while the server has room for others
in_job() { # STACK LEASE: its keeper
	numbered 1 1 | jobstack push -q -s "$1" >/dev/null
	SLURM_JOB_ID=7 SLURM_CLUSTER_NAME=none exec jobstack-worker -q -s "$1" --batch 1 --lease "$2" -- sh -c 'exec sleep 1000'
}
row="FROM worker JOIN stack USING(stack_id) WHERE name"
lock="CONCAT('jobstack.worker.',HEX(token))"
holds() { [[ $(sql "SELECT IS_USED_LOCK($lock) IS NOT NULL $row='$1'") == "$2" ]]; }
connected() { (($(status_of Threads_connected) $1)); }
server_sql "$lab" 'SET GLOBAL max_connections=10'
(in_job room 30s) &
first=$!
check 'a worker in a job stays connected' wait_for 20 holds room 1
mkfifo quiet
exec 7<>quiet
others=()
for _ in 1 2 3 4 5; do
	"$SQL_CLIENT" --defaults-file="$lab/crowd.cnf" crowd <quiet >/dev/null 2>&1 &
	others+=($!)
done
check '... half of the connections are in use' wait_for 20 connected '>= 6'
check '... then it does not' wait_for 20 holds room 0
kill "${others[@]}"
wait "${others[@]}"
exec 7>&-
check '... there is room again' wait_for 20 holds room 1
(in_job staying 1h) & # without a heartbeat in this test
second=$!
check '... another one with a long lease' wait_for 20 holds staying 1
before=$(sql "SELECT IS_USED_LOCK($lock) $row='staying'")
sql "KILL $before"
another() { [[ $(sql "SELECT IS_USED_LOCK($lock) NOT IN($before) $row='staying'") == 1 ]]; }
check '... a connection that was cut is replaced soon' wait_for 20 another
kill "$first" "$second"
wait "$first" "$second"

# short commands: who has a connection lets others have it, too.  The last ones wait for those who begin late.
server_sql "$lab" 'SET GLOBAL max_connections=10'
numbered 1 1500 | jobstack push -q -s turns >/dev/null
: >turns.ran
mkdir turns
crowd 30 turns ": {}; cd $PWD/turns && : >\$JOBSTACK_WORKER && echo \$JOBSTACK_ENTRY >>../turns.ran; sleep 0.2
	[ \$JOBSTACK_ENTRY -le 1200 ] || until [ \$(ls | wc -l) -ge 24 ]; do sleep 0.2; done"
check 'short commands: all end well' all_end_well turns 30
echo "# after $(($(seconds) - began)) s"
each_once turns 1500
at_work=$(sql "SELECT COUNT(DISTINCT t.worker_id) FROM attempt t JOIN stack USING(stack_id) WHERE name='turns'")
echo "# $at_work of 30 had a turn"
is '... nearly all had their turn' "$((at_work >= 24))" 1
finish
