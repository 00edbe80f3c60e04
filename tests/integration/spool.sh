#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# Outcomes wait in a spool while the database is away: delivered when it comes back, by the worker or by `close --replay`; never
# twice, never what was given up meanwhile.  Has a server of its own, which is killed and started again, and small full disks.
set -u
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
if [[ ${SPOOL_INSIDE-} == '' ]]; then
	SPOOL_INSIDE=1 own_mounts bash "$0"
	exit
fi
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
own_server out
jobstack init -q

answers() { # STATUS REGEX COMMAND...: ends so, and says that on either stream
	local status=$1 regex=$2 got=0 text
	shift 2
	text=$("$@" 2>&1) || got=$?
	[[ $got == "$status" && $text =~ $regex ]] || { echo "status $got, said: $text"; return 1; }
}

# Each command notes that it runs and how it ended.  /go... and /two... end when their file is there, /hold... when stopped.
cat >job.sh <<'S'
stopped() {
	cut -d. -f1 /proc/uptime >"$DIR/stopped.$JOBSTACK_STACK"
	echo "$JOBSTACK_STACK $JOBSTACK_DATAPATH stopped" >>"$DIR/ended"
	exit 1
}
trap stopped TERM
echo "$JOBSTACK_STACK $JOBSTACK_DATAPATH" >>"$DIR/began"
case $JOBSTACK_DATAPATH in
/go*) until [[ -e $DIR/go.$JOBSTACK_STACK ]]; do sleep 0.05; done ;;
/two*) until [[ -e $DIR/two.$JOBSTACK_STACK ]]; do sleep 0.05; done ;;
/hold*) sleep 1000 & wait ;;
*) sleep 0.05 ;;
esac
echo "$JOBSTACK_STACK $JOBSTACK_DATAPATH done" >>"$DIR/ended"
S
export DIR=$PWD
child() { pgrep -P "${pid[$1]}" -x jobstack-worker; } # the worker below its keeper
began() { [[ $(grep -c "^$1 " began 2>/dev/null) -ge $2 ]]; }
ended() { grep -qxF "$1" ended; }
spools() { ls "jobstack-logs/$1/"*.spool; }
no_spool() { ! compgen -G "jobstack-logs/$1/*.spool"; }
has() { [[ $(cat $1 2>/dev/null | grep -c ' o ') -ge $2 ]]; } # FILE N: so many outcomes
tree() { # PID: it and its descendants
	local child
	echo "$1"
	for child in $(pgrep -P "$1"); do tree "$child"; done
}

# A busy worker with a long command: the server is away for some ten seconds
{ echo /go/long && numbered 1 199 && echo /two/last; } | jobstack push -q -s busy >/dev/null
jobstack-worker -v -s busy --slots 2 --lease 300 --idle-timeout 1 -- bash job.sh 2>busy.err &
worker=$!
check 'a worker is at work' wait_for 30 began busy 20
like 'it says what it rides out' "$(cat busy.err)" 'can continue for up to [0-9]+ (s|min)[^:]* without the database'
server_kill
SECONDS_AT_KILL=$(date +%s)
touch two.busy # at least this one ends now
check 'what ended waits on the disk' wait_for 20 spools busy
spool=$(spools busy)
is '... for nobody else to read' "$(stat -c %a "$spool")" 600
check '... which it says' wait_for 20 grep -q "the database does not answer: outcomes wait in .*${spool##*/}" busy.err
check 'the outage outlasts one call of the library, by far' wait_for 40 sh -c "[ \$(date +%s) -ge $((SECONDS_AT_KILL + 12)) ]"
is '... it is told of once' "$(grep -c 'trying again' busy.err)" 1
cp "$spool" copy.spool
check 'the server comes back' server_start
check 'everything is delivered' wait_for 60 ledger_is busy '200 0 0 0 0 1'
check '... and the spool goes' wait_for 20 no_spool busy
check '... which it says' wait_for 20 grep -q "the outcomes in .*${spool##*/} have been delivered" busy.err
check 'a worker that lives delivers its own' answers 1 'may be alive' jobstack close --replay copy.spool
touch go.busy
check 'the worker ends well' wait $worker
is 'each entry ran once, and nothing was stopped' "$(sort began | uniq -d | wc -l) $(grep -c '^busy .*done' ended) $(grep -c stopped ended)" '0 201 0'
is '... all in one attempt' "$(ledger busy) $(sql "SELECT COUNT(*),MAX(attempt) FROM attempt JOIN stack USING(stack_id) WHERE name='busy'")" $'201 0 0 0 0 0 201\t1'
check 'the audit' audit busy
check 'what it had delivered was delivered before' answers 0 '^0 delivered, [1-9][0-9]* delivered before, 0 too late' jobstack close --replay copy.spool
check '... and changes nothing' ledger_is busy '201 0 0 0 0 0'

# One outage for workers with different fates; three entries each, of which two end meanwhile, one after the other where there is time
declare -A pid
run() { # STACK OPTIONS...
	local stack=$1
	shift
	printf '%s\n' /go/1 /hold/2 /two/3 | jobstack push -q -s "$stack" >/dev/null
	jobstack-worker -s "$stack" --slots 3 --grace 1 "$@" -- bash job.sh 2>"$stack.err" &
	pid[$stack]=$!
}
mkdir -p jobstack-logs/full
check 'a small disk under the logs' mount -t tmpfs -o size=64k none jobstack-logs/full
at_end 'umount jobstack-logs/full'
printf '%s\n' /go/1 /hold/2 | jobstack push -q -s nowhere >/dev/null
(
	(echo $BASHPID >nowhere.pid; trap '' XFSZ; ulimit -f 0 # no file may grow
	exec jobstack-worker -s nowhere --slots 2 --grace 1 --lease 300 -- sh -c 'until test -e go.nowhere -a $1 != /hold/2; do sleep 0.05; done' sh {}) 2>&1
	echo $? >nowhere.status
) | cat >nowhere.err &
nowhere=$!
run late --lease 12   # its lease ends
run taken --lease 12  # the same, and its entries are given to others
run killed --lease 300 # it is killed
run told --lease 300  # it is told to go
run lost --lease 300   # the same, and the database forgets its last transactions
SLURM_CONF=$PWD/there-is-none SLURM_JOB_ID=77 run kept # it is killed, but not its keeper, in a job: its lease is longer there
run behind --lease 300 # the database forgets its last step, but not its claims
run full --lease 300   # the disk is full
for stack in late taken killed told lost kept behind full; do
	check "$stack: its commands run" wait_for 30 began "$stack" 3
done
check 'nowhere: its commands run' wait_for 30 ledger_is nowhere '0 0 0 0 0 2'
head -c 100000 /dev/zero >jobstack-logs/full/zero 2>/dev/null
server_kill
away=$(cut -d. -f1 /proc/uptime)
# those whose lease ends soon can't wait for the disks of all
touch go.late two.late go.taken two.taken go.killed go.told go.lost go.kept go.behind go.full go.nowhere
for n in 1 2; do
	for stack in late taken killed told lost kept behind; do
		check "$stack: outcome $n waits on the disk" wait_for 20 has "jobstack-logs/$stack/*.spool" $n
	done
	check "full: outcome $n waits elsewhere" wait_for 20 has "$TMPDIR/jobstack-*.spool" $n
	touch two.killed two.told two.lost two.kept two.behind two.full
done
like 'full: it says so, and why' "$(cat full.err)" 'No space left on device: outcomes wait in .* instead, which may be removed when the job ends'
is '... once' "$(grep -c instead full.err)" 1
# shellcheck disable=SC2046
kill -KILL $(tree "${pid[killed]}")
kill -KILL "$(child kept)"
kill -STOP "$(child behind)"
kill -TERM "${pid[told]}" "${pid[lost]}"
for stack in late taken; do
	check "$stack: the command is stopped" wait_for 20 ended "$stack /hold/2 stopped"
	check '... before the lease is over' test $(($(<stopped.$stack) - away)) -le 12
done
for stack in late taken told lost; do
	status=0
	wait "${pid[$stack]}" || status=$?
	is "$stack: it ends with 69" "$status" 69
	spool=$(spools "$stack")
	like '... and says what to do' "$(cat "$stack.err")" "3 outcomes could not be delivered: they are in [^ ]*/$spool: \`jobstack close --replay [^ ]*/$spool\` delivers them"
done
check 'told: well before its lease is over' test $(($(cut -d. -f1 /proc/uptime) - away)) -lt 250
check 'nothing can be delivered now' answers 69 "can't be reached" jobstack close --replay "$(spools late)"
check 'the server comes back' server_start
sql "UPDATE worker JOIN stack USING(stack_id) SET seq=seq-1 WHERE name='behind'"
kill -CONT "$(child behind)"

# late: by hand
spool=$(spools late)
check 'late: a wrong stack' answers 2 'belong to the stack "late", not to "taken"' jobstack close --replay -s taken "$spool"
cp "$spool" damaged && printf X | dd of=damaged bs=1 seek=$(($(head -n 1 "$spool" | wc -c) + 40)) conv=notrunc status=none
check 'late: a damaged file' answers 2 'damaged in line 2' jobstack close --replay damaged
check '... keeps the others from being delivered' answers 2 'damaged in line 2' jobstack close --replay "$spool" damaged
sed 2d "$spool" >shorter
check 'late: a line that is missing' answers 2 'damaged in line 2' jobstack close --replay shorter
sed '1s/^jobstack-spool 4/jobstack-spool 5/' "$spool" >newer
check 'late: another version' answers 2 'was written by another version of jobstack' jobstack close --replay newer
check 'late: no spool at all' answers 2 'not a spool' jobstack close --replay job.sh
check '... or nothing' answers 2 "can't read nosuch" jobstack close --replay nosuch
check '... or a directory' answers 2 'is not a spool' jobstack close --replay .
check 'late: what can not go together' answers 2 '--attempt and --exit' jobstack close --replay --exit 3 "$spool"
check 'none of this has changed anything' ledger_is late '0 0 0 0 0 3'
check 'another database' db_lab_database "$lab" other
jobstack init -q --defaults-file "$lab/other.cnf"
check '... without the stack' answers 2 'there is no stack "late"' jobstack close --replay --defaults-file "$lab/other.cnf" "$spool"
jobstack push -q --defaults-file "$lab/other.cnf" -s late /go/1 /hold/2 /two/3 >/dev/null
check '... without the worker' answers 1 'does not know that worker' jobstack close --replay --defaults-file "$lab/other.cnf" "$spool"
number=$(sql "SELECT MAX(worker_id) FROM claim JOIN stack USING(stack_id) WHERE name='late'")
numbered 1 20 | jobstack push -q --defaults-file "$lab/other.cnf" -s late >/dev/null
until [[ $(JOBSTACK_TEST_CNF=$lab/other.cnf sql 'SELECT COALESCE(MAX(worker_id),0) FROM worker') -ge $number ]]; do
	jobstack pop -q --defaults-file "$lab/other.cnf" -s late >/dev/null || break
done
check '... with another worker under its number' answers 1 'belongs to another worker now.*nothing was changed' jobstack close --replay --defaults-file "$lab/other.cnf" "$spool"
check 'late: delivered' answers 0 '^3 delivered, 0 delivered before, 0 too late .*can be removed' jobstack close --replay "$spool"
is '... two done, one back without a failure' "$(ledger late) $(sql "SELECT GROUP_CONCAT(outcome ORDER BY entry_id) FROM attempt JOIN stack USING(stack_id) WHERE name='late'")" '2 0 1 0 0 0 0,3,0'
is '... with what they used' "$(sql "SELECT COUNT(*),COUNT(user_us),COUNT(write_bytes),COUNT(major_faults) FROM attempt JOIN stack USING(stack_id) WHERE name='late' AND outcome=0")" $'2\t2\t2\t2'
is '... and the worker has ended' "$(jobstack status -s late --json | grep -o '"workers":[0-9]*')" '"workers":0'
is 'again is harmless' "$(jobstack close --replay "$spool" --json -q | sed 's/.*"delivered"/"delivered"/')" '"delivered":0,"delivered_before":3,"too_late":0}'
check 'late: the audit' audit late

# taken: others have the entries
check 'taken: given up' answers 0 '3 recovered' jobstack requeue -s taken
check '... it comes too late' answers 1 '^0 delivered, 0 delivered before, 3 too late' jobstack close --replay "$(spools taken)"
check '... and changes nothing' ledger_is taken '0 0 3 0 0 0'
is 'run by others' "$(worker -s taken -- true; ledger taken)" '3 0 0 0 0 0'
check '... it still comes too late' answers 1 '^0 delivered, 0 delivered before, 3 too late' jobstack close --replay "$(spools taken)"
check '... and changes nothing' ledger_is taken '3 0 0 0 0 0'
check 'taken: the audit' audit taken

# killed: it did not say that it has left, but its process is gone; what ran is lost
printf '0000' >>"$(spools killed)"
check 'killed: delivered, but for the last line that was cut short' answers 0 'ignored the last line.*2 delivered, 0 delivered before, 0 too late' jobstack close --replay "$(spools killed)"
is '... two done, one lost' "$(ledger killed) $(sql "SELECT GROUP_CONCAT(outcome,':',COALESCE(reason,'') ORDER BY entry_id) FROM attempt JOIN stack USING(stack_id)
	WHERE name='killed'")" "2 0 1 0 0 0 0:,2:its process on $(hostname) is gone,0:"
check 'killed: the audit' audit killed

# told: as late
check 'told: delivered' answers 0 '^3 delivered' jobstack close --replay "$(spools told)"
is '... two done, one back without a failure' "$(ledger told) $(sql "SELECT MAX(losses+fails) FROM span JOIN stack USING(stack_id) WHERE name='told'")" '2 0 1 0 0 0 0'
check 'told: the audit' audit told

# lost: as if another server had taken over that had not heard of the claims yet
sql "INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,ids,attempt,fails,losses) SELECT stack_id,0,\`rank\`,hi,lo,hi,ids,attempt,fails,losses FROM claim
	JOIN stack USING(stack_id) WHERE name='lost'; DELETE claim FROM claim JOIN stack USING(stack_id) WHERE name='lost'"
check 'lost: its outcomes come too late' answers 1 '^0 delivered, 0 delivered before, 3 too late' jobstack close --replay "$(spools lost)"
check '... and change nothing' ledger_is lost '0 0 3 0 0 0'
check 'lost: the audit' audit lost

# kept: its keeper has delivered what waited
check 'kept: its keeper ends as it did' fails_with 137 wait "${pid[kept]}"
like '... which waited for the database for its whole lease' "$(cat kept.err)" "trying for up to 15 min 0 s to requeue the worker's entries"
like '... having delivered what waited' "$(cat kept.err)" 'killed by signal 9 .*: its commands were ended, 2 outcomes that waited were delivered'
is '... two done, one lost' "$(ledger kept) $(sql "SELECT GROUP_CONCAT(outcome ORDER BY entry_id) FROM attempt JOIN stack USING(stack_id) WHERE name='kept'")" '2 0 1 0 0 0 0,2,0'
check '... and the spool goes' no_spool kept
check 'kept: the audit' audit kept

# behind: it learns that its lease is gone, and delivers what is still in its hands
check 'behind: its lease is gone' fails_with 1 wait "${pid[behind]}"
is '... two done, one back without a failure' "$(ledger behind) $(sql "SELECT GROUP_CONCAT(outcome ORDER BY entry_id) FROM attempt JOIN stack USING(stack_id) WHERE name='behind'")" '2 0 1 0 0 0 0,3,0'
check '... and the spool goes' no_spool behind
check 'behind: the audit' audit behind

# full, nowhere: they went on
check 'full: what waited is delivered' wait_for 40 ledger_is full '2 0 0 0 0 1'
check '... and the spool goes' wait_for 20 sh -c "! ls '$TMPDIR'/jobstack-*.spool 2>/dev/null"
kill -TERM "${pid[full]}"
check '... it ends well' wait "${pid[full]}"
check 'full: the audit' audit full
check 'nowhere: what waited in memory is delivered' wait_for 40 ledger_is nowhere '1 0 0 0 0 1'
like '... which it had said' "$(cat nowhere.err)" 'outcomes wait only in memory'
kill -TERM "$(<nowhere.pid)"
wait $nowhere
is '... it ends well' "$(<nowhere.status) $(ledger nowhere)" '0 1 0 1 0 0 0'
check 'nowhere: the audit' audit nowhere
finish
