#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# A server that has room for few prepared statements, or for none: workers then send their steps as text.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
own_server prepared
admin() { "$SQL_CLIENT" --defaults-file="$lab/admin.cnf" -N -B -e "$1"; }
admin 'SET @@global.max_prepared_stmt_count=0'
check 'init needs no prepared statement' jobstack init -q
sql 'UPDATE jobstack_version SET version=12'
migrate() { jobstack init -q --schema-dir "$JOBSTACK_SOURCE/tests/integration/made_up"; }
check 'a migration needs one, and says so' says 69 'has a setting .*\(1461\): ask .* to raise max_prepared_stmt_count' migrate
admin 'SET GLOBAL max_prepared_stmt_count=DEFAULT'
check '... which is enough' migrate
server_status() { admin "SHOW GLOBAL STATUS LIKE '$1'" | cut -f2; }

# executes STACK: two workers do all of it; prints how many blocks they executed by their names
executes() {
	local before one two
	before=$(server_status Com_execute_sql)
	numbered 1 600 | jobstack push -q -s "$1" >/dev/null
	worker -s "$1" --slots 2 --batch 5 --idle-timeout 0 -- true >/dev/null 2>&1 &
	one=$!
	worker -s "$1" --slots 2 --batch 5 --idle-timeout 0 -- true >/dev/null 2>&1 &
	two=$!
	wait $one && wait $two || return 1
	echo $(($(server_status Com_execute_sql) - before))
}
room=$(admin 'SELECT @@global.max_prepared_stmt_count')
admin 'SET GLOBAL max_prepared_stmt_count=0'
is 'no room: all is sent as text' "$(executes none)" 0
is '... and done' "$(ledger none)" '600 0 0 0 0 0'
admin 'SET GLOBAL max_prepared_stmt_count=2'
few=$(executes few)
is 'room for two: all is done' "$(ledger few)" '600 0 0 0 0 0'
admin "SET GLOBAL max_prepared_stmt_count=$room"
all=$(executes all)
is 'room for all: all is done' "$(ledger all)" '600 0 0 0 0 0'
echo "# blocks executed by their names: $few with room for two, $all with room for all"
if [[ $(admin 'SELECT VERSION()') == 10.11.*MariaDB* ]]; then
	check 'some are executed by their names, with little room' test "$few" -gt 0
	check '... more with room for all' test "$all" -gt "$few"
else
	check '... others prepare none, or some' test "$all" -ge "$few"
fi
none_is_left() { [[ $(server_status Prepared_stmt_count) == 0 ]]; }
check 'what was prepared has gone with its connections' wait_for 20 none_is_left
for stack in none few all; do check "the ledger of $stack balances" jobstack check -q -s $stack; done
finish
