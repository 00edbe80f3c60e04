#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A squeue that is a site's wrapper around the real one: it greets, speaks another language, allows one call in two minutes, hangs.
# Whatever cannot be read is said and proves nothing; nothing is asked twice to get round it.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
export JOBSTACK_SLURM=commands
jobstack init -q
mkdir bin
real=$(command -v squeue)
export PATH=$PWD/bin:$PATH
wrap() { printf '#!/bin/bash\n%s\n' "$1" >bin/squeue.new && chmod +x bin/squeue.new && mv bin/squeue.new bin/squeue; }
calls() { wc -l <calls; }
whys() { jobstack status --why --json -s wrapped | jq -r '.why[].text'; }

numbered 1 3 | jobstack push -q -s wrapped >/dev/null
held=$(sbatch --parsable --hold --output=/dev/null --job-name=jobstack-wrapped --wrap true)
at_end 'scancel "$held" "${job-}"'

wrap "echo 'Welcome to @ the cluster!'; echo; echo 'JOBID STATE'; echo 'maintenance on Monday' >&2; $real \"\$@\"; echo Goodbye"
like 'a banner before and after' "$(whys)" "its Slurm job $held in the partition [^ ]+ is PENDING: JobHeldUser"
wrap "export LC_ALL=de_DE.UTF-8 LANGUAGE=de SLURM_TIME_FORMAT=relative SQUEUE_SORT=-i; exec $real \"\$@\""
like 'its own language, its own times' "$(whys)" "its Slurm job $held in .* is PENDING: JobHeldUser"
wrap "$real \"\$@\" | sed 's/PENDING/WARTEND/;s/JOBID/AUFTRAG/'"
unlike 'translated: nothing is read' "$(whys)" 'Slurm job'
like '... and that is said' "$(jobstack status --why -s wrapped 2>&1)" 'squeue printed nothing that jobstack can read'

# ---- a worker in a job, asked about through a squeue that answers once in two minutes
cat >hang.sbatch <<'S'
#!/bin/bash
srun -Q jobstack-worker -q -s wrapped --batch 1 --lease 2h -- sh -c 'exec sleep 1000'
S
job=$(sbatch --parsable --output=hang.out hang.sbatch)
runs() { [[ $(ledger wrapped) == *' 1' ]]; }
check 'a worker runs' wait_for 60 runs
sql "UPDATE worker SET identity=JSON_SET(identity,'\$.host','elsewhere'),beat=beat-INTERVAL 10 SECOND WHERE ended IS NULL"
wrap "echo \"\$*\" >>$PWD/calls; if [[ -e $PWD/called ]]; then echo 'squeue: at most one call in two minutes, see the wiki' >&2; exit 1; fi
touch $PWD/called; exec $real \"\$@\""
: >calls
is 'one call in two minutes: the first' "$(jobstack recover -s wrapped 2>&1)" 'nothing to recover: no worker looks dead'
is '... was enough' "$(calls)" 1
like '... the second is told why not' "$(jobstack recover -s wrapped 2>&1)" 'Slurm could not be asked about 1 worker: Slurm: squeue: at most one call in two minutes, see the wiki'
is '... and does not insist' "$(calls)" 2
like '... nor does why' "$(jobstack status --why -s wrapped 2>&1)" 'at most one call in two minutes'
check '... nothing is taken' runs

# what was known of a job that has ended is not taken for an answer when squeue hangs
wrap "trap '' TERM; echo \$\$ >$PWD/hanging; sleep 1000"
like 'one that hangs' "$(timeout 60 jobstack recover -s wrapped 2>&1)" 'Slurm could not be asked about 1 worker: .*squeue did not end within 6'
check '... is ended' wait_for 10 sh -c "! kill -0 $(<hanging) 2>/dev/null"
check '... nothing is taken' runs
rm bin/squeue
scancel "$job"
left() { [[ $(ledger wrapped) == '0 0 3 0 0 0' ]]; }
check 'it leaves' wait_for 60 left
finish
