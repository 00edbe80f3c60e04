# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# shellcheck disable=SC2154
#
# A server of the test's own, in $lab, that can be killed and started again.  Source it after jobstack.sh.
. "$JOBSTACK_SOURCE/scripts/lib/mariadb-lab.sh"

server_kill() { kill -KILL "$(<"$lab/pid")" && poll 20 server_gone; }
server_gone() { ! proc_alive "$(cat "$lab/pid" 2>/dev/null || echo 999999999)"; }
server_start() { # as it was, on the same port and data
	: >"$lab/init.sql"
	((EUID != 0)) || chown "$(db_lab_user)" "$lab/init.sql"
	db_lab_start "$lab" "$(db_lab_program)" "$(db_lab_user)"
}
