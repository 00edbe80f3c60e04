#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# docs/RECIPES.md: what it does not call untested works as it stands, in a directory with some files and a command or two.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
export SBATCH_OUTPUT=$PWD/slurm-%A_%a.out

mkdir data damaged results bin
for i in {1..6}; do echo "$i" >"data/$i.hdf"; done
for i in {1..20}; do head -c "$i" /dev/zero >"data/$i.dat"; done
for i in {1..50}; do echo >"damaged/$i.hdf"; done
touch "data/with blank.nc" data/plain.nc
ls -d "$PWD"/data/*.hdf >inputs.txt
cp inputs.txt masks.txt
printf '#!/bin/sh\ncat "$1"\n[ -n "$(cat "$1")" ] || { sleep 0.1; exit 3; }\n' >retrieve.sh
printf '#!/bin/sh\ncp "$1" "$1.out"\n' >convert.sh
printf '#!/bin/sh\nwc -c <"$JOBSTACK_DATAPATH" >"$JOBSTACK_DATAPATH.result"\n' >bin/matlab
printf '#!/bin/sh\n#SBATCH --array=1-2 --ntasks=1\nsrun -Q jobstack-worker -q -s nightly -- ./retrieve.sh {}\n' >nightly.sbatch
printf '#!/bin/sh\ncat "$1" "$2"\n' >merge.sh
chmod +x retrieve.sh convert.sh merge.sh bin/matlab
cp "$JOBSTACK_SOURCE"/docs/examples/matlab.sbatch "$JOBSTACK_SOURCE"/src/shims/jobstack_persistent.py .
export PATH=$PWD/bin:$PATH PYTHONDONTWRITEBYTECODE=1

status=0
timeout 500 python3 "$JOBSTACK_SOURCE/tests/lib/page.py" "$JOBSTACK_SOURCE/docs/RECIPES.md" >said 2>&1 || status=$?
cat said
is 'the page works as it stands' "$status" 0
check '... and all of it was run' test "$(grep -c '^ok - ' said)" -eq "$(grep -c '^```sh$' "$JOBSTACK_SOURCE/docs/RECIPES.md")"

# What the page says came of it.
is 'one machine' "$(find data -name '*.nc.out' | wc -l)" 2
is 'a file of commands' "$(cat results/[123].txt | tr -d '\n')" 123
check 'MATLAB' wait_for 60 ledger_is airs-2012 '6 0 0 0 0 0'
is '... with the names from the environment' "$(cat data/6.hdf.result)" 2
is 'staged, renamed into their place' "$(ledger staged) $(cat results/0/*.out | sort | tr -d '\n')" '6 0 0 0 0 0 123456'
is 'persistent' "$(ledger short)" '20 0 0 0 0 0'
is 'the checkpoint: no failure was counted' "$(sql "SELECT GROUP_CONCAT(outcome ORDER BY attempt) FROM attempt JOIN stack USING(stack_id) WHERE name='long'")" 3,0
is 'fields' "$(ledger pairs) $(ledger pairs-2)" '6 0 0 0 0 0 6 0 0 0 0 0'
is '... the right ones' "$(jobstack logs -s pairs 4 | tr '\n' ' ')" '4 4 '
check 'the nightly script' wait_for 60 ledger_is nightly '6 0 0 0 0 0'
check '... which is submitted in vain the next night' ./nightly.sh
is 'too many failures: paused in time, pushed back, going on' "$(ledger fragile) $(sql "SELECT state FROM stack WHERE name='fragile'")" '1 0 50 0 0 0 0'
dead=$(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='fragile' AND outcome=1")
check '... not many more than were allowed had failed' test "$dead" -ge 10 -a "$dead" -le 40
is 'fewer at once' "$(ledger gently)" '6 0 0 0 0 0'
is 'out of memory: the one that was killed ran elsewhere' "$(ledger small) $(ledger big)" '5 0 0 0 0 0 1 0 0 0 0 0'
no_jobs() { [[ -z $(squeue -h -A "$SBATCH_ACCOUNT" -o %i 2>/dev/null) ]]; }
check 'no job is left' wait_for 60 no_jobs
for s in airs-2012 staged short long pairs-2 nightly told fragile gently small big counted; do check "the audit of $s" audit $s; done
finish
