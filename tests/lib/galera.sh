# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2153
#
# A Galera cluster of MariaDB servers on the loopback: each is a lab (scripts/lib/mariadb-lab.sh, to be sourced before), all take
# writes.  They begin with copies of one data directory and the saved state of a group that all of them were in, as after a power
# cut, so nobody has to send his data to another one.
#
#   galera_up DIR N       servers in DIR/1 to DIR/N, whose administrator has the same password on all
#   galera_down DIR       whatever state it is in
#   galera_start DIR NODE...    brings those up that were in the group, all of which must be given at their first start
#   galera_synced DIR     a condition: DIR, one of them, takes statements and has all that the group had at its start
#   galera_write DIR ...  what the option file gets (a hook: the fault campaign has servers that are reached from elsewhere)

GALERA_UUID=6a6f6273-7461-636b-0000-00000000000
galera_provider() { compgen -G '/usr/lib*/galera*/libgalera_smm.so' | head -n 1 | grep . || { say 'no libgalera_smm.so here'; return 1; }; }
galera_synced() { [[ $(db_lab_admin "$1" 2>/dev/null <<<"SHOW STATUS LIKE 'wsrep_local_state'") == *4 ]]; }

galera_write() { # DIR NODE N PORT PROVIDER: its part of the option file, and what it remembers of the group
	local dir=$1 node=$2 n=$3 port=$4 provider=$5 all='' other
	for ((other = 1; other <= n; other++)); do all+=${all:+,}127.0.0.1:$((port + 3 * other + 1)); done
	cat >>"$dir/$node/server.cnf" <<-END
		binlog-format=ROW
		innodb-autoinc-lock-mode=2
		wsrep-on=ON
		wsrep-provider=$provider
		wsrep-cluster-name=$(basename "$dir")
		wsrep-cluster-address=gcomm://$all
		wsrep-node-address=127.0.0.1
		wsrep-sst-method=skip
		wsrep-provider-options="base_port=$((port + 3 * node + 1));gmcast.listen_addr=tcp://127.0.0.1:$((port + 3 * node + 1));ist.recv_addr=127.0.0.1:$((port + 3 * node + 2));gcache.size=16M;gcs.fc_limit=100000;repl.causal_read_timeout=PT2S${GALERA_OPTIONS-}"
	END
	{
		printf 'my_uuid: %s\n#vwbeg\nview_id: 3 %s 1\nbootstrap: 0\n' "$GALERA_UUID$node" "${GALERA_UUID}1"
		for ((other = 1; other <= n; other++)); do echo "member: $GALERA_UUID$other 0"; done
		echo '#vwend'
	} >"$dir/$node/data/gvwstate.dat"
	printf '# GALERA saved state\nversion: 2.1\nuuid: %s\nseqno: 0\nsafe_to_bootstrap: 0\n' "${GALERA_UUID}0" >"$dir/$node/data/grastate.dat"
}

galera_start() { # each comes up only with the others
	local dir=$1 node pids=() pid status=0 user
	# shellcheck disable=SC2034
	local JOBSTACK_LAB_DB=mariadbd # MySQL has no Galera
	shift
	user=$(db_lab_user)
	for node in "$@"; do
		: >"$dir/$node/init.sql"
		[[ -z $user ]] || chown "$user" "$dir/$node/init.sql"
		db_lab_start "$dir/$node" "$(db_lab_program)" "$user" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || status=1; done
	for node in "$@"; do
		((status)) || poll 150 galera_synced "$dir/$node" || status=1
		((status == 0)) || tail -n 15 "$dir/$node/server.log" >&2
	done
	return "$status"
}

galera_up() {
	local dir=$1 n=$2 node provider user
	# shellcheck disable=SC2034 # for the lab
	local JOBSTACK_LAB_DB=mariadbd
	provider=$(galera_provider) || return 1
	mkdir -p "$dir"
	chmod 711 "$dir"
	db_lab_up "$dir/1" && db_lab_stop "$dir/1" || return 1
	user=$(db_lab_user)
	for ((node = 2; node <= n; node++)); do
		cp -a "$dir/1" "$dir/$node" || return 1
		watch_owner "$dir/$node/stay" "${LAB_OWNER:-$$}" bash "$LIB_DIR/mariadb-lab.sh" --orphaned "$dir/$node"
	done
	for _ in 1 2 3; do
		free_ports $((3 * n + 3)) || return 1
		for ((node = 1; node <= n; node++)); do
			sed -i -e "s:$dir/1/:$dir/$node/:" -e "s/^port=.*/port=$((PORT + 3 * node))/" "$dir/$node"/{server,admin}.cnf
			galera_write "$dir" "$node" "$n" "$PORT" "$provider"
			[[ -z $user ]] || chown "$user" "$dir/$node"/data/{gvw,gra}state.dat
		done
		# shellcheck disable=SC2046
		galera_start "$dir" $(seq "$n") && return 0
		grep -qsiE 'address already in use' "$dir"/[1-9]/server.log || return 1 # else somebody was faster: other ports
		for ((node = 1; node <= n; node++)); do db_lab_stop "$dir/$node" || return 1; done
	done
	return 1
}

galera_down() {
	local node
	for node in "$1"/[1-9]; do db_lab_down "$node"; done
}
