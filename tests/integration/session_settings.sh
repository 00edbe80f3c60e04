#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# Whatever an administrator sets for all sessions, what jobstack does and says is the same.  Every session variable of the server at
# hand that our user may set is set by init_connect to each of its extreme values, all variables at once, in a few rounds; a
# workload with failures must then print what it prints under the server's defaults.  No variable is named here: the
# server lists them, and says which values it takes.  If a round differs, the smallest set of settings that does it is shown.
#
# By hand, with more rounds (each has another value of each variable; a number has five, a word up to 27), or with another server:
#     SWEEP_ROUNDS=27 JOBSTACK_LAB_DB=/path/to/mysqld ctest --test-dir build/dev -R integration.session_settings --output-on-failure
# A server in the root of another system goes by a script of its name, first in PATH, that does
#     exec chroot --userspec=$(id -u mysql):$(id -g mysql) /the/root /usr/sbin/mysqld "$@"
# where /tmp and /proc are mounted in that root; MariaDB needs mariadb-install-db in the same way.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
rounds=${SWEEP_ROUNDS:-3}
own_server sweep
user_cnf=$JOBSTACK_TEST_CNF
admin() { db_lab_admin "$lab" <<<"$1"; }

# ------------------------------------------------------------------------------------------------------------ candidates
# Values for variables that are no numbers; the numbers stand for the words of an ENUM and the bits of a SET.
words=(0 1 2 3 4 5 6 7 8 16 31 63 "'ON'" "'OFF'" "''" "'utf16'" "'latin1'" "'swe7'" "'utf8mb4_bin'" "'latin1_german2_ci'" "'MEMORY'" "'+13:00'"
	"'-12:00'" "'ar_AE'" "'2001-01-01 00:00:00'" "'ANSI,ORACLE,PAD_CHAR_TO_FULL_LENGTH,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE'")

# variables: NAME MIN MAX VALUE of each variable of a session; MIN and MAX are - where it is no number
variables() {
	if [[ $(sql 'SELECT VERSION()') == *MariaDB* ]]; then
		sql "SELECT VARIABLE_NAME,COALESCE(NUMERIC_MIN_VALUE,'-'),COALESCE(NUMERIC_MAX_VALUE,'-'),COALESCE(SESSION_VALUE,'-')
			FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_SCOPE LIKE 'SESSION%' AND READ_ONLY='NO' ORDER BY 1"
	else
		sql "SELECT v.VARIABLE_NAME,IF(MAX_VALUE='0','-',MIN_VALUE),IF(MAX_VALUE='0','-',MAX_VALUE),IF(v.VARIABLE_VALUE='','-',v.VARIABLE_VALUE)
			FROM performance_schema.session_variables v JOIN performance_schema.variables_info i USING(VARIABLE_NAME) ORDER BY 1"
	fi
}

# Which values does the server take from our user?  Three lines a trial: the value, another statement, and the default again.  A value
# that keeps others from being set (the second line fails) is tried alone.  One that our user can't undo (the third is denied), as MySQL's
# require_row_format, jobstack can't undo either: it is named only.  Two are left out: insert_id is an order to the next
# INSERT and no setting; and a session's clock (timestamp) can't be set right, since a server may let nobody set it (secure_timestamp).
candidates() {
	local name min max value v values
	variables >variables
	while IFS=$'\t' read -r name min max value; do
		if [[ $min != - ]]; then
			values=("$min" "$max" 1 0.000001 3)
		elif [[ $value == *=o[nf]* && $value == *,* ]]; then # a list of switches
			value=${value//=on/=off}
			values=("'${value//=off/=on}'" "'$value'")
			for v in materialization in_to_exists; do values+=("'${value/,$v=off/,$v=on}'"); done # MariaDB wants one of these
		else
			values=("${words[@]}")
		fi
		for v in "${values[@]}"; do printf '%s %s\n' "$name" "$v"; done
	done <variables | tr '[:upper:]' '[:lower:]' | sort -u -k1,1 -k2 >trials
	while read -r name v; do
		printf "SET SESSION %s=%s;\nSET SESSION time_zone='+01:00';\nSET SESSION %s=DEFAULT;\n" "$name" "$v" "$name"
	done <trials >trials.sql
	"$SQL_CLIENT" --defaults-file="$user_cnf" --force sweep <trials.sql 2>&1 >/dev/null |
		sed -nE 's/^ERROR ([0-9]+) .* at line ([0-9]+).*/\2 \1/p' >refused # 1227: he lacks the right
	awk 'FILENAME == "refused" { refused[$1] = $2; next }
		(3 * FNR - 2) in refused { next }
		refused[3 * FNR] == 1227 { print > "final"; next }
		$1 !~ /^(insert_id|timestamp)$/ { print > ((3 * FNR - 1) in refused ? "alone" : "taken") }' refused trials
	touch alone final
}

# ---------------------------------------------------------------------------------------------------------------- workload
# Everything that an answer can be wrong in, printed such that two runs print the same.
workload() {
	local s=$1
	db_lab_database "$lab" "$s" && export JOBSTACK_DEFAULTS_FILE=$lab/$s.cnf || return
	rm -rf jobstack-logs && jobstack init -q || echo "init: $?"
	# (a pop exports where it is: hence the subshell of the caller)
	{ printf '/n/%s\n' 'a b ' "quote'\"\\%_" $'\xc3\xa4' $'\xff\x80' 'A B '; seq -f '/n/%.0f' 1 35; } |
		jobstack push -q -s one --max-attempts 2 --retry-delay 0 --max-running 3 >/dev/null || echo "push: $?"
	seq -f '/u/%.0f' 1 2300 | jobstack push -q -s many --unique --max-attempts 1 >/dev/null || echo "push --unique: $?"
	seq -f '/u/%.0f' 2295 2310 | jobstack push -s many --unique || echo "push again: $?"
	seq -f '/l/%.0f' 1 20 | jobstack push -q -s last --lifo --atomic --priority 7 --retry-delay 1h >/dev/null || echo "push --atomic: $?"
	# shellcheck disable=SC2016
	timeout 300 jobstack-worker -q -s one --slots 2 --idle-timeout 0 -- sh -c 'case $1 in *5) echo bad >&2; exit 3;; *[xyz78]) exit 0;; esac' sh {} ||
		echo "worker: $?"
	eval "$(jobstack pop -q -s last)" && jobstack close -q --exit 4 || echo "close: $?"
	eval "$(jobstack pop -q -s last)" && jobstack close -q --exit 0 || echo "close: $?"
	eval "$(jobstack pop -q -s last)" && jobstack renew -q >/dev/null || echo "renew: $?"
	jobstack requeue -q -s one --exit 3 -n 2 || echo "requeue: $?"
	jobstack requeue -q -s one --exit 3 -n 1 --to other || echo "requeue --to: $?"
	timeout 300 jobstack-worker -q -s many --max-entries 120 --slots 4 -- true || echo "worker: $?"
	for s in one many last other; do
		jobstack check -s $s 2>&1 || echo "check: $?"
		jobstack list -s $s -t all -o entry,datapath,state,attempt,outcome,exit_code,reason 2>&1 | sort | sha256sum
		jobstack export -s $s --what entries -o entry,datapath,state,attempt,exit_code 2>&1 | sha256sum
		jobstack status -s $s --json | python3 -c 'import json, sys
for line in sys.stdin: print({k: v for k, v in json.loads(line).items() if k in ("stack", "state", "pushed", "ready", "waiting", "held", "running", "done", "dead", "moved", "pruned", "workers")})'
	done
	jobstack list -s one -t dead -o datapath,err_tail 2>&1 | sort
	jobstack show -s one /n/17 --json | tr , '\n' | grep -E '"(entry|state|outcome|exit_code)"'
	jobstack show -s many /u/2305 --json | tr , '\n' | grep -E 'entry|state'
	unset JOBSTACK_STACK JOBSTACK_ENTRY JOBSTACK_ATTEMPT JOBSTACK_WORKER
	jobstack report -s one --json | tr ', ' '\n\n' | grep -c . | awk '{ print "report", ($1 > 50) }'
	jobstack prune -q -s many --older-than 0 --archive "$PWD/archive" >/dev/null || echo "prune: $?"
	wc -l <archive && rm archive
	jobstack check 2>&1 || echo "check: $?"
	jobstack drop -q -s many --yes || echo "drop: $?"
	jobstack status --json | tr , '\n' | grep -E '"(stack|pushed|pruned|done|dead)"'
}

n=0
# init_connect FILE: its settings (NAME VALUE a line) are those of each session from now on
init_connect() {
	local text
	text=$(sed -E 's/^([^ ]+) (.*)$/\1=\2/' "$1" | paste -sd ,)
	[[ -z $text ]] || text="SET $text"
	admin "SET GLOBAL init_connect=x'$(printf '%s' "$text" | od -An -v -tx1 | tr -d ' \n')'"
}
# can_be FILE: can a session have all of them, and do a statement as long as ours?  If not, the server refuses the connection or the
# statement; with a few KiB of memory, say.
long=$(printf 'x%.0s' {1..3000})
can_be() { init_connect "$1" 2>/dev/null && "$SQL_CLIENT" --defaults-file="$user_cnf" sweep -e "DO '$long'" >/dev/null 2>&1; }
# together FILE: keeps those that one session takes one after the other; the rest goes to the end of the file left.  (With another
# default_master_connection, MariaDB takes no max_relay_log_size.)
together() {
	sed -E 's/^([^ ]+) (.*)$/SET SESSION \1=\2;/' "$1" | "$SQL_CLIENT" --defaults-file="$user_cnf" --force sweep 2>&1 >/dev/null |
		sed -nE 's/^ERROR .* at line ([0-9]+).*/\1/p' >refused
	awk 'FILENAME == "refused" { refused[$1] = 1; next } { print > (FNR in refused ? "rest" : "kept") }' refused "$1"
	mv kept "$1"
	[[ ! -e rest ]] || { cat rest >>left && rm rest; }
}
# with_settings FILE: the workload under these settings prints what it should
with_settings() {
	n=$((n + 1))
	init_connect "$1" || return 2
	(workload "run$n") >"out.$n" 2>&1
	admin "SET GLOBAL init_connect=''"
	db_lab_drop "$lab" "run$n"
	[[ -e defaults ]] || cp "out.$n" defaults
	cmp -s defaults "out.$n" || { diff defaults "out.$n" | grep '^>' | head -n 3; return 1; }
}
halve() { # FILE: into FILE.a and FILE.b
	head -n $(($(wc -l <"$1") / 2)) "$1" >"$1.a"
	tail -n +$(($(wc -l <"$1") / 2 + 1)) "$1" >"$1.b"
}
# smallest FILE: leaves those of its settings that make the difference together: without any of them there is none
smallest() {
	local step at
	for ((step = ($(wc -l <"$1") + 1) / 2; step > 0; step = step > 1 ? (step + 1) / 2 : 0)); do
		at=1
		while ((at <= $(wc -l <"$1"))); do
			sed "$at,$((at + step - 1))d" "$1" >fewer
			if [[ -s fewer ]] && can_be fewer && ! with_settings fewer >said; then mv fewer "$1"; else at=$((at + step)); fi
		done
	done
}

changes_nothing() { # FILE NAME
	if ! can_be "$1"; then
		(($(wc -l <"$1") > 1)) || { echo "# $(cat "$1"): no session can have it" && return; }
		halve "$1"
		changes_nothing "$1.a" "$2, a half"
		changes_nothing "$1.b" "$2, the other half"
	elif with_settings "$1" >said 2>&1; then
		pass "$2: nothing changes"
	else
		cp "$1" guilty
		smallest guilty
		fail "$2: something changes" "$(cat said guilty)"
	fi
}

: >left
: >none
with_settings none >/dev/null 2>&1
unlike 'the workload is as it should be under the defaults' "$(<defaults)" '(^|'$'\n'')(init|push[a-z -]*|worker|close|renew|requeue[ a-z-]*|check|prune|drop): [0-9]+'
like '... and does something' "$(<defaults)" 'done'
((TAP_FAILED == 0)) || finish
candidates
echo "# $(wc -l <variables) variables of a session, $(cat taken alone | cut -d' ' -f1 | sort -u | wc -l) of them settable, $(cat taken alone | wc -l) values"
echo "# alone: $(tr '\n' ' ' <alone)"
echo "# can't be undone: $(tr '\n' ' ' <final)"
check 'there is something to set' test "$(wc -l <taken)" -gt 150

for ((round = 0; round < rounds; round++)); do
	# the ROUNDth value of each variable that has so many, else one of those it has
	awk -v round=$round '{ n[$1]++; v[$1, n[$1]] = $0 } END { for (x in n) print v[x, round % n[x] + 1] }' taken | sort >sorted
	# a time limit would end what follows it in init_connect
	{ grep -v '^max_[a-z]*_time ' sorted; grep '^max_[a-z]*_time ' sorted; } >"round.$round"
	together "round.$round"
	changes_nothing "round.$round" "round $round"
done
sort -u -k1,1 left >round.left
[[ ! -s left ]] || changes_nothing round.left "what did not go with others"
while read -r setting; do
	echo "$setting" >one
	changes_nothing one "$setting"
done <alone
finish
