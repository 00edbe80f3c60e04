#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016
#
# A node on which a worker has ended because it is bad: status tells it for the help desk, and --until-done excludes it.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

jobstack push -q -s unfit /x >/dev/null
check 'a worker on a bad node' says 1 'bad node: --node-check failed on n2: ' \
	srun -w n2 jobstack-worker -q -s unfit --node-check 'echo no /data; exit 4' -- true
like '... status has a line for the help desk' "$(jobstack status -s unfit)" \
	$'\nbad node n2, job [0-9]+, 20[-0-9T:]+Z: --node-check failed on n2: echo no /data; exit 4 \(exit 4: "no /data"\)'
job=$(sql 'SELECT JSON_VALUE(identity,"$.job") FROM worker')
later() { timeout 300 jobstack submit --chain=1,0,0,0,0,$job -s unfit --workers 1 --until-done --dry-run "$@" -- true 2>&1; }
like '... later rounds exclude it' "$(later)" ' --exclude=n2 '
like '... beside those that the user excludes' "$(later --exclude=n3)" ' --exclude=n3 .*--exclude=n3,n2 '
unlike '... later rounds of other chains do not' "$(job=999 later)" ' --exclude='
unlike '... the first round does not' "$(jobstack submit -s unfit --workers 1 --until-done --dry-run -- true 2>&1)" ' --exclude='
finish
