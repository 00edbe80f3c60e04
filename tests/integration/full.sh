#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# A full disk under the server: a clear error and status 69, nothing lost, nothing half done; with space again it continues.
# The server's data lie on a small tmpfs, in a mount namespace of the test's own.  The private server, its clients and a worker's
# spool lie within a full quota, which no look at the free space shows.  (It is one of btrfs, which a kernel without quotas of
# users has, too.  The errors are the same.)
set -u
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
if [[ ${FULL_INSIDE-} == '' ]]; then
	FULL_INSIDE=1 own_mounts bash "$0"
	exit
fi
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
mkdir small
check 'a small disk' mount -t tmpfs -o size=2g,mode=711 none small
at_end 'umount small'
own_server full "$JOBSTACK_TEST_DIR/small"
jobstack init -q
check 'with 40 MB left' mount -o remount,size=$(($(du -sk small | cut -f1) + 40960))k small
# 24,000 names of 4,000 bytes: more than fit
awk 'BEGIN { pad = sprintf("%03990d", 0); for (i = 1; i <= 24000; i++) printf "/%s/%07d\n", pad, i }' >names
status=0
timeout 300 jobstack push -s full -a names >push.out 2>push.err || status=$?
is 'the push ends with 69' "$status" 69
like '... and says why, and what to do' "$(cat push.err)" 'no space left on its disk.*free space.*names had been pushed'
pushed=$(sed -n 's/.*: \([0-9]*\) names had been pushed.*/\1/p' push.err)
is '... what it says is pushed is there, and no more' "$(ledger full)" "0 0 $pushed 0 0 0"
check '... whole' audit full
status=0
timeout 300 jobstack push -s full -a names --atomic >/dev/null 2>atomic.err || status=$?
is 'an atomic push ends with 69' "$status" 69
check 'there is space again' mount -o remount,size=2g small
is 'a worker goes on' "$(worker -s full --slots 2 --max-entries 500 -- true; ledger full | cut -d' ' -f1,2)" '500 0'
check 'the push goes on without doubling' timeout 300 jobstack push -q -s full --unique -a names
is '... to the last name' "$(sql 'SELECT COUNT(*), COUNT(DISTINCT datapath) FROM entry') $(ledger full | cut -d' ' -f5)" $'24000\t24000 0'
check 'the audit' audit full
export -n JOBSTACK_DEFAULTS_FILE

# A quota.  Its programs run as an ordinary user.
quota_disk() {
	((EUID == 0)) || { echo 'only root can make a file system with a quota'; return 1; }
	truncate -s 3G quota.img && mkfs.btrfs -q quota.img && mount -o loop,nodatacow quota.img place &&
		btrfs quota enable place && btrfs subvolume create place/user
}
limit() { # MB
	if [[ $kind == quota ]]; then btrfs qgroup limit "$1M" place/user; else mount -o "remount,size=$1m" place; fi
}
used() { # MB
	sync -f place
	du -sm --apparent-size place/user | cut -f1
}
as_user() { (cd place/user && HOME=$PWD TMPDIR=$JOBSTACK_TEST_DIR/tmp "${as[@]}" env -u XDG_CONFIG_HOME -u XDG_DATA_HOME "$@"); }
mkdir place
if quota_disk >quota.out 2>&1; then
	kind=quota why='Disk quota exceeded'
else
	echo "# NO QUOTA IS TESTED HERE: $(tail -n 1 quota.out).  (Needed: root, btrfs in the kernel, the package btrfs-progs.)"
	echo '# The same is tested on a full disk.'
	umount place 2>/dev/null
	kind=disk why='No space left on device'
	mount -t tmpfs -o size=1g none place && mkdir place/user
fi
at_end 'umount place'
as=()
if ((EUID == 0)); then
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chown 65534:65534 place/user && chmod 711 . place
fi
mkdir -m 777 tmp
server=place/user/.local/share/jobstack/server
at_end 'as_user jobstack server stop -q'
limit 60
check "$kind: too small for a server" says 69 'could not initialise .*: the disk or your quota is full; free space, then repeat the command' \
	as_user jobstack server start --memory 32M
is '... nothing half is left' "$(find $server -name 'data*')" ''
limit 1000
check '... with more it starts' as_user jobstack server start -q --memory 32M
as_user jobstack init -q
printf '%s\n' a b | as_user jobstack push -q -s waits -a -
echo "touch began; until [[ -e $PWD/go ]]; do sleep 0.1; done" >place/user/job.sh
as_user jobstack-worker -s waits --slots 2 --lease 300 --idle-timeout 1 -- bash job.sh 2>worker.err &
worker=$!
check 'a worker runs' wait_for 30 test -e place/user/began
limit $(($(used) + 40))
status=0
as_user timeout 300 jobstack push -s full <names >push.out 2>push.err || status=$?
is 'the push ends with 69' "$status" 69
like '... and says what to do' "$(cat push.err)" 'no space left on its disk.*free space on the server.s disk, or raise its owner.s quota.*names had been pushed'
pushed=$(sed -n 's/.*: \([0-9]*\) names had been pushed.*/\1/p' push.err)
like '... what it says is pushed is there' "$(as_user jobstack status -s full --json)" "\"pushed\":${pushed:-none},"
check 'the server stops' as_user jobstack server stop -q
as_user dd if=/dev/zero of=fill bs=64k 2>fill.err
like 'nothing is left' "$(cat fill.err)" "$why"
touch go
check 'outcomes wait elsewhere' wait_for 60 grep -q "$why: outcomes wait in $PWD/tmp/.* instead" worker.err
check '... both' wait_for 30 sh -c "[ \$(cat tmp/*.spool | grep -c ' o ') = 2 ]"
check 'a start says what is wrong' says 2 "can't be written: $why" as_user jobstack server start
as_user rm fill
limit 2000
check 'with space the server comes back' as_user jobstack server start -q
check '... the outcomes are delivered, and the worker ends well' wait "$worker"
check '... no spool is left' test -z "$(ls tmp)"
# results in a full quota
results=place/results
if [[ $kind == quota ]]; then
	btrfs subvolume create -q $results 2>/dev/null || btrfs subvolume create $results >/dev/null
	btrfs qgroup limit 1M $results
else
	mkdir $results && mount -t tmpfs -o size=1m none $results && at_end "umount $results"
fi
((EUID != 0)) || chown 65534:65534 $results
seq 1 40 | as_user jobstack push -q -s results --max-attempts 1
check 'results in a full quota: the stack is paused, and it says where' says 1 \
	"written in .*$results.*: $why, so the stack \"results\" is paused now.*then .jobstack resume -s results" \
	as_user jobstack-worker -s results --slots 2 --chdir "$PWD/$results" -- sh -c 'head -c 300000 /dev/urandom >"result.$1" && sync -f .' -
is '... no entry is dead' "$(as_user jobstack status --json -s results | grep -o '"dead":[0-9]*')" '"dead":0'
like '... the status names the place' "$(as_user jobstack status -s results)" "written in .*$results.*: $why"
check 'the push goes on without doubling' as_user timeout 300 jobstack push -q -s full --unique <names
done=$(as_user jobstack status --json -s full -s waits | grep -o '"\(pushed\|done\)":[0-9]*' | tr '\n' ' ')
is '... to the last name, and all is recorded' "$done" '"pushed":24000 "done":0 "pushed":2 "done":2 '
check 'the ledger balances' as_user jobstack check -q
finish
