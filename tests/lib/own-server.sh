# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# shellcheck disable=SC2154
#
# A server of the test's own, in $lab, that can be killed and started again.  Source it after tap.sh and jobstack.sh.
. "$JOBSTACK_SOURCE/scripts/lib/mariadb-lab.sh"
export LAB_FLUSHES=1

# own_server DATABASE [DIRECTORY]: below DIRECTORY, with an empty DATABASE that the tools use from now on
own_server() {
	local dir=${2-$JOBSTACK_TEST_DIR}
	lab=$dir/db
	chmod 711 "$JOBSTACK_TEST_DIR" "$dir"
	at_end 'db_lab_down "$lab"'
	check 'a server' db_lab_up "$lab"
	check 'a database' db_lab_database "$lab" "$1"
	export JOBSTACK_TEST_CNF=$lab/$1.cnf JOBSTACK_DEFAULTS_FILE=$lab/$1.cnf
}
server_kill() { kill -KILL "$(<"$lab/pid")" && poll 100 server_gone; }
server_gone() { ! proc_alive "$(cat "$lab/pid" 2>/dev/null || echo 999999999)"; }
server_start() { # as it was, on the same port and data
	: >"$lab/init.sql"
	((EUID != 0)) || chown "$(db_lab_user)" "$lab/init.sql"
	db_lab_start "$lab" "$(db_lab_program)" "$(db_lab_user)"
}
