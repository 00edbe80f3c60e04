# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Runs a bash function for each entry: jobstack-worker -s STACK --persistent -- bash work.sh, where work.sh is
#
#     . jobstack-persistent.sh
#     process() { ...; }          # $1 is the datapath; an exit status other than 0 fails the entry
#     jobstack_persistent process
#
# The function runs in this shell, so the variables that it sets stay set. `set -e` has no effect in it. `exit` fails the entry
# and ends the process; the worker then starts a new one. What the function prints is the entry's output. See LANGUAGES.md.

jobstack_persistent() {
	local JOBSTACK_LINE JOBSTACK_PATH JOBSTACK_STATUS JOBSTACK_IN JOBSTACK_OUT JOBSTACK_CALL
	# the answers go where standard output went; whatever is printed from now on goes to standard error
	exec {JOBSTACK_IN}<&0 {JOBSTACK_OUT}>&1 >&2 </dev/null
	# Programs that the function starts must not answer, nor read requests. Meanwhile bash keeps both descriptors elsewhere,
	# where they are close-on-exec. The numbers stay taken, so that a file that the function opens does not get them.
	# shellcheck disable=SC2016
	JOBSTACK_CALL='"$1" "$JOBSTACK_PATH"'" $JOBSTACK_IN<&0 $JOBSTACK_OUT>&2"
	while IFS= read -r JOBSTACK_LINE <&"$JOBSTACK_IN"; do
		JOBSTACK_PATH=${JOBSTACK_LINE#* * }
		if [[ $JOBSTACK_PATH == *\\* ]]; then # the worker sends no escapes but \n, \r and \\, which printf understands
			printf -v JOBSTACK_PATH %b "$JOBSTACK_PATH"
		fi
		JOBSTACK_STATUS=0
		eval "$JOBSTACK_CALL" || JOBSTACK_STATUS=$?
		if ((JOBSTACK_STATUS == 0)); then
			echo "done" >&"$JOBSTACK_OUT"
		else
			echo "failed $JOBSTACK_STATUS" >&"$JOBSTACK_OUT"
		fi
	done
}
