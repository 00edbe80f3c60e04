#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# On a kernel that has none of the system calls that came after Linux 4.18: a server, run, and a worker whose end its keeper sees.
set -u
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
unset JOBSTACK_DEFAULTS_FILE XDG_CONFIG_HOME XDG_DATA_HOME
export HOME=$PWD
old() { "$JOBSTACK_BIN/tests/old-kernel" "$@"; }
server() { jobstack server "$@" --data "$PWD/server"; }
at_end 'server stop -q'
check 'a server' old jobstack server start -q --memory 32M --data "$PWD/server"
check '... answers' old jobstack init -q
numbered 1 5 >names
check 'run' old jobstack run -q -s run --slots 2 -a names -- sh -c 'touch "ran.${1##*/}"' - {}
is '... each entry' "$(echo ran.* | wc -w)" 5

printf '/x\n' | jobstack push -q -s killed
old jobstack-worker -q -s killed -- sh -c 'echo $PPID >pid; exec sleep 300' 2>worker.err &
check 'a worker' wait_for 30 test -s pid
exec 9<pid
read -r pid <&9
check '... is killed' kill -KILL "$pid"
check '... and its keeper gives the entry back' wait_for 30 sh -c 'jobstack status -s killed --json | grep -q "\"ready\":1\|\"waiting\":1"'
wait
finish
