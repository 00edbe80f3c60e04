#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# A full disk under the server: a clear error and status 69, nothing lost, nothing half done; with space again it continues.
# The server's data lie on a small tmpfs, in a mount namespace of the test's own.
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
finish
