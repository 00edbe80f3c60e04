#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# The database is wrong or away: a clear error and its exit status, nothing lost, nothing half done.  Has a server of its own,
# which is killed and started again under pushes, pops, closes and workers.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
own_server out

# option files
check 'one that is not there' says 2 "option file .*/nosuch.cnf can't be read" jobstack status --defaults-file "$PWD/nosuch.cnf"
cp "$lab/out.cnf" open.cnf && chmod 644 open.cnf
check 'one that others can read' says 77 'others can read it .mode 644.: run `chmod 600 open.cnf`' jobstack status --defaults-file open.cnf
sed 's/^password=.*/password=Wrong-Secret-1/' "$lab/out.cnf" >wrong.cnf && chmod 600 wrong.cnf
check 'a wrong password' says 77 'user and password' jobstack status --defaults-file wrong.cnf
check '... which is not in the message' test -z "$(jobstack status --defaults-file wrong.cnf 2>&1 | grep Wrong-Secret)"
check '... for the worker too' says 77 'Access denied' jobstack-worker --defaults-file wrong.cnf -- true
if ((EUID == 0)); then
	install -o nobody -m 0000 "$lab/out.cnf" unreadable.cnf
	cp "$JOBSTACK_BIN/jobstack" . # the tree may lie where others can't read it
	check 'an unreadable one' says 77 "can't be read: Permission denied" setpriv --reuid=nobody --regid=nogroup --clear-groups \
		./jobstack status --defaults-file "$PWD/unreadable.cnf"
else
	cp "$lab/out.cnf" unreadable.cnf && chmod 0 unreadable.cnf
	check 'an unreadable one' says 77 "can't be read: Permission denied" jobstack status --defaults-file unreadable.cnf
fi

# the schema
check 'none' says 69 'run .jobstack init' jobstack push /x
check 'none, for a worker' says 69 'run .jobstack init' jobstack-worker -- true
check 'init' jobstack init
sql 'INSERT INTO jobstack_version VALUES(99,NOW(6))'
check 'a newer one' says 69 'newer than.*install the newer jobstack' jobstack push /x
check '... init does not touch it' says 69 'install the newer jobstack' jobstack init
sql 'DELETE FROM jobstack_version'
check 'one that was cut short is completed' jobstack init
sql 'DELETE FROM jobstack_version; INSERT INTO jobstack_version VALUES(0,NOW(6))'
check 'an older one' says 69 'run .jobstack init' jobstack push /x
check '... is upgraded' jobstack init
is '... to the one this program knows' "$(sql 'SELECT MAX(version) FROM jobstack_version')" "$(jobstack --version | sed 's/.*schema \([0-9]*\).*/\1/')"

# killed in the middle of a push: it goes on when the server is back
numbered 1 30000 >thirty
mkfifo pipe
jobstack push -s push <pipe >push.out 2>push.err &
pusher=$!
exec 7>pipe
head -15000 thirty >&7
check 'half of a push is there' wait_for 30 ledger_is push '0 0 15000 0 0 0'
server_kill
(tail -15000 thirty >&7) &
feeder=$!
exec 7>&-
check 'the push says that it waits' wait_for 20 grep -q 'trying again' push.err
check 'the server comes back' server_start
wait $feeder
check '... and the push ends well' wait $pusher
is '... with every name' "$(cat push.out) $(ledger push)" '30000 pushed 0 0 30000 0 0 0'
check 'its audit' audit push

# killed under workers: commands go on, outcomes are delivered
timeout 300 jobstack-worker -q -s push --slots 2 --idle-timeout 5 -- true 2>worker.err &
worker=$!
half_way() { # it has begun, and is far from the end; what it says when it does not get there is shown
	read -r finished _ < <(ledger push)
	((finished > 2000)) || { cat worker.err; ledger push; sql 'SHOW PROCESSLIST'; return 1; }
}
check 'a worker is in the middle' wait_for 60 half_way
for _ in 1 2; do
	server_kill
	check 'killed, and back' server_start
done
kill -TERM "$(pgrep -P $worker -x jobstack-keeper)"
check 'the worker ends well' wait $worker
check '... with one outcome each' audit push
is '... and nothing in its hands' "$(ledger push | cut -d' ' -f2,6)" '0 0'

# connections cut at random under a push and under workers: the compare-and-set settles each lost reply
kill_all() { "$SQL_CLIENT" --defaults-file="$lab/admin.cnf" -N -B -e "SELECT CONCAT('KILL $1 ',id,';') FROM information_schema.processlist WHERE user='out'" |
	"$SQL_CLIENT" --defaults-file="$lab/admin.cnf" -f >/dev/null 2>&1; }
cut_all() { kill_all CONNECTION; }
jobstack push -q -s cut -a thirty >cut.out 2>cut.err &
pusher=$!
for _ in {1..30}; do cut_all; done
check 'a push whose connection is cut again and again' wait $pusher
is '... pushes each name once' "$(cat cut.out) $(ledger cut)" '30000 pushed 0 0 30000 0 0 0'
numbered 1 2000 | jobstack push -q -s cutw >/dev/null
for _ in 1 2; do timeout 300 jobstack-worker -q -s cutw --slots 1 --idle-timeout 3 -- true & done
for _ in {1..30}; do cut_all; done
wait
check 'workers whose connections are cut again and again' audit cutw
is '... do all, once' "$(ledger cutw) $(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='cutw'")" '2000 0 0 0 0 0 2000'

# the same with statements that are ended, as by a person or a watchdog of the server's
jobstack push -q -s ended -a thirty >ended.out 2>ended.err &
pusher=$!
for _ in {1..40}; do kill_all QUERY; done
check 'a push whose statements are ended again and again' wait $pusher
is '... pushes each name once' "$(cat ended.out) $(ledger ended)" '30000 pushed 0 0 30000 0 0 0'
numbered 1 2000 | jobstack push -q -s endedw >/dev/null
workers=()
for _ in 1 2; do
	timeout 300 jobstack-worker -q -s endedw --slots 1 --idle-timeout 3 -- true &
	workers+=($!)
done
for _ in {1..40}; do kill_all QUERY; done
check 'workers whose statements are ended again and again' wait "${workers[0]}"
check '... end well' wait "${workers[1]}"
is '... do all, once' "$(ledger endedw) $(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='endedw'")" '2000 0 0 0 0 0 2000'

# scripts that pop and close while connections are cut: each entry is closed once
numbered 1 120 | jobstack push -q -s cuts >/dev/null
cat >scripts.sh <<'S'
while :; do
	claim=$(jobstack pop -q -s cuts) || { [[ $? == 1 ]] && exit 0; continue; }
	eval "$claim"
	until jobstack close; do :; done
done
S
for _ in 1 2 3; do timeout 300 bash scripts.sh 2>>scripts.err & done
for _ in {1..40}; do cut_all; done
wait
check 'scripts whose connections are cut' audit cuts
is '... no entry twice, none left over but in hands whose pop was cut' "$(sql "SELECT COUNT(*)=COUNT(DISTINCT entry_id), MAX(attempt) FROM attempt
	JOIN stack USING(stack_id) WHERE name='cuts'") $(ledger cuts | awk '{ print $1 + $6 }')" $'1\t1 120'

# down: each command says so
numbered 1 3 | jobstack push -q -s down >/dev/null
eval "$(jobstack pop -s down)"
until_there() { printf 'touch %s; until [ -e %s ]; do sleep 0.1; done' "$1" "$2"; }
TERM=xterm "$JOBSTACK_SOURCE/tests/support/in-pty" --size 200x24 --out watched expect='down, every.*pushed' run="$(until_there is-up is-down)" \
	expect='Ctrl-C ends: .*running +[^ ]*1' run="$(until_there is-away is-back)" expect='Ctrl-C ends[^:]*done +[^ ]*1' signal=INT cooked -- jobstack status -s down -w0.1 2>watched.err &
watcher=$!
timeout 300 jobstack wait -v -s down 2>wait.err &
waiter=$!
check 'a watch has begun' wait_for 20 test -e is-up
check '... and a wait' wait_for 20 grep -q 'connected to' wait.err
server_kill
check 'down: status' says 69 "can't be reached" jobstack status
check 'down: push' says 69 "can't be reached" jobstack push -s down /x
check 'down: pop' says 69 "can't be reached" jobstack pop -s down
check 'down: close' says 69 "can't be reached" jobstack close
check 'down: a worker that is not to wait' says 69 "can't be reached" jobstack-worker -s down --connect-timeout 0 -- true
touch is-down
check 'down: a watch waits, with its picture, and says so there' wait_for 20 test -e is-away
check 'down: wait says that it goes on' wait_for 30 grep -q 'still trying' wait.err
check 'back' server_start
check 'a close goes through afterwards' jobstack close
is '... and counts once' "$(ledger down)" '1 0 2 0 0 0'
touch is-back
check '... and the watch shows it' fails_with 130 wait $watcher
kill $waiter
status=0
wait $waiter || status=$?
is '... and wait is still there' "$status" 143

# a lease that can't be kept: the command is stopped before it is over
numbered 1 1 | jobstack push -q -s lease >/dev/null
cat >hold.sh <<'S'
trap 'cut -d. -f1 /proc/uptime >stopped; exit 1' TERM
echo $$ >running
sleep 1000 & wait
S
timeout 300 jobstack-worker -q -s lease --lease 10 --grace 2 -- sh hold.sh 2>lease.err &
worker=$!
check 'a command runs' wait_for 20 test -s running
server_kill
away=$(cut -d. -f1 /proc/uptime)
check 'the database stays away: the command is stopped' wait_for 20 none_of_ours "$(<running)"
check '... before the lease is over' test $(($(<stopped) - away)) -le 10
status=0
wait $worker || status=$?
is '... and the worker says so' "$status" 69
check 'back' server_start
check 'what it had is taken back' wait_for 20 sh -c 'jobstack requeue -s lease 2>&1 | grep -q "1 recovered"'
check '... and done' worker -s lease -- true

# the database is away, and the file system where outcomes would wait: when the first is back, the heart goes on without the second.
# (By a relay: it comes back sooner than a server.)
real=$(sed -n 's/^port=//p' "$lab/out.cnf")
relay() { python3 "$JOBSTACK_SOURCE/tests/lib/relay.py" "$real" "$1" 2>>relay.err & relay=$!; }
at_end 'kill_ours $relay'
relay 0
check 'a relay' wait_for 20 test -s port
sed "s/^port=.*/port=$(<port)/" "$lab/out.cnf" >relay.cnf && chmod 600 relay.cnf
cc -std=c17 -O2 -DCLOCK_ONLY -DWITH_FILES -shared -fPIC -o shim.so "$JOBSTACK_SOURCE/tests/fault/shim.c" -ldl -pthread || exit 1
printf '%s\n' /short /long | jobstack push -q -s both >/dev/null
cat >both.sh <<'S'
echo $$ >"runs.${1#/}"
until [ -e "go.${1#/}" ]; do sleep 0.05; done
S
mkdir -p jobstack-logs/both
env LD_PRELOAD="$PWD/shim.so" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" FAULT_HANG="$PWD/jobstack-logs/both" \
	timeout 300 jobstack-worker -q -s both --defaults-file relay.cnf --slots 2 --lease 10 --grace 0.3 -- sh both.sh {} 2>both.err &
worker=$!
check 'two commands run' wait_for 20 test -s runs.short -a -s runs.long
long=$(<runs.long)
touch jobstack-logs/both.hang
beats() { sql "SELECT seq FROM worker JOIN stack USING(stack_id) WHERE name='both'"; }
beats_past() { (($(beats) >= $1)); }
before=$(beats)
kill -URG "$(worker_pids both)"
check '... whose lease has just begun' wait_for 20 beats_past $((before + 1))
kill -KILL $relay
touch go.short
check 'the outcome of one waits for a disk that does not answer' wait_for 20 test -s jobstack-logs/both.hang
relay "$(<port)"
check 'the server comes back, and has the outcome' wait_for 20 ledger_is both '1 0 0 0 0 1'
check '... the heart goes on, for longer than the lease' wait_for 30 beats_past $(($(beats) + 4))
check '... the other command was not stopped' kill -0 "$long"
rm jobstack-logs/both.hang
touch go.long
check 'when the disk answers, too, the worker ends well' wait $worker
is '... each ran once' "$(ledger both) $(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='both'")" '2 0 0 0 0 0 2'
check '... nothing is left behind' test -z "$(find jobstack-logs/both -type f)"

# the lease is over while output hangs, and comes back with the server: the worker can't use that slot again, and leaves
printf '%s\n' /one /two | jobstack push -q -s regained >/dev/null
mkdir -p jobstack-logs/regained
env LD_PRELOAD="$PWD/shim.so" ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" FAULT_HANG="$PWD/jobstack-logs/regained" \
	timeout 300 jobstack-worker -q -s regained --slots 1 --lease 6 --grace 0.3 -- sh -c 'echo $$ >runs; until [ -e go.regained ]; do sleep 0.05; done; echo out' 2>regained.err &
worker=$!
check 'a command runs' wait_for 20 test -s runs
touch jobstack-logs/regained.hang go.regained
check '... and ends' wait_for 20 none_of_ours "$(<runs)"
kill -STOP "$(<"$lab/pid")"
away=$(cut -d. -f1 /proc/uptime)
check 'the server does not answer for longer than the lease' wait_for 20 sh -c "[ \$(cut -d. -f1 /proc/uptime) -ge $((away + 9)) ]"
kill -CONT "$(<"$lab/pid")"
status=0
wait $worker || status=$?
like '... the worker leaves, and says why' "$status $(<regained.err)" '^70 .*the lease ended while a file system did not answer'
rm jobstack-logs/regained.hang
check '... others do the rest' worker -s regained -- true
is '... all is done' "$(ledger regained)" '2 0 0 0 0 0'
check '... nothing is lost or doubled' audit regained

# TLS: on when the server offers it, required when asked for
if openssl version >/dev/null 2>&1; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.pem -days 3650 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost,IP:127.0.0.1 >/dev/null 2>&1
fi
sed '$a ssl-mode=REQUIRED' "$lab/out.cnf" >must.cnf && chmod 600 must.cnf
if [[ $(jobstack status -v 2>&1 >/dev/null) == *'no TLS'* ]]; then # MySQL makes itself a certificate and offers TLS from the start
	check 'no TLS here: refused when it is required' says 69 'TLS' jobstack status --defaults-file must.cnf
fi
((EUID != 0)) || chown "$(db_lab_user)" tls.key tls.pem
[[ ! -e $lab/ca.pem ]] || { is_mysql=1 && cp tls.pem "$lab/ca.pem"; } # MySQL's lab has one already
mv tls.key tls.pem "$lab/"
cat >>"$lab/server.cnf" <<END
ssl-cert=$lab/tls.pem
ssl-key=$lab/tls.key
END
server_kill
check 'a server that offers TLS' server_start
like 'TLS is used unasked' "$(jobstack status -v 2>&1 >/dev/null)" ', TLS '
if [[ ${is_mysql-} ]]; then # its plugin wants the password itself, and required is not verified
	check '... but TLS that is required only is not enough' says 77 ssl-ca jobstack status --defaults-file must.cnf
else
	check '... and when it is required' jobstack status --defaults-file must.cnf
fi
cp "$lab/tls.pem" ca.pem
sed "\$a ssl-ca=$PWD/ca.pem\nssl-verify-server-cert" "$lab/out.cnf" >verify.cnf && chmod 600 verify.cnf
check 'the right CA' jobstack status --defaults-file verify.cnf
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout other.key -out ca.pem -days 3650 -subj /CN=other >/dev/null 2>&1
check 'the wrong CA' says 69 . jobstack status --defaults-file verify.cnf
finish
