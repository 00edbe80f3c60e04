# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the shell tests of the tools share.  Source it after tap.sh.

# sql STATEMENT: rows as tab-separated text, from the test's database.
SQL_CLIENT=$(command -v mariadb || command -v mysql)
sql() {
	local line
	while read -r line && [[ $line != database=* ]]; do :; done <"$JOBSTACK_TEST_CNF"
	"$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_CNF" -N -B "${line#database=}" -e "$1"
}

# ledger STACK: "done dead ready waiting held running" by the tables alone, not by the tool.
ledger() {
	sql "SELECT CONCAT_WS(' ',
		s.done+(SELECT COALESCE(SUM(done),0) FROM worker w WHERE w.stack_id=s.stack_id AND ended IS NULL),
		s.dead+(SELECT COALESCE(SUM(dead),0) FROM worker w WHERE w.stack_id=s.stack_id AND ended IS NULL),
		(SELECT COALESCE(SUM(hi-lo+1),0) FROM span p WHERE p.stack_id=s.stack_id AND class=0),
		(SELECT COALESCE(SUM(hi-lo+1),0) FROM span p WHERE p.stack_id=s.stack_id AND class=1),
		(SELECT COALESCE(SUM(hi-lo+1),0) FROM span p WHERE p.stack_id=s.stack_id AND class=2),
		(SELECT COALESCE(SUM(open),0) FROM claim c WHERE c.stack_id=s.stack_id)) FROM stack s WHERE name='$1'"
}
ledger_is() { [[ $(ledger "$1") == "$2" ]] || { echo "the ledger of $1: $(ledger "$1"), not $2"; return 1; }; }

# audit STACK: every entry is in just one place, the counters say so, and no attempt has two outcomes.
audit() {
	local bad
	bad=$(sql "SELECT 'pushed' what, s.pushed a, (SELECT COUNT(*) FROM entry e WHERE e.stack_id=s.stack_id) n FROM stack s WHERE name='$1' HAVING a<>n
	UNION ALL SELECT 'done', s.done+(SELECT COALESCE(SUM(done),0) FROM worker w WHERE w.stack_id=s.stack_id AND ended IS NULL) a,
		(SELECT COUNT(*) FROM attempt t WHERE t.stack_id=s.stack_id AND final=1) n FROM stack s WHERE name='$1' HAVING a<>n
	UNION ALL SELECT 'dead', s.dead+(SELECT COALESCE(SUM(dead),0) FROM worker w WHERE w.stack_id=s.stack_id AND ended IS NULL) a,
		(SELECT COUNT(*) FROM set_aside d WHERE d.stack_id=s.stack_id AND state=0) n FROM stack s WHERE name='$1' HAVING a<>n
	UNION ALL SELECT 'cancelled', s.cancelled a,
		(SELECT COUNT(*) FROM set_aside d WHERE d.stack_id=s.stack_id AND state=1) n FROM stack s WHERE name='$1' HAVING a<>n
	UNION ALL SELECT 'places', e.entry_id,
		(SELECT COUNT(*) FROM span p WHERE p.stack_id=e.stack_id AND ((ids IS NULL AND e.entry_id BETWEEN lo AND hi) OR
			LOCATE(CONCAT(LPAD(HEX(e.entry_id),10,'0'),','),SUBSTR(ids,lo*11+1,(hi-lo+1)*11))>0))
		+(SELECT COUNT(*) FROM claim c WHERE c.stack_id=e.stack_id AND ((ids IS NULL AND e.entry_id BETWEEN lo AND hi) OR
			LOCATE(CONCAT(LPAD(HEX(e.entry_id),10,'0'),','),ids)>0) AND NOT EXISTS
			(SELECT 1 FROM attempt t WHERE t.stack_id=e.stack_id AND t.entry_id=e.entry_id AND t.attempt=c.attempt))
		+(SELECT COUNT(*) FROM attempt t WHERE t.stack_id=e.stack_id AND t.entry_id=e.entry_id AND final=1)
		+(SELECT COUNT(*) FROM set_aside d WHERE d.stack_id=e.stack_id AND d.entry_id=e.entry_id) n
		FROM entry e JOIN stack s USING(stack_id) WHERE s.name='$1' HAVING n<>1 LIMIT 5")
	[[ -z $bad ]] || { echo "the audit of $1 found: $bad"; return 1; }
}

# packages STACK: "NAME VERSION ATTEMPTS;" of each Python package that its attempts imported.
packages() {
	sql "SELECT f.text FROM attempt a JOIN stack s USING(stack_id) JOIN fact f ON f.stack_id=a.stack_id AND f.kind=3 AND f.fact=a.packages
		WHERE s.name='$1'" | sed 's/\\n/\n/g' | sed '/^$/d' | sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)/\2 \1/' | tr '\n' ';'
}

# worker ARGS...: a quiet worker, which is ended if it hangs.
worker() { timeout 300 jobstack-worker -q "$@"; }

numbered() { seq -f '/d/%.0f' "$1" "$2"; } # names /d/FROM to /d/TO, one a line

# own_mounts COMMAND...: runs it where it may mount what nobody else sees.  (In a chroot the root is no mount, and unshare can't
# make it private; there is none to be kept from then.)
own_mounts() {
	local how=(unshare -m)
	((EUID == 0)) || how=(unshare -U --map-current-user --keep-caps -m)
	"${how[@]}" true 2>/dev/null || how+=(--propagation unchanged)
	"${how[@]}" "$@"
}

# The processes of the stack's live workers, keeper first: freeze stops them all at once, as far as they can be; kill_frozen
# kills -9 what freeze has stopped, so that none of them has time to do anything about the others' end.
worker_pids() { sql "SELECT JSON_VALUE(identity,'\$.pid') FROM worker JOIN stack USING(stack_id) WHERE name='$1' AND ended IS NULL ORDER BY worker_id"; }
# Numbers of processes are used again within a minute on a busy machine, and those of threads are, too: what is killed by a
# number that was noted earlier may be the server of another test.
is_ours() { grep -qsazxF "JOBSTACK_TEST_DIR=$JOBSTACK_TEST_DIR" "/proc/$1/environ"; } # was it started by this test?
none_of_ours() { # PID...: has each of them ended?
	local pid
	for pid; do
		! is_ours "$pid" || return 1
	done
}
kill_ours() { # PID...: with KILL
	local pid
	for pid; do
		! is_ours "$pid" || kill -KILL "$pid"
	done 2>/dev/null
}
process_tree() { # PID...: each and all below it.  One ps for all of them: it looks at all processes, which takes long.
	(($# == 0)) || ps -e -o pid= -o ppid= | awk -v tops="$*" '
		function show(pid, i, n, below) {
			print pid
			n = split(children[pid], below)
			for (i = 1; i <= n; i++) show(below[i])
		}
		{ children[$2] = children[$2] " " $1 }
		END { for (n = split(tops, top); ++i <= n;) show(top[i]) }'
}
worker_tree() {
	local pid stat keeper comm tops=()
	for pid in $(worker_pids "$1"); do
		is_ours "$pid" || continue
		stat='' comm=''
		read -r stat <"/proc/$pid/stat"
		read -r _ keeper _ <<<"${stat##*) }"
		read -r comm <"/proc/$keeper/comm"
		[[ $comm != jobstack-keeper ]] || echo "$keeper"
		tops+=("$pid")
	done 2>/dev/null
	process_tree "${tops[@]}"
}
freeze() {
	mapfile -t FROZEN < <(worker_tree "$1")
	kill -STOP "${FROZEN[@]}"
}
kill_frozen() { kill -KILL "${FROZEN[@]}"; }

# Conditions for check.
says() { # STATUS REGEX COMMAND...: ends so, and says that on standard error
	local status=$1 regex=$2 got=0 text
	shift 2
	text=$("$@" 2>&1 >/dev/null) || got=$?
	[[ $got == "$status" && $text =~ $regex ]] || { echo "status $got, said: $text"; return 1; }
}
prints() { # STATUS TEXT COMMAND...: ends so, and prints just that
	local status=$1 expected=$2 got=0 text
	shift 2
	text=$("$@" 2>said) || got=$?
	[[ $got == "$status" && $text == "$expected" ]] || { echo "status $got, printed: $text, said: $(cat said)"; return 1; }
}
