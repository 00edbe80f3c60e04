#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Persistent commands under Slurm: scancel is a departure, at which every process of the step gets the signal, and charges nobody;
# a job that is killed at once leaves nothing behind.
# shellcheck disable=SC2016,SC2317
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
export SBATCH_OUTPUT=$PWD/slurm-%j.out
gone() { [[ -z $(squeue -h -j "$1" -o %i 2>/dev/null) ]]; }

cat >serve.sh <<'S'
echo $$ >>"$JOBSTACK_STACK.pids"
while IFS=' ' read -r entry attempt path; do
	[[ ! -e hang || $entry == 1 ]] || { echo $$ >>"$JOBSTACK_STACK.hanging" && sleep 1000; }
	echo done
done
S
cat >job.sbatch <<'S'
#!/bin/bash
exec srun -Q jobstack-worker -s "$1" --slots 2 --grace 1 --persistent -- bash serve.sh
S
for how in TERM KILL; do
	numbered 1 40 | jobstack push -q -s $how >/dev/null
	touch hang
	job=$(sbatch --parsable -n1 job.sbatch $how)
	check "$how: two hang" wait_for 60 sh -c "test \$(cat $how.hanging 2>/dev/null | wc -l) = 2"
	if [[ $how == TERM ]]; then
		check '... it is cancelled' scancel "$job"
	else
		check '... all of it is killed' sh -c "scancel --signal=KILL $job; scancel $job"
	fi
	check '... the job ends' wait_for 60 gone "$job"
	check '... no process is left' wait_for 20 none_of_ours $(<$how.pids)
	rm hang
	check '... what it held comes back, and all is done by a second job' wait_for 60 sh -c \
		"jobstack recover -q -s $how >/dev/null 2>&1; ! jobstack list -s $how -t running -o entry | grep -q ."
	job=$(sbatch --parsable -n1 job.sbatch $how)
	check '... which ends' wait_for 60 gone "$job"
	is '... all done' "$(ledger $how)" '40 0 0 0 0 0'
	is '... no failure was counted' "$(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='$how' AND outcome=1")" 0
	check '... its audit' audit $how
done
finish
