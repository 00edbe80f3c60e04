#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The origin's case as it stands: an array of jobs whose srun starts workers that run MATLAB (a stand-in program here, which
# reads the name from the environment), on several nodes; the same script for more nodes and more files; and the loop "pop
# in a script, process, close".
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
examples=$JOBSTACK_SOURCE/docs/examples
export SBATCH_OUTPUT=$PWD/slurm-%A_%a.out

# `matlab -batch CODE` here: runs process(name) of the code with the name that it reads from the environment itself
mkdir bin data
cat >bin/matlab <<'S'
#!/bin/bash
[[ $1 == -batch && $2 == *getenv*JOBSTACK_DATAPATH* ]] || exit 9
wc -c <"$JOBSTACK_DATAPATH" >"$JOBSTACK_DATAPATH.result"
echo "processed on $SLURMD_NODENAME"
S
chmod +x bin/matlab
export PATH=$PWD/bin:$PATH
for i in {1..60}; do head -c $((i * 10)) /dev/zero >"data/day $i'.hdf"; done
submit() { timeout 400 sbatch --wait -Q "$@"; }

find "$PWD/data" -name '*.hdf' -print0 | jobstack push -0 -s airs-2012 >/dev/null
check 'sbatch with MATLAB, as the example stands' submit --array=1-3 --ntasks=2 "$examples/matlab.sbatch"
is 'every file is processed' "$(ledger airs-2012) $(find data -name '*.result' | wc -l)" '60 0 0 0 0 0 60'
is '... once' "$(sql "SELECT COUNT(*), COUNT(DISTINCT entry_id) FROM attempt JOIN stack USING(stack_id) WHERE name='airs-2012'")" $'60\t60'
is '... with the right result' "$(cat "data/day 37'.hdf.result")" 370
check 'the account: nodes, jobs, array and step are on record' test "$(sql "SELECT COUNT(*) FROM worker JOIN stack USING(stack_id) WHERE
	name='airs-2012' AND node IN('n1','n2','n3','n4') AND JSON_VALUE(identity,'\$.job')>0 AND JSON_VALUE(identity,'\$.array_job')>0 AND JSON_VALUE(identity,'\$.array_task') BETWEEN 1 AND 3 AND JSON_VALUE(identity,'\$.step') IS NOT NULL
	AND JSON_VALUE(identity,'\$.partition') IS NOT NULL AND JSON_VALUE(identity,'\$.nodes')=1 AND slurm_account='$SBATCH_ACCOUNT' AND JSON_VALUE(identity,'\$.cwd')='$PWD' AND JSON_VALUE(identity,'\$.argv') LIKE '%matlab%'")" -eq 6
for i in {61..100}; do head -c $((i * 10)) /dev/zero >"data/day $i'.hdf"; done
find "$PWD/data" -name '*.hdf' -print0 | jobstack push -0 -s airs-2012 --unique >/dev/null
check 'more files and more nodes: the same script' submit --array=1-4 --nodes=2 --ntasks=4 "$examples/matlab.sbatch"
is '... and the rest is done' "$(ledger airs-2012)" '100 0 0 0 0 0'

# a plain worker script, and scripts that pop: as the examples stand, but for the name of the stack
cat >retrieve.sh <<'S'
#!/bin/bash
[[ $1 != */x7 ]] || exit 3
echo "$1" >>processed
S
chmod +x retrieve.sh
example() { sed "s/airs-2012/$2/g" "$examples/$1" >"$2.${1##*.}"; }
example worker.sbatch mystack
seq -f "$PWD/x%.0f" 11 40 | jobstack push -s mystack >/dev/null
check 'worker.sbatch' submit --array=1-2 mystack.sbatch
is '... does it all' "$(ledger mystack) $(sort -u processed | wc -l)" '30 0 0 0 0 0 30'
rm processed
example pop-loop.sh loop
seq -f "$PWD/x%.0f" 1 20 | jobstack push -s loop --retry-delay 1h >/dev/null
for i in 1 2 3; do timeout 300 bash loop.sh >"loop.$i" 2>&1 & done
wait
is 'the loop: pop, process, close, three at once' "$(sort processed | wc -l) $(sort -u processed | wc -l)" '19 19'
is '... what failed waits for its retry' "$(ledger loop)" '19 0 0 1 0 0'
for s in airs-2012 mystack loop; do check "audit of $s" audit $s; done

# a pop inside a job has a lease to the job's end
jobstack push -s lease -q /x >/dev/null
timeout 300 srun -Q -t 10 -n1 jobstack pop -s lease >/dev/null 2>&1
like 'the lease of a pop lasts to the end of its job' "$(sql "SELECT lease_us/60e6 FROM worker JOIN stack USING(stack_id) WHERE name='lease'")" '^(9|10)\.'
jobstack push -s lease4 -q /x >/dev/null
JOBSTACK_SLURM=commands timeout 300 srun -Q -t 10 -n1 jobstack pop -s lease4 >/dev/null 2>&1
like "... by Slurm's commands" "$(sql "SELECT lease_us/60e6 FROM worker JOIN stack USING(stack_id) WHERE name='lease4'")" '^(9|10)\.'
jobstack push -s lease3 -q /x >/dev/null
PYTHONDONTWRITEBYTECODE=1 JOBSTACK_LIBRARY=$JOBSTACK_BIN/libjobstack.so PYTHONPATH=$JOBSTACK_SOURCE/src/python timeout 300 \
	srun -Q -t 10 -n1 python3 -c 'import jobstack; jobstack.Stack("lease3").pop()' >/dev/null 2>&1
like '... and one in Python' "$(sql "SELECT lease_us/60e6 FROM worker JOIN stack USING(stack_id) WHERE name='lease3'")" '^(9|10)\.'
jobstack push -s lease2 -q /x >/dev/null
jobstack pop -s lease2 >/dev/null
is '... outside of Slurm twelve hours' "$(sql "SELECT lease_us DIV 3600000000 FROM worker JOIN stack USING(stack_id) WHERE name='lease2'")" 12
finish
