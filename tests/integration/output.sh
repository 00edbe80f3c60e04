#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What commands print: long output is cut in its middle, also while it is being printed; the packed log goes on in new files; the
# end of a failed attempt's stderr is in the database; what goes to files of the entries' own is found again.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

names() { # STACK NAME...: pushed, with one attempt each
	local stack=$1
	shift
	printf '%s\n' "$@" | jobstack push -q -s "$stack" --max-attempts 1 >/dev/null
}
tail_of() { sql "SELECT err_tail FROM attempt JOIN stack USING(stack_id) WHERE name='$1' AND entry_id=$2"; }
places() { sql "SELECT CONCAT_WS(' ',entry_id,COALESCE(log,'-'),COALESCE(log_at,'-'),COALESCE(log_out,'-'),COALESCE(log_err,'-'),
	COALESCE(err_log,'-'),COALESCE(err_at,'-')) FROM attempt JOIN stack USING(stack_id) WHERE name='$1' ORDER BY entry_id"; }

# --output-limit
names limit /1 /2 /3
check '--output-limit' worker -s limit --output-limit 4K --shell -- ': {}; case {#} in 1) seq 10000 99999; seq 1 3 >&2;; 2) echo short;; 3) seq 10000 99999 >&2;; esac'
is 'the first part is kept' "$(jobstack logs -s limit 1 --stdout | head -2)" $'10000\n10001'
is '... and the last' "$(jobstack logs -s limit 1 --stdout | tail -1)" 99999
like '... with a line in between, whole ones around it' "$(jobstack logs -s limit 1 --stdout | grep -v '^[0-9]\{5\}$')" '^\[jobstack: [0-9]+ bytes left out\]$'
is '... that says how many bytes are missing' "$(jobstack logs -s limit 1 --stdout >l; n=$(sed -n 's/.*jobstack: \([0-9]*\) .*/\1/p' l); echo $((n + $(grep -vc jobstack l) * 6)))" 540000
is '... the other stream is by itself' "$(jobstack logs -s limit 1 --stderr)" $'1\n2\n3'
is '... and so is stderr' "$(jobstack logs -s limit 3 --stderr | sed -n '1p;$p')" $'10000\n99999'
is '... what is short is whole' "$(jobstack logs -s limit 2)" short
check 'the log is short' sh -c 'test $(cat jobstack-logs/limit/*.log | wc -c) -lt 10000'
names nolimit /1 /2
check 'none' worker -s nolimit --output-limit none --output-limit none -- sh -c 'seq 1 3000000'
is '... all of it' "$(jobstack logs -s nolimit 1 | wc -c)" 22888896
check 'without a word it is 16M' sh -c 'jobstack requeue -q -s nolimit -t done 2>/dev/null; jobstack-worker -q -s nolimit --shell -- ": {}; seq 1 3000000"'
check '...' sh -c 'n=$(jobstack logs -s nolimit 2 | wc -c); test $n -lt 16777300 -a $n -gt 16760000'
names dash /1
is '--output - is whole' "$(worker -s dash --output - -- sh -c 'seq 1 3000000' | wc -c)" 22888896
names dashcut /1
check '... but with --output-limit' sh -c 'jobstack-worker -q -s dashcut --output - --output-limit 1K --shell -- ": {}; seq 1 3000000" | grep -q "bytes left out"'
names ownfile /1
check 'a file of its own is whole' worker -s ownfile --output 'of/{#}' --output-limit 1K -- sh -c 'seq 1 3000000'
is '...' "$(wc -c <of/1)" 22888896
# a disk much smaller than what is printed
mkdir small
cat >small.sh <<'X'
mount -t tmpfs -o size=400m none small
TMPDIR=$PWD/small exec timeout 300 jobstack-worker -q -s flood --output-limit 1M -- sh -c 'i=0; while [ $i -lt 40 ]; do head -c 20000000 /dev/zero || exit 1; sleep 0.05; i=$((i+1)); done; echo; echo end'
X
names flood /1
check 'a command that prints twice the disk' own_mounts bash small.sh
is '... is none the wiser' "$(ledger flood) $(jobstack logs -s flood 1 | tail -1 | tr -d '\0')" '1 0 0 0 0 0 end'
for bad in 5 1023 x -1 16MB ''; do
	check "--output-limit '$bad'" says 2 'output-limit takes a size of at least 1024 bytes' worker -s limit "--output-limit=$bad" -- true
done
check '--log-size 1' says 2 'log-size takes a size of at least 65536 bytes' worker -s limit --log-size 1 -- true

# --log-size
names rotate /1 /2 /3 /4 /5 /6 /7
check '--log-size' worker -s rotate --log-size 64K --slots 1 --shell -- 'printf "%s\n" {}; head -c 30000 /dev/zero | tr "\0" x'
is 'four files, of two entries each' "$(grep -ac '^==> entry' jobstack-logs/rotate/*.log | cut -d: -f2 | sort | tr '\n' ' ')" '1 2 2 2 '
check '... none of them longer' sh -c 'test $(stat -c %s jobstack-logs/rotate/*.log | sort -n | tail -1) -le 65536'
is '... and each entry is found' "$(for i in 1 2 3 4 5 6 7; do jobstack logs -s rotate $i | head -1; done | tr '\n' ' ')" '/1 /2 /3 /4 /5 /6 /7 '
like '... show names its file' "$(jobstack show -s rotate 5)" 'in .*/jobstack-logs/rotate/[^ ]*\.3\.log at [0-9]'
like '... by JSON, too' "$(jobstack show -s rotate 1 --json)" '"log": ?"[^"]*/jobstack-logs/rotate/[^".]*\.log"'

# the end of stderr
cat >tails.sh <<'X'
case $1 in
/short) echo out; echo first line >&2; echo last line >&2; exit 3;;
/done) echo fine >&2;;
/silent) exit 4;;
/long) seq 10000 19999 >&2; exit 1;;
/odd) printf 'esc \033[31mred\377\n\tb' >&2; exit 1;;
/signal) echo before >&2; kill -SEGV $$;;
esac
X
names tails /done /short /silent /long /odd /signal
check 'failed attempts' worker -s tails --output-limit 2K -- sh tails.sh
is 'the end of stderr is in the database' "$(tail_of tails 2)" 'first line\nlast line\n'
is '... not of what went well, nor nothing' "$(tail_of tails 1) $(tail_of tails 3)" 'NULL NULL'
is '... at most 4 KiB, from the beginning of a line' "$(sql "SELECT CONCAT_WS(' ',LENGTH(err_tail)>900,LENGTH(err_tail)<=4096,LEFT(err_tail,2),RIGHT(err_tail,7)) FROM attempt JOIN stack USING(stack_id) WHERE name='tails' AND entry_id=4")" '1 1 19 \n19999\n'
is '... of what a signal ended' "$(tail_of tails 6)" 'before\n'
is 'list tells it' "$(jobstack list -s tails 2 -o err_tail)" 'first line\x0alast line\x0a'
is '... byte for byte' "$(jobstack list -s tails 5 -0 -o err_tail | od -c | head -2)" "$(printf 'esc \033[31mred\377\n\tb\0' | od -c | head -2)"
like 'show tells it, safe for a terminal' "$(jobstack show -s tails 5)" 'stderr +all of it:.    \| esc \\x1b\[31mred\\xff.    \| \\x09b'
is '... the last lines of many' "$(jobstack show -s tails 4 | grep -c '^    | 1999[0-9]$') $(jobstack show -s tails 4 | grep -c '^    |')" '10 10'
is 'JSON: as text' "$(jobstack show -s tails 2 --json | python3 -c 'import json,sys; o = json.load(sys.stdin); print([o["err_tail"], o["attempts"][0]["err_tail"]])')" "['first line\\nlast line\\n', 'first line\\nlast line\\n']"
is '... or in base64' "$(jobstack show -s tails 5 --json | python3 -c 'import base64,json,sys; o = json.load(sys.stdin); print(base64.b64decode(o["err_tail_base64"]))')" "b'esc \\x1b[31mred\\xff\\n\\tb'"
is '... or null' "$(jobstack list -s tails 1 --json -o entry,err_tail)" "$(jobstack list -s tails 1 --json -o entry,err_tail | grep null)"
mv jobstack-logs/tails gone
check 'logs falls back to it' says 1 'written on .*No such file.*from the database:.first line.last line' jobstack logs -s tails 2
is '... to standard output, if that is asked for' "$(jobstack logs -s tails 2 --stderr 2>/dev/null)" $'first line\nlast line'
check '... and not for stdout' says 2 'No such file' jobstack logs -s tails 2 --stdout
check '... and not of what went well' says 2 'No such file' jobstack logs -s tails 1
names tailed /short
check '--error: the end is that of its file' worker -s tailed --error 'deep/er/{#}.err' -- sh tails.sh
is '...' "$(tail_of tailed 1)" 'first line\nlast line\n'
names taildash /short
check '--output -' sh -c 'jobstack-worker -q -s taildash --output - -- sh tails.sh >dashed 2>&1'
is '... keeps that, and nothing else' "$(tail_of taildash 1) $(places taildash)" 'first line\nlast line\n 1 - - - - - -'
check '... and logs has it' says 1 'only the end of its standard error was kept.*first line' jobstack logs -s taildash 1
names persist /x /y
check 'a persistent command' worker -s persist --persistent --shell -- 'while read -r e a p; do echo "about $p" >&2; echo "failed 3 no"; done'
is '... has one for each answer' "$(tail_of persist 1)$(tail_of persist 2)" 'about /x\nabout /y\n'

# files of the entries' own, and stdout and stderr in different places
both='echo "out $1"; echo "err $1" >&2'
for how in out err both; do
	names "own$how" /1 /2
	case $how in
	out) options=(--output "own/$how/{#}/out") ;;
	err) options=(--error "own/$how/{#}/err") ;;
	both) options=(--output "own/$how/{#}/out" --error "own/$how/{/}/err") ;;
	esac
	check "${options[*]}" worker -s "own$how" "${options[@]}" -- sh -c "$both" sh
	is '... logs has both streams' "$(jobstack logs -s own$how 2 2>err; cat err)" $'out /2\nerr /2'
	is '... and each' "$(jobstack logs -s own$how 1 --stdout) $(jobstack logs -s own$how 1 --stderr)" 'out /1 err /1'
done
is 'the directories are made' "$(cat own/out/1/out own/err/2/err own/both/2/out own/both/2/err)" $'out /1\nerr /2\nout /2\nerr /2'
is 'where both have files, nothing goes to the log' "$(ls -d jobstack-logs/ownboth 2>/dev/null) $(places ownboth | head -1)" ' 1 own/both/1/out 0 7 7 own/both/1/err 0'
like 'show names both places' "$(jobstack show -s ownout 1)" 'output +7 bytes of stdout, in own/out/1/out at 0. +7 bytes of stderr, in .*jobstack-logs/ownout/[^ ]*\.log at [0-9]+'
names ownrotate /1 /2 /3
check 'stderr in a later file of the log' worker -s ownrotate --output 'own/r/{#}' --log-size 64K --slots 1 -- sh -c 'echo "out $1"; head -c 40000 /dev/zero | tr "\0" x >&2; echo " $1" >&2' sh
is '...' "$(jobstack logs -s ownrotate 3 2>&1 | tr -d x)" $'out /3\n /3'
check 'a directory that can not be made is the worker'\''s fault' fails_with 2 worker -s ownrotate2 --error '/proc/nosuch/{#}' -- true
finish
