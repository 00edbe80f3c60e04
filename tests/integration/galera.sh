#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# A Galera cluster of two servers that both take writes.  One lags behind: nobody who asks there is told of the past.  And two
# transactions that a lock would have kept apart on one server: on two, one of them has to begin again.
#
# A server lags while a table is locked that was written elsewhere: what comes after that write waits for it.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/scripts/lib/mariadb-lab.sh"
. "$JOBSTACK_SOURCE/tests/lib/galera.sh"
c=$JOBSTACK_TEST_DIR/c a=$c/1 b=$c/2
chmod 711 "$JOBSTACK_TEST_DIR"
at_end 'galera_down "$c"'
GALERA_OPTIONS=';repl.causal_read_timeout=PT60S' # until all have asked; a busy machine takes its time
check 'a cluster' galera_up "$c" 2
check 'a database' db_lab_database "$a" galera
export JOBSTACK_TEST_CNF=$a/galera.cnf JOBSTACK_DEFAULTS_FILE=$a/galera.cnf
sed "s/^port=.*/$(grep ^port= "$b/admin.cnf")/" "$a/galera.cnf" >b.cnf && chmod 600 b.cnf
on_b() { JOBSTACK_DEFAULTS_FILE=$PWD/b.cnf "$@"; }
check 'init' jobstack init -q
db_lab_admin "$a" <<<'CREATE DATABASE lag; CREATE TABLE lag.t(n INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO lag.t VALUES(0)'

# Two sessions of our own on b: one makes it lag, one holds a row.
client() { exec "$(db_lab_client)" --defaults-file="$b/admin.cnf" -N -B -n galera 2>&1; }
coproc LAG { client; }
exec {lag_in}>&"${LAG[1]}" {lag_out}<&"${LAG[0]}"
{ coproc HOLD { client; }; } 2>/dev/null # bash warns of two
exec {hold_in}>&"${HOLD[1]}" {hold_out}<&"${HOLD[0]}"
at_end 'exec {lag_in}>&- {hold_in}>&-'
through() { # IN OUT STATEMENTS: they are through
	local answer
	echo "$3; SELECT 'through';" >&"$1"
	while read -r -t 100 -u "$2" answer; do [[ $answer != through ]] || return 0; done
	echo "not through: $3"
	return 1
}
lag() { through "$lag_in" "$lag_out" 'LOCK TABLES lag.t READ' && db_lab_admin "$a" <<<'UPDATE lag.t SET n=n+1'; }
go_on() { through "$lag_in" "$lag_out" 'UNLOCK TABLES'; }
hold() { through "$hold_in" "$hold_out" "START TRANSACTION; $1 FOR UPDATE"; }
let_go() { through "$hold_in" "$hold_out" ROLLBACK; }
on_b_are() { # N CONDITION: sessions of ours at b
	sleep 0.2 # InnoDB renews its table of transactions only when nobody has read it for a tenth of a second
	(($(db_lab_admin "$b" <<<"SELECT COUNT(*) FROM information_schema.processlist p LEFT JOIN information_schema.innodb_trx t
		ON t.trx_mysql_thread_id=p.id WHERE p.user='galera' AND $2") == $1))
}
id_of() { sql "SELECT stack_id FROM stack WHERE name='$1'"; }
dead() { # STACK: one of its entries is dead
	jobstack push -q -s "$1" --max-attempts 1 "/$1" >/dev/null &&
		{ jobstack-worker -q -s "$1" -- false || true; } && [[ $(ledger "$1") == '0 1 0 0 0 0' ]]
}

# ------------------------------------------------------------------------------------------------------------ nobody is told of the past

numbered 1 200 | jobstack push -q -s long >/dev/null
check '200 are done' jobstack-worker -q -s long -- true
check 'b lags' lag
numbered 201 400 | jobstack push -q -s long >/dev/null
jobstack push -q -s new /new >/dev/null
jobstack push -q -s newer /newer >/dev/null
check '... behind a dead entry' dead again
asked=()
ask() { # NAME COMMAND...: at b, while it lags
	local name=$1
	shift
	(on_b "$@" >"$name.said" 2>&1; echo "status $?" >>"$name.said") &
	asked+=($!)
}
ask wait jobstack wait -s long
ask status jobstack status -s new
ask requeue jobstack requeue -s again
ask drop jobstack drop -s newer --yes
ask check jobstack check -s long
all_there() { # each that has not answered has come to b
	local pid alive=0
	for pid in "${asked[@]}"; do ! kill -0 "$pid" 2>/dev/null || alive=$((alive + 1)); done
	on_b_are "$alive" 1=1
}
check '... and is asked' wait_for 30 all_there
not_answered() { # none of them has ended (a session that has waited for long enough begins anew, and is not at b for a moment)
	! grep -l '^status' ./*.said
}
check '... nothing of it has been answered' not_answered
check 'b goes on' go_on
check 'the other 200 are done' jobstack-worker -q -s long -- true
for pid in "${asked[@]}"; do wait "$pid"; done
like 'wait waited for the other 200' "$(<wait.said)" '400 done.*status 0'
like 'status knows the new stack' "$(<status.said)" 'status 0'
like 'requeue found the dead entry' "$(<requeue.said)" 'status 0'
is '... which is in line again' "$(ledger again)" '0 0 1 0 0 0'
like 'drop dropped a new stack' "$(<drop.said)" 'status 0'
is '... which is gone' "$(id_of newer)" ''
like 'check saw all of it' "$(<check.said)" 'status 0'

# --------------------------------------------------------------------------------------------------------- two who exclude each other

# race HOLD COMMAND-ON-B...: the command waits at b for the row that HOLD selects; b lags; `meanwhile` happens at a; the command
# goes on with what it knows.
race() {
	local pid hold=$1
	shift
	check "$1 $2: a row is held" hold "$hold"
	(on_b "$@" >b.said 2>&1; echo "status $?" >>b.said) &
	pid=$!
	check '... b waits for it' wait_for 20 on_b_are 1 "t.trx_state='LOCK WAIT'"
	check '... b lags' lag
	check '... a is quicker' meanwhile
	check '... the row is let go' let_go
	wait_for 3 on_b_are 1 "p.info LIKE '%COMMIT%' AND p.state REGEXP 'commit|wsrep|certification'" >/dev/null
	check '... b goes on' go_on
	wait "$pid"
}

jobstack push -q -s birth /birth >/dev/null
id=$(id_of birth)
meanwhile() { jobstack drop -q -s birth --yes; }
race "SELECT 1 FROM stack WHERE stack_id=$id" jobstack-worker -q -s birth -- true
is 'no worker is born into a stack that was dropped' "$(sql "SELECT COUNT(*) FROM worker WHERE stack_id=$id")" 0
check '... and check agrees' jobstack check

jobstack push -q -s pusher /pusher >/dev/null
id=$(id_of pusher)
meanwhile() { jobstack drop -q -s pusher --yes; }
race "SELECT 1 FROM stack WHERE stack_id=$id" jobstack push -q -s pusher /later
is 'nor a pusher' "$(sql "SELECT COUNT(*) FROM push WHERE stack_id=$id")" 0
check '... and check agrees' jobstack check

jobstack push -q -s limit /low >/dev/null
jobstack set -q -s limit max-running=1
meanwhile() { jobstack push -q -s limit --priority 5 /high >/dev/null && jobstack pop -s limit >a.said; }
race "SELECT 1 FROM running_limit WHERE stack_id=$(id_of limit)" jobstack pop -s limit
is 'a limit of one holds' "$(ledger limit)" '0 0 1 0 0 1'

check 'a dead entry' dead twice
meanwhile() { jobstack requeue -q -s twice; }
race "SELECT 1 FROM stack WHERE stack_id=$(id_of twice)" jobstack requeue -s twice
is 'two requeue it: it is in line once' "$(ledger twice)" '0 0 1 0 0 0'

check 'a dead entry' dead from
jobstack push -q -s to /to >/dev/null
meanwhile() { jobstack drop -q -s from --yes; }
race "SELECT 1 FROM stack WHERE stack_id=$(id_of from)" jobstack requeue -s from --to to
like 'one moves it, one drops it: it was dropped' "$(<b.said)" 'status [1-9]'
is '... and is nowhere else' "$(ledger to)" '0 0 1 0 0 0'
check 'check agrees with all of it' jobstack check
finish
