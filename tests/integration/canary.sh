#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# scripts/canary finds what arrives, and names what is lost on purpose.  Nothing of a canary remains, and reports of all
# stacks leave it out.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
canary() { timeout 120 bash "$JOBSTACK_SOURCE/scripts/canary" "$@"; }
left() { sql "SELECT (SELECT COUNT(*) FROM stack WHERE name LIKE 'canary-%'),(SELECT COUNT(*) FROM fact),(SELECT COUNT(*) FROM attempt)" | tr '\t' ' '; }
nothing_left() { is '... and cleans up' "$(left) $(echo jobstack-canary.*)" '0 0 0 jobstack-canary.*'; }

check 'all arrives' eval 'canary >out 2>err'
is '... at each stage, with its time' "$(sed -E 's/ +[0-9]+\.[0-9]{3} s$/ N/' out | tr '\n' ' ')" 'push N worker N outcome N output N packages N events N export N '
nothing_left

# losses
check 'events that can not be written are missed' eval 'fails_with 1 canary --within 5 --events no/such/file >out 2>err'
is '... by name' "$(cat err; sed -n 's/ .*MISSING//p' out)" $'canary: missing: events\nevents'
nothing_left
check 'packages that are not recorded are missed' eval 'JOBSTACK_PACKAGES=0 fails_with 1 canary --within 5 >out 2>err'
is '... by name' "$(cat err)" 'canary: missing: packages'
check 'an event too few is missed' eval 'mkfifo pipe; sed -u 2d <pipe >arrived & fails_with 1 canary --within 5 --events pipe --arrives arrived >out 2>err'
is '... by name' "$(cat err)" 'canary: missing: events'
check 'a database that is not there: the push is missed' eval 'printf "[client]\nhost=127.0.0.1\nport=1\n" >none.cnf; JOBSTACK_DEFAULTS_FILE=none.cnf fails_with 1 canary --within 5 >out 2>err'
like '... by name, and the stack that may be there' "$(cat err)" "canary: missing: push.*canary: can't drop the stack canary-.*:.*jobstack drop: the database"
check 'a wrong option is refused' says 2 'canary: unknown option --no' canary --no
nothing_left

# a signal, while it waits for what does not come
bash "$JOBSTACK_SOURCE/scripts/canary" --within 300 --events no/such/file >out 2>err &
pid=$!
check 'it waits for events' wait_for 30 grep -q packages out
check '... is told to end' kill -TERM "$pid"
wait "$pid"
is '... does' $? 143
nothing_left

# reports leave canaries out
echo /d/1 | jobstack push -q -s canary-x
echo /d/1 | jobstack push -q -s airs
check 'work' worker -s airs -- true
check '... of a canary' worker -s canary-x -- true
is 'report --all has no canary' "$(jobstack report --all | grep -o '^[a-z-]* (finished)')" 'airs (finished)'
check 'history --duplicates neither' fails_with 1 jobstack history --duplicates
like '... but history of the file' "$(jobstack history /d/1)" 'canary-x'
echo /d/2 | jobstack push -q -s canary-y
like 'it is not the newest stack' "$(jobstack status @)" 'stack +airs '
like 'status shows it' "$(jobstack status)" 'canary-x'
finish
