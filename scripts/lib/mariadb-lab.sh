# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2030,SC2031
#
# A private MariaDB or MySQL server for tests: on a free loopback port, below one directory.  It flushes every commit, but
# not under scripts/test (db_lab_is_for_tests).
# (It is started directly: `jobstack server` has tests of its own.)  There may be any number of them.
#
#   db_lab_up DIR                   writes DIR/admin.cnf, an option file for the server's root
#   db_lab_database DIR NAME        makes database NAME and user NAME with the rights of docs/grants.sql, and writes
#                                   DIR/NAME.cnf, an option file for them
#   db_lab_drop DIR NAME            undoes that
#   db_lab_down DIR                 whatever state it is in; nothing of it runs on; DIR stays, with the log
#
# DIR belongs to the lab: should its owner ($LAB_OWNER, by default this shell) vanish, the lab is taken down and DIR is
# removed.  When root starts it, the server runs as the user mysql, or else nobody, who must be able to get to DIR.
# $LAB_SETTINGS, if it is set, are lines for the end of the server's option file.
# JOBSTACK_LAB_DB=mysqld or =mariadbd (or a path) says which server, where there are several.

# shellcheck source=scripts/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

db_lab_program() {
	local program
	for program in ${JOBSTACK_LAB_DB:-mariadbd mysqld}; do
		command -v "$program" && return 0
	done
	say "no mariadbd or mysqld here"
	return 1
}
db_lab_client() { command -v mariadb || command -v mysql || { say "no mariadb or mysql (client) here" && return 1; }; }
db_lab_is_mariadb() { [[ $("$1" --no-defaults --version 2>/dev/null) == *MariaDB* ]]; }

# Who runs the server: nobody said (we are not root), or a user's name.
db_lab_user() {
	((EUID == 0)) || return 0
	if getent passwd mysql >/dev/null; then echo mysql; else echo nobody; fi
}

# Under scripts/test, servers without settings of their own do not wait for the disk: tests never kill the machine.  With
# LAB_FLUSHES=1 they do: those that are killed and started again behave as a user's.
db_lab_is_for_tests() { [[ ${JOBSTACK_TEST_RUN-} && ! ${LAB_SETTINGS-} && ! ${LAB_FLUSHES-} ]]; }

db_lab_password() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# The library logs in through a connector before 3.3 (Debian 11) only to a server that it can verify (src/db/login.c).
db_lab_old_connector() {
	local version
	version=$(pkg-config --modversion libmariadb 2>/dev/null || true)
	[[ $version =~ ^([0-9]+)\.([0-9]+) ]] && ((10#${BASH_REMATCH[1]} * 100 + 10#${BASH_REMATCH[2]} < 303))
}

# db_lab_tls DIR USER: a certificate, which is its own CA.  MySQL needs one that names the host: clients send it their
# passwords only if they can verify it.
db_lab_tls() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1/key.pem" -out "$1/ca.pem" -days 3650 \
		-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 >>"$1/install.log" 2>&1 || return 1
	[[ -z $2 ]] || chown "$2" "$1/key.pem"
	printf '%s\n' "ssl-ca=$1/ca.pem" "ssl-cert=$1/ca.pem" "ssl-key=$1/key.pem" >>"$1/server.cnf"
}

# db_lab_write DIR PORT PROGRAM USER: the server's option file and its first commands.
db_lab_write() {
	local dir=$1 port=$2 program=$3 user=$4 password
	password=$(db_lab_password)
	cat >"$dir/server.cnf" <<-END
		[mysqld]
		datadir=$dir/data
		tmpdir=$dir/tmp
		socket=$dir/socket
		pid-file=$dir/pid
		log-error=$dir/server.log
		bind-address=127.0.0.1
		port=$port
		skip-name-resolve
		performance-schema=OFF
		max-connections=400
		local-infile=1
		innodb-flush-log-at-trx-commit=1
		innodb-buffer-pool-size=64M
		character-set-server=utf8mb4
	END
	if db_lab_is_mariadb "$program"; then
		echo 'innodb-log-file-size=48M' >>"$dir/server.cnf"
		if db_lab_old_connector; then db_lab_tls "$dir" "$user" || return 1; fi
	else
		printf '%s\n' 'mysqlx=OFF' 'skip-log-bin' 'innodb-redo-log-capacity=96M' >>"$dir/server.cnf"
		db_lab_tls "$dir" "$user" || return 1
	fi
	[[ -z $user ]] || echo "user=$user" >>"$dir/server.cnf"
	! db_lab_is_for_tests || printf '%s\n' loose-innodb-flush-method=nosync loose-debug-no-sync >>"$dir/server.cnf"
	[[ -z ${LAB_SETTINGS-} ]] || printf '%s\n' "$LAB_SETTINGS" >>"$dir/server.cnf"
	(
		umask 077
		cat >"$dir/init.sql" <<-END
			DROP USER IF EXISTS 'root'@'127.0.0.1', 'root'@'::1', 'root'@'$(uname -n)';
			ALTER USER 'root'@'localhost' IDENTIFIED BY '$password';
			CREATE USER 'root'@'127.0.0.1' IDENTIFIED BY '$password';
			GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
		END
		printf '[client]\nhost=127.0.0.1\nport=%s\nuser=root\npassword=%s\n' "$port" "$password" >"$dir/admin.cnf"
		[[ ! -e $dir/ca.pem ]] || echo "ssl-ca=$dir/ca.pem" >>"$dir/admin.cnf"
	)
}

# db_lab_fill DIR PROGRAM: fills the empty data directory.
db_lab_fill() {
	local dir=$1 program=$2 install
	if ! db_lab_is_mariadb "$program"; then
		"$program" --defaults-file="$dir/server.cnf" --initialize-insecure </dev/null >>"$dir/install.log" 2>&1
		return
	fi
	install=$(command -v mariadb-install-db || command -v mysql_install_db) || return 1
	"$install" --defaults-file="$dir/server.cnf" --auth-root-authentication-method=normal --skip-test-db \
		--skip-name-resolve --force </dev/null >>"$dir/install.log" 2>&1
}

# db_lab_install DIR PROGRAM: the same.  Filling it takes a second of a processor.  So the servers of one run of scripts/test
# get a copy of what the first one had.  MySQL makes the server's number anew (auto.cnf).
db_lab_install() {
	local dir=$1 program=$2 first made
	if ! db_lab_is_for_tests; then
		db_lab_fill "$dir" "$program"
		return
	fi
	first=$JOBSTACK_TEST_RUN/data${program//\//-}
	if [[ -d $first ]]; then
		cp -a "$first/." "$dir/data/" 2>>"$dir/install.log"
		return
	fi
	db_lab_fill "$dir" "$program" || return 1
	made=$(mktemp -d "$first.XXXXXX") || return 0
	# If several are first, one wins.
	if ! { cp -a "$dir/data/." "$made/" && rm -f "$made/auto.cnf" && mv -T "$made" "$first"; } 2>>"$dir/install.log"; then
		rm -rf "$made"
	fi
}

db_lab_admin() {
	local client
	client=$(db_lab_client) || return 1
	"$client" --defaults-file="$1/admin.cnf" --batch --skip-column-names
}
db_lab_answers() { [[ -S $1/socket ]] && db_lab_admin "$1" <<<'SELECT 1' >/dev/null 2>&1; }
db_lab_clash() { grep -qsiE 'address already in use|another mysqld server running on port' "$1/server.log"; }
db_lab_gone() { none_of db_lab_pids "$1"; }
db_lab_started() { [[ -s $1/server.log || -s $1/start.log || -n $(db_lab_pids "$1") ]]; }
db_lab_settled() { db_lab_answers "$1" || db_lab_clash "$1" || db_lab_gone "$1"; }

# db_lab_start DIR PROGRAM USER
db_lab_start() {
	local dir=$1 program=$2 user=$3
	: >"$dir/server.log"
	: >"$dir/start.log"
	[[ -z $user ]] || chown "$user" "$dir/server.log"
	exec_bare "$dir/start.log" setsid "$program" --defaults-file="$dir/server.cnf" --init-file="$dir/init.sql" &
	disown $!
	poll 60 db_lab_started "$dir" && poll 300 db_lab_settled "$dir" && db_lab_answers "$dir"
}

db_lab_up() {
	local dir=$1 program user try
	check_dir "$dir" || return 1
	program=$(db_lab_program) || return 1
	user=$(db_lab_user)
	mkdir -p "$dir"/{data,tmp} || return 1
	chmod 711 "$dir"
	chmod 700 "$dir"/{data,tmp}
	: >"$dir/stay"
	watch_owner "$dir/stay" "${LAB_OWNER:-$$}" bash "$LIB_DIR/mariadb-lab.sh" --orphaned "$dir"
	for try in 1 2 3 4 5; do
		free_ports 1 || return 1
		db_lab_write "$dir" "$PORT" "$program" "$user" || return 1
		if [[ $user ]]; then
			chown "$user" "$dir" "$dir"/{data,tmp,init.sql}
			if ! setpriv --reuid "$user" --clear-groups test -w "$dir/data"; then
				say "$dir: the user $user, who is to run the server, can't get there"
				return 1
			fi
		fi
		if ((try == 1)) && ! db_lab_install "$dir" "$program"; then
			break
		fi
		db_lab_start "$dir" "$program" "$user" && rm -f "$dir/init.sql" && return 0
		db_lab_clash "$dir" || break
		db_lab_stop "$dir" || break
	done
	say "the database server in $dir did not come up; its last words:"
	tail -n 15 "$dir"/*.log >&2 || true
	db_lab_down "$dir"
	return 1
}

# The lab's processes: the server, and what fills the data directory before.  (This is asked while one waits for the server:
# the files of all processes would take long.)
db_lab_pids() {
	local servers
	mapfile -t servers < <(pids_by_name '^(mariadb|mysql)')
	((${#servers[@]} == 0)) || { pids_by_args "$1" "${servers[@]}" && pids_by_files "$1" "${servers[@]}"; } | sort -un
}

db_lab_stop() { stop_all 8 db_lab_pids "$1"; }

db_lab_down() {
	local dir=$1
	[[ -d $dir ]] || return 0
	if ! db_lab_stop "$dir"; then
		say "processes of $dir could not be stopped: $(db_lab_pids "$dir" | tr '\n' ' ')"
		return 1
	fi
	rm -f "$dir/stay"
	unwatch "$dir/stay"
}

# No _ in a NAME: it is a wildcard in a GRANT.
db_lab_name() {
	[[ $1 =~ ^[A-Za-z0-9]{1,32}$ && $1 != admin && $1 != server ]] && return 0
	say "$1: a database of the lab has a name of at most 32 letters and digits"
	return 1
}

db_lab_database() {
	local dir=$1 name=$2 password port
	db_lab_name "$name" || return 1
	password=$(db_lab_password)
	port=$(sed -n 's/^port=//p' "$dir/admin.cnf")
	sed -e "s/@DATABASE@/$name/g" -e "s/@USER@/$name/g" -e "s/@PASSWORD@/$password/g" "$LIB_DIR/../../docs/grants.sql" |
		db_lab_admin "$dir" || return 1
	(
		umask 077
		printf '[client]\nhost=127.0.0.1\nport=%s\nuser=%s\npassword=%s\n[jobstack]\ndatabase=%s\n' \
			"$port" "$name" "$password" "$name" >"$dir/$name.cnf"
		[[ ! -e $dir/ca.pem ]] || sed -i "s|^\[jobstack\]|ssl-ca=$dir/ca.pem\n&|" "$dir/$name.cnf"
	)
}

db_lab_drop() {
	local dir=$1 name=$2
	db_lab_name "$name" || return 1
	printf "DROP DATABASE IF EXISTS \`%s\`; DROP USER IF EXISTS '%s'@'%%';\n" "$name" "$name" | db_lab_admin "$dir" || return 1
	rm -f "$dir/$name.cnf"
}

if [[ ${BASH_SOURCE[0]} == "$0" && ${1-} == --orphaned ]]; then
	check_dir "$2" && db_lab_down "$2" && rm -rf "$2"
fi
