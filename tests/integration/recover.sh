#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack recover: what dead workers hold is taken back, at once where the end is certain, after a whole lease of watching where
# only silence is known; never from one that lives.  (What Slurm proves: tests/e2e/lost.sh.)
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
export JOBSTACK_SLURM=module JOBSTACK_MODULE_DIR=$PWD/none # no Slurm, unless a test says otherwise
unset "${!SLURM_@}"

push() { numbered 1 "$2" | jobstack push -q -s "$1" >/dev/null; }
# hang STACK OPTION...: a worker whose commands hang; waits until RUNNING of them do
hang() {
	local stack=$1 n=$2
	shift 2
	(exec timeout 300 jobstack-worker -q -s "$stack" --slots "${SLOTS-$n}" "$@" -- sh -c 'exec sleep 1000') &
	wait_for 20 runs "$stack" "$n" || fail "$stack: $n run" "$(ledger "$stack")"
}
runs() { [[ $(ledger "$1") == *" $2" ]]; }
no_process() { none_of_ours "${FROZEN[@]}"; }
die() { # STACK: kill -9 of its workers with all that belongs to them
	freeze "$1"
	kill_frozen
	wait_for 10 no_process
}
reasons() { sql "SELECT DISTINCT reason FROM attempt JOIN stack USING(stack_id) WHERE name='$1' AND outcome=2"; }
tables() { sql 'CHECKSUM TABLE stack,worker,claim,span,attempt,set_aside,entry' | cksum; }
# silent_for STACK SECONDS: the workers' last sign of life lies as far back
silent_for() { sql "UPDATE worker JOIN stack USING(stack_id) SET beat=UTC_TIMESTAMP(6)-INTERVAL $2 SECOND WHERE name='$1' AND ended IS NULL"; }
lease_is() { sql "UPDATE worker JOIN stack USING(stack_id) SET lease_us=$2*1000000 WHERE name='$1' AND ended IS NULL"; }
at_end 'kill_ours $(worker_tree %)'

# ---- usage
check 'no such stack' says 2 'there is no stack "nosuch"' jobstack recover -s nosuch
check 'a word too many' says 2 'the stack is given twice' jobstack recover -s a b
push default 1
check 'without -s: the stack default' prints 0 'nothing to recover: no worker looks dead' jobstack recover

# ---- its process is gone
push dead 5
hang dead 2
check 'one that lives is not taken from' prints 0 'nothing to recover: no worker looks dead' jobstack recover -s dead
silent_for dead 200
lease_is dead 7200
check '... however long it was silent' prints 0 'nothing to recover: no worker looks dead' jobstack recover -s dead
die dead
is 'kill -9 of all of it: nobody has noticed' "$(ledger dead)" '0 0 3 0 0 2'
before=$(tables)
check '--dry-run says what would be' says 0 'worker [0-9]+ on .*: its process on .* is gone: 2 entries would be requeued' \
	jobstack recover -s dead --dry-run
check '... and again' prints 0 '2 would be recovered from 1 dead worker' jobstack recover -s dead --dry-run
is '... and changes nothing' "$(tables)" "$before"
check 'requeue --dry-run, too' prints 0 '0 would be requeued, 2 would be recovered from dead workers' jobstack requeue -s dead --dry-run
is '... changes nothing' "$(tables)" "$before"
like 'recover takes back' "$(jobstack recover -s dead --json)" \
	'^\{"stack":"dead","taken_back":2,"dead_workers":1,"suspects":0,"dry_run":false,"workers":\[\{"worker":[0-9]+,"node":"[^"]+","verdict":"taken","reason":"its process on .* is gone","entries":2,"script":false,'
is '... all of it' "$(ledger dead)" '0 0 5 0 0 0'
like '... the reason is on record' "$(jobstack show -s dead 1)" 'lost: its process on .* is gone'
check '... and nothing twice' prints 0 'nothing to recover: no worker looks dead' jobstack recover -s dead
check '... it runs' worker -s dead --slots 2 -- true
is '... to the end' "$(ledger dead)" '5 0 0 0 0 0'

# idle ones end as well, else they would count as alive for ever
push idle 1
(exec timeout 300 jobstack-worker -q -s idle --idle-timeout 300 --slots 1 -- false) &
is_waiting() { [[ $(ledger idle) == '0 0 0 1 0 0' ]]; }
check 'an idle worker' wait_for 20 is_waiting
die idle
check '... dead, without an entry' prints 0 '0 recovered from 1 dead worker' jobstack recover -s idle
is '... is alive no more' "$(jobstack status -s idle --json | grep -o '"workers":[0-9]*' | head -1)" '"workers":0'

# commands that outlive worker and keeper, killed together: the kernel spares what has changed its user, or is no child of ours
alive() { ps -o stat= -p "$(IFS=,; echo "$*")" | grep -qv Z; }
none_lives() { ! alive "$@"; }
outlive() { # STACK: of the frozen, keeper and worker are killed; LEFT are the others, of whom somebody goes on
	freeze "$1"
	LEFT=("${FROZEN[@]:2}")
	FROZEN=("${FROZEN[@]:0:2}")
	kill -CONT "${LEFT[@]}" # the kernel hangs up on what is stopped when its group loses its session
	kill_frozen
	wait_for 10 no_process
	check "$1: a command outlives worker and keeper" alive "${LEFT[@]}"
}
lefts=("sh -c 'sleep 1000; :'" 'timeout 1000 sleep 1000')
if ((EUID == 0)); then
	lefts+=("su -s /bin/sh nobody -c 'sleep 1000; :'" 'setpriv --reuid=nobody --regid=nogroup --clear-groups sleep 1000')
fi
for i in "${!lefts[@]}"; do
	push "left$i" 1
	(exec timeout 300 jobstack-worker -q -s "left$i" -- sh -c "exec ${lefts[i]}") &
	check "${lefts[i]}" wait_for 20 runs "left$i" 1
	worker_sleeps() { worker_tree "left$i" | xargs ps -o comm= -p | grep -qx sleep; }
	wait_for 10 worker_sleeps
	outlive "left$i"
	before=$(tables)
	check '... --dry-run tells, and leaves it alone' says 0 "one of its commands still runs here \(process [0-9]+, [a-z]+\): .jobstack recover. kills it; it holds 1 entry" \
		jobstack recover -s "left$i" --dry-run
	check '... counted as recover would' prints 0 '1 would be recovered from 1 dead worker' jobstack recover -s "left$i" --dry-run
	check '... ' alive "${LEFT[@]}"
	is '... nothing is changed' "$(tables)" "$before"
	check 'recover ends it, and takes back' says 0 'its process on .* is gone \(processes left by its commands were killed\): 1 entry requeued' \
		jobstack recover -s "left$i"
	check '... nothing of it is left' none_lives "${LEFT[@]}"
	check '... its audit' audit "left$i"
done

# ... and what we may neither see into nor kill: what a set-uid program (sudo, for one) has started as root
if ((EUID == 0)); then
	push setuid 1
	install -d -o nobody nobody
	cp "$JOBSTACK_BIN/jobstack" "$JOBSTACK_BIN/jobstack-worker" . # the tree may lie where others can't read it
	install -m 4755 "$(command -v setpriv)" nobody/rootpriv
	install -o nobody -m 600 "$JOBSTACK_DEFAULTS_FILE" nobody/cnf
	as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@" --defaults-file "$PWD/nobody/cnf"; }
	cd nobody || exit
	(exec timeout 300 setpriv --reuid=nobody --regid=nogroup --clear-groups env TMPDIR="$PWD" ../jobstack-worker -q -s setuid \
		--defaults-file "$PWD/cnf" --log-dir "$PWD" -- sh -c 'exec ./rootpriv --reuid=0 --clear-groups sleep 1000') &
	cd ..
	check 'a set-uid command' wait_for 20 runs setuid 1
	root_sleeps() { worker_tree setuid | xargs ps -o euser=,ruser=,comm= -p | grep -qx 'root *root *sleep'; }
	wait_for 10 root_sleeps
	outlive setuid
	lease_is setuid 3
	check 'recover as its user leaves it alone, and says so' \
		says 1 "still runs here \(process ${LEFT[0]}, sleep\): kill it; it holds 1 entry: while that process runs, nothing is recovered on this host" \
		as_nobody ./jobstack recover -s setuid
	is '... it runs' "$(ledger setuid)" '0 0 0 0 0 1'
	sql "UPDATE worker JOIN stack USING(stack_id) SET user='somebody' WHERE name='setuid' AND ended IS NULL"
	recover_hidden() { # where /proc shows nobody but one's own processes
		own_mounts sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' - setpriv --reuid=nobody --regid=nogroup --clear-groups \
			./jobstack recover -s setuid --defaults-file "$PWD/nobody/cnf"
	}
	check '... also where /proc hides it' says 1 "still runs here \(process ${LEFT[0]}, \?\): kill it; it holds 1 entry" recover_hidden
	is '... it runs' "$(ledger setuid)" '0 0 0 0 0 1'
	silent_for setuid 100
	check "... so does anybody, however long it was silent" \
		says 1 "still runs here \(process ${LEFT[0]}, sleep\): kill it" as_nobody ./jobstack recover -s setuid --wait
	is '... it runs' "$(ledger setuid)" '0 0 0 0 0 1'
	kill -KILL "${LEFT[0]}"
	wait_for 10 none_lives "${LEFT[0]}"
	check '... until it ends' says 0 'silent for [0-9]+ s, longer than its lease: 1 entry requeued' as_nobody ./jobstack recover -s setuid
	check '... its audit' audit setuid
fi

# what left the session is known by its environment, and ended unless it is in another cgroup, or in another Slurm job
push orphan 1
cat >daemons <<'END'
for how in same job other; do
	case $how in
	same) set -- ;;
	job) set -- SLURM_JOB_ID=77 ;;
	other) set -- "JOBSTACK_PROCESS=${JOBSTACK_PROCESS% *} 1234" ;; # as if the worker had been in another cgroup
	esac
	setsid env "$@" sh -c "echo \$\$ >$how; exec sleep 1000" &
done
exec sleep 1000
END
daemons_run() { cat same job other 2>/dev/null | wc -l | grep -qx 3; }
(exec timeout 300 jobstack-worker -q -s orphan -- sh daemons) &
check 'a command with daemons' wait_for 20 daemons_run
wait_for 20 runs orphan 1
freeze orphan
mapfile -t FROZEN < <(printf '%s\n' "${FROZEN[@]}" | grep -vxf same | grep -vxf job | grep -vxf other)
cat same job other | xargs kill -CONT
kill_frozen
lease_is orphan 3
wait_for 10 no_process
check 'they live on: nothing is taken' says 1 "one of its commands still runs here \(process $(<other), sleep\): kill it; it holds 1 entry" jobstack recover -s orphan
is '... ' "$(ledger orphan)" '0 0 0 0 0 1'
check '... what was surely its own is ended' none_lives "$(<same)"
check '... and what is not is not' alive "$(<other)"
silent_for orphan 100
check '... nor is it taken after its lease' says 1 "process $(<other), sleep\): kill it; it holds 1 entry" jobstack recover -s orphan --wait
kill -KILL "$(<other)"
wait_for 10 none_lives "$(<other)"
check '... until it ends' prints 0 '1 recovered from 1 dead worker' jobstack recover -s orphan
check '... a job that it has submitted goes on' alive "$(<job)"
kill -KILL "$(<job)"

# a number that has come again: the session that it now names is another's, whose first process has ended
push reused 1
hang reused 1
die reused
setsid sh -c 'echo $$ >leader; sleep 1000 & echo $! >later'
at_end 'kill_ours "$(<later)"'
sql "UPDATE worker JOIN stack USING(stack_id) SET identity=JSON_SET(identity,'\$.pid',$(<leader)) WHERE name='reused' AND ended IS NULL"
check 'a session that has the number within the lease' says 1 "process $(<later), sleep\): kill it; it holds 1 entry" jobstack recover -s reused
check '... is left alone' alive "$(<later)"
kill -KILL "$(<later)"
wait_for 10 none_lives "$(<later)"
rm later
check '... and when it has ended' prints 0 '1 recovered from 1 dead worker' jobstack recover -s reused

# another user's command can't be seen in the process table: no proof, for whoever is not root
if ((EUID == 0)); then
	push other 1
	hang other 1
	die other
	sql "UPDATE worker JOIN stack USING(stack_id) SET user='somebody' WHERE name='other' AND ended IS NULL"
	install -o nobody -m 600 "$JOBSTACK_DEFAULTS_FILE" nobody.cnf
	check "of another user's worker the process proves nothing" prints 0 'nothing to recover: no worker looks dead' \
		setpriv --reuid=nobody --regid=nogroup --clear-groups ./jobstack recover -s other --defaults-file "$PWD/nobody.cnf"
	check '... but to root' prints 0 '1 recovered from 1 dead worker' jobstack recover -s other
fi

# a process table that is not ours, a boot that is over: the pid proves nothing
push boot 1
hang boot 1
sql "UPDATE worker JOIN stack USING(stack_id) SET identity=JSON_SET(identity,'\$.boot',CONCAT(JSON_VALUE(identity,'\$.boot'),'/1')) WHERE name='boot' AND ended IS NULL"
die boot
check 'in another process table the pid proves nothing' prints 0 'nothing to recover: no worker looks dead' jobstack recover -s boot

# ---- silence
push silent 3
(exec timeout 300 jobstack-worker -q -s silent --slots 2 --batch 1 --lease 6 --grace 1 -- sh -c 'echo $$ >>silent; exec sleep 1000') &
zombie=$!
check 'a lease of 6 s: two run' wait_for 20 runs silent 2
freeze silent
silent_for silent 4
check 'frozen, and silent for more than half of its lease: its commands, frozen too, are in the way' \
	says 1 'watching 1 silent worker for up to 6.0 s.*still runs here \(process [0-9]+, sleep\): kill it; it holds 2 entries: while that process runs, nothing is recovered on this host' \
	jobstack recover -s silent
xargs kill -KILL <silent
mapfile -t gone <silent
wait_for 10 none_lives "${gone[@]}"
silent_for silent 4
check 'when they have ended it is watched for a whole one' \
	says 0 'watching 1 silent worker for up to 6.0 s.*silent for [0-9]+ s, longer than its lease: 2 entries requeued' \
	jobstack recover -s silent
like '... the reason is on record' "$(reasons silent)" '^silent for ([6-9]|1[0-9]) s, longer than its lease$'
check '... others do the work' worker -s silent --slots 2 -- true
is '... all of it' "$(ledger silent)" '3 0 0 0 0 0'
kill -CONT "${FROZEN[@]}" 2>/dev/null
wait_for 20 no_process || fail 'the zombie ends' "$(ps -o pid,stat,args -p "$(IFS=,; echo "${FROZEN[*]}")")"
wait $zombie
check 'the zombie, awake again, ends and changes nothing' ledger_is silent '3 0 0 0 0 0'
check '... and none of its commands runs on' none_of_ours "${gone[@]}"

# one that beats while it is watched is not taken from
push beat 1
hang beat 1 --lease 15 --grace 1
silent_for beat 14
check 'a heart that beats wins' prints 0 'nothing to recover: no worker looks dead' jobstack recover -s beat
is '... ' "$(ledger beat)" '0 0 0 0 0 1'
die beat

# a lease of hours: told, not taken
push hours 2
hang hours 1 --lease 2h
freeze hours
silent_for hours 10800
lease_is hours 7200
sql "UPDATE worker JOIN stack USING(stack_id) SET identity=JSON_SET(identity,'\$.host','elsewhere'),node='n3' WHERE name='hours' AND ended IS NULL"
kill_frozen
check 'a lease of hours: told' says 1 'worker [0-9]+ on n3 has been silent for 3 h 0 min of its 2 h 0 min lease; it holds 1 entry: .*sees no heartbeat for 2 h 0 min.*recover -s hours --wait' \
	jobstack recover -s hours
is '... not taken' "$(ledger hours)" '0 0 1 0 0 1'
check '... in one line' prints 1 'nothing recovered: 1 worker may be dead' jobstack recover -s hours
like '... and in JSON' "$(jobstack recover -s hours --json 2>/dev/null)" '"taken_back":0,"dead_workers":0,"suspects":1,.*"verdict":"suspect","reason":null,"entries":1,.*"lease_seconds":7200\.0'
set -m # or what runs in the background would ignore Ctrl-C
jobstack recover -s hours --wait >watch.out 2>&1 &
watch=$!
set +m
check '--wait watches' wait_for 20 grep -q 'for up to 2 h 0 min' watch.out
kill -INT $watch
check '... until it is told to stop' fails_with 130 wait $watch
is '... nothing is taken before its time' "$(ledger hours)" '0 0 1 0 0 1'
lease_is hours 5
check 'when it is over, it is' says 0 "silent for 10[89][0-9][0-9] s, longer than its lease: 1 entry requeued" jobstack recover -s hours --wait

# ---- many at once
push many 40
for i in 1 2 3 4; do
	(exec timeout 300 jobstack-worker -q -s many --slots 5 -- sh -c 'exec sleep 1000') &
done
check 'four workers with five each' wait_for 30 runs many 20
die many
for i in 1 2 3 4 5; do jobstack recover -s many --json >many.$i 2>/dev/null & done
wait_for 60 sh -c '[ $(cat many.? | grep -c .) = 5 ]'
is 'five recoveries at once take each worker once' \
	"$(cat many.? | sed -E 's/.*"taken_back":([0-9]+),"dead_workers":([0-9]+),.*/\1 \2/' | awk '{ t += $1; d += $2 } END { print t, d }')" '20 4'
is '... ' "$(ledger many)" '0 0 40 0 0 0'

# ---- nobody but a worker is there
elsewhere=(unshare --uts)
((EUID == 0)) || elsewhere=(unshare -U --map-current-user --keep-caps --uts)
push stays 2
(exec timeout 300 "${elsewhere[@]}" sh -c 'hostname elsewhere; exec jobstack-worker -q -s stays --slots 1 --batch 1 -- sh -c "exec sleep 1000"') &
check 'a worker on another host' wait_for 20 runs stays 1
check 'another one, with nothing to do, leaves while that one lives' worker -s stays --idle-timeout 0 -- true
is '... and holds its entry' "$(ledger stays)" '1 0 0 0 0 1'
die stays
lease_is stays 6
silent_for stays 3.5
text=$(timeout 300 jobstack-worker -s stays --idle-timeout 0 -- true 2>&1 >/dev/null) && status=0 || status=$?
is 'it dies, and takes its keeper along: the last worker stays for that' "$status $(ledger stays)" '0 2 0 0 0 0 0'
like '... and says so' "$text" 'worker [0-9]+ on elsewhere has been silent for [0-9.]+ s of its 6.0 s lease; it holds 1 entry: waiting for at most [0-9.]+ s'
is '... once' "$(grep -c 'waiting for' <<<"$text")" 1

# ---- scripts' pops
push script 3
jobstack pop -q -s script --lease 2 >/dev/null
jobstack pop -q -s script --lease 2h >/dev/null
check 'a pop within its lease is no suspect' prints 0 'nothing to recover: no worker looks dead' \
	sh -c 'jobstack renew -q -s script 1 --lease 100 && jobstack recover -s script'
jobstack renew -s script 1 --lease 1
check 'one whose lease is over is watched for a moment' wait_for 20 \
	says 0 'watching 1 silent worker for up to 3.0 s.*silent for [0-9]+ s, longer than its lease: 1 entry requeued' jobstack recover -s script
is '... and nobody else' "$(ledger script)" '0 0 2 0 0 1'
check 'its close comes too late' says 1 'is gone' jobstack close -s script 1 --attempt 1

# ---- a Slurm that does not answer
push noslurm 4
hang noslurm 1 --lease 2h
sql "UPDATE worker JOIN stack USING(stack_id) SET identity=JSON_SET(identity,'\$.host','elsewhere','\$.job','5','\$.step','0','\$.cluster','lab'),node='n1' WHERE name='noslurm' AND ended IS NULL"
SLOTS=1 hang noslurm 2
silent_for noslurm 100
die noslurm
check 'no module: said, and the rest is done' says 0 ": 1 entry requeued.*Slurm could not be asked about 1 worker: can't find jobstack's Slurm plugin" \
	jobstack recover -s noslurm
is '... ' "$(ledger noslurm)" '0 0 3 0 0 1'
cat >slurm.conf <<-END
	ClusterName=lab
	SlurmctldHost=$(uname -n)(127.0.0.1)
	SlurmctldPort=1
	AuthType=auth/munge
	AuthInfo=socket=$PWD/no-munge
	MessageTimeout=10
	NodeName=n1 NodeAddr=127.0.0.1
	PartitionName=p Nodes=ALL
END
unset JOBSTACK_MODULE_DIR
export SLURM_CONF=$PWD/slurm.conf
silent_for noslurm 8000
read -r from _ </proc/uptime
check 'a controller that is not there: said, and what is known without it' \
	says 1 'Slurm could not be asked about 1 worker: (Slurm: |Slurm did not answer|libslurm).*worker [0-9]+ on n1 has been silent for 2 h 13 min' \
	jobstack recover -s noslurm
read -r to _ </proc/uptime
check '... within the time limit' test $((10#${to/./} - 10#${from/./})) -lt 5500
is '... and nothing is taken' "$(ledger noslurm)" '0 0 3 0 0 1'
for s in dead idle orphan boot silent beat hours many stays script noslurm; do check "audit of $s" audit $s; done
finish
