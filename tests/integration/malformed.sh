#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A server (or something between) whose answers have a column too few: each command says so and ends, and reads nothing beyond the row.
# tests/support/short-rows passes everything on, and takes the last column out of the Nth of the answers with rows.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
numbered 1 30 | jobstack push -q --unique --max-attempts 1 --max-running 4 >/dev/null
worker --max-entries 6 -- sh -c 'exit $((JOBSTACK_ENTRY % 2))'
jobstack pop -q >/dev/null

"$JOBSTACK_SOURCE/tests/support/short-rows" "$(sed -n 's/^port=//p' "$JOBSTACK_TEST_CNF")" >port &
proxy=$!
at_end 'kill_ours $proxy'
check 'something between' wait_for 20 test -s port
sed "s/^port=.*/port=$(<port)/" "$JOBSTACK_TEST_CNF" >short.cnf
echo 'ssl-mode=DISABLED' >>short.cnf
chmod 600 short.cnf
export JOBSTACK_DEFAULTS_FILE=$PWD/short.cnf

# cut COMMAND...: with a column too few in the first, second... answer with rows, until one goes through; each time it must say so.  A
# command may pass over an answer that is not needed (the tail of what it wrote), but not fall.
cut() {
	local nth status=1 said=0
	for ((nth = 1; nth < 40; nth++)); do
		echo $nth >nth
		status=0
		timeout 300 "$@" </dev/null >out 2>err || status=$?
		if ((status >= 126)) || grep -qE 'Sanitizer|runtime error' err; then
			echo "answer $nth: status $status: $(head -c 2000 err)"
			return 1
		fi
		if grep -q 'malformed answer: [0-9]* columns instead of [0-9]* (2999)' err; then
			said=$((said + 1))
		elif [[ -e cut_none ]]; then
			((said > 0)) || echo 'it never said so'
			((said > 0))
			return
		fi
	done
	echo 'it never goes through'
	return 1
}
for command in status 'list -t all' 'show /d/9' check report 'export --what entries' 'requeue -t dead' pop; do
	# shellcheck disable=SC2086 # they are words
	check "a column too few: jobstack $command" cut jobstack $command
done
finish
