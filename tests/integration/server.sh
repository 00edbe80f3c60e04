#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack server, with a real MariaDB: start, stop, crash, takeover, who may log in, and what lies where with which mode.
# $JOBSTACK_BIN is the directory with the built `jobstack`.  Everything is made below one temporary directory; the
# processes that are left at the end are ended by their pid.
set -eu

JOBSTACK=$(realpath "${JOBSTACK_BIN:?the directory with the built tools}")/jobstack
T=$(mktemp -d /tmp/js-server-test.XXXXXX)
chmod 755 "$T"
failures=0
export HOME=$T/home
mkdir "$HOME"
unset XDG_CONFIG_HOME XDG_DATA_HOME JOBSTACK_DEFAULTS_FILE

cleanup() {
	set +e
	touch "$T"/*.go 2>/dev/null
	for record in "$T"/*/owner; do
		[ -f "$record" ] || continue
		pid=$(sed -n 's/^pid=//p' "$record")
		if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$T/"; then
			kill -9 "$pid"
		fi
	done
	for pid in $(jobs -p); do kill -9 "$pid" 2>/dev/null; done
	wait
	if mountpoint -q "$T/full"; then umount -l "$T/full"; fi
	rm -rf "$T"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

ok() { echo "ok - $1"; }
not_ok() {
	echo "not ok - $1"
	failures=$((failures + 1))
	if [ -s "$T/out" ]; then sed 's/^/# /' "$T/out"; fi
}
# check NAME COMMAND...: the command must succeed
check() {
	local name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name"; fi
}
# gives STATUS COMMAND...: runs it, its output into $T/out; true if it ends with STATUS
gives() {
	local want=$1 got=0
	shift
	"$@" >"$T/out" 2>&1 || got=$?
	if [ "$got" != "$want" ]; then
		echo "(exit status $got, not $want)" >>"$T/out"
		return 1
	fi
}
says() { grep -qF -- "$1" "$T/out"; }
both() { gives "$1" "${@:3}" && says "$2"; } # both STATUS TEXT COMMAND...
not() { if "$@"; then return 1; fi; }
# wait_for COMMAND...: until it succeeds, at most five minutes (a busy machine is slow; the bound is there to end a hang)
wait_for() {
	local end=$((SECONDS + 300))
	until "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$end" ]; then return 1; fi
		sleep 0.05
	done
}
owner() { sed -n "s/^$2=//p" "$T/$1/owner"; } # owner SERVER KEY
kept_port() { sed -n "s/^port=//p" "$T/a/my.cnf"; }
mode() { stat -c %a "$1"; }
has_mode() { [ "$(mode "$2")" = "$1" ]; }
gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"; }
alive() { not gone "$1"; }
server() { # server NAME VERB [OPTION...]: on the directory $T/NAME with the client file $T/NAME.cnf
	local name=$1 verb=$2
	shift 2
	"$JOBSTACK" server "$verb" --data "$T/$name" --client-file "$T/$name.d/client.cnf" "$@"
}
begin() { # the same, to be put in the background: $! is the command itself
	local name=$1 verb=$2
	shift 2
	exec "$JOBSTACK" server "$verb" --data "$T/$name" --client-file "$T/$name.d/client.cnf" "$@"
}
CLIENT=$(command -v mariadb || command -v mysql)
NO_TLS=--skip-ssl VERIFY=ssl-verify-server-cert=1
case $("$CLIENT" --version) in *MariaDB*) ;; *) NO_TLS=--ssl-mode=DISABLED VERIFY=ssl-mode=VERIFY_IDENTITY ;; esac
sql() { "$CLIENT" --defaults-file="$1" -N -B -e "$2" jobstack; }

# ---- usage
mkdir "$T/alone" && cp "$JOBSTACK" "$T/alone/"
check "without its program: told" both 2 "$T/alone/jobstack-server can't be run (No such file or directory): install it beside jobstack" "$T/alone/jobstack" server status
check "no verb is wrong usage" both 2 "start, stop, status, run" "$JOBSTACK" server
check "an unknown verb is wrong usage" both 2 "unknown argument" "$JOBSTACK" server begin
check "a wrong option is wrong usage" both 2 "--nonsense" "$JOBSTACK" server start --nonsense
check "a wrong port is wrong usage" both 2 "65535" "$JOBSTACK" server start --port 70000
check "a wrong memory size is wrong usage" both 2 "16M" "$JOBSTACK" server start --memory lots
check "an address of no host of ours is refused" both 2 "is not this host" server a start --bind 192.0.2.77
check "a wildcard is refused as an address" both 2 "clients can't connect to" server a start --bind 0.0.0.0
check "a missing program is told" both 2 "does not exist" server a start --program "$T/nowhere/mariadbd"
mkdir -p "$T/foreign" && touch "$T/foreign/thesis.tex"
check "a directory with other things is refused" both 1 "contains other files" server foreign start
check "it was left as it was" test "$(ls -A "$T/foreign")" = thesis.tex
check "status without a server gives 1" both 1 stopped server a status
check "stop without a server gives 0 and says so" both 0 "not running" server a stop

# ---- the first start, watched for the password
(
	while [ ! -e "$T/started" ]; do ps axwwe -o args; done >"$T/ps" 2>&1
) &
watcher=$!
umask 022
check "start" gives 0 server a start
touch "$T/started"
wait "$watcher"
CNF=$T/a.d/client.cnf
cp "$T/out" "$T/start.out"
password=$(sed -n 's/^password=//p' "$CNF")
check "a password was made" test "${#password}" -ge 32
check "it is in no argument and no environment" not grep -qF "$password" "$T/ps"
check "it is in no output and no log" not grep -rqF "$password" "$T/start.out" "$T/a/error.log"
for f in a.d/client.cnf a/password a/owner a/root.cnf a/tls/ca-key.pem a/tls/server-key.pem a/error.log; do
	check "$f has mode 600" has_mode 600 "$T/$f"
done
check "a/data has mode 700" has_mode 700 "$T/a/data"
check "the statements with the password are gone" not test -e "$T/a/init.sql"
check "a second start says that it runs" both 0 "already running: 127.0.0.1:$(owner a port)" server a start
check "a start elsewhere, while it runs, is refused" both 1 "stop it first" server a start --bind 127.0.0.2
check "run, while it runs, is refused" both 1 "already running" server a run
check "status gives 0" both 0 "running: 127.0.0.1" server a status
server a status --json >"$T/json"
check "status --json is one object" test "$(wc -l <"$T/json")" = 1
for want in '"state":"running"' '"running":true' "\"port\":$(owner a port)" "\"pid\":$(owner a pid)" \
	"\"data\":\"$T/a\"" "\"client_file\":\"$CNF\"" '"version":"' '"uptime_seconds":' "\"host\":\"$(uname -n)\""; do
	check "status --json has $want" grep -qF "$want" "$T/json"
done
check "the server has a session of its own" test "$(ps -o sid= -p "$(owner a pid)" | tr -d ' ')" = "$(owner a pid)"
if [ "$(id -u)" = 0 ]; then
	check "started by root it runs as another user" not test "$(ps -o uid= -p "$(owner a pid)" | tr -d ' ')" = 0
	check "data is that user's" test "$(stat -c %u "$T/a/data")" = "$(ps -o uid= -p "$(owner a pid)" | tr -d ' ')"
	check "the directory itself is root's" test "$(stat -c %u "$T/a")" = 0
	check "that user can't read the CA's key" test "$(stat -c %u "$T/a/tls/ca-key.pem")" = 0
else
	echo "skip - as another user: needs root"
fi

# ---- who gets in
check "a client with the file gets in" gives 0 sql "$CNF" "SELECT 1"
check "over TLS" test -n "$(sql "$CNF" "SHOW STATUS LIKE 'ssl_cipher'" | cut -f2)"
check "every commit is flushed" test "$(sql "$CNF" "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin" | tr '\t' ' ')" = "1 0"
check "it takes 1200 connections" test "$(sql "$CNF" "SELECT @@max_connections")" = 1200
check "packets may have 64 MB" test "$(sql "$CNF" "SELECT @@max_allowed_packet")" = 67108864
check "it may do everything in jobstack" gives 0 sql "$CNF" "CREATE TABLE t (k INT PRIMARY KEY); DROP TABLE t"
check "and nothing in mysql" not gives 0 sql "$CNF" "SELECT * FROM mysql.user"
sed 's/^password=.*/password=wrong/' "$CNF" >"$T/wrong.cnf"
check "a wrong password is refused" not gives 0 sql "$T/wrong.cnf" "SELECT 1"
check "with the server's word for it" says "Access denied"
grep -v '^ssl' "$CNF" >"$T/plain.cnf"
check "no TLS is refused" not gives 0 "$CLIENT" --defaults-file="$T/plain.cnf" $NO_TLS -e "SELECT 1"
check "by the server" grep -qE "Access denied|insecure transport" "$T/out"
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=other -days 2 -keyout "$T/other.key" -out "$T/other.pem" 2>/dev/null
sed "s,^ssl-ca=.*,ssl-ca=$T/other.pem," "$CNF" >"$T/other.cnf"
check "a server that another CA should have signed is refused" not gives 0 sql "$T/other.cnf" "SELECT 1"
check "for its certificate" grep -qiE "certificate" "$T/out"
sed 's,^host=.*,host=127.0.0.2,' "$CNF" >"$T/name.cnf"
check "so is one whose certificate has another name" not gives 0 sql "$T/name.cnf" "SELECT 1"
check "for every client library" grep -qx "$VERIFY" "$CNF"
check "root gets in through the socket" gives 0 "$CLIENT" --defaults-file="$T/a/root.cnf" -e "SELECT * FROM mysql.user"
sed "s,^user=.*,user=root,; s,^password=.*,," "$CNF" >"$T/root.cnf"
check "root does not get in over TCP" not gives 0 "$CLIENT" --defaults-file="$T/root.cnf" -e "SELECT 1"
check "there is no nameless user" test "$("$CLIENT" --defaults-file="$T/a/root.cnf" -N -e "SELECT COUNT(*) FROM mysql.user WHERE user=''")" = 0

# ---- a crash
sql "$CNF" "CREATE TABLE kept (k INT PRIMARY KEY); INSERT INTO kept VALUES (42)"
old=$(owner a pid)
kill -9 "$old"
wait_for gone "$old"
check "status tells of the crash" both 1 "crashed (pid" server a status
check "start after kill -9 recovers" gives 0 server a start
check "and says so" says "recovers its data"
check "what was committed is there" test "$(sql "$CNF" "SELECT k FROM kept")" = 42

# ---- stop
pid=$(owner a pid)
check "stop" both 0 stopped server a stop
check "its process is gone" gone "$pid"
by_file() { "$JOBSTACK" server "$1" --client-file "$CNF"; }
check "without --data: the server that the client file names" both 0 "data: $T/a" by_file start
check "... for status and stop too" both 0 "stopped: $T/a" by_file stop
check "... and \$JOBSTACK_DEFAULTS_FILE is such a file" both 1 "data: $T/a" env JOBSTACK_DEFAULTS_FILE="$CNF" "$JOBSTACK" server status
mkdir "$T/b.d" && sed "s,^# data=.*,# data=$T/nowhere," "$CNF" >"$T/b.d/client.cnf"
check "... a directory that is not here is told" both 1 "is in $T/nowhere, which this host does not have: using /" \
	"$JOBSTACK" server status --client-file "$T/b.d/client.cnf"
rm "$T/b.d/client.cnf"
check "its record is gone" not test -e "$T/a/owner"
check "stop again says that it did not run" both 0 "not running" server a stop
check "status says stopped" both 1 stopped server a status --json

# ---- another port, another name
port=$(kept_port)
check "a second server takes the first one's port" gives 0 server b start --port "$port" --memory 32M
before=$(sha256sum <"$T/a/tls/ca.pem")
check "the first moves to another port" both 0 "another program uses the port" server a start
check "which is kept" not test "$(kept_port)" = "$port"
check "the client file says so" grep -qx "port=$(kept_port)" "$CNF"
gives 0 server a stop
check "another address" gives 0 server a start --bind 127.0.0.2
check "with another server's client file: said" both 0 "now names this server, not" \
	"$JOBSTACK" server start --data "$T/b" --client-file "$CNF"
check "a start takes it back" both 0 "now names this server, not" server a start
check "which is told once" not both 0 "now names this server, not" server a start
check "is what clients are told" grep -qx "host=127.0.0.2" "$CNF"
check "the certificate is good for that address" gives 0 sql "$CNF" "SELECT k FROM kept"
check "and of the same CA" test "$(sha256sum <"$T/a/tls/ca.pem")" = "$before"
check "a fixed port that is taken is told" both 1 "can't be used" server c start --port "$port"
gives 0 server a stop
check "the next start keeps the address" both 0 "running: 127.0.0.2:" server a start --memory 48M
gives 0 server a stop
check "and the one after that" both 0 "running: 127.0.0.2:" server a start
check "it keeps the memory, too" grep -qx innodb_buffer_pool_size=50331648 "$T/a/my.cnf"
gives 0 server a stop
cp "$T/a/my.cnf" "$T/kept.cnf"
sed -i 's/^# bind=.*/# bind=192.0.2.77/' "$T/a/my.cnf"
check "a kept address of another host is refused" both 2 \
	'192.0.2.77, the address of the last start, is not this host'"'"'s: give --bind HOST, such as --bind "$(hostname)"' server a start
cp "$T/kept.cnf" "$T/a/my.cnf"
name=$(uname -n)
if getent hosts "$name" >/dev/null; then
	check "a host name as address" gives 0 server a start --bind "$name"
	check "is what clients are told" grep -qx "host=$name" "$CNF"
	check "and is verified" test "$(sql "$CNF" "SELECT k FROM kept")" = 42
	gives 0 server c start --memory 32M
	gives 0 server c stop
	sed "s/^host=.*/host=login-of-elsewhere/; s/^pid=.*/pid=1/" "$T/a/owner" >"$T/c/owner"
	check "no takeover from a server that still answers" both 1 "still answers at $name" server c start --takeover
	check "which status sees too" both 0 login-of-elsewhere server c status --json
	rm "$T/c/owner"
	gives 0 server a stop
else
	echo "skip - a host name as address: this host's name can't be looked up"
fi
# A name with two addresses, on a machine with a third one: in a network of its own
cat >"$T/two.sh" <<'END'
ip link set lo up
for i in 1 2 3; do ip address add "10.9.0.$i/32" dev lo || exit; done
printf '127.0.0.1 localhost\n10.9.0.1 two-names\n10.9.0.2 two-names\n10.9.0.2 two-names\n' >"$T/hosts"
if [ -e /etc/hosts ]; then # a minimal system has none
	mount --bind "$T/hosts" /etc/hosts || exit
else
	cp -a /etc "$T/etc" && cp "$T/hosts" "$T/etc" && mount --bind "$T/etc" /etc || exit
fi
server() { "$JOBSTACK" server "$@" --data "$T/a" --client-file "$T/a.d/client.cnf"; }
server start -q --bind two-names || exit
port=$(sed -n "s/^port=//p" "$T/a/owner")
for i in 127.0.0.1 10.9.0.{1..3}; do if true <"/dev/tcp/$i/$port"; then echo "$i"; fi; done 2>/dev/null
server stop -q
END
if [ "$(id -u)" = 0 ] && unshare -mn true 2>/dev/null; then
	check "a name with two addresses" test "$(T=$T JOBSTACK=$JOBSTACK unshare -mn bash "$T/two.sh" 2>"$T/out" | xargs)" = "10.9.0.1 10.9.0.2"
else
	echo "skip - a name with two addresses: needs root"
fi
check "a directory with a colon in its path" gives 0 server with:colon start
gives 0 server with:colon stop
check "localhost as address means TCP" gives 0 server a start --bind localhost
check "for a client too" gives 0 sql "$CNF" "SELECT 1"
gives 0 server a stop
printf '[client]\nhost=db.example.org\n' >"$T/own.cnf"
check "an option file of somebody's own is not replaced" both 1 "not written by" \
	"$JOBSTACK" server start --data "$T/a" --client-file "$T/own.cnf"

# ---- another host's record
gives 0 server a start
sed "s/^host=.*/host=login-of-elsewhere/" "$T/a/owner" >"$T/record"
gives 0 server a stop
cp "$T/record" "$T/a/owner"
check "another host's directory is refused" both 1 login-of-elsewhere server a start
check "stop as well" both 1 login-of-elsewhere server a stop
check "status names the host" both 1 login-of-elsewhere server a status
check "the record is as it was" cmp -s "$T/record" "$T/a/owner"
check "--takeover takes it" both 0 "over from the host login-of-elsewhere" server a start --takeover
gives 0 server a stop
sed "s/^boot=.*/boot=another-boot/; s/^pid=.*/pid=$$/" "$T/record" | sed "s/^host=.*/host=$name/" >"$T/a/owner"
check "a record from before a reboot is stale, whoever has the pid now" gives 0 server a start
gives 0 server a stop
sed "s/^pid=.*/pid=$$/; s/^host=.*/host=$name/; s/^start=.*/start=1/" "$T/record" >"$T/a/owner"
check "so is one whose pid belongs to another process" both 0 "not running" server a stop
check "and that process lives" alive $$
check "start finds it stale too" gives 0 server a start
gives 0 server a stop
gives 0 server b stop

# ---- twenty at once
pids=
for i in $(seq 20); do
	begin many start --memory 32M >"$T/many.$i" 2>&1 &
	pids="$pids $!"
done
bad=0
for p in $pids; do wait "$p" || bad=$((bad + 1)); done
cat "$T"/many.[0-9]* >"$T/out"
check "twenty starts at once succeed" test "$bad" = 0
check "one of them started it" test "$(grep -c '^running:' "$T/out")" = 1
check "there is one server" test "$(pgrep -cf -- "--defaults-file=$T/many/my.cnf")" = 1
check "and one password" gives 0 sql "$T/many.d/client.cnf" "SELECT 1"
gives 0 server many stop

# ---- killed on the way.  The programs stand in a prefix of their own and wait for a word.
daemon=$(PATH=$PATH:/usr/sbin:/usr/libexec:/usr/local/sbin && { command -v mariadbd || command -v mysqld; })
installer=$(command -v mariadb-install-db || true) # MySQL's server initialises by itself
mkdir -p "$T/prefix/bin" "$T/prefix/sbin"
ln -s /usr/share /usr/lib "$T/prefix/"
cat >"$T/prefix/bin/mariadb-install-db" <<END
#!/bin/bash
for a; do case \$a in --basedir=*) ;; *) args+=("\$a") ;; esac; done
$installer "\${args[@]}" || exit
touch "$T/install.reached"
until [ -e "$T/install.go" ]; do sleep 0.05; done
END
cat >"$T/prefix/sbin/${daemon##*/}" <<END
#!/bin/bash
case "\$*" in *--initialize*)
	for a; do case \$a in --basedir=*) ;; *) args+=("\$a") ;; esac; done
	$daemon "\${args[@]}" || exit
	touch "$T/install.reached"
	until [ -e "$T/install.go" ]; do sleep 0.05; done
	exit 0
	;;
--defaults-file=*)
	touch "$T/server.reached"
	until [ -e "$T/server.go" ]; do sleep 0.05; done
esac
exec $daemon "\$@"
END
chmod 755 "$T"/prefix/*bin/*
touch "$T/install.reached" "$T/server.reached"
chmod 666 "$T"/*.reached
rm -f "$T"/*.reached
chmod 1777 "$T"
begin k start --program "$T/prefix/sbin/${daemon##*/}" >"$T/out" 2>&1 &
starter=$!
check "a start reaches its initialisation" wait_for test -e "$T/install.reached"
kill -9 "$starter"
wait "$starter" 2>/dev/null || true
check "killed there, no data counts as whole" not test -e "$T/k/data"
touch "$T/install.go"
begin k start --program "$T/prefix/sbin/${daemon##*/}" >"$T/k.out" 2>&1 &
starter=$!
check "the next start goes on to the server" wait_for test -e "$T/server.reached"
kill -9 "$starter"
wait "$starter" 2>/dev/null || true
pid=$(owner k pid)
check "killed there, the server is on record" alive "$pid"
check "and status says starting" both 1 starting server k status
touch "$T/server.go"
check "the next start waits for the same server" both 0 "already running" server k start
check "which it is" test "$(owner k pid)" = "$pid"
check "clients get in" gives 0 sql "$T/k.d/client.cnf" "SELECT 1"
check "its temporary tables are where no other server deletes them" both 0 "$T/k/run" sql "$T/k.d/client.cnf" "SELECT @@tmpdir"
check "no half data is left" test -z "$(find "$T/k" -maxdepth 1 -name 'data.new.*')"
check "and no statements with the password" not test -e "$T/k/init.sql"
gives 0 server k stop

# ---- the server that was unpacked with jobstack is taken before those of the host
mkdir -p "$T/tree/bin" "$T/tree/libexec"
cp "$JOBSTACK" "$JOBSTACK-server" "$T/tree/bin/"
ln -s "$T/prefix" "$T/tree/libexec/jobstack-server"
ln -s "../sbin/${daemon##*/}" "$T/prefix/bin/"
rm "$T/server.reached"
check "the server beside the program starts" gives 0 \
	"$T/tree/bin/jobstack" server start --data "$T/k" --client-file "$T/k.d/client.cnf"
check "it is the one that was unpacked there" test -e "$T/server.reached"
gives 0 server k stop
chmod 755 "$T"

# ---- in the foreground
# What an earlier run said is gone before this one is there: nobody takes it for this one's word.
in_foreground() {
	: >"$T/run.out"
	begin a run >"$T/run.out" 2>&1 &
	runner=$!
}
in_foreground
check "run says where" wait_for grep -q '^running:' "$T/run.out"
pid=$(owner a pid)
check "clients get in" gives 0 sql "$CNF" "SELECT k FROM kept"
kill -TERM "$runner"
status=0
wait "$runner" || status=$?
check "SIGTERM ends it with 0" test "$status" = 0
check "and the server" gone "$pid"
check "without a trace of a crash" both 1 "stopped" server a status
check "for good" not test -e "$T/a/owner"
in_foreground
wait_for grep -q '^running:' "$T/run.out"
check "stop from elsewhere" gives 0 server a stop
status=0
wait "$runner" || status=$?
check "ends run with 0" test "$status" = 0
in_foreground
wait_for grep -q '^running:' "$T/run.out"
kill -9 "$(owner a pid)"
status=0
wait "$runner" || status=$?
cp "$T/run.out" "$T/out"
check "a server that is killed ends run with 128 + 9" test "$status" = 137
check "with its log's last lines" says "| "
check "and the log's path" says "$T/a/error.log"
in_foreground
wait_for grep -q '^running:' "$T/run.out"
pid=$(owner a pid)
kill -9 "$runner"
wait "$runner" 2>/dev/null || true
check "a killed run takes its server along" wait_for gone "$pid"

# ---- failures of a start
gives 0 server a start
gives 0 server a stop
mkdir "$T/aside"
mv "$T"/a/data/ibdata1 "$T/aside/"
printf 'nonsense' >"$T/a/data/ibdata1"
chown --reference="$T/a/data" "$T/a/data/ibdata1"
check "a server that can't start gives 69" both 69 "$T/a/error.log" server a start --bind 127.0.0.3 --memory 64M
check "with its log's last lines" says "| "
check "its options are not kept" grep -qx '# memory=50331648' "$T/a/my.cnf"
check "nor its address" grep -qx '# bind=localhost' "$T/a/my.cnf"
check "and leaves no record" not test -e "$T/a/owner"
mv "$T/aside/ibdata1" "$T/a/data/ibdata1"
check "mended, it starts" gives 0 server a start
gives 0 server a stop
long=$T/$(printf 'd%.0s' $(seq 120))
check "a path too long for a socket" gives 0 "$JOBSTACK" server start --data "$long" --client-file "$T/long.cnf" --memory 32M
check "is no hindrance" gives 0 sql "$T/long.cnf" "SELECT 1"
check "the CA has the file's name" test -e "$T/long-ca.pem"
socket_dir=$(sed -n 's/^socket_dir=//p' "$long/owner")
check "its socket is under /tmp" test -S "$socket_dir/sock"
gives 0 "$JOBSTACK" server stop --data "$long"
check "and gone after the stop" not test -e "$socket_dir"
odd="$T/a b #\"c\"
"
odd=${odd%?}
check "a path with blanks, # and quotes" gives 0 "$JOBSTACK" server start --data "$odd" --client-file "$odd.cnf" --memory 32M
check "works for clients" gives 0 sql "$odd.cnf" "SELECT 1"
gives 0 "$JOBSTACK" server stop --data "$odd"
mkdir "$T/full"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=40m,mode=755 none "$T/full" 2>/dev/null; then
	check "a full disk is told" both 69 "full" "$JOBSTACK" server start --data "$T/full/s" --client-file "$T/full.cnf"
	check "and nothing half is left" test -z "$(find "$T/full/s" -maxdepth 1 -name 'data*')"
	umount "$T/full"
else
	echo "skip - a full disk: needs root and the right to mount"
fi

# ---- remove
check "remove: another directory than the file's" both 2 "give --data DIR" "$JOBSTACK" server remove --client-file "$T/nowhere.cnf" --yes
check "one that is not there" both 2 "there is no server in" server gone remove --yes
gives 0 server rm start
gives 0 env JOBSTACK_DEFAULTS_FILE="$T/rm.d/client.cnf" sh -c '"$1" init -q && "$1" push -q -s left /1 /2 && "$1" pop -q -s left --lease 1h' sh "$JOBSTACK"
check "one that runs is refused" both 1 "\`jobstack server stop --data '$T/rm'\` first" server rm remove --yes
gives 0 server rm stop
check "without a terminal it wants --yes" both 2 "so --yes is required" server rm remove
check "one with a live worker is refused" both 1 "1 workers and pushes are alive in the database of the stopped server" server rm remove --yes
check "... and is stopped again" both 1 stopped server rm status
gives 0 server rm start
gives 0 env JOBSTACK_DEFAULTS_FILE="$T/rm.d/client.cnf" "$JOBSTACK" close -s left 1 --attempt 1 --exit 0
gives 0 server rm stop
in_pty="$(dirname "$0")/../support/in-pty"
check "the question says what will be gone" gives 1 "$in_pty" expect='y/N' 'send=n
' -- "$JOBSTACK" server remove --data "$T/rm" --client-file "$T/rm.d/client.cnf"
check "the directory, its size, the stacks, what is left" grep -qE "delete $T/rm \([0-9.]+ MB; stacks: 1, entries left: 1\)\? " "$T/out"
check "no is no" test -d "$T/rm/data"
mkdir "$T/rm.removed" && touch "$T/rm.removed/jobstack.lock" && mkdir "$T/rm.removed/data" # as a call leaves it that was killed
check "yes is yes" both 0 "$T/rm is deleted" server rm remove --yes
check "the directory is gone, and what an earlier call left" test ! -e "$T/rm" -a ! -e "$T/rm.removed" -a ! -e "$T/rm.d/client.cnf"
mkdir -p "$T/rm.removed/data/x"
check "after a kill the next call finishes" both 0 "is deleted" server rm remove --yes
check "so that nothing is left" test ! -e "$T/rm.removed"
gives 0 server rm start
gives 0 server rm stop
mv "$T/rm/data/ibdata1" "$T/aside/" && printf nonsense >"$T/rm/data/ibdata1"
check "one that does not start can be removed" both 0 "$T/rm is deleted" server rm remove --yes
check "together with its damaged data" test ! -e "$T/rm"

# ---- as an ordinary user
if [ "$(id -u)" = 0 ]; then
	mkdir "$T/u"
	chown nobody "$T/u"
	cp "$JOBSTACK" "$JOBSTACK-server" "$T/" # the tree may lie in root's home, where nobody else gets to
	as_nobody() { setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups env HOME="$T/u" "$@"; }
	check "an ordinary user can start, by defaults alone" gives 0 as_nobody "$T/jobstack" server start
	check "in the home directory" test -d "$T/u/.local/share/jobstack/server/data"
	check "and get in" gives 0 as_nobody "$CLIENT" --defaults-file="$T/u/.config/jobstack/client.cnf" -e "SELECT 1"
	check "and administer" gives 0 as_nobody "$CLIENT" \
		--defaults-file="$T/u/.local/share/jobstack/server/root.cnf" -e "SELECT * FROM mysql.user"
	check "but not as somebody else" both 77 "only root" as_nobody "$T/jobstack" server start --user daemon
	check "and stop" both 0 stopped as_nobody "$T/jobstack" server stop
	check "not even root starts it as another" both 77 "belongs to another user" \
		"$JOBSTACK" server start --data "$T/u/.local/share/jobstack/server" --client-file "$T/x.cnf"
	check "root's directory is not theirs to stop" both 77 "ermission denied" as_nobody "$T/jobstack" server stop --data "$T/a"
	mkdir -m 700 "$T/closed"
	check "a directory the server's user can't reach is told" both 77 "can't reach" \
		"$JOBSTACK" server start --data "$T/closed/s" --client-file "$T/x.cnf"
else
	echo "skip - as an ordinary user beside root: needs root"
fi

echo "# $failures failed"
[ "$failures" = 0 ]
