#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A client that freezes (SIGSTOP) at any moment of a push, a pop or a close stalls nobody else.
#
# Victims are frozen at moments spread over their work, by a seed that is printed.  While one is frozen, others must push, pop and
# close nearly as fast as when it runs (a lock that a frozen client held would keep them for the three seconds of the lock's
# time-out, again and again): a busy machine is as slow in both cases.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
RANDOM=${SEED:=$((RANDOM))}
echo "# SEED=$SEED"
export JOBSTACK_STACK=ice
seq -f /first/%.0f 1 2000 | jobstack push -q >/dev/null

# One after the other, for ever: what the frozen process does.
cat >work-push <<'S'
while :; do seq -f /v/%.0f 1 3000 | jobstack push -q >/dev/null; done
S
cat >work-script <<'S'
while :; do jobstack push -q /again >/dev/null; eval "$(jobstack pop -q)" && jobstack close -q; done
S
cat >work-worker <<'S'
while :; do jobstack-worker -q --slots 2 --idle-timeout 0 -- true; done
S
# what the others do meanwhile, and how long it took, in hundredths of a second
others() {
	local from to
	read -r from _ </proc/uptime
	jobstack push -q /other >/dev/null && eval "$(jobstack pop -q)" && jobstack close -q || return 1
	read -r to _ </proc/uptime
	TOOK=$((10#${to/./} - 10#${from/./}))
}
# caught GROUP: one of the group's processes is a client of ours, frozen
caught() { pgrep -g "$1" '^jobstack' >/dev/null; }
for kind in push script worker; do
	setsid bash work-$kind >/dev/null 2>&1 &
	process=$!
	wait_for 10 kill -0 -- -$process
	worst=0 frozen=0 bad=0
	for ((i = 0; i < 400 && frozen < 12; i++)); do
		# a moment of its work: after a random number of iterations of an empty loop
		for ((spin = RANDOM % 2000; spin > 0; spin--)); do :; done
		kill -STOP -- -$process
		least=''
		if caught $process; then
			frozen=$((frozen + 1))
			# a lock that the frozen client holds stalls them again and again; a busy machine does not
			least=1000000
			for ((try = 0; try < 2 || (try < 6 && least >= 200); try++)); do
				others || bad=$((bad + 1))
				((TOOK < least)) && least=$TOOK
			done
		fi
		kill -CONT -- -$process
		[[ $least ]] || continue
		if ((least >= 200)); then # compared with the same while nobody is frozen
			others || bad=$((bad + 1))
			echo "# they took $least hundredths of a second, and $TOOK after it went on"
			least=$((least > 2 * TOOK ? least - 2 * TOOK : 0))
		fi
		((least > worst)) && worst=$least
	done
	kill -KILL -- -$process
	wait $process 2>/dev/null
	echo "# $kind: frozen $frozen times; the slowest push, pop and close of others took $worst hundredths of a second"
	check "$kind: it was frozen" test "$frozen" -ge 6
	check "$kind: nobody else failed" test "$bad" -eq 0
	check "$kind: nobody else stalled" test "$worst" -lt 200
done
check 'nothing is lost or doubled' audit ice
finish
