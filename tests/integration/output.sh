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
TMPDIR=$PWD/small exec timeout 300 jobstack-worker -q -s flood --output-limit 1M -- sh -c 'i=0; while [ $i -lt 40 ]; do
	head -c 20000000 /dev/zero || exit 1
	until [ $(stat -f -c %a small) -gt 25600 ]; do sleep 0.05; done # until what is not kept has gone: 100 MB of room
	i=$((i+1))
done; echo; echo end'
X
names flood /1
check 'a command that prints twice the disk' own_mounts bash small.sh
is '... is none the wiser' "$(ledger flood) $(jobstack logs -s flood 1 | tail -1 | tr -d '\0')" '1 0 0 0 0 0 end'
# a full $TMPDIR is the worker's failure, full results pause the stack: neither is an entry's
mkdir full
cat >full.sh <<'X'
mount -t tmpfs -o size=1m none full
echo /only | jobstack push -q -s tmpfull --max-attempts 1
echo alone | jobstack push -q -s tmpfailed --max-attempts 1
printf '%s\n' a b c d | jobstack push -q -s resfull --max-attempts 1
printf '%s\n' a b c d | jobstack push -q -s ownfull --max-attempts 1
mkdir full/inner
head -c 2000000 /dev/zero >full/fill 2>/dev/null
TMPDIR=$PWD/full timeout 60 jobstack-worker -s tmpfull -- sh -c 'echo much || exit 1' - {} 2>tmpfull.err
echo "$?" >>tmpfull.err
timeout 60 jobstack-worker -s resfull --slots 1 -- sh -c 'cp fill.sh "full/inner/$1"' - {} 2>resfull.err
echo "$?" >>resfull.err
timeout 60 jobstack-worker -s ownfull --slots 1 --output 'full/{}' -- head -c 100000 /dev/zero 2>ownfull.err
echo "$?" >>ownfull.err
rm full/*fi*
TMPDIR=$PWD/full timeout 60 jobstack-worker -q -s tmpfailed -- sh -c 'echo "write full/x: No space left on device" >&2; exit 1' - {}
X
head -c 100000 /dev/zero >fill.sh
check 'full disks' own_mounts bash full.sh
like '$TMPDIR is full: the worker says so, and ends' "$(cat tmpfull.err)" "TMPDIR must have space .*/full: No space left on device: the entries are back in the queue.*"$'\n2$'
is '... its entry goes back without cost' "$(ledger tmpfull)" '0 0 1 0 0 0'
like '... the ledger knows why' "$(sql "SELECT w.reason FROM worker w JOIN stack USING(stack_id) WHERE name='tmpfull'")" '/full: No space left on device'
for stack in resfull ownfull; do
	like "$stack: it is paused" "$(cat $stack.err)" "written in $PWD/full.*: No space left on device, so the stack \"$stack\" is paused now.*jobstack resume -s $stack.*"$'\n1$'
	is '... and its entries are there' "$(ledger $stack)" '0 0 4 0 0 0'
	like '... the status names the place' "$(jobstack status -s $stack)" "written in $PWD/full"
done
is 'such words alone are the entry'\''s failure' "$(ledger tmpfailed)" '0 1 0 0 0 0'
numbered 1 1 | jobstack push -q -s notmp
check 'a $TMPDIR that does not exist: /tmp' env TMPDIR="$PWD/gone" jobstack-worker -q -s notmp -- echo
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
# names from the database, which others may write: of a node, and of a file
sql "UPDATE worker JOIN stack USING(stack_id) SET node=CONCAT('n',CHAR(27),'[31m') WHERE name='tails'"
"$JOBSTACK_SOURCE/tests/support/in-pty" --out seen -- env TERM=dumb jobstack logs -s tails 5
like 'on a terminal it is safe' "$(cat seen)" 'on n\\x1b\[31m at .*esc \\x1b\[31mred\\xff'
check '... all of it' sh -c '! grep -q "$(printf "\033")" seen'
is '... in a pipe it is as it was' "$(jobstack logs -s tails 5 --stderr 2>/dev/null | od -c)" "$(printf 'esc \033[31mred\377\n\tb' | od -c)"
mkfifo fifo
for log in "$PWD/fifo" /dev/zero; do
	sql "UPDATE worker JOIN stack USING(stack_id) SET identity=JSON_SET(identity,'\$.log','$log') WHERE name='tails'"
	check "logs does not open $log" says 2 "can't read the output .*$log" timeout 20 jobstack logs -s tails 2 --stdout
done
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

# logs -f, of what is still running
cat >follow.sh <<'X'
: >"runs.$JOBSTACK_ENTRY"
test $1 != /silent || { until test -e follow.silent; do sleep 0.05; done; exit; }
test $1 != /after || { echo after; exit; }
echo out 1
echo err 1 >&2
until test -e follow.go; do sleep 0.05; done
echo out 2
echo err 2 >&2
exit 3
X
names follow /says /silent /after /never
check 'logs -f: one that has not run' says 1 'has not run yet' jobstack logs -s follow -f 1
check 'logs -f: of several' says 2 'follow takes one entry' jobstack logs -s follow -f 1 2
check 'logs -f: of none' says 2 'follow takes one entry' jobstack logs -s follow -f -t dead
worker -s follow --slots 1 --batch 1 --max-entries 3 --output-limit 1K -- sh follow.sh &
check 'one runs' wait_for 20 test -e runs.1
check '... logs prints what there is' eval 'wait_for 20 eval "jobstack logs -s follow 1 2>/dev/null | grep -q out.1"'
check '... and what to type' says 0 'entry 1 is running: `jobstack logs -s follow -f 1` follows' jobstack logs -s follow 1
check '... but of several only that' says 1 '^jobstack logs: entry 1 is running' jobstack logs -s follow 1 2
timeout 300 jobstack logs -s follow -f /says >said 2>said.err &
says=$!
check 'logs -f: what it has printed' wait_for 20 eval 'grep -q "err 1" said.err && grep -q "out 1" said'
is '... each stream by itself' "$(cat said)" 'out 1'
timeout 300 jobstack logs -s follow -f 1 --stderr >said.2 2>/dev/null &
check '... of one stream' wait_for 20 grep -q 'err 1' said.2
touch follow.go
check '... until it ends' wait "$says"
is '... all of it' "$(cat said)" $'out 1\nout 2'
like '... and how it ended' "$(cat said.err)" $'^err 1\nerr 2\n[^\n]*entry 1 attempt 1: exit 3 on [^\n]*: /says$'
check 'the next one runs' wait_for 20 test -e runs.2
timeout 300 jobstack logs -s follow -f 2 >silent 2>&1 &
silent=$!
touch follow.silent
check 'logs -f: what the next command prints is not in it' wait "$silent"
is '...' "$(grep -v 'no output yet' silent)" 'jobstack logs: entry 2 (/silent) printed nothing' # perhaps it had to wait first
wait
is '... the other streams' "$(cat said.2)" $'err 1\nerr 2'
is 'logs -f of what has ended' "$(jobstack logs -s follow -f 3 2>/dev/null)" after

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
# ---- what run and the worker show of the work
cat >work.sh <<'X'
case $1 in
*bad*) sleep 0.1; printf 'bad \033[31mmagic\n\n' >&2; exit 3;;
*hold*) until test -e go; do sleep 0.05; done;;
esac
X
unset NO_COLOR COLUMNS LC_ALL LC_CTYPE
export TERM=xterm LANG=C.UTF-8
shown() { # OUT [STEP...] -- ARGS...: jobstack run with ARGS on a terminal
	local out=$1 steps=()
	shift
	while [[ $1 != -- ]]; do steps+=("$1") && shift; done
	"$JOBSTACK_SOURCE/tests/support/in-pty" --out "$out" "${steps[@]}" -- timeout 300 jobstack run --slots 2 --grace 100 "${@:2}" -- sh work.sh
}
text() { tr -d '\r' <"$1"; }
printf '%s\n' /a /b $'/\e[2Jbad' /hold >some
check 'run on a terminal' fails_with 1 shown pty 'expect=stack "show": 4 files( so far)?, 2 at a time' 'expect=failed.{4}: /\\x1b\[2Jbad \(exit 3: "bad \\x1b\[31mmagic"\) after' \
	'expect=\xe2\x96[\x80-\x95].*2/4 done \(50 %\), .{5}1 failed.{4}, 1 running' 'expect=longest: /hold \([2-9]' 'run=touch go' -- --max-attempts 1 -s show -a some
is '... the picture is gone at the end, and nobody clears the screen' "$(text pty | grep -ac $'\e\[2J') $(text pty | grep -ac '\[J3 done, 1 dead, 0 left')" '0 1'
like '... what failed, and what to type' "$(text pty)" $'1 failed: /.x1b.2Jbad .exit 3: "bad .x1b.31mmagic".\n.*`jobstack logs -s show 3` shows .*\n.*`jobstack requeue -s show` puts it back'
rm go
NO_COLOR=1 LC_ALL=C check 'without colours and UTF-8' fails_with 1 shown plain --size 100x24 'expect=\[#+=+!* *\] 2/4 done' 'run=touch go' -- --bar --max-attempts 1 -s plain -a some
check '... indeed' sh -c "! grep -aE '$(printf '\033')\[3|$(printf '\342')' plain"
TERM=dumb check 'a dumb terminal' fails_with 1 shown dumb -- --max-attempts 1 -s dumb -a some
check '... gets no control characters, but the failure' sh -c "! grep -a '$(printf '\033')' dumb && grep -qaF 'failed: /\x1b[2Jbad' dumb"
rm go
check 'a terminal of one column' fails_with 1 shown narrow --size 1x1 'expect=~.*~' 'run=touch go' -- --max-attempts 1 -s narrow -a some
check '... is not left' sh -c "! grep -aE '~[^$(printf '\r\033')]' narrow"
printf '%s\n' /bad >one
check 'a retry is awaited' fails_with 1 shown retry 'expect=1 waits for the next try, in [1-3] s' -- --max-attempts 2 --retry-delay 3 -s retry -a one
is '... of what failed once, which is told' "$(text retry | grep -ac 'failed, will be tried again.*: /bad')" 1
is '... and the file fails once' "$(text retry | grep -ac 'failed[^,]*: /bad')" 2
rm go
printf '%s\n' /bad /hold >two
check 'a retry is awaited while another file runs' fails_with 130 shown retries 'expect=1 running, 1 to retry' $'send=\003' 'expect=interrupted' 'run=touch go' -- \
	--max-attempts 2 --retry-delay 100 -s retries -a two
rm go
printf '%s\n' /hold1 /hold2 /c >three
check 'Ctrl-C is answered, and so is the second' fails_with 130 shown ctrl 'expect=0/3 done .*2 running' $'send=\003' 'expect=2 commands are running, and may continue for 100 s; Ctrl-C again ends them now' \
	'expect=the same command line continues, and so does `jobstack run -s ctrl`' 'run=sleep 0.3' $'send=\003' 'expect=ending 2 commands' -- -s ctrl -a three
is '... nothing has failed' "$(ledger ctrl)" '0 0 3 0 0 0'
check 'Ctrl-S stops no command' shown stopped 'expect=0/3 done' $'send=\023' 'run=touch go' "run=until jobstack status -s ctrl --json | grep -q '\"done\": *3'; do sleep 0.1; done" \
	$'send=\021' -- -s ctrl -a three
is '--progress=never shows none' "$(jobstack run --progress=never -s never -- true <three 2>&1 >/dev/null | grep -c 'done (')" 0
check '--progress takes' says 2 'progress takes auto, always or never, not "odd"' jobstack run --progress=odd -s never -- true
seq -f /bad/%.0f 7 >seven
like 'many failures: the first are named' "$(jobstack run --max-attempts 1 --slots 7 -s seven -a seven -- sh work.sh 2>&1 >/dev/null)" $'7 failed:\n  /bad/1 .exit 3: .*\n  /bad/5 [^\n]*\n  and 2 more: `jobstack list -s seven -t dead`'
jobstack requeue -q -s seven
like 'a worker counts files, and names them' "$(jobstack-worker -s seven --idle-timeout 0 -- false 2>&1)" $'stack "seven": 7 files, [0-9]+ at a time\n.*: 0 files done, 7 failed in .*: nothing is left\n.*failed: /bad/1 .exit 1.\n.*jobstack list -s seven -t dead'
# ---- --keep-order, --tag, --joblog
cat >order.sh <<'X'
case $1 in
/first) until test -e last; do sleep 0.02; done;;
/again) test "$JOBSTACK_ATTEMPT" = 2 || { echo "failed $1"; exit 1; };;
/last) : >last;;
esac
echo "out $1"
printf 'err %s' "$1" >&2
X
printf '%s\n' /first /again $'/\e[2J' /last >names
is '-k: in the order of the names' "$(jobstack run -q --slots 2 --retry-delay 0 -k -s order -a names --joblog jl -- sh order.sh 2>err)" $'out /first\nout /again\nout /\e[2J\nout /last'
is '... stderr, too, and as it is' "$(cat err)" $'err /firsterr /againerr /\e[2Jerr /last'
is '--joblog: the columns of parallel' "$(head -1 jl)" $'Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand'
is '... a line for each attempt' "$(sed 1d jl | cut -f1,6-8 | sort | tr '\t\n' ' ,')" '1 11 0 0,2 11 0 0,2 14 1 0,3 10 0 0,4 10 0 0,'
like '... with its command, moment and time' "$(grep ^3 jl)" $'^3\t[^\t]+\t[0-9]{10}\\.[0-9]{3}\t +[0-9]+\\.[0-9]{3}\t0\t10\t0\t0\tsh order.sh \\$\'/.033\\[2J\'$'
rm last
is '--tag: the name before each line' "$(jobstack run -q --slots 2 --retry-delay 0 -k --tag -s tag -a names --joblog jl -- sh order.sh 2>err)" $'/first\tout /first\n/again\tout /again\n/\\x1b[2J\tout /\e[2J\n/last\tout /last'
is '... of stderr, too' "$(head -1 err; tail -1 err)" $'/first\terr /first\n/last\terr /last'
is '... and to --joblog it is appended' "$(grep -c Seq jl) $(wc -l <jl)" '1 11'
seq -f '/%.0f' 400 >many
check '-k with many' sh -c 'jobstack run -q -k --slots 8 -s many -a many -- echo | cmp - many'
# -k: a failed entry that another worker may run again holds up nothing
cat >steal.sh <<'X'
case $1 in
/other) until test -e steal.end; do sleep 0.05; done;;
/fails) exit 1;;
/waits) until grep -q two stolen; do sleep 0.05; done;;
*) echo two;;
esac
X
names steal /other
worker -s steal --slots 1 -- sh steal.sh &
other=$!
check 'another worker runs' wait_for 20 ledger_is steal '0 0 0 0 0 1'
printf '%s\n' /fails /two /waits | jobstack push -q -s steal --max-attempts 2 --retry-delay 1000
timeout 300 jobstack-worker -q -s steal --slots 1 --batch 1 --max-entries 3 --idle-timeout 0 -k -- sh steal.sh >stolen
is '-k: what fails, and may run elsewhere, holds up nothing' "$(cat stolen) $(ledger steal)" 'two 2 0 0 1 0 1'
touch steal.end
kill "$other"
wait
# -k: a line without an end, above the display
printf '%s\n' /a >one
check 'the display begins a line of its own' shown eol $'expect=no end\r\n' -- -k -s eol -a one -- printf 'no end'
check '--output is refused with them' says 2 "so --output can't name files" jobstack run -k --output 'o/{#}' -s refused -a names -- true
check 'an unwritable --joblog is refused' says 2 "can't write to --joblog /proc/none/such: No such file" jobstack run --joblog /proc/none/such -s refused -a names -- true
check '... before anything is pushed' says 2 'there is no stack' jobstack status -s refused
head -c 1000 /dev/zero | tr '\0' '\n' >jl.full
check 'a disk that is full later: the work goes on' says 0 "^[^[]*can't write to --joblog jl.full: File too large[^[]*$" bash -c 'ulimit -f 1; exec jobstack run -q --joblog jl.full -s full -a many -- true'
is '... all of it' "$(ledger full)" '400 0 0 0 0 0'
# a disk that is full under -k, for what waits for its turn
cat >hold.sh <<'X'
head -c 60000 /dev/zero | tr '\0' "$JOBSTACK_ENTRY"
test $1 != /1 || until jobstack list -s hold 3 -o outcome | grep -q interrupted; do sleep 0.1; done
X
names hold /1 /2 /3 /4
check '-k and a full disk: told, as the fault of the worker' says 2 "can't hold output for --keep-order in /[^:]*: File too large: the entries are back in the queue" \
	bash -c 'set -o pipefail; (ulimit -f 100; exec timeout 300 jobstack-worker -q -s hold --slots 2 -k -- sh hold.sh) | cat >held'
is '... what was held is printed, and what was not has not run' "$(tr -s 12 <held) $(wc -c <held) $(ledger hold)" '12 120000 2 0 2 0 0 0'
# ... on a disk that is really full
cat >disk.sh <<'X'
test $1 != /1 || until jobstack list -s disk -t all -o outcome | grep -q interrupted; do sleep 0.1; done
head -c 300000 /dev/zero | tr '\0' "$JOBSTACK_ENTRY"
X
mkdir disk
cat >disk.mount <<'X'
mount -t tmpfs -o size=1m none disk
set -o pipefail
TMPDIR=$PWD/disk timeout 300 jobstack-worker -q -s disk --slots 2 --batch 1 -k -- sh disk.sh | cat >disk.out
X
names disk /1 /2 /3 /4 /5 /6
check '... on a full disk, too' says 2 "can't hold output for --keep-order in [^:]*: No space left on device: the entries are back in the queue" own_mounts bash disk.mount
done=$(jobstack list -s disk -t done -o entry)
is '... all of what is done is printed' "$(for e in $done; do tr -dc "$e" <disk.out | wc -c; done | sort -u) $(tr -s 1-6 <disk.out | fold -w1 | sort | uniq -d)" '300000 '
check '... and the rest is in the queue, or has seen the disk itself' audit disk
# ---- the terminal goes away
rm -f go
check 'run ends with its terminal, when its commands have' fails_with 70 shown hangup 'expect=0/3 done .*2 running' gone 'run=touch go' -- -s gone -a three
is '... nothing has failed, nothing runs' "$(ledger gone | cut -d' ' -f2,4-6) $(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='gone' AND outcome<>0")" '0 0 0 0 0'
check '... and so does status -w' fails_with 70 "$JOBSTACK_SOURCE/tests/support/in-pty" --out watched 'expect=gone' gone -- jobstack status -s gone -w 0.1
check '... although SIGHUP is ignored' fails_with 70 "$JOBSTACK_SOURCE/tests/support/in-pty" --out watched 'expect=gone' gone -- sh -c 'trap "" HUP; exec jobstack status -s gone -w 0.1'
finish
