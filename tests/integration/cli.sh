#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The commands around the queue: pop, close, renew, status, list, show, logs, requeue, pause, resume, run: what they print, each
# exit status, and names of any bytes through all of them.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

push() { local stack=$1; shift; jobstack push -q -s "$stack" "$@" >/dev/null; }
json() { python3 -c 'import json, sys
for line in sys.stdin:
    o = json.loads(line)
    print("\t".join(json.dumps(o[k]) if not isinstance(o[k], str) else o[k] for k in sys.argv[1:]))' "$@"; }

# ---- wrong usage
for c in pop close renew status list show logs requeue pause resume run; do
	check "$c --nosuch" says 2 "jobstack $c: there is no option --nosuch" jobstack $c --nosuch
	like "$c --help" "$(jobstack $c --help)" "^usage: jobstack $c "
done
check 'pop: a word too many' says 2 'unexpected argument' jobstack pop x y
check 'pop: an unknown format' says 2 'shell, json or path0' jobstack pop --format xml
check 'pop: an invalid lease' says 2 'at least 1 s' jobstack pop --lease 0
check 'pop: no such stack' says 2 'there is no stack "nosuch"' jobstack pop -s nosuch
check 'close: no entry' says 2 'name an entry' jobstack close
check 'close: an invalid exit code' says 2 'from 0 to 255' jobstack close 1 --exit 256
check 'close: an invalid attempt' says 2 'from 1 on' jobstack close 1 --attempt 0
check 'list: an unknown state' says 2 '"odd" is not a state' jobstack list -t ready,odd
check 'list: an empty state' says 2 'is not a state' jobstack list -t ''
check 'list: an unknown field' says 2 'unknown field "odd"' jobstack list -o entry,odd
check 'list: a comma too many' says 2 '"" is not a state' jobstack list -t ready,
check 'an empty option file' says 2 '--defaults-file needs a FILE, but got an empty string' jobstack list --defaults-file ''
check 'push: a file of names that is not there' says 2 'can.t read --arg-file "nosuch": No such file' jobstack push -a nosuch
check 'push: two mistakes are one message' prints 2 '' jobstack push --priority x --help
check '...' test "$(wc -l <said)" -eq 1
for option in output error creates chdir log-dir replace defaults-file; do
	check "worker: an empty --$option" says 2 "--$option takes .*, not \"\"" jobstack-worker --$option '' -- true
done
check 'an unknown command' says 2 'there is no command "\\x1b\[31m": see --help' jobstack $'\e[31m'
for w in --help --version 'list --help'; do
	check "a full disk: $w" says 70 '^jobstack[a-z ]*: can.t write the output: [^:]*$' sh -c "jobstack $w >/dev/full"
done
check 'list: -n 0' says 2 'from 1 on' jobstack list -n 0
check 'status: a word is a stack' says 2 'there is no stack "x"' jobstack status x
check 'status: -w x' says 2 'at least 0.1' jobstack status -wx
check 'show: which?' says 2 'name an entry' jobstack show
check 'logs: both of one' says 2 'can.t be used together' jobstack logs 1 --stdout --stderr
check 'requeue: not what runs' says 2 'running entries can.t be requeued.*-t lost' jobstack requeue -t running
check 'requeue: not what is in line' says 2 'only dead, lost, failed, cancelled and done' jobstack requeue -t ready
check 'run: no command' says 2 'no command' jobstack run
check 'status: no stacks yet' says 0 'no stacks yet' jobstack status
check 'a database that is not there' says 69 "can't be reached" jobstack status --defaults-file <(printf '[client]\nhost=127.0.0.1\nport=1\nuser=u\n')
check 'list: all, and others' says 1 'no entry of the stack' sh -c 'jobstack push -q -s p0 /1 >/dev/null; jobstack list -s p0 -t dead,all 999999 2>/dev/null && exit 9; jobstack list -s p0 -t dead,all --match "/2*"'
for c in 'export --format csv' 'pop --format shell' 'pop --format path0'; do
	check "$c --json" says 2 'can.t be used together' jobstack $c --json
done
for w in '/nosuch/*.nc' 'nosuch?.nc'; do
	check "push: $w, which the shell leaves as it is" says 1 'matches no file, so nothing was pushed' jobstack push -s pattern /0 "$w"
done
check '... nothing was' says 2 'there is no stack' jobstack status -s pattern
check 'push: --lifo to a stack that is there' says 0 '--lifo has no effect: the stack "p0" already had 1 entry' jobstack push -s p0 --lifo /2
touch 'a*b'
is '... but a file that is there, a URL, and from a stream any name' \
	"$(jobstack push -s pattern 'a*b' 'http://x/y?z'; echo 'nosuch*' | jobstack push -s pattern)" $'2 pushed\n1 pushed'

# ---- whatever the value of an option is: what it is answered with is one line, not a long one, that no terminal obeys
cruel=$'x\n\t\e[31m\xff\u202e'$(head -c 5000 /dev/zero | tr '\0' y)
answer() { # COMMAND OPTION
	local status=0 call=(jobstack "$1")
	case $1 in
	jobstack-worker) call=(jobstack-worker --dry-run "--$2=$cruel" -- true) ;;
	server) call+=(status "--$2=$cruel") ;;
	submit) call+=(--dry-run --workers 1 "--$2=$cruel" -- true) ;;
	close | renew | show | logs) call+=(1 "--$2=$cruel") ;;
	prune) call+=(-s none --older-than 1d --dry-run "--$2=$cruel") ;;
	*) call+=("--$2=$cruel") ;;
	esac
	timeout 300 "${call[@]}" >/dev/null 2>said </dev/null || status=$?
	((status < 3)) || { echo "status $status"; return 1; }
	((status != 2 || $(wc -l <said) == 1)) || { echo 'not one line'; return 1; }
	(($(wc -c <said) < 1500)) || { echo 'too long'; return 1; }
	! LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f\xff]|\xe2\x80\xae' said || { echo 'not safe to show'; return 1; }
}
answers() {
	local command option n=0 bad=0
	while read -r command option; do
		n=$((n + 1))
		answer "$command" "$option" || { bad=1; echo "^ $command --$option: $(head -c 300 said | cat -v)"; }
	done < <(jobstack --spec | awk -F'\t' '$1 == "command" { c = $2 } $1 == "option" && $4 != "" && c !~ /^(run|init|doctor)$/ { print c, $3 }' | sort -u)
	((n > 100 && bad == 0))
}
check 'cruel values' answers

check 'the newest stack, where there is none' says 2 '@ means your newest stack, and you have none here' sh -c 'jobstack drop -q --yes -s p0 && jobstack drop -q --yes -s pattern && jobstack status @'
check 'no command, but near one' says 2 'no command "stauts" .did you mean .jobstack status.' jobstack stauts
check 'no command, but what others call it' says 2 'did you mean .jobstack drop.' jobstack rm
check 'a command that may mean two things' says 2 'no command "abort": .jobstack kill NAME ENTRY. ends one.*jobstack cancel NAME --all. gives up all.*scancel or kill ends workers' jobstack abort
jobstack push -q -s one /x
jobstack push -q -s two /x
check 'drop of several, and one is missing: none goes' says 2 'there is no stack "twos": did you mean "two"' jobstack drop one twos --yes
check '... all, after one question that names them' eval '"$JOBSTACK_SOURCE/tests/support/in-pty" --out asked expect="y/N" send="n
" -- jobstack drop two one; grep -q "remove the stack \"two\" with its 1 entry .*, the stack \"one\" with its 1 entry .*, and their history. .y/N. n" asked'
is '... status of several' "$(jobstack status -s one two --stack one --json | jq -r .stack)" $'one\ntwo'
like '... in a table' "$(jobstack status two one)" $'\ntwo .*\none '
check '... one of them is not there' says 2 'there is no stack "onn"' jobstack status one onn
check 'drop of two at once' prints 0 $'dropped the stack "one" with 1 entry\ndropped the stack "two" with 1 entry' jobstack drop one two --yes
jobstack push -q -s one /x
jobstack push -q -s two /x
is 'report of several' "$(jobstack report -s one two --json | jq -r .stack)" $'one\ntwo'
is 'wait for several, which have one time' "$(jobstack wait one two --timeout 0 2>/dev/null)" $'one: 0 done, 0 dead, 1 left\ntwo: 0 done, 0 dead, 1 left'
check 'a stack that has nearly this name' says 2 'there is no stack "onee": did you mean "one". .jobstack status. lists' jobstack list -s onee
is 'the newest stack' "$(jobstack status @ --json | jq -r .stack) $(jobstack report one @ --json | jq -r .stack | tr '\n' ' ')" 'two one two '
is '... as the first word, where entries are named' "$(jobstack list @ -t all -o datapath)" /x
is '... in the environment' "$(JOBSTACK_STACK=@ jobstack list -t all -o datapath)" /x
check '... gets one more' says 0 'the stack "two" already had 1 entry: a name that is pushed twice runs twice' jobstack push -s @ /x
check '... of which nothing is said with --unique' prints 0 '0 pushed, 1 skipped (known already)' jobstack push -s @ --unique /x
check '...' test ! -s said
for command in 'drop --yes' 'prune --older-than 0' 'cancel --all'; do
	check "... not what destroys: ${command%% *}" says 2 '@ is not accepted here: name the stack .your newest one is "two"' jobstack ${command%% *} -s @ ${command#"${command%% *}"}
done
check 'no new stack' says 2 "a new stack can't be called \"a,b\": a comma separates names" jobstack push -s a,b /y
for name in @ a,b 17; do
	check "no new stack, where entries move: $name" says 2 "a new stack can't be called \"$name\"" jobstack requeue -s two --to "$name"
	sql "INSERT INTO stack(name,popping_order,created) VALUES('$name',0,UTC_TIMESTAMP(6))"
	is "... but one of before: $name" "$(jobstack push -s "$name" /y && jobstack list -s "$name" -t ready -o datapath)" $'1 pushed\n/y'
	check '... which can go' prints 0 "dropped the stack \"$name\" with 1 entry" jobstack drop -s "$name" --yes
done
check 'pause takes a stack by itself' prints 0 'the stack "one" is paused now: 1 ready, 0 waiting, 0 running' jobstack pause one
check '... and one only' says 2 'the stack is given twice, with "two" and "one"' jobstack pause one -s two
check '... without more words' says 2 'unexpected argument "two"' jobstack resume one two
check 'resume, too' prints 0 'the stack "one" is open again: 1 ready, 0 waiting, 0 running' jobstack resume one
check 'submit, too' says 2 'there is no stack "onn"' jobstack submit onn --workers 1 --dry-run -- true
check 'wait for more stacks than there can be' says 2 'more than 100 stacks' jobstack wait $(seq 101)
for command in 'pause' 'list' 'set max-running=1' 'requeue' 'prune --older-than 0' 'push /y' 'run -- true' 'submit --workers 1 -- true'; do
	# shellcheck disable=SC2086 # words
	check "-s twice: ${command%% *}" says 2 '-s is given twice' jobstack ${command%% *} -s one -s two ${command#"${command%% *}"}
done
check '... jobstack-worker' says 2 '-s is given twice, with "one" and "two"' jobstack-worker -s one -s two -- true
check 'two lists' says 2 '--arg-file is given twice' jobstack push -s one -a /dev/null -a /dev/zero
check 'two option files' says 2 '--defaults-file is given twice' jobstack status --defaults-file=a --defaults-file=b
check 'no command, and near none' says 2 'no command "frobnicate": see' jobstack frobnicate
check 'an option before the command' says 2 'write: jobstack COMMAND -s' jobstack -s a status
like 'help COMMAND' "$(jobstack help wait)" '^usage: jobstack wait '
like '-h' "$(jobstack wait -h)" '^usage: jobstack wait '
check 'no option, but near one' says 2 'no option --unqiue .did you mean --unique' jobstack push --unqiue /x
check 'an option that is short for several' says 2 'the option --max is ambiguous' jobstack push --max 3 /x
check 'an option of others' says 2 'no option --threads .did you mean --slots' jobstack run --threads 4 -- true
check '-j takes a number' says 2 '-j takes a whole number from 1 to 256 .without it: one per CPU., not "many"' jobstack-worker -j many -- true
check 'status: -w and its seconds apart' says 2 '.-w takes a time of at least 0.1 s, not "0.01"' jobstack status one -w 0.01
jobstack status -w 5 one >watched &
watcher=$!
check '... are understood' wait_for 20 grep -q one watched
kill -TERM $watcher
wait $watcher

# ---- pop and close
push a --retry-delay 1h /1 /2 /3 /4 /5
is 'pop prints a line for eval' "$(jobstack pop -s a | sed 's/WORKER=.*/WORKER=/')" \
	"export JOBSTACK_STACK='a' JOBSTACK_ENTRY=1 JOBSTACK_ATTEMPT=1 JOBSTACK_DATAPATH='/1' JOBSTACK_WORKER="
is 'as JSON' "$(jobstack pop -s a --format json | json stack entry attempt datapath lease_seconds)" $'a\t2\t1\t/2\t43200.0'
is 'path0' "$(jobstack pop -s a --format path0 | od -An -tx1 | tr -d ' ')" 2f3300
is 'three are in hand' "$(ledger a)" '0 0 2 0 0 3'
eval "$(jobstack pop -s a)"
is 'the stack, entry and attempt are in the environment' "$JOBSTACK_STACK $JOBSTACK_ENTRY $JOBSTACK_ATTEMPT $JOBSTACK_DATAPATH" 'a 4 1 /4'
check 'close takes them from there' jobstack close
check '... again is harmless' jobstack close
check '... otherwise is not' says 1 'was already closed as done' jobstack close --exit 3
is '... and the first stands' "$(ledger a)" '1 0 1 0 0 3'
unset JOBSTACK_STACK JOBSTACK_ENTRY JOBSTACK_ATTEMPT JOBSTACK_DATAPATH JOBSTACK_WORKER
check 'by number and attempt' jobstack close -s a 1 --attempt 1
check 'by number: the attempt that runs' jobstack close -s a 2
check 'by datapath' jobstack close -s a /3 --exit 75
is '... 75: later, no failure counted' "$(sql "SELECT attempt, fails FROM span JOIN stack USING(stack_id) WHERE name='a' AND class=1")" $'2\t0'
check 'never popped' says 2 'never popped' jobstack close -s a 5
check 'never popped, by attempt' says 2 'never popped' jobstack close -s a 5 --attempt 1
check 'an attempt that never was' says 2 'never popped' jobstack close -s a 1 --attempt 9
check 'no such entry' says 2 'there is no entry' jobstack close -s a 99
check 'no such datapath' says 2 'there is no entry "/99"' jobstack close -s a /99
check 'in nobody'"'"'s hands' says 1 'is not claimed' jobstack close -s a 1
push n 3 /x /y && check 'a number is a number first' prints 0 3 jobstack list -s n 3 -o entry
is '... but a datapath if there is no such entry' "$(push n 17 && jobstack list -s n 17 -o entry,datapath)" $'4\t17'
push close --max-attempts 1 /1 /2
eval "$(jobstack pop -s close)"
jobstack close --exit 255
is 'what failed for the last time is dead, with its code' "$(jobstack list -s close -o entry,state,outcome,exit_code,reason)" \
	$'1\tdead\tfailed\t255\texit 255'
# a script that outlived its lease does not close what somebody else has popped since
push zombie --retry-delay 0 /1
eval "$(jobstack pop -s zombie)"
jobstack close --exit 75
(unset JOBSTACK_ENTRY JOBSTACK_ATTEMPT && jobstack pop -q -s zombie >/dev/null)
check 'an entry that is named again is closed by the attempt that we had' says 1 'already closed' jobstack close "$JOBSTACK_ENTRY"
is '... so the other one still has it' "$(ledger zombie)" '0 0 0 0 0 1'
check 'with the stack named, too' says 1 'already closed' jobstack close -s zombie 1
unset JOBSTACK_STACK JOBSTACK_ENTRY JOBSTACK_ATTEMPT JOBSTACK_DATAPATH JOBSTACK_WORKER

# nothing to pop: why
check 'nothing is ready: waiting' says 1 'nothing is ready: a: 1 is waiting for a retry' sh -c 'jobstack pop -s a >/dev/null 2>&1; jobstack pop -s a'
push fin /1
jobstack pop -q -s fin >/dev/null
check '... running' says 1 'nothing is queued, and 1 still runs: .jobstack status -s fin. shows the workers' jobstack pop -s fin
jobstack close -s fin 1
check '... finished' says 1 'nothing is ready: fin: no entry is left: 1 of 1 is done: .jobstack push -s fin. adds entries' jobstack pop -s fin
check '... with nothing on standard output' prints 1 '' jobstack pop -s fin
check '... and nothing said with -q' says 1 '^$' jobstack pop -q -s fin

# what can't be told is handed back
push out /1
check 'a full disk' says 70 'No space left on device: entry 1 was returned to the queue' sh -c 'jobstack pop -s out >/dev/full'
check 'a closed pipe' says 70 'Broken pipe: entry 1 was returned to the queue' python3 -c '
import os, subprocess, sys
r, w = os.pipe(); os.close(r)
sys.exit(subprocess.run(["jobstack", "pop", "-s", "out"], stdout=w).returncode)'
check 'a closed output' says 70 'nothing was popped' sh -c 'exec jobstack pop -s out >&-'
is '... it is as if it had never been popped' "$(ledger out) $(jobstack pop -s out --json | json entry attempt)" $'0 0 1 0 0 0 1\t1'

# ---- leases
push lease /1 /2
jobstack pop -q -s lease --lease 1 >/dev/null
jobstack pop -q -s lease --lease 5m >/dev/null
check 'renew' jobstack renew -s lease 2 --lease 2h
is '... makes it longer' "$(sql "SELECT MAX(lease_us) DIV 3600000000 FROM worker JOIN stack USING(stack_id) WHERE name='lease'")" 2
check 'what was never popped' says 2 'never popped' jobstack renew -s n 1 --attempt 1
check 'a lease that is over: taken back, after two looks' wait_for 20 sh -c 'jobstack requeue -s lease 2>/dev/null | grep -q "1 recovered"'
is '... and nobody else' "$(ledger lease)" '0 0 1 0 0 1'
check 'its close comes too late' says 1 'is gone' jobstack close -s lease 1 --attempt 1
check 'its renewal, too' says 1 'closed already|is gone' jobstack renew -s lease 1 --attempt 1
is '... the loss is on record' "$(jobstack list -s lease -t lost -o entry,state,outcome,attempt)" $'1\tlost\tlost\t1'
is '... and it is popped again' "$(jobstack pop -s lease --json | json entry attempt)" $'1\t2'
check 'one within its lease is no suspect' prints 0 'nothing to recover: no worker looks dead' jobstack recover -s lease
check 'audit of leases' audit lease

# ---- paused
push pause /1
is 'pause says what it did' "$(jobstack pause -s pause)" 'the stack "pause" is paused now: 1 ready, 0 waiting, 0 running'
like '... again' "$(jobstack pause -s pause)" 'was paused already'
check '... nothing is handed out' says 1 'is paused: .jobstack resume -s pause' jobstack pop -s pause
is '... status tells' "$(jobstack status -s pause --json | json state)" paused
is 'resume' "$(jobstack resume -s pause --json)" '{"stack":"pause","state":"open","changed":true}'
check '... goes on' jobstack pop -s pause
check 'no such stack' says 2 'there is no stack' jobstack pause -s nosuch

# ---- names of any bytes
python3 - <<'P' >odd
import sys
names = [b"/new\nline", b"/'quote'", b"/''", b'/"double"', b"/100%", b"/back\\slash", b"/\xff\xfe\x80", b"-leading", b"--", b"- x",
         b"/" + bytes(range(1, 256)), b"/$(touch bad)`touch bad`;touch bad", b"/end\n", b"/tab\there", "/äöü€𝄞".encode()]
sys.stdout.buffer.write(b"".join(n + b"\0" for n in names))
P
count=$(tr -cd '\0' <odd | wc -c)
for shell in bash sh; do
	jobstack push -q -0 -s "odd-$shell" -a odd >/dev/null
	cat >loop <<'S'
while job=$(jobstack pop -q -s "$1"); do
	eval "$job"
	python3 -c 'import os; os.write(1, os.environb[b"JOBSTACK_DATAPATH"] + b"\0")' >>"$1.out"
	jobstack close || exit
done
S
	check "$shell: the loop of pop, eval and close" timeout 300 $shell loop "odd-$shell"
	check '... each name byte for byte' cmp odd "odd-$shell.out"
	is '... all closed' "$(ledger "odd-$shell")" "$count 0 0 0 0 0"
done
jobstack push -q -0 -s odd -a odd >/dev/null
check 'list -0' cmp odd <(jobstack list -s odd -t ready -0)
check 'list -0 with fields' test "$(jobstack list -s odd -t ready -0 -o entry,datapath | tr -cd '\0' | wc -c)" -eq "$count"
is 'as text each is one line' "$(jobstack list -s odd -t ready -o datapath | wc -l)" "$count"
is '... which shows what it can' "$(jobstack list -s odd -t ready -o datapath | sed -n '1p;6p;7p;15p')" \
	$'/new\\x0aline\n/back\\x5cslash\n/\\xff\\xfe\\x80\n/äöü€𝄞'
check '... without a control character' python3 -c '
import subprocess
for o in ["-odatapath", "-tready"]:
    t = subprocess.run(["jobstack", "list", "-s", "odd", "-t", "ready", o], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert not [c for c in t if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)], t'
cat >decode.py <<'P'
import base64, json, sys
def name(o): return base64.b64decode(o["datapath_base64"]) if "datapath_base64" in o else o["datapath"].encode()
sys.stdout.buffer.write(b"".join(name(json.loads(l)) + b"\0" for l in sys.stdin))
P
check 'list --json' cmp odd <(jobstack list -s odd -t ready --json | python3 decode.py)
check 'path0' cmp odd <(for ((i = 0; i < count; i++)); do jobstack pop -s odd --format path0; done)
jobstack push -q -0 -s odd2 -a odd >/dev/null
check 'pop --json' cmp odd <(for ((i = 0; i < count; i++)); do jobstack pop -s odd2 --json; done | python3 decode.py)
check 'each is found by its datapath' python3 -c '
import subprocess
for i, n in enumerate(open("odd", "rb").read().split(b"\0")[:-1]):
    out = subprocess.run([b"jobstack", b"list", b"-s", b"odd", b"-o", b"entry", b"--", n], stdout=subprocess.PIPE, check=True).stdout
    assert int(out) == i + 1, (out, n)
    subprocess.run([b"jobstack", b"close", b"-s", b"odd", b"--", n], check=True)'
is '... and closed by it' "$(ledger odd)" "$count 0 0 0 0 0"
check 'nothing of a name was run' test ! -e bad

# ---- status
push st /1 /2 /3 /4 /5 /6
jobstack pop -q -s st >/dev/null && jobstack close -s st 1
jobstack pop -q -s st >/dev/null && jobstack close -s st 2 --exit 1
jobstack pop -q -s st >/dev/null
is 'status --json' "$(jobstack status -s st --json | json stack state pushed ready waiting held running 'done' dead cancelled workers eta_seconds)" \
	$'st\topen\t6\t3\t1\t0\t1\t1\t0\t0\t1\tnull'
is '... of all stacks: an object a line' "$(jobstack status --json | json stack | sort)" "$(sql 'SELECT name FROM stack' | sort)"
is '... balances' "$(jobstack status --json | python3 -c '
import json, sys
for l in sys.stdin:
    o = json.loads(l)
    if o["pushed"] != sum(o[k] for k in "ready waiting held running done dead cancelled".split()): print(l)')" ''
like 'the table' "$(jobstack status)" $'STACK +STATE +PROGRESS +% +PUSHED.*\nst +open +\\[#==       \\] +16.7 % +6 +3 +1 +1 +1 +0 +1 '
like 'one in detail' "$(jobstack status -s st)" $'pushed +6\ndone +1 \(16.7 %\)\nrunning +1 .*waiting +1 \(the next is due .*WORKER +NODE.*LEASE.* 12 h'
is 'JOBSTACK_STACK' "$(JOBSTACK_STACK=st jobstack status --json | json stack)" st
check 'no such stack' says 2 'there is no stack' jobstack status -s nosuch
check '--exit-code: unfinished' fails_with 1 jobstack status -s st --exit-code
check '--exit-code: dead' fails_with 1 jobstack status -s close --exit-code
check '--exit-code: done' jobstack status -s odd --exit-code
jobstack status -s st -w0.1 >watched &
watcher=$!
check '-w: again and again' wait_for 20 sh -c 'test $(grep -c ^pushed watched) -ge 3'
kill -TERM $watcher
status=0
wait $watcher || status=$?
is '... until a signal' "$status" 143
check '... with no control characters into a file' sh -c '! grep -q "$(printf "\033")" watched'

# ---- list
is 'running and dead is the default' "$(jobstack list -s st -o entry,state,attempt,node | cut -f1-3)" $'3\trunning\t1'
is 'states' "$(jobstack list -s st -t waiting,done -o entry,state,exit_code | tr '\n' ' ')" $'2\twaiting\t1 1\tdone\t0 '
is 'all' "$(jobstack list -s st -t all -o entry | sort | tr '\n' ' ')" '1 2 3 4 5 6 '
is '-n' "$(jobstack list -s st -t ready -n 2 -o entry | tr '\n' ' ')" '4 5 '
is 'named ones, in whatever state' "$(jobstack list -s st /5 3 5 -o entry,state | tr '\n' ' ')" $'5\tready 3\trunning '
check 'nothing matches' says 1 'no entry of the stack "st" is in these states' jobstack list -s st -t dead
check 'an entry that is not there' says 2 'there is no entry' jobstack list -s st 99
check 'no such stack' says 2 'there is no stack' jobstack list -s nosuch
is 'JSON has the promised keys' "$(jobstack list -s st -t done --json | json entry datapath state attempt outcome exit_code signal reason)" \
	$'1\t/1\tdone\t1\tdone\t0\tnull\tnull'
like '... and times in ISO 8601' "$(jobstack list -s st -t done --json | json node worker started ended seconds)" \
	$'^[^\t]+\t[0-9]+\t[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{6}Z\t[0-9T:.-]+Z\t[0-9.e-]+$'
like 'the table' "$(jobstack list -s st -t done)" $'ENTRY STATE.*\n +1 done +1 done .* /1$'
check 'a closed pipe is no message' says 70 '^$' python3 -c '
import os, subprocess, sys
r, w = os.pipe(); os.close(r)
sys.exit(subprocess.run(["jobstack", "list", "-s", "st", "-t", "all"], stdout=w).returncode)'
check 'a full disk is one' says 70 'No space left' sh -c 'jobstack list -s st -t all >/dev/full'

# ---- show, logs, and the line by hand
mkdir w
push log --max-attempts 2 --retry-delay 0 "/it's" $'/a\nb' /quiet
(cd w && worker -s log --shell -- 'echo "out of "{}; echo "err $JOBSTACK_ATTEMPT" >&2; test "$JOBSTACK_ENTRY" != 1')
is 'logs: both streams' "$(jobstack logs -s log 1 2>err) $(cat err)" "out of /it's err 2"
is 'logs: of an attempt' "$(jobstack logs -s log 1 --attempt 1 2>&1 >/dev/null)" 'err 1'
is 'logs: only one' "$(jobstack logs -s log 1 --stdout 2>&1) $(jobstack logs -s log 1 --stderr)" "out of /it's err 2"
is 'logs: by datapath' "$(jobstack logs -s log $'/a\nb' --stdout)" $'out of /a\nb'
is 'logs: by the end of a name' "$(jobstack logs -s log $'a\nb' --stdout)" $'out of /a\nb'
push ends <<<$'/x/[a]*b.nc\n/y/c.nc\n/z/c.nc' && (cd w && worker -s ends -- echo)
is '... whatever is in it' "$(jobstack logs -s ends '[a]*b.nc')" '/x/[a]*b.nc'
check '... of which there are two' says 2 'several entries of the stack "ends" have a name that ends with "/c.nc"' jobstack logs -s ends c.nc
is '... but one in this directory' "$(jobstack logs -s ends ./y/c.nc)" '/y/c.nc'
jobstack push -q -s rel r/d.nc >/dev/null
like '... an absolute name of a relative one' "$(jobstack show -s rel "$PWD/./r/d.nc" 2>&1)" 'r/d.nc'
check '... which has to be that one' says 2 'there is no entry "/r/d.nc"' jobstack show -s rel /r/d.nc
check '... or none' says 2 'there is no entry "\.nc"' jobstack show -s ends .nc
is 'logs: of several' "$(jobstack logs -s log 3 1 --stdout 2>/dev/null | sed 's/ on .* at [^ ]*Z:/ ...:/')" "==> entry 1 attempt 2: exit 1 ...: /it's
out of /it's

==> entry 3 attempt 1: done ...: /quiet
out of /quiet"
is 'logs: by state' "$(jobstack logs -s log -t dead --stderr)" 'err 2'
is '... and by other options' "$(jobstack logs -s log -t all --match '/q*' --stdout; jobstack logs -s log 1 2 --exit 1 --stdout)" $'out of /quiet\nout of /it\'s'
check '... of which there is none' says 1 'no entry of the stack "log" matches' jobstack logs -s log -t lost
check '... which is nonsense' says 2 '"odd" is not a state' jobstack logs -s log -t odd
is '... nothing is selected: the dead entries' "$(jobstack logs -s log 2>&1)" "$(jobstack logs -s log -t dead 2>&1)"
jobstack push -q -s fine /1 >/dev/null
worker -s fine -- true
check '... of which there are none' says 1 'no entry of the stack "fine" is dead; --all prints' jobstack logs -s fine
"$JOBSTACK_SOURCE/tests/support/in-pty" --out seen -- env TERM=xterm JOBSTACK_PAGER='sed "s/^/paged: /"' jobstack logs -s log 1
like 'logs: a terminal gets a pager, with a head and both streams' "$(tr -d '\r' <seen)" $'paged: .*==> entry 1 attempt 2: exit 1 .*\npaged: out of /it.s\npaged: err 2'
check '... which may end early' "$JOBSTACK_SOURCE/tests/support/in-pty" --out seen -- env TERM=xterm JOBSTACK_PAGER=true jobstack logs -s log -t all
check 'logs: an attempt that never was' says 2 'has no attempt 7' jobstack logs -s log 1 --attempt 7
check 'logs: an entry that never was' says 2 'there is no entry' jobstack logs -s log 99
check 'logs: one that has not run' says 1 'has not run yet' jobstack logs -s st 6
check 'logs: nothing was kept' says 1 'was kept' jobstack logs -s st 1
push mute /1
(cd w && worker -s mute -- true)
check 'logs: nothing was printed' says 0 'printed nothing' jobstack logs -s mute 1
push own /1
(cd w && worker -s own --output 'o/{#}' -- echo)
is 'logs: from a file of its own, by a relative name' "$(jobstack logs -s own 1)" /1
text=$(jobstack show -s log 1)
like 'show: the entry' "$text" $'^entry +1\ndatapath +/it.s\nstate +dead\n'
like 'show: its attempts' "$text" $'attempt 1: failed: exit 1\n.*when.*where.*used +CPU .*output +13 bytes of stdout, 6 of stderr.*attempt 2: failed'
like 'show: the worker' "$text" 'cwd +[^ ]*/w.*jobstack-worker -q -s log --shell -- '
is 'show: the line by hand does it again' "$(eval "$(jobstack show -s log 1 | sed -n 's/^  cd /cd /p')" 2>&1)" $'out of /it\'s\nerr 2'
is '... for a name with a newline, too' "$(eval "$(jobstack show -s log 2 | sed -n 's/^  cd /cd /p')" 2>&1)" $'out of /a\nb\nerr 1'
is 'show --json' "$(jobstack show -s log 1 --json | python3 -c '
import json, sys
o = json.load(sys.stdin)
print(o["entry"], o["state"], o["attempt"], o["outcome"], [(a["attempt"], a["exit_code"], a["log_out"]) for a in o["attempts"]], o["attempts"][0]["argv"][-2])')" \
	'1 dead 2 failed [(1, 1, 13), (2, 1, 13)] --'
like 'show: one that has not run' "$(jobstack show -s st 6)" $'state +ready\n\nit has not run yet'
like 'show: one that runs' "$(jobstack show -s st /3)" $'state +running\n\nattempt 1: running\n  when .*, for .* now'
check 'show: no such entry' says 2 'there is no entry' jobstack show -s log 99
rm -rf w/jobstack-logs
check 'logs: the file is gone: where it was' says 2 "can.t read the output of attempt 2 of entry 1 \\(/it.s\\) in [^ ]*/w/jobstack-logs/log/[^ ]*, written on .*No such file" jobstack logs -s log 1 --stdout
check '... and the end of what the database has' says 1 "can.t read the output of attempt 2 of entry 1 .* in [^ ]*/w/jobstack-logs/log/[^ ]*, written on .*No such file.*from the database:.err 2" jobstack logs -s log 1

# ---- requeue
numbered 1 400 | jobstack push -q -s re --max-attempts 1 >/dev/null
worker -s re -- sh -c 'test "$JOBSTACK_ENTRY" = 1'
is 'many are dead' "$(ledger re)" '1 399 0 0 0 0'
check 'a dry run' prints 0 '399 would be requeued' jobstack requeue -s re --dry-run
is '... changes nothing' "$(ledger re)" '1 399 0 0 0 0'
check 'a named one' prints 0 '1 requeued' jobstack requeue -s re 400
for i in 1 2 3; do jobstack requeue -s re --json >re.$i 2>&1 & done
wait
is 'three at once' "$(ledger re)" '1 0 399 0 0 0'
check 'audit' audit re
check 'nothing is left to requeue' prints 1 '0 requeued' jobstack requeue -s re
like '... what to do is said' "$(cat said)" 'in these states: see .jobstack status -s re.'
check 'a state for an entry' says 2 'no entry "dead" in the stack "re": .jobstack list -s re -t all. .*use -t' jobstack requeue -s re dead
check 'a stack for an entry' says 2 'name an entry' jobstack show re
check 'in line already: refused' prints 1 '0 requeued, 1 refused' \
	jobstack requeue -s re 400
check 'named ones that are not there' says 2 'there is no entry "nosuch"' jobstack requeue -s re nosuch 1
is '... the others are requeued' "$(ledger re)" '0 0 400 0 0 0'
worker -s re -- true
is 'all are done now' "$(ledger re)" '400 0 0 0 0 0'
check 'done ones' prints 0 '{"stack":"re","requeued":400,"taken_back":0,"refused":0,"missing":0,"dry_run":false}' jobstack requeue -s re -t 'done' --json
is '... their history is kept' "$(jobstack show -s re 2 --json | python3 -c 'import json, sys; print([a["outcome"] for a in json.load(sys.stdin)["attempts"]])')" "['failed', 'done']"
jobstack pop -q -s re >/dev/null
check 'a running one is refused' prints 1 '0 requeued, 1 refused' jobstack requeue -s re 1
like '... which is said of it' "$(cat said)" '^jobstack requeue: entry 1 \(.*\) is refused: it is running$'
check 'audit again' audit re
check 'no such stack' says 2 'there is no stack' jobstack requeue -s nosuch

# ---- run
mkdir r
cd r || exit
numbered 1 20 >names
cat >cmd <<'S'
#!/bin/sh
echo "did $1" && test ! -e fail."${1##*/}"
S
chmod +x cmd
like 'run' "$(timeout 300 jobstack run --slots 2 -- ./cmd <names 2>err)" '^20 done, 0 dead, 0 left in '
stack=$(sed -n 's/.*run: stack "\([^"]*\)".*/\1/p' err)
is '... which is called after the command' "$stack" cmd-1
is '... says its stack' "$(ledger "$stack")" '20 0 0 0 0 0'
like '... and where the output lies' "$(cat err)" "output is in jobstack-logs/$stack"
is '... indeed' "$(cat "jobstack-logs/$stack"/*.log | grep -c '^did /d/')" 20
numbered 1 30 >names
like 'again, with more names: only those' "$(timeout 300 jobstack run --slots 2 -- ./cmd <names 2>err)" '^10 done, 0 dead, 0 left in '
like '... the others are counted' "$(cat err)" "the stack already had 20 of these names; .jobstack requeue -s $stack -t done. runs them again"
like '... {} at the end is the same command' "$(timeout 300 jobstack run -- ./cmd {} <names 2>&1)" "stack \"$stack\""
check 'nothing new' timeout 300 jobstack run -q --slots 2 -- ./cmd <names
check 'empty input: what there is' timeout 300 jobstack run -q -- ./cmd </dev/null
check 'empty input and no stack' says 1 'nothing to do' jobstack run -- ./cmd other </dev/null
cpus() { env -u SLURM_CPUS_PER_TASK "$@" jobstack run -v -s cpus -- true </dev/null 2>&1; }
jobstack push -q -s cpus /1 >/dev/null
like 'slots: one per CPU' "$(cpus taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')")" ' 1 slot: one per CPU'
touch fail.3
tr '\n' '\0' <names >names0
check 'something is dead: status 1' fails_with 1 timeout 300 jobstack run -q -s dead --fatal-exit 1 -0 -a names0 -- ./cmd
is '... the rest is done' "$(ledger dead)" '29 1 0 0 0 0'
rm fail.3
jobstack requeue -q -s dead
check 'mended: it goes on' timeout 300 jobstack run -q -s dead --fatal-exit 1 -0 -a names0 -- ./cmd
is 'as JSON' "$(timeout 300 jobstack run --json -s js -a names -- ./cmd 2>/dev/null | json stack pushed 'done' dead left)" $'js\t30\t30\t0\t0'
check 'a command that is not there: as the worker says' says 2 "can't run nosuchcommand" timeout 300 jobstack run -s nocmd -a names -- nosuchcommand
check 'a value that is not one' says 2 '-j takes' timeout 300 jobstack run -s nocmd --slots many -a names -- ./cmd
check '... before anything is pushed' says 2 'there is no stack' jobstack status -s nocmd
check '... and it goes on' timeout 300 jobstack run -q -s nocmd -a names -- ./cmd
check 'a bad name: the others are run' says 1 'line 2 was refused: it is 32769 bytes' timeout 300 jobstack run -s bad -- ./cmd \
	<<<"/1"$'\n'"/$(printf '%032768d' 0)"$'\n'"/3"
is '... ' "$(ledger bad)" '2 0 0 0 0 0'
is '$JOBSTACK_STACK is not asked' "$(JOBSTACK_STACK=own jobstack run -a names -- ./cmd 2>&1 >/dev/null | sed -n 's/.*stack "\(.*\)":.*/\1/p')" cmd-1
# one stack per command, directory and OS user
for i in 1 1 2 2 3 3; do timeout 300 jobstack run -q -- ./cmd "race $i" {} <<<"/$i" 2>>race.err & done
wait
is 'six at once, of three commands: three stacks' "$(cat race.err; sql "SELECT name,pushed FROM stack WHERE name LIKE 'cmd-%' ORDER BY 1")" $'cmd-1\t30\ncmd-2\t1\ncmd-3\t1\ncmd-4\t1'
mkdir -p 'a b' && ln -s ../cmd 'a b/-,c:d e'
like 'a name that can be typed' "$(timeout 300 jobstack run './a b/-,c:d e' ::: /1 2>&1)" 'stack "a-1"'
like '... for --shell' "$(timeout 300 jobstack run --shell -- 'test -n {}' <<<x 2>&1)" 'stack "test-1"'
sql "UPDATE stack SET origin=UNHEX(SHA2(CONCAT('somebody',CHAR(0),'$PWD',CHAR(0),'./cmd',CHAR(0),'own'),256)) WHERE name='test-1'"
like 'the stack of another user for the same line is left alone' "$(timeout 300 jobstack run ./cmd own ::: /1 2>&1)" 'stack "cmd-5"'
like '-s and another command' "$(timeout 300 jobstack run -s js -a names -- ./cmd x 2>&1)" 'the stack already had 30 of these names; .jobstack requeue -s js -t done. runs them again'
jobstack push -q -s limited /1 /2
like 'what is left counts for --max-entries, too' "$(timeout 300 jobstack run -s limited --jobs 1 --max-entries 1 ./cmd ::: /3 2>&1)" "the stack has 2 entries left from before: --max-entries counts .*1 done, 0 dead, 2 left"
# a file of command lines (more in lists.sh)
printf 'echo 1 >>ran\n# no\necho 2 >>ran; true\necho 1 >>ran\n' >tasks.txt
like 'run --commands' "$(timeout 300 jobstack run --commands -a tasks.txt 2>&1)" '3 done, 0 dead'
like '... the file has a stack' "$(timeout 300 jobstack run --commands -a tasks.txt 2>&1)" 'stack "tasks.txt-1".*0 done'
is '... each line ran once' "$(sort ran)" $'1\n1\n2'
is '... lines on the command line' "$(jobstack run --dry-run --commands ::: 'ls *.nosuch' 'a | b')" $'bash -c \'ls *.nosuch\'\nbash -c \'a | b\''
check '... and a CMD' says 2 'there is no CMD: name the file of command lines with -a, as in -a tasks.txt' jobstack run --commands tasks.txt
# files on the command line: standard input is left alone
mkdir few && touch few/a.nc 'few/b c.nc'
check 'files behind :::' sh -c 'echo other | { timeout 300 jobstack run -q -s few ./cmd {} {/.} ::: few/*.nc && cat >rest; }'
is '... each' "$(jobstack list -s few -t done -o datapath)" $'few/a.nc\nfew/b c.nc'
is '... the input is still there' "$(cat rest)" other
is '... before --' "$(timeout 300 jobstack run -s few few/*.nc other -- ./cmd {} {/.} 2>/dev/null | cut -d, -f1)" '1 done'
combined() { jobstack run --dry-run "$@" </dev/null | tr '\n' '|'; }
line=$(jobstack run --dry-run -- ./cmd 'x y' ::: a 'b c' ::: 1 2 2>&1) || true
like 'several lists are refused, with a line for all combinations' "$line" 'only one list .:::. can be given; for all combinations, type:'
is '... which can be typed' "$(bash -c "${line##*:}" | tr '\n' '|')" "./cmd 'x y' a 1|./cmd 'x y' a 2|./cmd 'x y' 'b c' 1|./cmd 'x y' 'b c' 2|"
check '... placeholders' says 2 "done \| jobstack run --dry-run --colsep '.t' -- echo '\{2\}-\{1/\}' x"$'\n*$' jobstack run --dry-run echo '{2}-{1/}' x ::: d/a ::: 1 2
for list in ':::+ a' '::: a :::: b' '::: a ::: b :::+ c'; do
	# shellcheck disable=SC2086 # words
	check "... $list" says 2 'one list .* and use -a FILE --colsep' jobstack run --dry-run echo $list
done
check 'a placeholder of GNU parallel' says 2 '=} is a placeholder of GNU parallel .* -I WORD' jobstack run --dry-run echo '{= s/a/b/ =}' ::: a
is '... as text' "$(combined -I W echo {-1} W ::: a)" "echo '{-1}' a|"
is '--dry-run: as the options say' "$(printf '1,2\0' | jobstack run --dry-run --defaults-file nosuch -0 --colsep , -- ./cmd {2} {#})" './cmd 2 1'
check '... a command that is not there' says 2 "can't run ./nosuch" jobstack run --dry-run ./nosuch ::: a
check '... a bad name' says 1 'line 2 was refused' sh -c 'printf "a\nb\0c\n" | jobstack run --dry-run -- ./cmd'
# two entries, one result: refused before anything starts
results() { timeout 300 jobstack run -s clash "$@" --shell -- 'touch clash.ran; mkdir -p made/{//}; echo >made/{/.}.nc; echo >made/{}.nc'; }
printf '%s\n' d1/x.dat d1/y.dat d2/x.dat >clashing
check 'two entries, one --output' says 2 '"d1/x.dat" and "d2/x.dat" both have --output "res/x.dat.out".*use --output=.res/\{/}-\{#}.out.' results --output 'res/{/}.out' -a clashing
check '... one --creates' says 2 'both have --creates "made/x.nc".*use --creates=.made/\{/\.}-\{#}.nc., and let the command' results --creates 'made/{/.}.nc' </dev/null
check '... one --error' says 2 'both have --error "x.dat"' results --error '{/}' </dev/null
check '... of a command with -I' says 2 'both have --creates "x.dat-\{}"' results -I @ --creates '{/}-{}' </dev/null
check '... one file for all' says 2 '"d1/x.dat" and "d1/y.dat" both have --creates "made".*use --creates=.made-\{#}.' results --creates made </dev/null
check '... by submit' says 2 '"d1/x.dat" and "d2/x.dat" both have --output "x.dat"' jobstack submit clash --workers 1 --dry-run --output '{/}' -- true
check '... nothing has run' test ! -e clash.ran -a ! -e res -a ! -e jobstack-logs/clash
is '... the names are there' "$(ledger clash)" '0 0 3 0 0 0'
check '... a template that works' results -q --output 'res/{//}/{/}.out' --creates 'made/{}.nc' </dev/null
is '... runs them' "$(ledger clash) $(ls res/d1 res/d2 | tr '\n' ' ')" '3 0 0 0 0 0 res/d1: x.dat.out y.dat.out  res/d2: x.dat.out '
check 'an extension is part of the name' says 2 'both have --creates "d/x.png".*use --creates=.\{\.}-\{#}.png.' jobstack run -s clash2 --creates '{.}.png' true ::: d/x.dat d/x.txt
printf '/d/x\n/d/x\n/e/y\n' | jobstack push -q -s same >/dev/null
check 'the same name twice is no clash' worker -s same --dry-run --output '{/}' -- true
check 'nor are names without a common result' timeout 300 jobstack run -q -s noclash --output 'noclash/{/}' true ::: 'd1/x y' d2/y
check 'an empty list' says 1 'nothing to do: no names were given' jobstack run -s none ./cmd :::
check 'a pattern without a match' says 1 'matches no file' jobstack run -s none ./cmd ::: 'few/*.hdf'
check 'files and -a' says 2 'not from both' jobstack run -s none -a names ./cmd ::: a
check 'files, and no command' says 2 'there is no command to run' jobstack run few/a.nc --
check 'options behind files' says 2 'options go before the files: -j' jobstack run few/a.nc -j 2 -- ./cmd
for w in './cmd -- {}' 'cp -- {} x' './cmd x -- -y'; do
	# shellcheck disable=SC2086
	check "a command with a -- in it: $w" says 2 'the command, or a file' jobstack run $w
done
jobstack run -q -s few --max-attempts 1 --retry-delay 7s ./cmd ::: other
like 'the policy of a stack' "$(jobstack status -s few --json)" '"max_attempts": ?1,.*"retry_delay_seconds": ?7'
check '... no other values' says 2 'retry-delay takes a duration' jobstack run --retry-delay x -- ./cmd
check '... ' says 2 'max-attempts takes a whole number from 1' jobstack run --max-attempts 0 -- ./cmd
like '... files of earlier runs are told of' "$(jobstack run -s few ./cmd ::: more 2>&1)" 'this adds to the stack "few" of earlier runs \([0-9]+ done, [0-9]+ dead, 0 left\); -s NAME'
check 'files without :::' says 1 'the input is empty.*put ::: before them: .jobstack run ./cmd ::: /etc/passwd \.\.\..$' jobstack run -s empty ./cmd -v /etc/passwd /etc/group </dev/null
# --again
mkdir more && cd more || exit
check '--again, and no run before' says 2 "no earlier .jobstack run. in $PWD to repeat" jobstack run --again
timeout 300 jobstack run -q -s again -- test /d/1 = <<</d/1
check '--again: the options of the last one, and others' fails_with 1 timeout 300 jobstack run --again --max-attempts 1 <<</d/2
check '... the names of now' ledger_is again '1 1 0 0 0 0'
check '... no other command' says 2 '--again repeats the command, too: "true"' jobstack run --again true
like '... on a terminal no name is asked for' "$("$JOBSTACK_SOURCE/tests/support/in-pty" -- jobstack run --again -v)" 'more: jobstack run --stack=again --max-attempts=1 -- test /d/1 ='
jobstack requeue -q -s again
cd ..
like '... status tells the line, and how to go on' "$(jobstack status again)" $'last started .* ago in .*/more: jobstack run .* -- test /d/1 =\n.jobstack run -s again. continues'
like '... so does --why' "$(jobstack status --why again)" 'running: the last one ended .*: .jobstack run -s again. continues'
sql "UPDATE fact SET fact=fact+4 WHERE kind=4 ORDER BY fact DESC"
check '... nothing that another user started' says 2 'no earlier .jobstack run. of the stack again' jobstack run -s again </dev/null
unlike '... nor is it suggested' "$(jobstack status again)" 'jobstack run -s again'
sql "UPDATE fact SET fact=fact-4 WHERE kind=4 ORDER BY fact; UPDATE fact SET text=REPLACE(text,'/d/1','/d/3') WHERE kind=4"
check '... nor what somebody has written into the database' says 2 'the last .jobstack run. of the stack again is not repeated, because it is not signed by the key in this home directory' \
	jobstack run -s again </dev/null
sql "UPDATE fact SET text=REPLACE(text,'/d/3','/d/1') WHERE kind=4"
check '... nor in another home' env HOME="$PWD/more" XDG_STATE_HOME= bash -c '! jobstack run -s again </dev/null 2>/dev/null && ! test -e "$HOME/.local"'
check '-s NAME alone goes on, from anywhere' fails_with 1 timeout 300 jobstack run -q -s again </dev/null
check '... with what was left' ledger_is again '1 1 0 0 0 0'
check '... of a stack without a line' says 2 'no earlier .jobstack run. of the stack log' jobstack run -s log </dev/null
jobstack run -q -s wall a b c d e -- true
like '... without the names, which the stack has' "$(jobstack run -s wall 2>&1 </dev/null)" 'repeating, in .*: jobstack run --stack=wall -- true'
jobstack drop -q --yes wall
check '... drop forgets it' says 2 'no earlier .jobstack run. of the stack wall' jobstack run -s wall </dev/null
numbered 1 2 | jobstack push -q -s typed
like 'no names on a terminal, and some are left: it goes on with them' "$("$JOBSTACK_SOURCE/tests/support/in-pty" -- jobstack run -s typed true 2>&1)" 'no names are given, so this continues.*2 done'
timeout 300 jobstack run -q true ::: /p && jobstack prune -q --yes true-1 --older-than 0s
like '... pruned: that is said' "$(timeout 300 jobstack run true ::: /p 2>&1)" '1 of these names were done and pruned: only another stack'
cd more || exit
cd ..
# it works while names still come
mkfifo pipe
timeout 300 jobstack run -q -s slow -- ./cmd <pipe >slow.out 2>slow.err &
runner=$!
exec 7>pipe
echo /first >&7
check 'the first is done while others come' wait_for 20 ledger_is slow '1 0 0 0 0 0'
echo /second >&7
check '... and the second' wait_for 20 ledger_is slow '2 0 0 0 0 0'
exec 7>&-
check '... it ends when they end' wait $runner
# signals
for signal in INT TERM; do
	rm -f started
	# a shell's background commands ignore SIGINT; this one shall not
	python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); os.execvp(sys.argv[1], sys.argv[1:])' \
		timeout --foreground 300 jobstack run -q -s sig$signal --slots 2 --grace 0.2 -a names -- sh -c 'echo $$ >>started; exec sleep 1000' &
	runner=$!
	check "$signal: two run" wait_for 20 eval '[[ -e started && $(wc -l <started) == 2 ]]'
	kill -$signal "$(pgrep -P $runner -x jobstack)"
	status=0
	wait $runner || status=$?
	is '... it ends by the signal' "$status" "$([[ $signal == INT ]] && echo 130 || echo 143)"
	is '... everything is back in line, no failure counted' "$(ledger sig$signal)" '0 0 30 0 0 0'
	# shellcheck disable=SC2046
	check '... no command is left' none_of_ours $(<started)
done
cd ..
for s in a close zombie lease odd odd-bash odd2 st log re dead nocmd slow sigINT; do check "audit of $s" audit $s; done
finish
