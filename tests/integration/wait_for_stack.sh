#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# --wait-for-stack: a worker that starts before the list exists waits for it, until --idle-timeout or a signal.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
said() { grep -q "$1" err; }

timeout 300 jobstack-worker -s early --wait-for-stack -- touch ran 2>err &
worker=$!
check 'a worker says that it waits' wait_for 30 said 'there is no stack "early" yet: waiting for it'
jobstack push -q -s early one
status=0
wait "$worker" || status=$?
is 'when the stack is there, it works' "$status $(ledger early)" '0 1 0 0 0 0 0'

timeout 300 jobstack-worker -s never --wait-for-stack -- true 2>err &
worker=$!
check 'another one waits' wait_for 30 said 'waiting for it'
kill "$(pgrep -P "$worker")"
status=0
wait "$worker" || status=$?
is '... a signal ends it' "$status" 0
check '... and so does --idle-timeout' says 2 'there is no stack "never": push to it first.*with --wait-for-stack a worker waits for it' \
	worker -s never --wait-for-stack --idle-timeout 0.1 -- true
check 'without the option nothing waits' says 2 'with --wait-for-stack a worker waits for it' worker -s never -- true
is '... no stack was made' "$(ledger never)" ''
finish
