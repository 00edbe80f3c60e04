#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2317
#
# labs.sh db DIR ADDRESS             brings up a database lab that can be reached at ADDRESS, beyond the loopback
# labs.sh cluster DIR N              N servers of a Galera cluster, in DIR/1 and so on
# labs.sh database DIR NAME ADDRESS  a database in it, with its option file
# labs.sh slurm DIR ADDRESS HOLDER:NODE:ADDRESS...   a Slurm lab; its nodes live in name spaces that the processes HOLDER hold
# labs.sh slurmd DIR HOLDER:NODE:ADDRESS, labs.sh slurmctld DIR     a daemon that had died
#
# The labs are those of scripts/lib, but for where their parts live; the campaign ends them.
set -euo pipefail
lib=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib" && pwd)
. "$lib/mariadb-lab.sh"
. "$lib/slurm-lab.sh"
. "$lib/../../tests/lib/galera.sh"

# renamed OLD NEW: the function OLD under another name
renamed() { eval "$(declare -f "$1" | sed "1s/^$1 /$2 /")"; }

watch_owner() { :; } # the kernel does that here: see place.py

renamed db_lab_write lib_db_lab_write
db_lab_write() {
	lib_db_lab_write "$@"
	sed -i "s/^bind-address=.*/bind-address=0.0.0.0/" "$1/server.cnf"
}

placed=() # HOLDER:NODE:ADDRESS of each node
renamed slurm_lab_write lib_slurm_lab_write
slurm_lab_write() {
	local dir=$1 port=$4 node
	lib_slurm_lab_write "$@"
	sed -i -e "s/^\(SlurmctldHost=[^(]*\)(.*/\1($address)/" -e '/^NodeName=/d' "$dir/slurm.conf"
	for node in "${placed[@]}"; do
		IFS=: read -r _ name where <<<"$node"
		echo "NodeName=$name NodeHostname=$name NodeAddr=$where Port=$((port + 1)) CPUs=$3 RealMemory=2000 State=UNKNOWN"
	done >>"$dir/slurm.conf"
}

# slurmd is the only one that lives elsewhere.
renamed exec_bare lib_exec_bare
exec_bare() {
	local log=$1 node
	shift
	if [[ $1 == slurmd ]]; then
		for node in "${placed[@]}"; do
			IFS=: read -r holder name _ <<<"$node"
			[[ $name != "${!#}" ]] || set -- nsenter -t "$holder" -n -u -- "$@"
		done
	fi
	lib_exec_bare "$log" "$@"
}

case $1 in
db) LAB_FLUSHES=1 db_lab_up "$2" ;;
cluster) galera_up "$2" "$3" ;;
database)
	db_lab_database "$2" "$3"
	sed -i "s/^host=.*/host=$4/" "$2/$3.cnf"
	;;
slurm)
	dir=$2 address=$3
	shift 3
	placed=("$@")
	slurm_lab_up "$dir" "${#placed[@]}" 4
	;;
slurmd) # DIR HOLDER:NODE:ADDRESS: one that had died
	dir=$2
	placed=("$3")
	IFS=: read -r _ name _ <<<"$3"
	. "$dir/env.sh"
	cd "$dir"
	# in the background: it does not come up before its controller answers, which may be frozen until we are done here
	(exec_bare log/start.log slurmd -f "$dir/slurm.conf" -N "$name") </dev/null >/dev/null 2>&1 &
	;;
slurmctld)
	. "$2/env.sh"
	cd "$2"
	(exec_bare log/start.log slurmctld -f "$2/slurm.conf") </dev/null >/dev/null 2>&1 &
	;;
esac
