#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The rate of starts: no window of its length has more starts than it allows, whatever happens to workers between a claim and a start.
#
# When a command was started is read from /proc: its process was made then.  A worker looks after that whether it may still start it,
# so this is never earlier than the claim.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
cat >start <<'S'
#!/bin/bash
read -r -a stat </proc/self/stat
echo "${stat[21]}" >"starts/$JOBSTACK_STACK.$JOBSTACK_ENTRY.$JOBSTACK_ATTEMPT"
case $1 in
/twice*) ((JOBSTACK_ATTEMPT > 1)) ;;
/long*) exec sleep 1000 ;;
esac
S
chmod +x start
mkdir starts
# most_of STACK N US: of all starts of STACK, N + 1 are at least US apart; a tick of the clock is 10 ms
most_of() {
	sort -n starts/"$1".* | awk -v n="$2" -v us="$3" '{
		if (NR > n && ($1 - at[NR - n] + 1) * 10000 < us) { print "start " NR " is too early: " $1 - at[NR - n] " ticks"; bad = 1 }
		at[NR] = $1
	} END { exit bad || NR <= n }'
}
starts_are() { (($(find starts -name "$1.*" | wc -l) >= $2)); }
field() { jobstack status -s "$1" --json | sed -E "s/.*\"$2\": ?(\"[^\"]*\"|[^,}]*).*/\1/"; }

# ------------------------------------------------------------------------------------------------------------- twenty workers
for i in {1..18}; do echo "/twice$i"; done | jobstack push -q -s many --max-starts 8/s --retry-delay 0 --max-attempts 9 >/dev/null
echo /long >long.names
jobstack push -q -s many --priority 1 -a long.names >/dev/null
pids=()
for i in {1..20}; do
	worker -s many --slots $((i % 3 + 1)) --lease 6s -- ./start {} &
	pids+=($!)
done
check 'one of twenty workers starts a long command' wait_for 60 test -e starts/many.19.1
killed=$(sql "SELECT JSON_VALUE(identity,'\$.pid') FROM worker JOIN claim USING(worker_id) WHERE claim.lo=19")
sql "UPDATE entry SET datapath='/short' WHERE entry_id=19"
kill_ours "$killed"
like '... status tells why no more are started' "$(jobstack status -s many --why)" 'many: starts are limited to 8/s: `jobstack set -s many max-starts'
is '... and what the limit is' "$(jobstack status -s many | grep limits)" 'limits    starts are limited to 8/s'
for pid in "${pids[@]}"; do wait "$pid"; done
check 'all is done, and one worker was killed' ledger_is many '19 0 0 0 0 0'
check '... in any second eight starts, at most' most_of many 8 1000000
check '... all attempts count' starts_are many 38
check '... the ledger is right' audit many

# ------------------------------------------------------------------------------------------------------ a start that is late
# Its output goes to a pipe that nobody has opened yet, so it hangs between claim and start.
mkdir out
mkfifo out/stuck
printf '/stuck\n/a\n/b\n' | jobstack push -q -s late --max-starts 1/1s >/dev/null
worker -s late --slots 2 --output 'out/{/}' -- ./start {} &
waiting=$!
check 'a start hangs, and another one comes when it may' wait_for 60 test -e starts/late.2.1
exec 8<out/stuck
wait "$waiting"
exec 8<&-
check '... when the first could go on, it is too late: it waits again' most_of late 1 1000000
check '... then it is done' ledger_is late '3 0 0 0 0 0'
is '... at its first attempt' "$(sql "SELECT MAX(attempt) FROM attempt JOIN stack USING(stack_id) WHERE name='late'")" 1

# ------------------------------------------------------------------------------------------------------- scripts, and `run`
numbered 1 4 | jobstack push -q -s script --max-starts 1/0.5s >/dev/null
popped=() began=$(date +%s%3N)
while one=$(jobstack pop -q -s script --format path0 | tr -d '\0'; exit "${PIPESTATUS[0]}"); do
	popped+=("$one")
	jobstack close -q -s script --exit 0 ${#popped[@]}
done
is 'a pop waits for the rate' "${popped[*]}" '/d/1 /d/2 /d/3 /d/4'
check '... each time' test $(($(date +%s%3N) - began)) -ge 1500
check 'run --delay' sh -c 'jobstack run -q -s delay --delay 0.5 -j 4 --batch 3 -- ./start {} ::: a b c d'
check '... spaces starts' most_of delay 1 500000
is '... as a policy of the stack' "$(jobstack set -s delay | grep max-starts)" 'max-starts=1/0.5s'
is '... in JSON' "$(field delay max_starts) $(field delay starts_seconds)" '1 0.5'
check '... which can be lifted' jobstack set -q -s delay max-starts=none
is '... for all' "$(jobstack set -s delay --json | sed 's/.*\(.max_starts.*\)."max_failures.*/\1/')" '"max_starts":null,"starts_seconds":null'
check '... then nothing waits' sh -c 'jobstack run -q -s delay --max-starts none -j 2 -- true ::: e f g h i j k l'
for bad in 60 60/ /min 0/s 1/0 -1/s 5/week x/s 1/s/s; do
	check "not a rate: $bad" says 2 'max-starts takes starts per time, such as 60/min' jobstack set -s delay "max-starts=$bad"
done
check 'persistent commands' jobstack push -q -s persist --max-starts 1/0.4s /dev/null /dev/null /dev/null /dev/null
worker -s persist --slots 2 --persistent -- bash -c 'while read -r line; do echo done; done'
sql "SELECT CAST(UNIX_TIMESTAMP(a.started)*100 AS SIGNED) FROM attempt a JOIN stack s USING(stack_id) WHERE name='persist'" >starts/persist.all
check '... are asked at that rate' most_of persist 1 400000
jobstack push -q -s stopped --max-starts 1/h one two >/dev/null
jobstack pop -q -s stopped >/dev/null
check 'a signal ends a pop that waits' says 130 '^$' timeout --preserve-status -s INT 2 jobstack pop -s stopped

# ------------------------------------------------------------------------------------------------------------- set slots=8
check 'slots: what does that' says 2 'slots belong to a worker.*: `jobstack run -s delay --slots 8` starts workers with so many; `jobstack set -s delay max-running=8`' \
	jobstack set -s delay slots=8
check '... that line works' jobstack run -s delay --slots 8
check '... and that one, too' jobstack set -q -s delay max-running=8
check '... if nothing was started yet' says 2 'slots belong to a worker, which keeps their number while it runs: `jobstack set -s many max-running=8`' jobstack set -s many slots=8
finish
