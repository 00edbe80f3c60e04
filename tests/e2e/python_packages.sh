#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack-worker --packages in a Slurm job.  Packages are counted for an entry that ends, for one that is killed, and for
# one that is ended by the job's wall time.  Several processes of an entry (such as MPI ranks) count once.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
for name in wind rain hail; do
	mkdir -p lib/$name lib/$name-1.0.dist-info
	echo "import os" >lib/$name/__init__.py
	echo "$name/__init__.py,," >lib/$name-1.0.dist-info/RECORD
done
cat >job.sbatch <<-'S'
	#!/bin/bash
	export PYTHONPATH=$PWD/lib
	exec jobstack-worker -s weather --packages --slots 3 -- sh -c '
		case $JOBSTACK_ENTRY in
		1) for i in 1 2 3 4; do python3 -c "import wind" & done; wait ;;
		2) exec python3 -c "import wind, rain, os; os.kill(os.getpid(), 9)" ;;
		3) exec python3 -c "import wind, hail, time; time.sleep(1000)" ;;
		esac'
S
numbered 1 3 | jobstack push -q -s weather --max-attempts 1 >/dev/null
check 'a job that runs into its wall time' eval 'sbatch -Q --wait --time=1 -c3 -o job.out job.sbatch; [[ $(ledger weather) == "1 1 1 0 0 0" ]] || { ledger weather; cat job.out; false; }'
is 'its packages' "$(packages weather)" \
	'hail 1.0 1;rain 1.0 1;wind 1.0 3;'
like 'how the third one ended' "$(jobstack show -s weather 3)" 'interrupted'
finish
