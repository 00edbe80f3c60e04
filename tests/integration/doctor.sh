#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
# shellcheck disable=SC2016
#
# jobstack doctor, with a server of its own that is set wrong in one way after the other: each is told, with what to do.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
set +e
own_server doctor
export SLURM_CONF=$PWD/none.conf # no Slurm is asked here
admin() { db_lab_admin "$lab" <<<"$1"; }
doctor() { timeout 300 jobstack doctor --json "$@" >out 2>err; }
# told LEVEL CHECK REGEX [REMEDY-REGEX]: in the last doctor's words
told() {
	local got
	got=$(jq -r --arg l "$1" --arg c "$2" 'select(.level==$l and .check==$c)|"\(.text) -> \(.remedy)"' out)
	[[ $got =~ $3 && ( -z ${4-} || $got =~ '-> '.*$4 ) ]] || { echo "got: $got"; cat out err; return 1; }
}
nothing_wrong() { [[ -z $(jq -r 'select(.level=="FAIL" and .check!="controller")|.text' out) ]] || { cat out && return 1; }; }

doctor
check 'no schema yet' told FAIL schema 'no schema yet in `doctor`' 'jobstack init$'
jobstack init -q
doctor
check 'nothing is wrong' nothing_wrong
check 'the option file' told ok 'option file' ', mode 600'
check 'the connection' told ok connection '@127\.0\.0\.1:[0-9]+/doctor, .* after [0-9]+ ms'
check 'the rights' told ok rights 'has all rights that are needed in `doctor`'
check 'the schema' told ok schema 'version [0-9]'
check 'the worker' told ok worker '/jobstack-worker: version '
clocks_agree() { told ok clock "the server.s clock and this host.s agree" || { doctor; false; }; } # by an answer that came at once
check 'the clock' wait_for 20 clocks_agree
check 'the disk, as it is local' told ok disk 'MB are free'
check 'commits' told ok durability 'each commit is flushed'
check 'the place to write' told ok logs "can be written in $PWD"
check '... is as it was' test -z "$(find . -name '.jobstack-doctor-*')"
cat >tmpdir.sh <<'X'
mount -t tmpfs -o size=1m none small && ! head -c 2000000 /dev/zero >small/fill 2>/dev/null && TMPDIR=$PWD/small exec timeout 300 jobstack doctor --json >out 2>err
X
mkdir small
own_mounts bash tmpdir.sh
check 'a full TMPDIR' told FAIL temporary '/small can.t be written: No space left on device' 'set TMPDIR'
TMPDIR=$PWD/gone doctor
check 'one that is not there' told warn temporary 'TMPDIR is .*/gone, which does not exist: workers use /tmp'
doctor
check 'a Slurm that does not answer' told FAIL controller 'SLURM_CONF, .*none.conf: No such file'
is '... which is a status of 1' "$(timeout 300 jobstack doctor -q >/dev/null; echo $?)" 1
is 'without Slurm: 0' "$(PATH=$(dirname "$(command -v jobstack)") jobstack doctor -v | sed -n 's/^ok *Slurm *//p'; echo "${PIPESTATUS[0]}")" \
	'not on this host: `jobstack run` and jobstack-worker work without Slurm
0'
like 'as text' "$(timeout 300 jobstack doctor -v)" $'ok   option file   /.*\n.*[0-9]+ ok, [0-9]+ warn, [0-9]+ FAIL$'
unlike '... without -v only what is wrong' "$(timeout 300 jobstack doctor | sed "\$d")" '^ok|.ok  '

# the server that was unpacked beside the program: to which day it has its fixes
mkdir -p tree/bin tree/libexec/jobstack-server
cp "$(command -v jobstack)" tree/bin/
fixed() { date -u -d "-$1 days" +%F >tree/libexec/jobstack-server/DAY; PATH=$PWD/tree/bin:$PATH doctor; }
fixed 200
check 'a server with old fixes' told warn server 'fixes up to 20..-..-.., 200 days ago' 'unpack a newer archive'
fixed 100
check '... with newer ones' told ok server '100 days ago'

admin 'SET GLOBAL innodb_flush_log_at_trx_commit=2; SET GLOBAL max_connections=40; SET GLOBAL max_allowed_packet=1048576; SET GLOBAL local_infile=0'
doctor
check 'commits that are not flushed' told warn durability innodb_flush_log_at_trx_commit=2 'set it to 1'
check 'few connections' told warn connections '^40 allowed' 'set max_connections'
check 'small packets' told warn packets '1 MB' max_allowed_packet
check 'no loads' told ok loads 'local_infile is off'
admin 'SET GLOBAL read_only=1'
doctor
check 'a server that is read-only' told FAIL connection 'read-only'
admin 'SET GLOBAL read_only=0'

jobstack push -q -s mine /x >/dev/null
doctor -s mine
check 'a stack' told ok stack '"mine" has 1 left'
jobstack pause -q -s mine
doctor -s mine
check 'a paused stack' told warn stack 'mine: it is paused' '`jobstack resume -s mine` continues it'
echo d1/x | jobstack push -q -s sharing >/dev/null
timeout 300 jobstack-worker -q -s sharing --output '{/}.out' -- true
doctor -s sharing
is 'no two entries with one file' "$(jq -r 'select(.check=="results")|.text' out)" ''
echo d2/x | jobstack push -q -s sharing >/dev/null
timeout 300 jobstack-worker -q -s sharing --output '{/}.out' -- true
doctor -s sharing
check 'two entries with one file' told FAIL results '"d1/x" and "d2/x" both have --output "x.out"' 'another template'
doctor -s nowhere
check 'no such stack' told FAIL stack 'there is no stack'

# a user who may only read, by a pattern
admin "CREATE USER 'low'@'%' IDENTIFIED BY 'low'; GRANT SELECT, INSERT ON \`doct_r\`.* TO 'low'@'%'; GRANT ALL ON \`doctor\\\\_x\`.* TO 'low'@'%'"
sed 's/^user=.*/user=low/;s/^password=.*/password=low/' "$JOBSTACK_TEST_CNF" >low.cnf
chmod 600 low.cnf
doctor --defaults-file low.cnf
check 'rights that are missing' told FAIL rights '^low@.* lacks in `doctor`: UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, CREATE VIEW' GRANTs
check '... what low rights hide is no failure' told ok purge .

admin "CREATE ROLE rowers; GRANT ALL ON doctor.* TO rowers; CREATE USER 'rower'@'%' IDENTIFIED BY 'low'; GRANT rowers TO 'rower'@'%'"
admin "SET DEFAULT ROLE rowers FOR 'rower'@'%'" 2>/dev/null || admin "SET DEFAULT ROLE rowers TO 'rower'@'%'" # of MariaDB, of MySQL
sed 's/^user=.*/user=rower/;s/^password=.*/password=low/' "$JOBSTACK_TEST_CNF" >role.cnf
chmod 600 role.cnf
doctor --defaults-file role.cnf
check 'rights by a role: tried' told ok rights '^rower@.* reads and writes `doctor` by the role .*rowers'

chmod 644 low.cnf
doctor --defaults-file low.cnf
check 'an option file that others may read' told warn 'option file' 'mode 644' 'chmod 600'
check '... is refused with its password' told FAIL connection low.cnf
doctor --defaults-file none.cnf
check 'an option file that is not there' told FAIL 'option file' 'No such file'
sed 's/^port=.*/port=1/' "$JOBSTACK_TEST_CNF" >port.cnf
chmod 600 port.cnf
doctor --defaults-file port.cnf
check 'nobody there' told FAIL connection "can't be reached" 'check that it is running'
is '... status' "$(timeout 300 jobstack doctor -q --defaults-file port.cnf >/dev/null; echo $?)" 1

mkdir fake && cp "$(command -v jobstack)" fake/
printf '#!/bin/sh\necho "jobstack-worker 0.0.9 (schema 1)"\n' >fake/jobstack-worker && chmod +x fake/jobstack-worker
timeout 300 fake/jobstack doctor --json >out 2>err
check 'a worker of another version' told FAIL worker 'has another version' 'install jobstack and jobstack-worker together'
check 'a wrong word' says 2 'unexpected argument' jobstack doctor now then
check 'an open quote' says 2 'missing closing quote' jobstack doctor "--srun=-p 'x"
finish
