#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
# shellcheck disable=SC2016
#
# Workers that wait for their server: status --why and doctor say how long, and why, if it is so (here each fsync of the
# server takes a tenth of a second longer), and nothing if it isn't.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
set +e
set_delay() { python3 -c 'import struct, sys; open("delay", "r+b").write(struct.pack("=q", int(sys.argv[1])))' "$1"; } # us, in place
truncate -s 8 delay
printf '#!/bin/sh\nSLOW_DISK=%s LD_PRELOAD=%s exec %s "$@"\n' "$PWD/delay" "$JOBSTACK_BIN/tests/libslow-disk.so" \
	"$(command -v "$(db_lab_program)")" >server
chmod 755 server
chmod 644 delay
export JOBSTACK_LAB_DB=$PWD/server LAB_SETTINGS=$'server-id=1\nlog-bin=binlog\nsync-binlog=1'
own_server held
jobstack init -q
whys() { jobstack status --why --json -s "$1" >why; }
why() { jq -r ".why[]|select(.why==\"slow_steps\")|.$1" why; }
done_of() { (($(sql "SELECT COALESCE(SUM(worker.done),0) FROM worker JOIN stack USING(stack_id) WHERE name='$1'") >= $2)); }
told_steps() { (($(sql "SELECT COUNT(*) FROM worker JOIN stack USING(stack_id) WHERE name='$1' AND running LIKE '%,0:%'") == $2)); }
# lost STACK: what the attempts say, of the time in which all slots could work the part in which no command ran
lost() {
	sql "SELECT 1-SUM(TIMESTAMPDIFF(MICROSECOND,GREATEST(a.started,s.low),LEAST(a.ended,s.high)))/8/TIMESTAMPDIFF(MICROSECOND,s.low,s.high) FROM attempt a
		JOIN (SELECT stack_id,MIN(started) low,MAX(ended)-INTERVAL 2 SECOND high FROM attempt JOIN stack USING(stack_id)
			WHERE name='$1' GROUP BY stack_id) s USING(stack_id) WHERE a.started<s.high"
}
# start STACK: two workers with four slots each, that claim nothing ahead
start() {
	numbered 1 2000 | jobstack push -q --max-losses 1 -s "$1" >/dev/null
	jobstack-worker -q --slots 4 -s "$1" -- sh -c 'sleep 1.2' & first=$!
	jobstack-worker -q --slots 4 -s "$1" -- sh -c 'sleep 1.2' & second=$!
}
stop() {
	kill "$first" "$second"
	wait "$first" "$second"
}

start fast
check 'a fast server: entries are done' wait_for 30 done_of fast 24
check '... and the workers tell how long a step takes' wait_for 20 told_steps fast 2
# on a busy machine they may wait for any server: then it must be so
nobody_waits() {
	whys fast
	own=$(lost fast)
	jq -e --argjson own "$own" '[.why[]|select(.why=="slow_steps").waiting_share]|all(. < 2*$own) or ("\(.) of \($own)"|halt_error)' why
}
check '... nobody waits for it, or so long as the attempts say' wait_for 20 nobody_waits
is '... more workers would help, unless they do' "$(jq -r '.why[]|select(.why=="busy")|.remedy' why)" \
	"$([[ -z $(why text) ]] && echo 'start more workers, or workers with more --slots' || echo null)"
stop
jobstack doctor --json -s fast >out
is 'doctor measures a commit' "$(jq -r 'select(.check=="commit")|.level' out | wc -l)" 1
is '... and leaves nothing' "$(sql 'SELECT COUNT(*) FROM running_limit')" 0
is '... of no steps there is a word' "$(jq -r 'select(.check=="steps")|.text' out)" ''

check 'the disk gets slow' set_delay 100000
start slow
check '... entries are done' wait_for 40 done_of slow 72
whys slow
all=$(lost slow)
like '... which is told' "$(why text)" '^slots wait for the database for [0-9.]+ % of their time: a worker.s step takes [0-9.]+ m?s, the commit in it [0-9.]+ m?s \(binary log with sync_binlog=1'
like '... with what to do' "$(why remedy)" '^if .jobstack doctor. finds its disk slow, put the binary log on a faster disk, or set sync_binlog=0 .*jobstack server start'
is '... and more workers would not help' "$(jq -r '.why[]|select(.why=="busy")|.remedy' why)" null
check '... a step has two commits in it' jq -e '.step_seconds > 0.1 and .commit_seconds > 0.1 and .step_seconds < 5' why
# this machine loses some of it without any server
check "... the share is right within a factor of two" jq -e --argjson all "$all" --argjson own "$own" \
	'(.waiting_share > ($all-$own)/2 and .waiting_share < $all*2) or ("\(.waiting_share) of \($all), \($own)"|halt_error)' why
like '... for all to read' "$(jobstack status --why -s slow)" 'slow: slots wait for the database'
jobstack doctor --json -s slow >out
like 'doctor: a slow commit' "$(jq -r 'select(.check=="commit")|"\(.level) \(.text) -> \(.remedy)"' out)" '^warn [0-9.]+ m?s \(binary log with sync_binlog=1 on a slow disk.* -> put the binary log on a faster disk'
like '... and slow steps' "$(jq -r 'select(.check=="steps")|"\(.level) \(.text)"' out)" '^warn slots wait for the database'
stop
finish
