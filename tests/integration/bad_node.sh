#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A node whose file system is stale fails each file in milliseconds.  It neither pauses the stack nor eats the list: what failed
# there costs no attempt, and is done by the others.  (Schedule and limits: tests/unit/test_worker_suspicion.c.)
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
unset "${!SLURM_@}"
on_host=(unshare --uts)
((EUID == 0)) || on_host=(unshare -U --map-current-user --keep-caps --uts)

command=': {}; [ ! -e bad-$NODE ] || { echo "cat: {}: Stale file handle" >&2; exit 1; }; exec sleep 0.12'
# on NODE STACK OPTION...: a worker on that node
on() {
	local node=$1 stack=$2
	shift 2
	(NODE=$node exec timeout 300 "${on_host[@]}" sh -c 'hostname $NODE; exec jobstack-worker "$@"' sh -q -s "$stack" --slots 1 "$@" \
		--shell -- "$command" 2>"$stack-$node.err") &
}
started() { (($(sql "SELECT COUNT(*) FROM worker JOIN stack USING(stack_id) WHERE name='$1'") == $2)); }
more_than() { read -r finished _ < <(ledger "$1") && ((finished > $2)); }
failures() { sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) JOIN worker USING(worker_id) WHERE name='$1' AND attempt.outcome>0 AND node='$2'"; }
reason() { sql "SELECT worker.reason FROM worker JOIN stack USING(stack_id) WHERE name='$1' AND node='$2'"; }
# seconds STACK FILES NODE...: runs so many files on these nodes, and prints how long it took
seconds() {
	local stack=$1 files=$2 began node
	shift 2
	numbered 1 "$files" | jobstack push -q -s "$stack" >/dev/null
	began=$EPOCHREALTIME
	for node; do on "$node" "$stack" --idle-timeout 5; done
	if [[ $stack == later ]]; then
		wait_for 60 more_than later 40 && touch bad-n1
	fi
	jobstack wait -q -s "$stack" --timeout 200 >/dev/null
	awk "BEGIN { print $EPOCHREALTIME - $began }"
	wait
}
at_most() { awk "BEGIN { exit !($1 <= $2) }" || { echo "$1 s, more than $2 s"; return 1; }; }

half=$(seconds half 200 n2 n3 n4)
is 'three good nodes do half as many' "$(ledger half)" '200 0 0 0 0 0'
touch bad-n1
start=$(seconds start 400 n1 n2 n3 n4)
is 'one of four is bad from the start: 400 of 400 done, 0 dead' "$(ledger start)" '400 0 0 0 0 0'
rm bad-n1
later=$(seconds later 400 n1 n2 n3 n4)
is 'it turns bad later: 400 of 400 done, 0 dead' "$(ledger later)" '400 0 0 0 0 0'
echo "# three good nodes: twice $half s; bad from the start: $start s, $(failures start n1) failures there; later: $later s, $(failures later n1)"
limit=$(awk "BEGIN { print 1.5 * 2 * $half }")
check '... in at most 1.5 of the time that three good nodes need' at_most "$start" "$limit"
check '... also then' at_most "$later" "$limit"
for stack in start later; do
	is "$stack: the stack stays open" "$(sql "SELECT state FROM stack WHERE name='$stack'")" 0
	check '... its audit' audit "$stack"
	is '... the other nodes have no failure' "$(failures $stack n2) $(failures $stack n3) $(failures $stack n4)" '0 0 0'
	[[ $stack == later ]] || like '... the bad one has ended, and says why' "$(reason $stack n1)" \
		'^bad node: the last [0-9]+ entries failed here, [0-9]+ of them were done elsewhere \(exit 1: "cat: /d/[0-9]+: Stale file handle"\)$'
done
finish
