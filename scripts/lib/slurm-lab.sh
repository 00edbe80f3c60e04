# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2030,SC2031
#
# A real Slurm for tests and demonstrations: munged, slurmctld and some slurmd, all on this host, all as the calling
# user (root or not; jobs run as that user, too), on free ports, below one directory.  There may be any number of them.
#
#   slurm_lab_up DIR NODES CPUS     nodes n1, n2, ...; writes DIR/slurm.conf and DIR/env.sh, which is to be sourced
#   slurm_lab_down DIR              whatever state it is in; nothing that belongs to it runs on; DIR stays, with the logs
#
# If the caller has a function slurm_lab_tune, it is called with DIR when slurm.conf is written, to change it.
#
# DIR belongs to the lab: should its owner ($LAB_OWNER, by default this shell) vanish, the lab is taken down and DIR is
# removed.  The nodes share one host name: tell them apart by SLURMD_NODENAME.

# shellcheck source=scripts/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# slurm_lab_write DIR NODES CPUS PORT
slurm_lab_write() {
	local dir=$1 nodes=$2 cpus=$3 port=$4 user host release
	user=$(id -un) || return 1
	host=$(uname -n)
	host=${host%%.*}
	mkdir -p "$dir"/{munge,msock,state,spool,log} || return 1
	chmod 711 "$dir" "$dir/msock"
	chmod 700 "$dir/munge"
	(umask 077 && head -c 1024 /dev/urandom >"$dir/munge/key") || return 1
	# cred_expire: else a requeued job waits for two minutes, until its old credential has run out.
	cat >"$dir/slurm.conf" <<-END
		ClusterName=lab
		SlurmctldHost=$host(127.0.0.1)
		SlurmUser=$user
		SlurmdUser=$user
		SlurmctldPort=$port
		AuthType=auth/munge
		CredType=cred/munge
		AuthInfo=socket=$dir/msock/s,cred_expire=5
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool/%n
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/slurmd-%n.pid
		SlurmctldLogFile=$dir/log/slurmctld.log
		SlurmdLogFile=$dir/log/slurmd-%n.log
		MailProg=/bin/true
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		MpiDefault=none
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		ReturnToService=2
		SlurmdTimeout=10
		KillWait=5
		MessageTimeout=10
		SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=10000,bf_interval=1
		MaxArraySize=20001
		MaxJobCount=50000
		SlurmdParameters=config_overrides
		NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] CPUs=$cpus RealMemory=2000 State=UNKNOWN
		PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	END
	# slurmd loads a cgroup plugin although nothing here uses one.  From 24.05 on ("slurm-wlm 24.05.1") it can be told
	# not to.  Before, by itself it fails where there are no cgroups (a bare chroot) and wants systemd where there are
	# only those of version 2; the plugin for version 1 does nothing until it is used.  Before 22.05 there is no such key.
	release=$(slurmctld -V) || return 1
	release=${release##* }
	if [[ $release =~ ^([0-9]+)\.([0-9]+) ]] && ((10#${BASH_REMATCH[1]} * 100 + 10#${BASH_REMATCH[2]} >= 2405)); then
		echo 'CgroupPlugin=disabled' >"$dir/cgroup.conf"
	elif ((10#${BASH_REMATCH[1]} * 100 + 10#${BASH_REMATCH[2]} >= 2205)); then
		echo 'CgroupPlugin=cgroup/v1' >"$dir/cgroup.conf"
	fi
	cat >"$dir/env.sh" <<-END
		# Of a job or an allocation of another Slurm, nothing may be left in the environment.
		for slurm_variable in "\${!SLURM_@}" "\${!SBATCH_@}" "\${!SALLOC_@}" "\${!SRUN_@}"; do unset "\$slurm_variable"; done
		unset slurm_variable
		export SLURM_CONF=$dir/slurm.conf
	END
}

slurm_lab_munge() { (. "$1/env.sh" && munge -n -S "$1/msock/s" </dev/null >/dev/null 2>&1); }

# Ready, or (status 0 as well, so that nobody waits) a port was taken: the caller looks which.
slurm_lab_clash() { grep -qsiE 'address already in use|unable to bind|error (creating|binding) .*(port|socket)' "$1"/log/slurm*.log; }
slurm_lab_idle() {
	local idle
	idle=$(. "$1/env.sh" && timeout 20 sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)
	((idle == $2))
}
slurm_lab_settled() { slurm_lab_idle "$1" "$2" || slurm_lab_clash "$1"; }

# slurm_lab_start DIR NODES
slurm_lab_start() {
	local dir=$1 nodes=$2 i
	(
		. "$dir/env.sh"
		cd "$dir" || exit 1
		# --force: the directories above may be closed to others, who have no business here.
		(exec_bare log/start.log munged --force --key-file="$dir/munge/key" --socket="$dir/msock/s" \
			--pid-file="$dir/munge/pid" --log-file="$dir/log/munged.log" --seed-file="$dir/munge/seed") || exit 1
		poll 60 slurm_lab_munge "$dir" || exit 1
		(exec_bare log/start.log slurmctld -f "$dir/slurm.conf") || exit 1
		for ((i = 1; i <= nodes; i++)); do
			mkdir -p "spool/n$i"
			(exec_bare log/start.log slurmd -f "$dir/slurm.conf" -N "n$i") || exit 1
		done
	) || return 1
	poll 200 slurm_lab_settled "$dir" "$nodes" && slurm_lab_idle "$dir" "$nodes"
}

slurm_lab_up() {
	local dir=$1 nodes=$2 cpus=$3 try
	check_dir "$dir" || return 1
	for try in 1 2 3 4 5; do
		free_ports $((nodes + 1)) || return 1
		slurm_lab_write "$dir" "$nodes" "$cpus" "$PORT" || return 1
		if declare -F slurm_lab_tune >/dev/null; then slurm_lab_tune "$dir"; fi
		: >"$dir/stay"
		watch_owner "$dir/stay" "${LAB_OWNER:-$$}" bash "$LIB_DIR/slurm-lab.sh" --orphaned "$dir"
		slurm_lab_start "$dir" "$nodes" && return 0
		if ! slurm_lab_clash "$dir" || ((try == 5)); then
			say "the Slurm in $dir did not come up; its last words:"
			tail -n 15 "$dir"/log/*.log >&2 || true
			slurm_lab_down "$dir"
			return 1
		fi
		slurm_lab_down "$dir"
		rm -rf "${dir:?}"/{munge,msock,state,spool,log}
	done
}

# The lab's processes.  Daemons name DIR in their arguments; slurmstepd blanks arguments and environment, but has its log
# open; a job's own processes, which may have lost their slurmstepd, have both our SLURM_CONF and a job in their
# environment (a shell that merely uses the lab has no job); and commands that wait for this Slurm would do so for ever.
slurm_lab_daemons() { # DIR NAME-PATTERN
	local pid TEXT daemons
	mapfile -t daemons < <(pids_by_name '^(slurm|munged)')
	((${#daemons[@]})) || return 0
	for pid in $(pids_by_args "$1" "${daemons[@]}") $(pids_by_files "$1" "${daemons[@]}"); do
		slurp "/proc/$pid/comm" || continue
		# shellcheck disable=SC2254
		case $TEXT in $2) echo "$pid" ;; esac
	done | sort -un
}
slurm_lab_slurmds() { slurm_lab_daemons "$1" 'slurmd'; }
slurm_lab_servers() { slurm_lab_daemons "$1" '@(slurmctld|slurmscriptd|munged)'; }
slurm_lab_jobs() {
	local pid TEXT
	slurm_lab_daemons "$1" 'slurmstepd'
	for pid in $(pids_by_env "SLURM_CONF=$1/slurm.conf"); do
		slurp "/proc/$pid/comm" || continue
		case $TEXT in
		srun | sbatch | salloc | sattach | scancel | squeue | sinfo | scontrol) echo "$pid" ;;
		slurmctld | slurmd | munged) ;;
		*) if grep -qsaz '^SLURM_JOB_ID=' "/proc/$pid/environ"; then echo "$pid"; fi ;;
		esac
	done
}
slurm_lab_all() {
	slurm_lab_slurmds "$1"
	slurm_lab_servers "$1"
	slurm_lab_jobs "$1"
}

# Nothing is queued, or a node's slurmd is gone and its jobs would stay for long.
slurm_lab_quiet() {
	[[ -z $(timeout 5 squeue -h -o %i 2>&1) ]] || (($(slurm_lab_slurmds "$1" | wc -l) < $(find "$1/spool" -mindepth 1 -maxdepth 1 | wc -l)))
}
slurm_lab_cancel() (
	. "$1/env.sh"
	mapfile -t jobs < <(timeout 5 squeue -h -o %A 2>/dev/null | sort -u)
	((${#jobs[@]})) || return 0
	printf '%s\n' "${jobs[@]}" | timeout 10 xargs -r scancel 2>/dev/null || true
	poll 30 slurm_lab_quiet "$1" || true
)

slurm_lab_down() {
	local dir=$1 try status=0
	[[ -d $dir ]] || return 0
	shopt -s extglob
	if [[ -f $dir/env.sh && -n $(slurm_lab_daemons "$dir" slurmctld) && -n $(slurm_lab_daemons "$dir" munged) ]]; then
		slurm_lab_cancel "$dir"
	fi
	stop_all 5 slurm_lab_slurmds "$dir" || status=1
	# What runs on now is what nobody manages any more.
	for ((try = 0; try < 100; try++)); do
		none_of slurm_lab_jobs "$dir" && break
		# shellcheck disable=SC2046
		kill_pids KILL $(slurm_lab_jobs "$dir")
		sleep 0.05
	done
	stop_all 3 slurm_lab_servers "$dir" || status=1
	poll 60 none_of slurm_lab_all "$dir" || status=1
	rm -f "$dir/stay"
	unwatch "$dir/stay"
	((status == 0)) || say "processes of $dir could not be stopped: $(slurm_lab_all "$dir" | tr '\n' ' ')"
	return "$status"
}

if [[ ${BASH_SOURCE[0]} == "$0" && ${1-} == --orphaned ]]; then
	check_dir "$2" && slurm_lab_down "$2" && rm -rf "$2"
fi
