#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack status: the counts, the pace, what fails and where, why nothing runs, on terminals of any width, watched in place, and
# into pipes.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
export TERM=xterm SLURM_CONF=$PWD/there-is-none
unset NO_COLOR COLUMNS
in_pty() { "$JOBSTACK_SOURCE/tests/support/in-pty" "$@"; }
jobstack init -q

push() { local stack=$1; shift; jobstack push -q -s "$stack" "$@" >/dev/null; }
json() { python3 -c 'import json, sys
for line in sys.stdin:
    o = json.loads(line)
    print("\t".join(json.dumps(o[k]) if not isinstance(o[k], str) else o[k] for k in sys.argv[1:]))' "$@"; }
whys() { jobstack status --why --json -s "$1" | python3 -c 'import json, sys; print(*[w["why"] for w in json.load(sys.stdin)["why"]])'; }
# fits COLUMNS: no line of standard input is wider, whatever colours are in it
fits() { python3 -c 'import re, sys, unicodedata
for l in sys.stdin.buffer.read().decode().replace("\r", "").split("\n"):
    n = sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in re.sub("\033\\[[0-9;?]*[a-zA-Z]", "", l))
    if n > int(sys.argv[1]): sys.exit("%d columns: %s" % (n, l))' "$1"; }

# ---- why nothing runs
check '--exit-code and -w' says 2 'can.t be used together' jobstack status --exit-code -w
push idle --retry-delay 1h /1 /2 /3
is 'why: no workers' "$(whys idle)" no_workers
like '... in words, with the remedy' "$(jobstack status --why -s idle)" '^idle: 3 are ready, and no worker is running: .jobstack run -s idle COMMAND .* starts one here, .jobstack submit idle --workers N -- '
jobstack pause -q -s idle --note $'the disk\033[31m is full'
is 'why: paused' "$(whys idle)" paused
like '... with the note, as a terminal may see it' "$(jobstack status --why -s idle)" 'paused \(the disk.x1b\[31m is full\): .*jobstack resume -s idle'
like 'the note is in the detail' "$(jobstack status -s idle)" $'\nreason    the disk.x1b'
is '... and in JSON as it is' "$(jobstack status -s idle --json | json state note)" $'paused\tthe disk\033[31m is full'
jobstack resume -q -s idle
(eval "$(jobstack pop -s idle)" && jobstack close --exit 1)
is 'why: one waits for its retry' "$(whys idle)" 'waiting no_workers failing'
jobstack set -q -s idle max-running=1
jobstack pop -q -s idle >/dev/null
is 'why: max-running' "$(whys idle)" 'waiting max_running failing'
is 'the limits are in JSON' "$(jobstack status -s idle --json | json max_running max_failures moved pruned slots busy)" $'1\tnull\t0\t0\t1\t1'
jobstack set -q -s idle max-running=none
is 'why: all slots are busy' "$(whys idle)" 'waiting busy failing'
sql "UPDATE worker JOIN stack USING(stack_id) SET running='0:18446744073709551615:18446744073709551615:1000' WHERE name='idle'"
is '... by steps of no possible length nothing is held back' "$(whys idle)" 'waiting busy failing'
sql "UPDATE worker JOIN stack USING(stack_id) SET beat=beat-INTERVAL 3 DAY WHERE name='idle'"
is 'why: a silent worker' "$(whys idle)" 'waiting silent no_workers failing'
jobstack cancel -q -s idle --all
is 'why: cancelled' "$(whys idle)" 'cancelled running silent'
push over /1
worker -s over -- true
is 'why: finished' "$(whys over)" finished
push dying --max-attempts 1 --max-failures 1 /1 /2
worker -s dying --idle-timeout 1 -- false
jobstack pause -q -s dying
is 'why: too many are dead' "$(whys dying)" 'max_failures failing dead'
like 'of all stacks: each line says whose' "$(jobstack status --why)" $'^dying: .*\nidle: .*\nover: '
sql "INSERT INTO push(token,stack_id,started,beat) SELECT REPEAT('p',16),stack_id,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6) FROM stack WHERE name='over'"
is 'why: somebody pushes' "$(whys over)" 'pushing finished'
sql "DELETE FROM push WHERE ended IS NULL"
# ---- the pace, by rows as workers leave them: an entry a second, eight in hand
# fleet STACK ENTRIES ENDED: each entry began a second after the one before, the last one just now; a worker has eight slots.
fleet() {
	numbered 1 "$2" | jobstack push -q -s "$1" >/dev/null
	sql "SELECT stack_id INTO @s FROM stack WHERE name='$1';
		INSERT INTO worker(token,stack_id,seq,kind,started,beat,lease_us,slots,node,done,running) SELECT LEFT(SHA2('$1',256),16),@s,1,0,
			UTC_TIMESTAMP(6)-INTERVAL $3 SECOND,UTC_TIMESTAMP(6),3000000000,8,'n1',$3,
			CONCAT($3+1,':1:',CAST(UNIX_TIMESTAMP()*1000000-90000000 AS UNSIGNED));
		SET @w=LAST_INSERT_ID();
		INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,started,ended) SELECT @s,entry_id,1,@w,0,1,
			UTC_TIMESTAMP(6)-INTERVAL $3-entry_id+8 SECOND,UTC_TIMESTAMP(6)-INTERVAL $3-entry_id SECOND
			FROM entry WHERE stack_id=@s AND entry_id<=$3;
		INSERT INTO claim(stack_id,worker_id,claim_no,lo,hi,open,attempt,fails,losses,\`rank\`,claimed) VALUES(@s,@w,1,$3+1,$3+8,8,1,0,0,0,UTC_TIMESTAMP(6));
		UPDATE span SET lo=$3+9 WHERE stack_id=@s"
}
# about STACK LOW HIGH: its rate is between these, were it now that the last entry ended
now() { sql "SELECT s.stack_id,TIMESTAMPDIFF(MICROSECOND,MAX(a.ended),UTC_TIMESTAMP(6)) INTO @s,@late FROM stack s JOIN attempt a USING(stack_id) WHERE name='$1'
	GROUP BY s.stack_id; UPDATE attempt SET started=started+INTERVAL @late MICROSECOND,ended=ended+INTERVAL @late MICROSECOND WHERE stack_id=@s;
	UPDATE worker SET started=started+INTERVAL @late MICROSECOND,beat=UTC_TIMESTAMP(6) WHERE stack_id=@s"; }
about() { now "$1"; python3 -c 'import json, subprocess, sys
o = json.loads(subprocess.run(["jobstack", "status", "-s", sys.argv[1], "--json"], stdout=subprocess.PIPE, check=True).stdout)
left = o["ready"] + o["running"] + o["waiting"]
assert float(sys.argv[2]) <= o["rate"] <= float(sys.argv[3]), o
assert abs(o["eta_seconds"] - left / o["rate"]) < 1, o
assert o["eta_low_seconds"] <= o["eta_seconds"] <= o["eta_high_seconds"], o' "$@"; }
fleet pace 3000 2000
check 'its ledger' jobstack check -q -s pace
check 'the rate is that of the numbers' about pace 0.85 1.1
sql "INSERT INTO worker(token,stack_id,seq,kind,started,beat,lease_us,slots,node,done) SELECT REPEAT('o',16),stack_id,1,0,UTC_TIMESTAMP(6)-INTERVAL 9 DAY,
	UTC_TIMESTAMP(6),1000000000,64,'h',0 FROM stack WHERE name='pace'"
check '... whatever lingers' about pace 0.85 1.1
sql "UPDATE attempt JOIN stack USING(stack_id) SET started=started-INTERVAL 5 HOUR,ended=ended-INTERVAL 5 HOUR WHERE name='pace' AND entry_id<=1700"
check '... after a pause' about pace 0.85 1.1
sql "UPDATE attempt JOIN stack USING(stack_id) SET started=started-INTERVAL 3 HOUR WHERE name='pace' AND entry_id%7=3"
check '... with a heavy tail' about pace 0.85 1.1
fleet young 1000 1
check 'at the beginning it is by what has ended, through the time of all slots' about young 0.02 2
sql "DELETE attempt FROM attempt JOIN stack USING(stack_id) WHERE name='young'; UPDATE worker JOIN stack USING(stack_id) SET worker.done=0 WHERE name='young'"
is '... and before anything has ended it is not known' "$(jobstack status -s young --json | json rate eta_seconds eta_low_seconds)" $'0.0\tnull\tnull'
fleet lifo 1000 500
sql "UPDATE stack SET popping_order=2 WHERE name='lifo'; UPDATE span JOIN stack USING(stack_id) SET pos=-CAST(lo AS SIGNED) WHERE name='lifo'"
check 'last in, first out: by the workers' about lifo 0.85 1.1
like 'in words' "$(jobstack status -s pace)" $'\nrate      [0-9.]+ files/(s|min) \(.* each\)\nends      in about ([0-9]+ (s|min)( to )?)+\n'
fleet tail 48 40 && sql "DELETE span FROM span JOIN stack USING(stack_id) WHERE name='tail'"
unlike 'no end is predicted if all that is left runs for longer than the others did' "$(now tail; jobstack status -s tail)" $'\nends '
sql "UPDATE worker JOIN stack USING(stack_id) SET worker.running=CONCAT('41:1:',CAST(UNIX_TIMESTAMP()*1000000+30000000 AS UNSIGNED)) WHERE name='tail'"
like '... but if it has just begun' "$(now tail; jobstack status -s tail)" $'\nends '
like 'what runs, and what is claimed ahead' "$(fleet ahead 60 10; sql "UPDATE claim JOIN stack USING(stack_id) SET hi=hi+12,open=open+12 WHERE name='ahead';
	UPDATE span JOIN stack USING(stack_id) SET lo=lo+12 WHERE name='ahead'"; jobstack status -s ahead)" \
	$'\n\\[#+=+ +\\] 16.7 %\npushed    60\ndone      10 \\(16.7 %\\)\nrunning   8 \\(1 worker, 8 of 8 slots busy\\)\nclaimed   12 .*\nready     30\nrate'
is '... in JSON' "$(jobstack status -s ahead --json | json running busy claimed ready)" $'20\t8\t12\t30'
unlike '... and no word about what there is none of' "$(jobstack status -s ahead)" $'\n(waiting|held|dead|cancelled|moved|pruned) '
like 'what has run longest' "$(jobstack status -s pace)" $'RUNNING FOR +ENTRY +NODE +DATAPATH\n +[1-9][0-9 smin]+ +2001 +n1 +/d/2001\n'
is '... in JSON' "$(jobstack status -s pace --json | python3 -c 'import json, sys
o = json.load(sys.stdin)["longest"][0]; print(o["entry"], o["datapath"], 80 < o["seconds"] < 1000)')" '2001 /d/2001 True'

# ---- what fails, and where
numbered 1 300 | jobstack push -q -s fail --max-attempts 1 >/dev/null
worker -s fail --slots 2 --max-entries 300 --shell -- ': {}; [ $((JOBSTACK_ENTRY % 3)) = 0 ] || exit $((JOBSTACK_ENTRY % 3))'
sql "UPDATE attempt a JOIN stack s USING(stack_id) JOIN entry e USING(stack_id,entry_id) SET err_tail=CONCAT('starting\n\nTraceback: ',entry_id,
	'\n  can\\'t open ',datapath,': no such file (line ',entry_id*7,')\n\n') WHERE name='fail' AND exit_code=2;
	UPDATE attempt a JOIN stack s USING(stack_id) SET exit_code=NULL,signo=9,reason='out of memory' WHERE name='fail' AND entry_id=1"
failures() { jobstack status -s fail --json | python3 -c 'import json, sys
o = json.load(sys.stdin)
for f in o["failures"]: print(f["count"], f["outcome"], f["exit_code"], f["signal"], f["reason"], f["pattern"], f["example"], f["entry"], sep="|")
for n in o["bad_nodes"]: print(n["node"], n["failed"], n["attempts"], n["failed_elsewhere"], n["attempts_elsewhere"])'; }
is 'groups, largest first' "$(failures)" "100|failed|2|None|None|can't open {}: no such file (line #)|can't open /d/299: no such file (line 2093)|299
99|failed|1|None|None|None|None|298
1|failed|None|9|out of memory|None|None|1"
like '... in words' "$(jobstack status -s fail)" $'\ndead entries:\n +COUNT.*\n +100  exit 2 +can.t open /d/299: no such file \(line 2093\) .* 299 +[0-9]+ (s|min) ago\n +99 +exit 1 .*\n +1 +signal 9 +out of memory'
sql "SELECT stack_id INTO @s FROM stack WHERE name='fail'; SELECT MAX(worker_id) INTO @w FROM attempt WHERE stack_id=@s;
	INSERT INTO worker(token,stack_id,seq,kind,started,beat,lease_us,ended,slots,node) VALUES(REPEAT('n',16),@s,1,0,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6),1,
	UTC_TIMESTAMP(6),1,'n3'); UPDATE attempt SET worker_id=LAST_INSERT_ID() WHERE stack_id=@s AND outcome=1 AND entry_id>100;
	UPDATE worker SET node='n1' WHERE worker_id=@w"
is 'a node where they fail that succeed elsewhere' "$(failures | tail -n1)" 'n3 133 133 67 167'
like '... is named' "$(jobstack status -s fail)" $'\nnode n3: 133 of 133 attempts failed, elsewhere 67 of 167'
sql "UPDATE attempt JOIN stack USING(stack_id) SET outcome=1 WHERE name='fail'"
is '... and not when they fail everywhere' "$(failures | grep -c '^n')" 0
push said --max-attempts 1 /data/one.nc /data/two.nc
worker -s said --shell -- 'echo "record 17 of {/} is bad" >&2; exit 3'
like 'what commands really said' "$(jobstack status -s said)" $'\n +2  exit 3  record 17 of two.nc is bad '
sql "UPDATE attempt JOIN stack USING(stack_id) SET reason=CONCAT('took ',entry_id,' s'),err_tail=NULL WHERE name='said'"
is '... and reasons: of several, one as it is on record, of the entry that is named' \
	"$(jobstack status -s said --json | python3 -c 'import json, sys; f, = json.load(sys.stdin)["failures"]; print(f["count"], f["reason"], f["entry"])')" '2 took 2 s 2'
like '... in the report, too' "$(jobstack report -s said)" $'\n +2 .* took 2 s .* 2 +[0-9]+ s ago\n'
numbered 1 340 | jobstack push -q -s kinds >/dev/null
sql "SELECT stack_id INTO @s FROM stack WHERE name='kinds'; INSERT INTO set_aside(stack_id,entry_id,attempt,\`rank\`) SELECT stack_id,entry_id,1,0 FROM entry
	WHERE stack_id=@s AND entry_id<=290; INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,ended,err_tail) SELECT stack_id,entry_id,1,0,1,0,1,
	UTC_TIMESTAMP(6),IF(entry_id%9=0,'often',CONCAT('x',CHAR(97+entry_id DIV 25),'y',CHAR(97+entry_id%25))) FROM entry WHERE stack_id=@s;
	UPDATE stack SET dead=290,pushed=290 WHERE stack_id=@s"
is 'however many kinds there are, the sum is exact' "$(jobstack status -s kinds --json | python3 -c 'import json, sys
o = json.load(sys.stdin); v = [f["count"] for f in o["failures"] if f["various"]]; s = {f["pattern"]: f["count"] for f in o["failures"]}
print(len(v), 50 < v[0] < 290, 10 <= s["often"] <= 50, o["failures_looked_at"])')" '1 True True 290'
sql "INSERT INTO set_aside(stack_id,entry_id,attempt,\`rank\`) SELECT stack_id,entry_id+290,1,0 FROM set_aside JOIN stack USING(stack_id) WHERE name='kinds' AND entry_id<=50"
like 'only the last ones are looked at, and it is said' "$(jobstack status -s kinds)" 'dead entries .last 300.:'
push again --max-attempts 3 --retry-delay 1h /1 /2
worker -s again --max-entries 2 --idle-timeout 1 -- sh -c 'exit 4' &
check 'what is tried again' wait_for 20 ledger_is again '0 0 0 2 0 0'
kill $! 2>/dev/null
wait
like '... is told, too' "$(jobstack status -s again)" $'\nfailing now, will be retried:\n.*\n +2  exit 4'
unlike '... and no column for messages, since nothing was printed' "$(jobstack status -s again)" 'LAST MESSAGE'
like '... which is there where something was' "$(jobstack status -s fail)" 'LAST MESSAGE'

# ---- terminals
for c in 20 44 80; do
	check "$c columns: all stacks" in_pty --size ${c}x24 --out all.$c -- jobstack status
	check '... fit' fits $c <all.$c
	check '... one' in_pty --size ${c}x24 --out one.$c -- jobstack status -s fail
	check '... fits' fits $c <one.$c
	check "... and is there" grep -q 'fail' one.$c
done
check '20 columns: every stack has its share' test "$(grep -c '%' all.20)" -eq "$(sql 'SELECT COUNT(*)+1 FROM stack')"
jobstack push -q -s given-up /1 >/dev/null && jobstack cancel -q -s given-up 1 >/dev/null && jobstack push -q -s left /1 >/dev/null
check 'columns of zeros go first' sh -c '"$1" --size 90x24 --out some -- jobstack status given-up left && grep -q CANCELLED some && ! grep -q WORKERS some' sh "$JOBSTACK_SOURCE/tests/support/in-pty"
check 'a long name is cut there' sh -c 'jobstack push -q -s a-name-that-is-longer-than-the-terminal /1 >/dev/null'
check '...' in_pty --size 20x24 --out long -- jobstack status
check '... and the share is not' grep -qE '^a-name[^ ]*~ +0\.0 %' long
check 'UTF-8: eighths' env LC_ALL=C.UTF-8 "$JOBSTACK_SOURCE/tests/support/in-pty" --out bar -- jobstack status -s over
check '...' grep -q "$(printf '\033')\[32m██*" bar
check 'elsewhere not' env LC_ALL=C "$JOBSTACK_SOURCE/tests/support/in-pty" --out bar -- jobstack status -s over
check '...' grep -q "$(printf '\033')\[32m##*" bar
kinds=
for c in 90 110 130 150 170 190; do
	in_pty --size ${c}x24 --out bar -- jobstack status
	kinds+=$(grep -q PROGRESS bar && echo bar; grep -q '^a-name-that-is-longer-than-the-terminal ' bar && echo name),
done
like 'the bar goes before a name is cut' "$(tr '\n' ' ' <<<"$kinds")" '^,+(name,)+(bar name,)+ $'
for c in 20 44 80 130; do
	check "$c columns: a list" in_pty --size ${c}x24 --out list.$c -- jobstack list -s fail -t dead,done -n 3
	check '... fits' fits $c <list.$c
	check '... with the end of each name' test "$(grep -c "/d/[0-9]*$(printf '\r')\$" list.$c)" -eq 3
done
# of a message the end is kept, which says the cause
push cause --max-attempts 1 /d/1
worker -s cause --shell -- ': {}; echo "Traceback in module.submodule.reader: /data/campaign/2026/11/input-000123.nc: Stale file handle" >&2; exit 3'
check 'a long message at 80 columns' in_pty --size 80x24 --out list.80 -- jobstack status -s cause
like '... is shown with its end' "$(cat list.80)" ' 1  exit 3 +~[^~]*: Stale file handle '
like '... and with what shows all of it' "$(cat list.80)" 'dead entries; whole message: .jobstack show -s cause 1.:'
check '... fits' fits 80 <list.80
check '... in the list of the dead' in_pty --size 80x24 --out list.80 -- jobstack list -s cause -t dead
like '... it is below the name' "$(tr -d '\r' <list.80)" $'/d/1\n +~.*: Stale file handle"\\)$'
check '... fits' fits 80 <list.80
push long "/data/$(printf 'directory/%.0s' {1..30})file.nc"
check 'a long name is cut in its middle' in_pty --out list.80 -- jobstack list -s long -t all
check '...' grep -q ' /data/.*~.*/file.nc' list.80
like '... and not in a pipe' "$(jobstack list -s long -t all)" ' /data/(directory/)+file.nc$'
check '... nor with -o' in_pty --out list.80 -- jobstack list -s long -t all -o datapath
check '...' grep -q '^/data/directory/.*directory/file.nc' list.80
# names and messages may not command the terminal
osc=$'\033]0;evil\007' # sets the title of its window
tame() { grep -q evil evil && ! grep -q $'\033]\\|\007' evil; }
push evil --max-attempts 1 "/a${osc}b" "/c${osc}d"
worker -s evil --max-entries 1 --shell -- 'printf "bad \033]0;evil\007\n" >&2; exit 3 #{}'
(eval "$(jobstack pop -s evil)")
jobstack pause -q -s evil --note "$osc"
sql "SELECT CONCAT(CHAR(27),']0;evil',CHAR(7)) INTO @o; SELECT stack_id INTO @s FROM stack WHERE name='evil'; UPDATE stack SET cwd=@o WHERE stack_id=@s;
	UPDATE attempt SET reason=@o WHERE stack_id=@s; UPDATE worker SET node=@o,user=@o,identity=JSON_OBJECT('job',CONVERT(@o USING utf8mb4),'host',CONVERT(@o USING utf8mb4)) WHERE stack_id=@s"
for c in status 'status -s evil' 'status --why -s evil' 'list -s evil -t all' 'report -s evil' 'show -s evil 1' 'show -s evil 2'; do
	# shellcheck disable=SC2086 # words
	check "no sequence of a name comes through: $c" in_pty --size 200x60 --out evil -- jobstack $c
	check '...' tame
done
check '... nor watched' fails_with 130 in_pty --size 200x60 --out evil expect='x1b.*x1b' signal=INT -- jobstack status -s evil -w60
check '...' tame
coloured() { grep -q "$(printf '\033')\\[" "$1"; }
check 'colour on a terminal' coloured one.80
for no in NO_COLOR=1 TERM=dumb TERM=; do
	check "... not with $no" env "$no" "$JOBSTACK_SOURCE/tests/support/in-pty" --out plain -- jobstack status -s fail
	check '...' fails_with 1 coloured plain
done
check '... nor into a pipe' sh -c '! jobstack status -s fail | grep -q "$(printf "\033")"'
for l in C C.UTF-8; do
	is "locale $l: the same" "$(LC_ALL=$l jobstack status -s fail | grep -v ' ago' | md5sum)" "$(jobstack status -s fail | grep -v ' ago' | md5sum)"
done
# hang_up COMMAND...: on a terminal that goes away when the first picture has come; it has to end
hang_up() { python3 -c '
import os, pty, select, sys, time
pid, master = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
seen = b""
while b"pushed" not in seen: seen += os.read(master, 65536)
os.close(master)
for _ in range(2000):
    if os.waitpid(pid, os.WNOHANG)[0]: sys.exit(0)
    time.sleep(0.05)
os.kill(pid, 9)
sys.exit(1)' "$@"; }
closed() { python3 -c '
import os, subprocess, sys
r, w = os.pipe(); os.close(r)
sys.exit(subprocess.run(sys.argv[1:], stdout=w).returncode)' "$@"; }
check 'a closed pipe is no message' says 70 '^$' closed jobstack status
check '... for a watch, too' says 70 '^$' closed timeout 300 jobstack status -w0.1 -s fail

# ---- watched
check 'watch: in place' fails_with 130 in_pty --out w expect='fail, every 0.1 s, Ctrl-C ends' expect='dead      ' expect='A..J[^J]*every' $'send=\003' cooked -- jobstack status -s fail -w0.1
check '... it was never cleared' fails_with 1 grep -qF "$(printf '\033[2J')" w
check '... the picture stays' sh -c 'sed "s/.*\[J//" w | tail -n 30 | grep -q "pushed    300"'
check 'SIGTERM ends it' fails_with 143 in_pty --out w expect='all stacks' signal=TERM cooked -- jobstack status -w0.1
check 'Ctrl-Z and fg: drawn anew, below' fails_with 130 in_pty --out w expect='all stacks' $'send=\032' stopped cooked signal=CONT expect='all stacks' signal=INT -- jobstack status -w60
check '... with nothing erased' fails_with 1 grep -qF "$(printf '\033[J')" w
check 'another size is drawn anew' fails_with 130 in_pty --out w expect='all stacks' size=20x5 expect='all stack~' signal=INT -- jobstack status -w60
check 'watch, 20 columns: why, too' fails_with 130 in_pty --size 20x24 --out w expect='fail, ' signal=INT -- jobstack status -s fail --why -w60
check '... fits, and no word is missing' sh -c 'tr -s "\r\n" " " <w | grep -q "jobstack requeue.*-s.*fail.*queues.*it.*again"'
check '...' sh -c 'tr -d "\r" <w >picture'
check '...' fits 20 <picture
push wide "/日本語日本語日本語日本語日本語日本語日本語日本語"
jobstack pop -s wide >/dev/null
check 'wide characters take two columns' in_pty --size 60x24 --out w -- jobstack status -s wide
check '...' fits 60 <w
check '...' grep -q "[日本語]~" w
check 'a terminal that is dumb is watched in lines' fails_with 130 env TERM=dumb "$JOBSTACK_SOURCE/tests/support/in-pty" --out w expect='stack     fail' expect='stack     fail' signal=INT -- jobstack status -s fail -w0.1
check '... without a control character' sh -c '! grep -q "$(printf "\033")" w'
# what fits, and what is left out: the workers are those of "fleet"
sql "INSERT INTO worker(token,stack_id,seq,kind,started,beat,lease_us,slots,node,done) SELECT LEFT(SHA2(CONCAT('crew',entry_id),256),16),stack_id,1,0,UTC_TIMESTAMP(6),
	UTC_TIMESTAMP(6),3000000000,8,CONCAT('n',entry_id),0 FROM entry JOIN stack USING(stack_id) WHERE name='pace' AND entry_id<=30"
like 'not watched: all workers' "$(jobstack status -s pace | grep -c '^ *[0-9]* *n[0-9]* ')" '^3[12]$'
check 'watch: 24 lines' fails_with 130 in_pty --out w expect='[0-9]+ more lines' signal=INT -- jobstack status -s pace -w60
picture() { tr -d '\r' <w >picture; }
picture
is '... all are used' "$(wc -l <picture)" 24
like '... rows and the rest are all workers' "$(($(grep -c ' h\? *n[0-9]* ' picture) + $(sed -n 's/^(\([0-9]*\) more lines.*/\1/p' picture)))" '^3[2-9]$'
for size in 80x12 44x9 20x24 20x4 2x2 1x1; do
	check "watch: $size" fails_with 130 in_pty --size $size --out w expect='~|more' signal=INT -- jobstack status -s pace -w60
	picture
	check '... fits' fits ${size%x*} <picture
	check '... in its lines' test "$(wc -l <picture)" -le "${size#*x}"
done
check 'watch: all stacks in 8 lines' fails_with 130 in_pty --size 80x8 --out w expect='[0-9]+ more lines' signal=INT -- jobstack status -w60
check 'a window that shrinks and grows' fails_with 130 in_pty --out w expect='more lines' size=1x1 expect='~' size=80x60 expect='policy' expect='n30' signal=INT cooked -- jobstack status -s pace -w0.2
for no in '' 'trap "" HUP;'; do
	check "a terminal that goes away ends the watch${no:+, also without SIGHUP}" hang_up bash -c "$no exec jobstack status -s pace -w0.1"
done

push gone /1
check 'a stack that is dropped meanwhile' fails_with 1 in_pty --out w expect='gone, every' run='jobstack drop -q -y -s gone' expect='there is no stack "gone"' cooked -- \
	jobstack status -s gone -w0.1
check 'no such stack' fails_with 2 in_pty --out w expect='there is no stack' -- jobstack status -s nosuch -w0.1
push gone /1
timeout 300 jobstack status -s gone -w0.1 >lines 2>lines.err &
watcher=$!
check 'into a file: rounds' wait_for 20 sh -c 'test $(grep -c ^pushed lines) -ge 2'
jobstack drop -q -y -s gone
check '... until it is dropped' fails_with 1 wait $watcher
like '... which is said' "$(cat lines.err)" 'there is no stack "gone"'
check '... plain' sh -c '! grep -q "$(printf "\033")" lines'
(timeout 300 jobstack status --json -w0.1 -s fail | head -n 2 >rounds)
is '... in JSON: a line a round' "$(json stack <rounds)" $'fail\nfail'

# ---- all stacks: the recent ones first
for i in $(seq 1 12); do push "old$i" /1; done
for i in $(seq 1 12); do jobstack cancel -q -s "old$i" 1; done
push abandoned /1
sql "UPDATE stack SET created=created-INTERVAL 40 DAY WHERE name LIKE 'old%' OR name='abandoned'; UPDATE push JOIN stack USING(stack_id) SET
	push.ended=push.ended-INTERVAL 30 DAY WHERE name LIKE 'old%' OR name='abandoned'; UPDATE push JOIN stack USING(stack_id) SET
	push.ended=push.ended+INTERVAL 1 DAY WHERE name='old7'"
all=$(jobstack status)
like 'old finished stacks are counted' "$all" $'\n12 more, finished before 20[0-9-]+T[0-9:]+Z: .jobstack status --all. shows them$'
like '... those with workers are first' "$all" $'^STACK .*\n(dying|fail|idle|many|pace|young) '
like '... and what was never done is shown' "$all" $'\nabandoned .*\n12 more'
is '... on request all are shown' "$(jobstack status --all | grep -c '^old')" 12
like '... the newest first' "$(jobstack status --all)" $'\nabandoned .*\nold7 .*\nold12 .*\nold11 '
is '... and in JSON, by name' "$(jobstack status --json | json stack | sort -c && jobstack status --json | grep -c '"old')" 12
is '... finished is what the text says' "$(jobstack status old1 --json | json state)" finished
like '... in the table of some all are shown' "$(jobstack status old1 old2)" $'\nold1 .*\nold2 '

# ---- push
check 'push: progress on a terminal' in_pty --out w expect='[0-9]+ names, [0-9]+/s' expect='pushed' -- sh -c '(seq -f /p/%.0f 2000; sleep 0.7; seq -f /q/%.0f 300000) | jobstack push -s pushed'
check '... not into a file' sh -c '(seq -f /r/%.0f 2000; sleep 0.7; seq -f /s/%.0f 2000) | jobstack push -s quiet 2>err && test ! -s err'
finish
