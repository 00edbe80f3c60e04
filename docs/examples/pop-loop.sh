#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A worker as a shell script: pop an entry of the stack airs-2012, work on it, close it with the exit status, until
# nothing is ready.  Start as many as you like, wherever the database can be reached.
#
# jobstack-worker is the better choice where it fits: it keeps its lease by itself, stops its commands before the lease
# is over, and catches their output.  Here nobody does: an entry that takes longer than the lease (to the end of the
# Slurm job, elsewhere 12 hours, or what pop --lease says) may be given to somebody else while this script still works
# on it.  `jobstack renew` gives more time.

stack=airs-2012

# The work on one file.
process() {
	./retrieve.sh "$1"
}

while :; do
	claim=$(jobstack pop -q -s "$stack")
	case $? in
	0) eval "$claim" ;; # sets JOBSTACK_ENTRY, JOBSTACK_ATTEMPT and JOBSTACK_DATAPATH, quoted for the shell
	1) break ;;         # nothing is ready: all is done, or runs elsewhere, or waits for a retry
	*) exit 1 ;;        # pop has said why
	esac
	process "$JOBSTACK_DATAPATH"
	jobstack close -q -s "$stack" --exit $?
	(($? <= 1)) || exit 1 # 1: the lease was lost, somebody else has the entry
done
