#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# jobstack server backup, restore, share, upgrade and move, on real servers; a backup that was cut short, and a full disk.
# (No older MariaDB is at hand: the upgrade finds data that say they are of 10.5.)
set -u
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
if [[ ${BACKUP_INSIDE-} == '' ]]; then
	BACKUP_INSIDE=1 own_mounts bash "$0"
	exit
fi
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
unset JOBSTACK_DEFAULTS_FILE XDG_CONFIG_HOME XDG_DATA_HOME
export HOME=$PWD
chmod 711 .
server() { # NAME VERB ARGS...
	jobstack server "$2" --data "$PWD/$1" --client-file "$PWD/$1.cnf" "${@:3}"
}
at_end 'server a stop -q; server b stop -q'
check 'two servers' eval 'server a start -q --memory 32M && server b start -q --memory 32M'
export JOBSTACK_DEFAULTS_FILE=$PWD/a.cnf JOBSTACK_TEST_CNF=$PWD/a.cnf
jobstack init -q
numbered 1 20 | jobstack push -q -s one
printf '/with/a tab\t\n/\xff\xfe\x27\\\n' | jobstack push -q --unique -s two -a -
jobstack-worker -q -s one --slots 1 --max-entries 5 -- true
sql 'SHOW FULL TABLES WHERE table_type="BASE TABLE"' | cut -f1 | grep -v '^jobstack_version$' | sort >tables

# a backup while a worker runs
jobstack-worker -q -s one --slots 1 --grace 1 --lease 1h -- sh -c '[ $JOBSTACK_ENTRY -lt 8 ] || { touch waits; exec sleep 3000; }' 2>worker.err &
worker=$!
check 'a worker runs' wait_for 30 test -e waits
check '... and the database knows' wait_for 30 sh -c 'jobstack status -s one --json | grep -q "\"done\":7,"'
check 'a backup' server a backup one.gz
is '... of mode 600, and nothing beside it' "$(stat -c %a one.gz) $(echo one.gz*)" '600 one.gz'
is '... has each table' "$(zcat one.gz | sed -n 's/^DROP TABLE IF EXISTS \([a-z_]*\);.*/\1/p' | grep -v '^moved_stack$' | sort)" "$(cat tables)"
check '... may be made again' server a backup -q one.gz
echo thesis >thesis
check 'a file that is something else is not replaced' says 1 'is not a backup' server a backup thesis
is '... and is as it was' "$(cat thesis)" thesis
mkfifo fifo fifo.gz.tmp
check 'nor a FIFO' says 1 'fifo exists and is not a backup' timeout 60 jobstack server backup fifo --client-file "$PWD/a.cnf"
check '... nor one where the file is written first' says 1 'fifo.gz.tmp, or it is not a regular file of yours' \
	timeout 60 jobstack server backup fifo.gz --client-file "$PWD/a.cnf"
mkdir small && mount -t tmpfs -o size=4k none small
at_end 'umount small'
check 'a full disk' says 2 'no backup was made: .*: No space left on device' server a backup small/one.gz
is '... leaves nothing' "$(ls small)" ''
check 'an older backup' eval 'mount -o remount,size=1m small && server a backup -q small/one.gz'
cp small/one.gz older.gz
head -c 2000000 /dev/zero >small/more 2>/dev/null
check '... when the disk is full' says 2 'no backup was made: .*: No space left on device' server a backup small/one.gz
check '... stays' cmp older.gz small/one.gz
is '... and nothing else' "$(ls small)" $'more\none.gz'

mkdir fake
cat >fake/mariadb-dump <<'X'
#!/bin/bash
echo "mariadb-dump: Couldn't execute 'select 1': Can't create/write to file '/q/run/#sql-temptable-313a-12-6b.MAI' (Errcode: 122 \"Internal (unspecified) error in handler\") (1)" >&2
exit 2
X
chmod 755 fake/mariadb-dump
{ cat a.cnf; sed -i '/^# data/d' a.cnf; } >as_it_was
check 'the server has no quota for its own work' says 69 'Errcode: 122.*: free space on the server.s disk, or raise its owner.s quota, then repeat the command' \
	env PATH="$PWD/fake:$PATH" jobstack server backup full.gz --client-file "$PWD/a.cnf"
sed -i "s/^echo .*/echo \"ERROR 1226 (42000): User 'x' has exceeded the 'max_user_connections' resource\" >\&2/" fake/mariadb-dump
PATH="$PWD/fake:$PATH" jobstack server backup full.gz --client-file "$PWD/a.cnf" 2>err
like 'an error whose number begins like that of a full quota is another' "$(cat err)" 'ERROR 1226 .*max_user_connections'
unlike '...' "$(cat err)" 'free space|quota'
cat as_it_was >a.cnf
is '... no file is made' "$(echo full.gz*)" 'full.gz*'

# bad input
size=$(stat -c %s one.gz)
head -c $((size - 1)) one.gz >cut1
head -c $((size / 2)) one.gz >cut2
zcat one.gz | head -n -1 | gzip >cut3
: >cut4
for f in cut1 cut2 cut3; do
	check "cut short: $f" says 2 'is not whole' server b restore $f
done
check 'empty' says 2 'is not a backup' server b restore cut4
check 'something else' says 2 'is not a backup' server b restore thesis
check 'a database in use' says 1 '1 workers and pushes are alive in the database jobstack: let them end first' server a restore one.gz

# a server that the client programs do not see, and tables of somebody else
{ cat a.cnf; grep -E '^(port|password|ssl-ca)=' b.cnf; } >mixed.cnf && chmod 600 mixed.cnf
check 'two servers in one option file' says 1 'reach another server' jobstack server backup mixed.gz --client-file "$PWD/mixed.cnf"
b_sql() { JOBSTACK_TEST_CNF=$PWD/b.cnf sql "$@"; }
b_sql 'CREATE TABLE name(x INT)'
check "somebody else's tables" says 1 'has tables, but no stacks' server b restore one.gz
is '... are still there' "$(b_sql 'SELECT COUNT(*) FROM name')" 0
b_sql 'DROP TABLE name'

# a file with commands for the client program, or SQL that reads this host's files: nothing of it is executed
evil() { # LINE WHY: a backup that has this line
	zcat one.gz | LINE=$1 awk '{ print } NR == 3 { print ENVIRON["LINE"] }' | gzip >evil.gz
	check "refused: $1" says "$([[ $1 == LOAD* ]] && echo 69 || echo 2)" "the backup evil.gz can.t be restored: .*: $2" server b restore evil.gz --replace
}
for word in '\!' system; do
	evil "$word touch $PWD/hit" "ERROR.*($word|syntax)"
done
echo 'SELECT 1;' >inner.sql
for word in source '\.' tee '\T' pager '\P cat >'; do
	evil "$word $PWD/inner.sql" 'ERROR'
done
evil "LOAD DATA LOCAL INFILE '$PWD/inner.sql' INTO TABLE jobstack_version(installed) SET version=1;" 'ERROR'
check '... nothing of it was executed' test ! -e hit -a "$(cat inner.sql)" = 'SELECT 1;'
b_sql 'DROP DATABASE jobstack; CREATE DATABASE jobstack'

# restored
check 'restored elsewhere' server b restore -q one.gz
counts() { jobstack status --defaults-file "$1.cnf" --json -s one -s two | grep -o '"\(pushed\|done\|dead\)":[0-9]*' | tr '\n' ' '; }
is '... the same' "$(counts b)" "$(counts a)"
names() { jobstack list --defaults-file "$1.cnf" -s two -t all -o datapath -0 | od -An -tx1; }
is '... to the byte' "$(names b)" "$(names a)"
is '... unique names are still known' "$(printf '/\xff\xfe\x27\\\n' | jobstack push -q --unique -s two --defaults-file b.cnf -a - >/dev/null; counts b)" "$(counts a)"
check '... and the view' test "$(JOBSTACK_TEST_CNF=$PWD/b.cnf sql 'SELECT COUNT(*) FROM JobManagement')" = 22
rm waits
numbered 21 22 | jobstack push -q -s one
jobstack requeue -q -s one -t done >/dev/null
pushed() { jobstack status --defaults-file "$1.cnf" -s one --json | grep -o '"pushed":[0-9]*'; }
check 'a worker is alive: refused' says 1 '1 workers and pushes are alive' server a restore one.gz --replace
is '... the database is as it was' "$(pushed a)" '"pushed":22'
kill -TERM "$worker"
wait "$worker"
check 'its stacks are not deleted unasked' says 1 'has 2 stacks: --replace deletes what it has' server a restore one.gz
check 'set back' server a restore -q one.gz --replace
is '... what came later is gone' "$(pushed a)" '"pushed":20'
jobstack recover -q -s one # what ran at the time of the backup
check '... but kept, in a file that is not replaced while it is read' says 1 'rename a.replaced first: the restore saves the present database there' server a restore a.replaced --replace
mv a.replaced kept.gz
check '... and can be had back' server a restore -q kept.gz --replace
is '... all of it' "$(pushed a)" '"pushed":22'
check 'set back again' server a restore -q one.gz --replace
check 'a restore that is under way, or was cut short' eval "sql 'INSERT INTO jobstack_version VALUES(4294967295,UTC_TIMESTAMP(6))'"
check '... is refused to all' says 69 'a restore of the database is under way, or was cut short.*restore FILE --replace' jobstack status
check '... is not taken for an empty database' says 1 'replace' server a restore one.gz
check '... and can be repeated' server a restore -q one.gz --replace

# a full disk under the server that is filled
awk 'BEGIN { pad = sprintf("%03990d", 0); for (i = 1; i <= 18000; i++) printf "/%s/%06d\n", pad, i }' |
	jobstack push -q -s big --defaults-file b.cnf -a -
check 'a large backup' server b backup -q big.gz
jobstack drop -q -y -s big --defaults-file b.cnf
mkdir tiny && mount -t tmpfs -o size=1g,mode=711 none tiny
at_end 'server tiny/c stop -q; umount tiny'
check 'a server on a small disk' eval 'server tiny/c start -q --memory 32M && jobstack init -q --defaults-file tiny/c.cnf'
numbered 1 3 | jobstack push -q -s one --defaults-file tiny/c.cnf
half_done() { [[ $(JOBSTACK_TEST_CNF=$PWD/tiny/c.cnf sql 'SELECT COUNT(*) FROM jobstack_version WHERE version=4294967295') == 1 ]]; }
end_restore() { # SIGNAL: ends a restore on the way; its exit status
	(exec jobstack server restore big.gz --replace --data "$PWD/tiny/c" --client-file "$PWD/tiny/c.cnf") 2>restore.err &
	local restore=$! status=0
	wait_for 30 half_done && kill "-$1" "$restore"
	wait "$restore" || status=$?
	echo "$status"
}
is 'a restore that is stopped' "$(end_restore TERM)" 143
like '... says so' "$(<restore.err)" 'not restored: the database has again what it had before'
is '... it has' "$(pushed tiny/c)" '"pushed":3'
is 'a restore that is killed' "$(end_restore KILL)" 137
check '... leaves a database that refuses' says 69 'restore FILE --replace' jobstack status --defaults-file tiny/c.cnf
check '... and a file with what it had' server tiny/c restore -q tiny/c.replaced --replace
is '... all of it' "$(pushed tiny/c)" '"pushed":3'
# (the server has taken 64 MB for its own tablespace by now, of which it returns none)
check '... with 50 MB left' mount -o remount,size=$(($(du -sk tiny | cut -f1) + 51200))k tiny
check 'what does not fit' says 69 "not restored: the database has again what it had before.*is full: free space on the server's disk" \
	server tiny/c restore big.gz --replace
is '... all of it' "$(pushed tiny/c)" '"pushed":3'
check '... it balances' jobstack check -q --defaults-file tiny/c.cnf
head -c 400000000 /dev/zero >tiny/more 2>/dev/null
check 'no space for what it had' says 69 'not restored: the database is as it was.*(No space left on device|: free space)' server tiny/c restore one.gz --replace
is '... it is' "$(pushed tiny/c)" '"pushed":3'
rm tiny/more

# shared
check 'an account that may only read' server a share -q --read-only reader.cnf
is '... whose file is for its owner' "$(stat -c %a reader.cnf)" 600
mkdir away && mv reader.cnf reader-ca.pem away/
reader() { JOBSTACK_DEFAULTS_FILE=$PWD/away/reader.cnf "$@"; }
for c in 'status -s one' 'report -s one' 'report --io -s one' 'export -s one' 'list -s one -t all' 'show -s one 1'; do
	check "reads: $c" reader jobstack $c
done
check 'reads: top' reader sh -c 'TERM=xterm jobstack top --help >/dev/null'
for c in 'jobstack push -s one /x' 'jobstack drop -y -s one' 'jobstack pause -s one' 'jobstack history /d/1' 'jobstack-worker -s one -- true'; do
	check "refused: $c" says 77 'may not change anything' reader $c
done
admin() { "$SQL_CLIENT" --defaults-file=a/root.cnf -N -B -e "$1"; }
mkfifo held && exec 7<>held
"$SQL_CLIENT" --defaults-file=away/reader.cnf -N -n jobstack <held >held.out 2>&1 7>&- &
echo 'BEGIN; SELECT "held" FROM stack LOCK IN SHARE MODE; SELECT @@max_user_connections;' >&7
check 'it locks what workers change' wait_for 30 grep -q 20 held.out
ended() { [[ $(admin "SELECT COUNT(*) FROM information_schema.processlist WHERE user='read-reader'") == 0 ]]; }
check '... the server ends the session' wait_for 30 ended
check '... and workers go on' jobstack-worker -q -s one --slots 1 --max-entries 1 -- true
exec 7>&-
wait $!
check 'a wrong name' says 2 'no name for an account' server a share --remove "x'y"
check 'removed' server a share -q --remove reader
check '... for good' says 77 'Access denied' reader jobstack status
check '... and once' says 69 'DROP USER' server a share --remove reader

# upgraded
check 'nothing to upgrade' eval 'server a upgrade 2>&1 | grep -q "nothing to upgrade"'
written_by() { # VERSION: the data say that this server wrote them
	local f
	for f in a/data/*upgrade_info; do printf %s "$1" >"$f"; done
}
old() { written_by 10.5.23-MariaDB; }
server a stop -q
written_by 99.1.2-MariaDB
check 'data of a newer server' says 1 'the data are of MariaDB 99.1.2, and .* is older .*--program' server a start
written_by 8.0.36
check 'data of MySQL' says 1 'has data of MySQL 8.0.36: name its server with --program' server a start
old
check 'data of an older server' says 1 'the data are of MariaDB 10.5.23, and .* is newer .*: `jobstack server upgrade .*`' server a start --memory 32M
upgrade=$(server a start --memory 32M 2>&1 | sed -n 's/.*: `\(.*\)` keeps a copy of the data and starts it$/\1/p')
is '... with what to type' "$upgrade" "jobstack server upgrade --data $PWD/a --client-file $PWD/a.cnf --memory 32M"
printf '#!/bin/bash\n[[ $* == *--version* ]] || exec mariadbd "$@"\necho "mariadbd  Ver 10.5.23-MariaDB for Linux"\n' >older
chmod 755 older
check '... and an older server starts them' server a start -q --memory 32M --program "$PWD/older" --bind 127.0.0.2
printf '#!/bin/bash\n[[ $* != *--version* ]] || exec mariadbd "$@"\nexit 3\n' >bad && chmod 755 bad
check 'a server that does not start' says 69 "data of 10.5.23 are back as they were: .jobstack server start --program $PWD/older. .*ended with status 3" \
	server a upgrade --program "$PWD/bad"
check '... and the copy is no longer one' test ! -e a/data.10.5.23
check '... and the older one starts again' server a start -q --program "$PWD/older"
server a stop -q
check 'an upgrade of a server that can not start here' says 2 '192.0.2.77 .* is not this host' server a upgrade --bind 192.0.2.77
check '... copies nothing' test ! -e a/data.10.5.23
server a start -q --program "$PWD/older"
before=$(counts a)
check 'upgraded' eval "$upgrade -q"
is '... at the same address' "$(grep '^host=' a.cnf)" host=127.0.0.2
is '... it still looks after accounts that may only read' "$(admin 'SELECT @@event_scheduler,COUNT(*) FROM information_schema.events')" $'ON\t1'
check '... the copy is there' test -d a/data.10.5.23/mysql
is '... the data are the same' "$(counts a)" "$before"
check '... and say so' grep -q '^1[01]' a/data/*upgrade_info
old
check 'the copy is not replaced' says 1 'the copy of an earlier upgrade, is there: move it away' server a upgrade

rm -r a/data.10.5.23
before=$(counts a)
check 'a start that fails when the server runs' says 2 'nothing is put back' \
	jobstack server upgrade --data "$PWD/a" --client-file "$PWD/small/a.cnf" --memory 32M
is '... and its data stay' "$(counts a)" "$before"
check '... the copy too' test -d a/data.10.5.23/mysql

# killed when the newer server begins: the data are that one's from then on
server a stop -q
rm -r a/data.10.5.23
old
printf '#!/bin/bash\n[[ $* != *--version* ]] || exec mariadbd "$@"\ntouch %q\nexec sleep 1000\n' "$PWD/run/launched" >slow && chmod 755 slow
mkdir run && chmod 777 run
(exec jobstack server upgrade --data "$PWD/a" --client-file "$PWD/a.cnf" --memory 32M --program "$PWD/slow") 2>/dev/null &
upgrade=$!
check 'the newer server is being started' wait_for 60 test -e run/launched
kill -KILL "$upgrade"
wait "$upgrade"
check '... and dies, and so does the upgrade' kill -KILL "$(sed -n 's/^pid=//p' a/owner)"
now=$(mariadbd --version | sed 's/.*Ver \([0-9.]*\).*/\1/')
check '... an older server is refused' says 1 "the data are of MariaDB $now, and .*/older is older" server a start --program "$PWD/older"
check '... the newer one starts' server a start -q
is '... the data are the same' "$(counts a)" "$before"

# upgraded without mariadb-upgrade
tool=$(readlink -f "$(command -v mariadb-upgrade)")
mount --bind /dev/null "$tool"
check 'mariadb-upgrade is missing' says 0 'tables are still those of an older version: mariadb-upgrade was not found .*; repeat .jobstack server upgrade' \
	server a upgrade
umount "$tool"
is '... it is repeated when it is there' "$(server a upgrade -q 2>&1)" ''

# a still newer server needs a copy of its own, which is the way back
printf '#!/bin/bash\n[[ $* == *--version* ]] || exec mariadbd "$@"\necho "mariadbd  Ver 99.8.1-MariaDB for Linux"\n' >later
chmod 755 later
server a stop -q
check 'a still newer server is refused' says 1 "the data are of MariaDB $now, and .*/later is newer .99.8.1" server a start --program "$PWD/later"
check '... it can be upgraded' server a upgrade -q --program "$PWD/later"
check '... with a copy of its own' test -d "a/data.$now/mysql" -a -d a/data.10.5.23/mysql
server a stop -q
rm -r a/data && mv "a/data.$now" a/data
check 'the way back' server a start -q
is '... the data are the same' "$(counts a)" "$before"

# moved
check 'not to itself' says 2 'a.cnf is the option file of the old server: name that of the new one' server a move a.cnf
check 'workers must have ended' says 1 'workers and pushes are alive in the database jobstack: let them end' server a move b.cnf
jobstack recover -q -s one >/dev/null 2>&1
check '... also those of the other one' says 1 'workers and pushes are alive' server a move b.cnf --replace
jobstack recover -q -s one --defaults-file b.cnf >/dev/null 2>&1
check 'a database in use is not overwritten' says 1 '--replace' server a move b.cnf
sql 'INSERT INTO jobstack_version VALUES(4294967293,UTC_TIMESTAMP(6))'
check 'a move that was cut short' says 69 'repeat `jobstack server move FILE`' jobstack status
check 'moved' eval 'server a move b.cnf --replace >moved.out'
like '... with what to type' "$(cat moved.out)" "export JOBSTACK_DEFAULTS_FILE=$PWD/b.cnf"
is '... the same numbers' "$(jobstack status --defaults-file b.cnf --json -s one | grep -o '"pushed":[0-9]*')" '"pushed":20'
check '... the ledger balances' jobstack check -q --defaults-file b.cnf
check '... the old one refuses' says 69 'was moved to another server' jobstack push -s one /x
check '... to programs that are connected, too' eval '! sql "SELECT 1 FROM stack" 2>/dev/null'
check 'and back' server a restore -q a.moved --replace
check '... the ledger balances' jobstack check -q
finish
