#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# --events: a line for each attempt, after the database has it; to a file, a full disk, a pipe that nobody reads, and a real
# rsyslog that is killed and started again.  Nothing of that holds a command up.  /dev is this test's own.
set -u
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
if [[ ${EVENTS_INSIDE-} == '' ]]; then
	EVENTS_INSIDE=1 own_mounts bash "$0"
	exit
fi
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
jobstack init -q

numbers() { jq -s '[.[].number]|[length,min,max,(unique|length)]' -c "$1"; }
numbered 1 200 | jobstack push -q -s file --max-attempts 1
check 'a worker that writes events' worker -s file --slots 4 --events file.log -- sh -c 'test $JOBSTACK_ENTRY != 7 || exit 3'
is 'each attempt has one, numbered' "$(numbers file.log)" '[200,1,200,200]'
is '... as the database has it' "$(jq -r '"\(.entry) \(.outcome) \(.exit_code)"' file.log | sort -n | sed -n 6,8p | tr '\n' ,)" '6 done 0,7 failed 3,8 done 0,'
is '... with what a centre asks for, and its version' "$(jq -c '[.version,.event,.stack,.command,.seconds>=0,.user_seconds>=0,(.started|length),.node==null,.worker>0]' file.log | sort -u)" \
	'[2,"attempt","file","sh",true,true,27,false,true]'
check '... no name of a file' bash -c '! grep -q "datapath\|/0*1[^0-9]" file.log'
is 'the next worker adds to the file' "$(numbered 201 210 | jobstack push -q -s file >/dev/null; JOBSTACK_EVENTS=file.log worker -s file -- true; tail -n 10 file.log >more; numbers more; wc -l <file.log)" \
	$'[10,1,10,10]\n210'
numbered 211 212 | jobstack push -q -s file
check 'a worker says where events go' says 0 'an event for each attempt goes to .*/file.log' jobstack-worker -s file --events file.log -- true

# where they can't be written
numbered 1 3 | jobstack push -q -s nowhere
check 'a directory that is not there: the work is done' says 0 'events /[^:]*no/such/file: No such file or directory: events are missing there; the work continues' \
	jobstack-worker -s nowhere --events no/such/file -- true
is '...' "$(ledger nowhere | cut -d' ' -f1)" 3
mkdir small
check 'a small disk' mount -t tmpfs -o size=64k none small
at_end 'umount small'
numbered 1 400 | jobstack push -q -s small
check 'it fills: the work is done' says 0 'No space left on device: events are missing there; the work continues' \
	jobstack-worker -s small --slots 4 --events small/log -- true
is '...' "$(ledger small | cut -d' ' -f1)" 400
check 'there is space again' mount -o remount,size=4m small
numbered 401 410 | jobstack push -q -s small
check '...' worker -s small --events small/log -- true
is '... the lines are whole, but for the one at which it was full' "$(tail -n 10 small/log >more; numbers more; grep -vc '^{.*}$' small/log)" $'[10,1,10,10]\n1'
mkfifo pipe
exec 7<>pipe
numbered 1 3000 | jobstack push -q -s pipe
check 'a pipe that nobody reads: the work is done' worker -s pipe --slots 4 --events pipe -- true
exec 7<&-
is '...' "$(ledger pipe | cut -d' ' -f1)" 3000

# a receiver that is killed, and another one
numbered 1 300 | jobstack push -q -s reader
cat <>pipe >first &
reader=$!
worker -s reader --slots 1 --batch 1 --events pipe -- sh -c 'test $JOBSTACK_ENTRY != 150 || until test -e go; do sleep 0.05; done' &
working=$!
check 'a receiver gets events' wait_for 20 eval '(($(grep -c "" first) >= 149))'
kill -9 $reader
wait $reader 2>/dev/null
cat <>pipe >second &
reader=$!
touch go
check '... is killed: the work is done' wait $working
check '... and the next one goes on' wait_for 20 eval '[[ $(tail -n 1 second | jq .number) == 300 ]]'
is '... with whole lines, each once' "$(cat first second | jq -s '[.[].number]|length==(unique|length)')" true
kill $reader
rm go

# a real rsyslog behind a /dev/log of our own
mkdir dev
for node in null zero full random urandom tty; do
	: >dev/$node && mount --bind /dev/$node dev/$node
done
ln -s /proc/self/fd dev/fd
mount --rbind dev /dev
cat >rsyslog.conf <<C
global(workDirectory="$PWD")
module(load="imuxsock" SysSock.Name="/dev/log" SysSock.Use="on" SysSock.RateLimit.Interval="0")
template(name="message" type="string" string="%msg:2:\$%\\n")
if \$programname == "jobstack-worker" then action(type="omfile" file="$PWD/syslog" template="message")
C
rsyslog() {
	rm -f rsyslog.pid
	rsyslogd -n -f rsyslog.conf -i "$PWD/rsyslog.pid" >>rsyslog.out 2>&1 &
	wait_for 20 test -S /dev/log -a -s rsyslog.pid
}
at_end 'test ! -s rsyslog.pid || kill -9 $(cat rsyslog.pid) 2>/dev/null'
check 'rsyslog' rsyslog
numbered 1 300 | jobstack push -q -s syslog
check 'events to it' worker -s syslog --slots 4 --events syslog -- true
check '... all arrive' wait_for 20 eval '[[ $(numbers syslog) == "[300,1,300,300]" ]]'
later() { jq -c 'select(.entry>300)' syslog >later; numbers later; }
numbered 301 400 | jobstack push -q -s syslog
worker -s syslog --slots 1 --batch 1 --events syslog -- sh -c 'test $JOBSTACK_ENTRY != 350 || until test -e go; do sleep 0.05; done' &
check 'some have arrived' wait_for 20 eval '[[ $(later) == "[49,"* ]]'
check 'it is killed' kill -9 "$(cat rsyslog.pid)"
rm -f /dev/log
check 'and started again' rsyslog
touch go
check 'the work is done' wait %?worker
check '... and what came then has arrived' wait_for 20 eval '[[ $(later) == *,100,* ]]'
is '... each once' "$(jq -s '[.[].number]|length==(unique|length)' later)" true
check 'the audit' audit syslog
finish
