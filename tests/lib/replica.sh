# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Two private servers, one of them a replica of the other, in earnest: binary log, GTIDs, promotion.  Source it after
# mariadb-lab.sh.  DIR is a lab's directory.
#
#   server_up DIR ID               a server with a binary log, and ID as its number
#   server_kill DIR                as a host that loses power
#   server_start DIR               as it was, on its port and data
#   server_sql DIR STATEMENTS      as its administrator
#   server_port DIR
#   read_only DIR 0|1
#   replica_of DIR PRIMARY         DIR reads from PRIMARY from now on, is read-only, and has all that PRIMARY has
#   replica_halt DIR               it reads no further, and is none any more
#   promote DIR                    it takes over: no replica any more, takes writes
#   semi_sync PRIMARY REPLICA 0|1  PRIMARY answers no COMMIT that REPLICA has not got
#   caught_up DIR PRIMARY          a condition: DIR has all that PRIMARY has now

server_is_mariadb() { db_lab_is_mariadb "$(db_lab_program)"; }
server_sql() { db_lab_admin "$1" <<<"$2"; }
server_port() { sed -n 's/^port=//p' "$1/admin.cnf"; }

server_up() {
	db_lab_up "$1" && server_sql "$1" "CREATE USER 'repl'@'127.0.0.1' IDENTIFIED BY 'repl';
		GRANT REPLICATION SLAVE ON *.* TO 'repl'@'127.0.0.1'" && db_lab_stop "$1" || return 1
	sed -i '/^skip-log-bin/d' "$1/server.cnf"
	printf '%s\n' "server-id=$2" "log-bin=$1/data/log" binlog-format=ROW sync-binlog=1 >>"$1/server.cnf"
	if server_is_mariadb; then
		printf '%s\n' log-slave-updates=ON "gtid-domain-id=0" >>"$1/server.cnf"
	else
		printf '%s\n' gtid-mode=ON enforce-gtid-consistency=ON >>"$1/server.cnf"
	fi
	server_start "$1" || return 1
	server_is_mariadb || server_sql "$1" "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so';
		INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'"
}

server_gone() { ! proc_alive "$1"; }
server_kill() {
	local pid
	pid=$(<"$1/pid")
	kill -KILL "$pid" && poll 100 server_gone "$pid"
}
server_start() {
	: >"$1/init.sql"
	((EUID != 0)) || chown "$(db_lab_user)" "$1/init.sql"
	db_lab_start "$1" "$(db_lab_program)" "$(db_lab_user)"
}

read_only() { server_sql "$1" "SET GLOBAL read_only=$2"; }

# What PRIMARY has committed, in DIR's words.
server_position() {
	if server_is_mariadb; then
		server_sql "$1" 'SELECT @@global.gtid_binlog_pos'
	else
		server_sql "$1" 'SELECT @@global.gtid_executed' | tr -d '\\n'
	fi
}
caught_up() {
	local position
	position=$(server_position "$2")
	if server_is_mariadb; then
		[[ $(server_sql "$1" "SELECT MASTER_GTID_WAIT('$position',30)") == 0 ]]
	else
		[[ $(server_sql "$1" "SELECT WAIT_FOR_EXECUTED_GTID_SET('$position',30)") == 0 ]]
	fi
}

replica_of() {
	read_only "$1" 1 || return 1
	if server_is_mariadb; then
		# what it wrote itself, as a primary, counts as received
		server_sql "$1" "SET GLOBAL gtid_slave_pos=@@global.gtid_binlog_pos; CHANGE MASTER TO MASTER_HOST='127.0.0.1',
			MASTER_PORT=$(server_port "$2"),MASTER_USER='repl',MASTER_PASSWORD='repl',MASTER_USE_GTID=slave_pos,
			MASTER_CONNECT_RETRY=1; START SLAVE"
	else
		server_sql "$1" "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1',SOURCE_PORT=$(server_port "$2"),
			SOURCE_USER='repl',SOURCE_PASSWORD='repl',SOURCE_AUTO_POSITION=1,GET_SOURCE_PUBLIC_KEY=1,
			SOURCE_CONNECT_RETRY=1; START REPLICA"
	fi && caught_up "$1" "$2"
}
replica_halt() {
	if server_is_mariadb; then
		server_sql "$1" 'STOP SLAVE; RESET SLAVE ALL'
	else
		server_sql "$1" 'STOP REPLICA; RESET REPLICA ALL'
	fi
}
# Everything received is applied first: stopping would leave it.
replica_applied() {
	local state
	if server_is_mariadb; then state='SHOW SLAVE STATUS'; else state='SHOW REPLICA STATUS'; fi
	"$(db_lab_client)" --defaults-file="$1/admin.cnf" --batch --vertical -e "$state" 2>/dev/null |
		grep -qE '(Slave|Replica)_SQL_Running_State: .*has read all relay log'
}
promote() { poll 150 replica_applied "$1" && replica_halt "$1" && read_only "$1" 0; }

semi_sync() {
	local source=source replica=replica
	if server_is_mariadb; then source=master replica=slave; fi
	server_sql "$1" "SET GLOBAL rpl_semi_sync_${source}_timeout=600000;
		SET GLOBAL rpl_semi_sync_${source}_wait_point=AFTER_SYNC; SET GLOBAL rpl_semi_sync_${source}_enabled=$3" &&
		server_sql "$2" "SET GLOBAL rpl_semi_sync_${replica}_enabled=$3" || return 1
	if server_is_mariadb; then
		server_sql "$2" 'STOP SLAVE IO_THREAD; START SLAVE IO_THREAD'
	else
		server_sql "$2" 'STOP REPLICA IO_THREAD; START REPLICA IO_THREAD'
	fi && poll 100 semi_sync_is "$1" "$source" "$3"
}
semi_sync_is() {
	local clients
	clients=$(server_sql "$1" "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_$2_clients'" | cut -f2)
	(((clients > 0) == $3))
}
