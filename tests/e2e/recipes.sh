#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2016
#
# docs/RECIPES.md: what it does not call untested works as it stands, in a directory with some files and a command or two.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/scripts/lib/mariadb-lab.sh"
set +e

# The page's databases have names of their own: "jobstack" in ~/.my.cnf, and two of another cluster.
lab=$(dirname "$JOBSTACK_TEST_ADMIN_CNF")
here=$lab/jobstack.cnf
drop_reader() { db_lab_admin "$lab" <<<"DROP USER IF EXISTS 'read-anna'@'%'"; }
at_end 'db_lab_drop "$lab" jobstack; db_lab_drop "$lab" new; drop_reader'
cp "$JOBSTACK_TEST_CNF" aurora.cnf
for name in jobstack new; do db_lab_database "$lab" $name; done
cp "$lab/new.cnf" new.cnf
cp "$here" .my.cnf
export HOME=$PWD JOBSTACK_DEFAULTS_FILE=$here JOBSTACK_TEST_CNF=$here
jobstack init -q
jobstack init -q --defaults-file aurora.cnf
export SBATCH_OUTPUT=$PWD/slurm-%A_%a.out

mkdir data damaged results bin
for i in {1..6}; do echo "$i" >"data/$i.hdf"; done
for i in {1..20}; do head -c "$i" /dev/zero >"data/$i.dat"; done
for i in {1..50}; do echo >"damaged/$i.hdf"; done
touch "data/with blank.nc" data/plain.nc
touch -d '1 hour ago' data/*
ls -d "$PWD"/data/*.hdf >inputs.txt
cp inputs.txt masks.txt
printf '#!/bin/sh\ncat "$1"\n[ -n "$(cat "$1")" ] || { sleep 0.1; exit 3; }\n' >retrieve.sh
printf '#!/bin/sh\ncp "$1" "$1.out"\n' >convert.sh
printf '#!/bin/sh\nwc -c <"$JOBSTACK_DATAPATH" >"$JOBSTACK_DATAPATH.result"\n' >bin/matlab
printf '#!/bin/sh\ncat "$1" "$2"\n' >merge.sh
# solve.sh fails if a third one runs at once, train.sh if another one runs on the same GPU.
printf '#!/bin/sh\nfor i in 1 2; do mkdir licence.$i 2>/dev/null && sleep 0.2 && rmdir licence.$i && exit; done\nexit 3\n' >solve.sh
printf '#!/bin/sh\ngpu=gpu.$SLURMD_NODENAME.$CUDA_VISIBLE_DEVICES\necho "$gpu" && mkdir "$gpu" && sleep 0.2 && rmdir "$gpu"\n' >train.sh
# A client that logs in as the server's administrator.
printf '#!/bin/sh\ncase ${1-} in --defaults-file=*) ;; *) set -- --defaults-file=%s ;; esac\nexec %s "$@"\n' \
	"$JOBSTACK_TEST_ADMIN_CNF" "$SQL_CLIENT" >bin/mysql
chmod +x retrieve.sh convert.sh merge.sh solve.sh train.sh bin/*
cp "$JOBSTACK_SOURCE"/docs/examples/matlab.sbatch "$JOBSTACK_SOURCE"/src/shims/jobstack_persistent.py .
export PATH=$PWD/bin:$PATH PYTHONDONTWRITEBYTECODE=1

status=0
timeout 500 python3 "$JOBSTACK_SOURCE/tests/lib/page.py" "$JOBSTACK_SOURCE/docs/RECIPES.md" >said 2>&1 || status=$?
cat said
is 'the page works as it stands' "$status" 0
check '... and all of it was run' test "$(grep -c '^ok - ' said)" -eq "$(grep -c '^```sh$' "$JOBSTACK_SOURCE/docs/RECIPES.md")"

((status == 0)) || finish # the rest would only wait in vain

# What the page says came of it.
outcomes() { sql "SELECT GROUP_CONCAT(outcome ORDER BY entry_id,attempt) FROM attempt JOIN stack USING(stack_id) WHERE name='$1'"; }
is 'one machine' "$(find data -name '*.nc.out' | wc -l)" 2
is 'a file of commands' "$(cat results/[123].txt | tr -d '\n')" 123
check 'MATLAB' wait_for 60 ledger_is airs-2012 '6 0 0 0 0 0'
is '... with the names from the environment' "$(cat data/6.hdf.result)" 2
is 'staged, renamed into their place' "$(ledger staged) $(cat results/0/*.out | sort | tr -d '\n')" '6 0 0 0 0 0 123456'
is 'persistent' "$(ledger short)" '20 0 0 0 0 0'
is 'the checkpoint: no failure was counted' "$(outcomes long)" 3,0
is 'fields' "$(ledger pairs)" '6 0 0 0 0 0'
is '... the right ones' "$(jobstack logs -s pairs 4 | tr '\n' ' ')" '4 4 '
is 'results in order' "$(ledger ordered) $(tr -d '\n' <all.txt)" '6 0 0 0 0 0 123456'

nightly_jobs() { squeue -h -r -A "$SBATCH_ACCOUNT" -n jobstack-nightly -o %i | wc -l; }
no_nightly_job() { (($(nightly_jobs) == 0)); }
check 'the nightly script' wait_for 60 ledger_is nightly '6 0 0 0 0 0'
check '... its jobs end' wait_for 60 no_nightly_job
job=$(sbatch --parsable --hold -J jobstack-nightly --wrap true)
echo 7 >data/7.hdf
touch -d '1 hour ago' data/7.hdf
from_cron() { env -i HOME="$HOME" PATH="$PATH" SLURM_CONF="$SLURM_CONF" SBATCH_ACCOUNT="$SBATCH_ACCOUNT" sh -c "cd / && $PWD/nightly.sh"; }
check '... while one waits, what is new is pushed' from_cron
is '... and none is submitted' "$(ledger nightly) $(nightly_jobs)" '6 0 1 0 0 0 1'
scancel "$job"
check '... it ends' wait_for 60 no_nightly_job
check '... the next time one is' from_cron
check '... for what is new' wait_for 60 ledger_is nightly '7 0 0 0 0 0'
check '... it ends' wait_for 60 no_nightly_job
from_cron
is '... nothing is new: nothing is submitted' "$(ledger nightly) $(nightly_jobs)" '7 0 0 0 0 0 0'

rm data/7.hdf
is 'make: what was touched ran again, alone' "$(outcomes made) $(tr -d '\n' <results/2.hdf.out)" '0,0,0,0,0,0,0 2'
is '... and is the only one' "$(jobstack list -s made -t done -o attempt,datapath | sed -n 's|^2.*/||p')" 2.hdf
rm results/3.hdf.out
check '... a result that is missing is made' ./update.sh
is '... alone' "$(outcomes made | tr -d ,) $(cat results/3.hdf.out)" '00000000 3'
check '... nothing is to do' ./update.sh
is '... and nothing is done' "$(outcomes made | tr -d ,)" 00000000

is 'too many failures: paused in time, pushed back' \
	"$(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='fragile' AND outcome=0")" 1
dead=$(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='fragile' AND outcome=1")
check '... not many more than were allowed had failed' test "$dead" -ge 10 -a "$dead" -le 40
is 'licences: never a third at once' "$(outcomes licensed) $(outcomes solve)" '0,0,0,0,0,0 0,0,0,0,0,0'
is 'out of memory: the one that was killed ran elsewhere' "$(ledger small) $(ledger big)" '5 0 0 0 0 0 1 0 0 0 0 0'

there() { JOBSTACK_DEFAULTS_FILE=$PWD/$1.cnf JOBSTACK_TEST_CNF=$PWD/$1.cnf "${@:2}"; }
cancelled() { sql "SELECT COUNT(*) FROM set_aside d JOIN stack USING(stack_id) WHERE name='$1' AND d.state=1"; }
is 'another cluster: cancelled here' "$(ledger airs-2013) $(cancelled airs-2013)" '2 0 0 0 0 0 4'
check '... done there' there aurora worker -s airs-2013 -- ./retrieve.sh {}
is '... all of it' "$(there aurora ledger airs-2013)" '4 0 0 0 0 0'
done_names() { jobstack list -s airs-2013 -t done -o datapath; }
is '... each once' "$({ done_names; there aurora done_names; } | sort)" "$(cat inputs.txt)"
is '... with attempts' "$(there new outcomes fragile)" "$(outcomes fragile)"
is '... it goes on there' "$(there new ledger fragile)" '1 0 50 0 0 0'
is '... and not here' "$(sql "SELECT state FROM stack WHERE name='fragile'")" 2
for name in aurora new; do check "... the audit of $name" there $name jobstack check -q; done

is 'a collaborator: an export' "$(wc -l <airs-2012.csv)" 7
anna() { there anna "$@"; }
for c in 'show -s airs-2012 1' 'logs -s staged 1' 'check airs-2012' 'wait -s airs-2012'; do check "... may: $c" anna jobstack $c; done
for c in 'push -s airs-2012 x' 'pause airs-2012' 'drop -y -s airs-2012' 'history data/1.hdf'; do
	check "... may not: $c" says 77 'may not change anything' anna jobstack $c
done

is 'GPUs: none was used twice' "$(outcomes one-gpu) $(outcomes gpus)" '0,0,0,0,0,0 0,0,0,0,0,0'
is '... both of each node' "$(jobstack logs -q -s gpus -t done --stdout | grep -o 'gpu\.n.*' | sort -u | cut -d. -f3 | sort -u | tr '\n' ' ')" '0 1 '
no_jobs() { [[ -z $(squeue -h -A "$SBATCH_ACCOUNT" -o %i 2>/dev/null) ]]; }
check 'no job is left' wait_for 60 no_jobs
for s in $(sql 'SELECT name FROM stack'); do check "the audit of $s" audit "$s"; done
finish
