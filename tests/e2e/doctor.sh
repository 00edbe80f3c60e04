#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack doctor with a Slurm: its limits, its partitions, and how the database looks from a compute node.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
timeout 300 jobstack doctor --json --srun >out # on whichever node is free: others use this Slurm, too
is 'nothing fails' "$?" 0
row() { jq -r --arg c "$1" --arg w "$2" 'select(.check==$c and (.where|test($w)))|"\(.level): \(.text)"' out; }
like 'the controller' "$(row controller .)" '^ok: the controller of cluster "lab" answers jobstack after [0-9]+ ms$'
plugin='^ok: Slurm is queried through libslurm$'
if [[ ${JOBSTACK_SLURM-} == commands ]]; then
	plugin='^warn: not used: Slurm is queried through squeue and scontrol \(\$JOBSTACK_SLURM\)$'
fi
like 'how Slurm is asked' "$(row 'Slurm plugin' .)" "$plugin"
like 'arrays' "$(row arrays .)" '^ok: MaxArraySize=20001, MaxJobCount=50000$'
like 'KillWait' "$(row KillWait .)" '^warn: 5 sec$'
like 'processes' "$(row processes .)" '^warn: ProctrackType=proctrack/linuxproc$'
like 'the partition' "$(row partition .)" '^ok: p is up, time limit infinite, nodes [0-9/]+ \(busy'
like 'an address of this host alone' "$(row name .)" '^warn: 127.0.0.1 is an address, which only this host can reach'
like 'from a node: the place' "$(row place '^n[1-4]$')" '^ok: in Slurm job [0-9]+ on node n[1-4], partition p$'
like '... the connection' "$(row connection '^n[1-4]$')" '^ok: .*@127.0.0.1:'
like '... the worker' "$(row worker '^n[1-4]$')" '^ok: '
like 'as text it says where' "$(timeout 300 jobstack doctor -v --srun=--partition=p)" 'ok   connection    n[1-4]: '
timeout 300 jobstack doctor --json --srun=--partition=nowhere >out
is 'srun refuses: status 1' "$?" 1
like '... in its words' "$(row srun .)" '^FAIL: no answer from a compute node: .*invalid partition'
finish
