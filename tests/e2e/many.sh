#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Many entries through four nodes with two slots each end with exactly so many outcomes, one each: 20,000, or $MANY.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
n=${MANY:-20000}
is 'pushed' "$(numbered 1 "$n" | jobstack push -s many)" "$n pushed"
# none begins before the others can
check 'four nodes, two slots each' timeout 500 srun -Q -N4 -n4 -c2 bash -c \
	'touch "up.$SLURM_PROCID"; until [[ -e up.0 && -e up.1 && -e up.2 && -e up.3 ]]; do sleep 0.02; done; exec jobstack-worker -s many -- true'
is 'all are done' "$(ledger many)" "$n 0 0 0 0 0"
is 'one outcome each' "$(sql 'SELECT COUNT(*), COUNT(DISTINCT entry_id), MIN(entry_id), MAX(entry_id), MAX(attempt), SUM(final) FROM attempt')" \
	"$(printf '%s\t' "$n" "$n" 1 "$n" 1)$n"
is 'by four workers on four nodes' "$(sql 'SELECT COUNT(*), COUNT(DISTINCT node), SUM(slots), SUM(done) FROM worker WHERE ended IS NOT NULL')" "$(printf '4\t4\t8\t')$n"
check 'each of them did a share' test "$(sql 'SELECT MIN(done) FROM worker')" -gt $((n / 20))
finish
