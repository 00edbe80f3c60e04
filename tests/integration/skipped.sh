#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A proxy skips each kind of UPDATE and DELETE of a transaction until a guard notices it.  Those that no guard notices must be
# among those that may be missing: see DESIGN.md ("Skipped statements").
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
[[ $(sql 'SELECT VERSION()') == *MariaDB* ]] || { pass 'MySQL skips nothing'; finish; }
jobstack init -q
python3 -B "$JOBSTACK_SOURCE/tests/lib/skipping.py" "$(sed -n 's/^port=//p' "$JOBSTACK_TEST_CNF")" &
at_end "kill $! 2>/dev/null"
wait_for 20 test -s port
sed "s/^port=.*/port=$(<port)/" "$JOBSTACK_TEST_CNF" >skipping.cnf && chmod 600 skipping.cnf
export JOBSTACK_DEFAULTS_FILE=$PWD/skipping.cnf

# works NAME STACK COMMAND...: COMMAND ends with 0 or 1, or says that a name is too long, and the audit of STACK finds no error
works() {
	local name=$1 stack=$2
	shift 2
	"$@" >out 2>err
	local status=$?
	((status <= 1)) || grep -q "32768 is the limit" err || fail "$name" "status $status: $(<err)"
	check "$name" audit "$stack"
}

works 'a push' a jobstack push -q -s a --max-attempts 2 --retry-delay 0 {1..40}
works 'an atomic push of unique names' a jobstack push -q -s a --atomic --unique /u/{1..40}
head -c 40000 /dev/zero | tr '\0' x >long
held() { [[ $(ledger a) == '0 0 80 0 1 0' ]]; }
refused() {
	{ echo "/v/$1" && wait_for 20 held >&2 && cat long; } | jobstack push -q -s a --atomic --unique
	(($? == 1)) || return 3 # nothing of it may be pushed
}
for i in {1..7}; do
	works '... one that is refused, when a part of it is there' a refused $i
done
cat >work <<'P'
case $JOBSTACK_ENTRY in *[13]) exit 3 ;; *5) exit 75 ;; esac
P
works 'a worker' a worker -s a --slots 3 --batch 4 --max-defers 2 -- sh work {}
works 'another one' a worker -s a --slots 1 --batch 1 --max-defers 2 -- sh work {}
works 'requeue' a jobstack requeue -q -s a 1 3
works 'requeue of all' a jobstack requeue -q -s a
works 'requeue of done ones' a jobstack requeue -q -s a -t done 2 4
works 'a worker that has one entry at a time' a worker -s a --slots 1 --batch 1 --max-defers 1 -- sh work {}
works 'requeue in another stack' a jobstack requeue -q -s a --to b
works '... and the audit of that one' b true
works 'set' b jobstack set -q -s b priority=3 max-running=3 max-failures=2 max-attempts=1 retry-delay=0
works 'a worker of a stack with limits' b worker -s b --slots 2 --idle-timeout 0 -- false
works 'resume' b jobstack resume -q -s b
works 'set a rate' b jobstack set -q -s b max-starts=100/s max-failures=none max-attempts=9
works 'a worker of a stack with a rate' b worker -s b --slots 2 --max-entries 4 -- true
works 'no rate' b jobstack set -q -s b max-starts=none
works 'cancel' b jobstack cancel -q -s b 1 2
works 'cancel all' b jobstack cancel -q -s b --all
works 'resume' b jobstack resume -q -s b
works 'last in, first out' l jobstack push -q -s l --lifo {1..9}
works '... with a worker' l worker -s l --batch 2 -- true
works 'a worker that dies' r jobstack push -q -s r {1..5}
jobstack-worker -q -s r --slots 2 --batch 4 --lease 2s -- sh -c 'echo >>begun; exec tail -f /dev/null' &
check '... with two commands' wait_for 30 sh -c '[ "$(wc -l <begun)" = 2 ]'
freeze r
kill_frozen
wait $! 2>/dev/null
recovered() { jobstack recover -q -s r; ledger_is r '0 0 5 0 0 0' || ledger_is r '0 0 0 5 0 0' || ledger_is r '0 0 3 2 0 0'; }
check '... its entries come back' wait_for 60 recovered
works '... and the ledger is right' r true
works 'a script' c jobstack push -q -s c {1..6}
export JOBSTACK_STACK=c
for i in 1 2 3; do
	eval "$(jobstack pop)"
	works '... renews' c jobstack renew
	works '... closes' c jobstack close -q --exit $((i - 1))
done
while jobstack pop -q >popped; do works '... pops' c true; done
check 'prune' jobstack prune -q --yes a --older-than 0s
check '... leaves a ledger that is right' jobstack check -q a
check 'drop, which a skipped statement refuses' wait_for 20 jobstack drop -q --yes l

left() { # of stacks that are gone
	local table
	for table in span attempt set_aside name path entry worker closed stream fact push_range push running_limit; do
		sql "SELECT '$table',COUNT(*) FROM $table WHERE stack_id NOT IN(SELECT stack_id FROM stack) HAVING COUNT(*)>0"
	done
}
is '... leaves nothing' "$(left)" ''

# No guard notices these.  They are repeated anyway, or until no row is left.
sort -u skipped >all
sed -n 's/^noticed\t//p' all >noticed
sed -n 's/^unnoticed\t//p' all | grep -vxFf noticed >unnoticed
# A row of push_range that stays names a range without entries.
may_be_missing='^DELETE FROM push_range|^UPDATE push SET beat=[^,]* WHERE push_id=N$|^DELETE FROM [a-z_]* WHERE stack_id=N( ORDER BY [a-z_,`]*)? LIMIT N$|^UPDATE span FORCE INDEX\(span_due\) SET class=|^UPDATE span FORCE INDEX\(PRIMARY\) SET `rank`=|^UPDATE stack s SET state=.*max_failures'
is 'a statement that does nothing is noticed' "$(grep -vE "$may_be_missing" unnoticed)" ''
check '... of at least 40 kinds' test "$(wc -l <noticed)" -ge 40
finish
