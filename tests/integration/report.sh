#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack report: its numbers are those that plain SQL and sorting give, of a run that was and of many made-up attempts; what it
# says of stacks with nothing, one, or only failures; its recommendations; memory that does not grow.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

push() { local stack=$1; shift; jobstack push -q -s "$stack" "$@" >/dev/null; }
made_up() { # STACK: an empty stack for attempts made up by SQL; sets ID
	push "$1" /1
	ID=$(sql "SELECT stack_id FROM stack WHERE name='$1'")
	sql "DELETE FROM span WHERE stack_id=$ID; DELETE FROM entry WHERE stack_id=$ID"
	for node in n1 n2 n10; do
		sql "INSERT INTO worker(token,stack_id,kind,started,beat,lease_us,ended,slots,node,user) VALUES(UNHEX(LEFT(SHA2('$1$node',224),32)),$ID,0,
			'2026-11-01','2026-11-01',1,'2026-11-02',4,'$node','anna')"
	done
	WORKER=$(sql "SELECT MIN(worker_id) FROM worker WHERE stack_id=$ID")
}
settle() { # STACK: the counters that its rows have
	sql "UPDATE stack SET tail=(SELECT MAX(entry_id) FROM entry WHERE stack_id=$ID),pushed=tail,
		done=(SELECT COUNT(*) FROM attempt WHERE stack_id=$ID AND final=1),
		dead=(SELECT COUNT(*) FROM set_aside WHERE stack_id=$ID) WHERE stack_id=$ID"
}

# ---- wrong usage
check '--nosuch' says 2 'jobstack report: there is no option --nosuch' jobstack report --nosuch
check '--within x' says 2 'at least 1 s' jobstack report --within x
check '--within 0' says 2 'at least 1 s' jobstack report --within 0
check '--since x' says 2 'takes a duration' jobstack report --since x
check '--slurm --json' says 2 'can.t be used together' jobstack report --slurm --json
check 'a word is a stack' says 2 'there is no stack "x"' jobstack report x
check 'no such stack' says 2 'there is no stack "nosuch"' jobstack report -s nosuch
like '--help' "$(jobstack report --help)" '^usage: jobstack report '

# ---- a run that was
numbered 1 40 | jobstack push -q -s run --retry-delay 0 --max-attempts 2 >/dev/null
check 'work' worker -s run --slots 4 -- sh -c 'case $JOBSTACK_ENTRY in 7|14) echo bad thing >&2; exit 3;; 9) [ "$JOBSTACK_ATTEMPT" != 1 ] || exit 75;; 20) kill -9 $$;; 30) sleep 0.3;; esac'
cat >compare.py <<'P'
# Compares the report of STACK with what the rows say.
import json, math, subprocess, sys
stack, rows = sys.argv[1], [l.rstrip("\n").split("\t") for l in open(sys.argv[2])]
r = json.loads(subprocess.run(["jobstack", "report", "-s", stack, "--json", "--within", "1h"], check=True, stdout=subprocess.PIPE).stdout)
num = lambda t: None if t == "NULL" else float(t)
rows = [dict(zip(("entry", "outcome", "us", "exit", "signo", "cpu", "rss", "rd", "wr", "node", "ended"), x)) for x in rows]
word = ["done", "failed", "lost", "interrupted"]
us = lambda x: num(x["us"]) or 0
def same(what, got, expected, error=1e-9):
    assert got == expected or abs(got - expected) <= error * abs(expected) + 2e-6, f"{what}: {got}, not {expected}"
def rank(values, q): return sorted(values)[max(0, math.ceil(q * len(values) - 1e-9) - 1)]
for v in range(4):
    same(word[v], r["attempts"][word[v]], sum(x["outcome"] == str(v) for x in rows))
same("all", r["attempts"]["all"], len(rows))
same("entries", r["attempts"]["entries"], len({x["entry"] for x in rows}))
total = sum(map(us, rows))
same("seconds", r["attempts"]["seconds"], total / 1e6)
same("not known", r["attempts"]["time_not_known"], sum(x["us"] == "NULL" for x in rows))
done = [us(x) for x in rows if x["outcome"] == "0"]
d = r["durations"]
same("min", d["min"], min(done) / 1e6); same("max", d["max"], max(done) / 1e6); same("mean", d["mean"], sum(done) / len(done) / 1e6)
for key, q in (("p50", .5), ("p90", .9), ("p99", .99)):
    same(key, d[key], rank(done, q) / 1e6, 1 / 256)
same("histogram", sum(h["done"] for h in d["histogram"]), len(done))
for h in d["histogram"]: # an edge may cut a bucket, which is 1/128 wide
    low, high = h["from"] * 1e6, (h["to"] or 1e30) * 1e6
    assert sum(low * 1.008 <= x < high / 1.008 for x in done) <= h["done"] <= sum(low / 1.008 <= x < high * 1.008 for x in done), h
for t in r["throughput"]:
    inside = [x for x in rows if t["from"][:19] <= x["ended"].replace(" ", "T")[:19]]
    import datetime
    a = datetime.datetime.fromisoformat(t["from"][:19]); b = a + datetime.timedelta(seconds=t["seconds"])
    inside = [x for x in inside if x["ended"].replace(" ", "T") < b.isoformat()]
    same("done at " + t["from"], t["done"], sum(x["outcome"] == "0" for x in inside))
    same("not done at " + t["from"], t["not_done"], sum(x["outcome"] != "0" for x in inside))
same("done over time", sum(t["done"] for t in r["throughput"]), len(done))
assert len(r["throughput"]) <= 24
names = [n["node"] for n in r["nodes"]]
assert sorted(names) == sorted({x["node"] for x in rows}), names
for n in r["nodes"]:
    here = [x for x in rows if x["node"] == n["node"]]
    for v in range(4): same(n["node"], n[word[v]], sum(x["outcome"] == str(v) for x in here))
    same("time on " + n["node"], n["seconds"], sum(map(us, here)) / 1e6)
    there = [us(x) for x in here if x["outcome"] == "0"]
    same("mean on " + n["node"], n["mean_done"], sum(there) / len(there) / 1e6)
slow = sorted((us(x) for x in rows if x["outcome"] in "01"), reverse=True)[:10]
assert [round(s["seconds"] * 1e6) for s in r["slowest"]] == [round(x) for x in slow], r["slowest"]
same("wasted", r["wasted"]["seconds"], (total - sum(done)) / 1e6)
causes = {}
for x in rows:
    if x["outcome"] != "0":
        key = (word[int(x["outcome"])], f"signal {x['signo']}" if x["signo"] != "NULL" else f"exit {x['exit']}" if x["exit"] != "NULL" else None)
        n, t = causes.get(key, (0, 0)); causes[key] = (n + 1, t + us(x))
for c in r["wasted"]["causes"]:
    key = (c["outcome"], c["cause"] if c["cause"].startswith(("exit", "signal")) else None)
    n, t = causes.pop(key)
    same(str(key), c["attempts"], n); same(str(key), c["seconds"], t / 1e6); same(str(key), c["share"], t / total)
assert not causes, causes
known = [x for x in rows if x["cpu"] != "NULL" and x["us"] != "NULL"]
same("cpu", r["used"]["cpu_seconds"] or 0, sum(num(x["cpu"]) for x in known) / 1e6)
if known: same("share", r["used"]["cpu_share"], sum(num(x["cpu"]) for x in known) / sum(map(us, known)))
rss = [num(x["rss"]) for x in rows if x["rss"] != "NULL"]
same("largest", r["used"]["memory_bytes"]["max"], max(rss) * 1024)
same("p99 of memory", r["used"]["memory_bytes"]["p99"], rank(rss, .99) * 1024, 1 / 256)
same("read", r["used"]["read_bytes"], sum(num(x["rd"]) or 0 for x in rows)); same("wrote", r["used"]["write_bytes"], sum(num(x["wr"]) or 0 for x in rows))
# what is recommended holds what was seen, and does not waste it
n = r["next"]
assert n["time_seconds"] >= 1.25 * d["max"] and n["time_seconds"] % 60 == 0, n
assert n["timeout_seconds"] >= 1.5 * d["max"] and n["timeout_seconds"] <= 3 * max(d["max"], d["p99"]) * 1.5 + 61, n
assert 1.2 * rank(rss, .99) * 1024 * (1 - 1 / 256) <= n["mem_bytes_per_slot"] <= 1.5 * max(rss) * 1024 + (64 << 20), n
capacity = n["workers"] * n["slots"] * (3600 - d["p99"])
assert capacity >= n["slot_seconds"], n
assert n["workers"] == 1 or (n["workers"] - 1) * n["slots"] * (3600 - d["p99"]) < n["slot_seconds"], n
print("the same")
P
rows_of() { sql "SELECT entry_id,outcome,GREATEST(0,TIMESTAMPDIFF(MICROSECOND,a.started,a.ended)),exit_code,signo,user_us+system_us,maxrss_kib,read_bytes,
	write_bytes,w.node,a.ended FROM attempt a JOIN worker w USING(worker_id) JOIN stack s ON s.stack_id=a.stack_id WHERE s.name='$1'"; }
rows_of run >rows
is 'a run: the numbers are those of the rows' "$(python3 compare.py run rows 2>&1 | tail -n 1)" 'the same'
report=$(jobstack report -s run)
like 'what there was' "$report" '^run \(finished\)
  entries    40: 37 done, 3 dead
  attempts   44: 37 done, 6 failed, 1 interrupted; of 40 entries
  users      [^ ]+
  time       20[0-9-]+ [0-9:]+ to 20[0-9-]+ [0-9:]+ UTC \('
like 'why it failed' "$report" 'failed: exit 3 +4 '
like '... by a signal' "$report" 'failed: signal 9 +2 '
like '... and what is dead' "$report" 'dead entries .*exit 3 '
unlike 'no colour and nothing that moves but on a terminal' "$report" $'[\033\r]'
like 'what is recommended' "$report" '--time=0:[0-9]+:00 .*--timeout=[0-9]+s .*--mem=[0-9]+[MG]  4 slots with .*workers: 1 takes about '

# ---- nothing, one, only failures, in the midst
push empty /1 /2
is 'nothing has run' "$(jobstack report -s empty)" $'empty (open), so far\n  entries    2: 2 ready\nnothing has run yet'
is '... in JSON' "$(jobstack report -s empty --json | python3 -c 'import json,sys; r=json.load(sys.stdin); print(r["attempts"]["all"], r["durations"]["p50"], r["next"], r["from"], r["nodes"])')" '0 None None None []'
check '... no batch script' says 1 'no entry of the stack "empty" is done yet' jobstack report -s empty --slurm
jobstack pop -q -s empty >/dev/null
like 'the first runs' "$(jobstack report -s empty)" 'so far.*1 running.*no attempt has ended yet'
jobstack close -s empty 1
like 'one of two' "$(jobstack report -s empty)" 'open\), so far.*attempts   1: 1 done.*1 entry left\).*based on only 1 done entry:'
like '... of which no memory is known' "$(jobstack report -s empty)" '--mem: unknown'
is '--since: nothing lately' "$(sql "UPDATE attempt SET ended=ended-INTERVAL 1 DAY, started=started-INTERVAL 1 DAY WHERE stack_id=(SELECT stack_id FROM stack WHERE name='empty')"
	jobstack report -s empty --since 2h | tail -n 1)" 'no attempt has ended since the given time'
push bad --max-attempts 1 /1 /2
check 'all fail' worker -s bad -- sh -c 'exit 4'
like '... and it says so' "$(jobstack report -s bad)" 'wasted: .*100.0 %.*failed: exit 4 +2 .*no recommendation, because no entry is done: .*-t dead'

# ---- many, of every kind: made up, with times over eight powers of ten
made_up many
ten='(SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7)'
sql "INSERT INTO entry SELECT $ID,1+a.d+8*b.d+64*c.d+512*e.d,CONCAT('/d/',1+a.d+8*b.d+64*c.d+512*e.d) FROM $ten a,$ten b,$ten c,$ten e;
INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,signo,reason,started,ended,user_us,system_us,maxrss_kib,read_bytes,write_bytes)
SELECT $ID,n,1,$WORKER+n%3,o,o=0,IF(o=1 AND n%2=0,n%5+1,NULL),IF(o=1 AND n%2=1,n%2+8,NULL),NULL,IF(o=2 AND n%3=0,NULL,began),began+INTERVAL us MICROSECOND,IF(o=2,NULL,us DIV 2),
	IF(o=2,NULL,us DIV 10),IF(o=2,NULL,1000+r%50000),IF(o=2,NULL,n*1000),IF(o=2,NULL,n)
FROM (SELECT entry_id n,CRC32(entry_id) r,IF(entry_id%7<>0,0,1+(entry_id DIV 7)%2) o,FLOOR(POW(10,CRC32(entry_id)%8+CRC32(entry_id*3)%1000/1000)) us,
	'2026-11-01'+INTERVAL (CRC32(entry_id*5)%86400) SECOND began FROM entry WHERE stack_id=$ID) x"
settle
rows_of many >rows
is 'many: the numbers are those of the rows' "$(python3 compare.py many rows 2>&1 | tail -n 1)" 'the same'
like 'nodes in their order' "$(jobstack report -s many)" $'\n  n1  .*\n  n2  .*\n  n10 '
widest=$(jobstack report -s many | awk '{ if (length > n) n = length } END { print n + 0 }')
check "it fits a mail: $widest columns" test "$widest" -le 80
narrow() { script -qec "env -u NO_COLOR TERM=xterm COLUMNS=$1 jobstack report -s many -q" /dev/null; }
narrow 50 >narrow.txt
check 'a terminal of 50 columns gets lines of 50' python3 -c '
import re, sys
lines = [re.sub("\033\\[[0-9;]*[mK]", "", l.rstrip("\r\n")) for l in open("narrow.txt", errors="replace", newline="\n")]
assert len(lines) > 20 and max(map(len, lines)) <= 50, max(lines, key=len)'
check '... with colour' grep -q $'\033' narrow.txt
slurm=$(jobstack report -s many --slurm --within 8h)
like 'lines for a batch script' "$slurm" '^#!/bin/bash
#SBATCH --job-name=many
#SBATCH --time=[0-9:-]+
#SBATCH --mem=256M
#SBATCH --cpus-per-task=4
#SBATCH --array=1-[0-9]+
srun --cpus-per-task=4 jobstack-worker -s many --slots 4 --timeout [0-9]+[smh] -- COMMAND \{\}$'
check '... that bash reads' bash -n <<<"$slurm"
# ---- the page
cat >page.py <<'P'
# page.py FILE [WORDS...]: the page is whole, asks for nothing, runs only its own script, and its data has these words.
# page.py --data FILE: prints the data.
import base64, hashlib, html.parser, json, re, sys
text = open(sys.argv[-1] if sys.argv[1] == "--data" else sys.argv[1], encoding="utf-8").read()
class Page(html.parser.HTMLParser):
    open, seen, data = [], [], ""
    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append((tag, dict(attrs).get("id")))
    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag, (tag, self.getpos())
    def handle_data(self, data):
        self.data += data if self.open[-1:] == [("script", "data")] else ""
page = Page()
page.feed(text)
data = json.loads(page.data)
if sys.argv[1] == "--data":
    print(json.dumps(data))
    sys.exit()
assert page.open == [], page.open
assert "<" not in page.data
tags = [tag for tag, _ in page.seen]
assert tags.count("script") == 2 and tags.count("style") == 1 and not {"link", "img", "iframe", "object", "a", "form"} & set(tags), tags
assert not [a for _, a in page.seen if {"src", "href", "style"} & set(a) or [k for k in a if k.startswith("on")]], "it asks for something"
assert "http:" not in text and "https:" not in text and "url(" not in text and "@import" not in text
policy = next(a["content"] for _, a in page.seen if a.get("http-equiv") == "Content-Security-Policy")
hashes = ["'sha256-%s'" % base64.b64encode(hashlib.sha256(re.search("<%s>(.*?)</%s>" % (tag, tag), text, re.S).group(1).encode()).digest()).decode()
    for tag in ("style", "script")]
assert policy == "default-src 'none'; style-src %s; script-src %s" % tuple(hashes), policy
assert len(text) <= 300000, len(text)
def strings(of):
    if isinstance(of, dict):
        return ([of["head"] + ": " + of["text"]] if "head" in of else []) + [s for v in of.values() for s in strings(v)]
    return [s for v in of for s in strings(v)] if isinstance(of, list) else [of] if isinstance(of, str) else []
for words in sys.argv[2:]:
    assert words in "\n".join(strings(data)), words
print(len(text))
P
data() { python3 page.py --data "$1" | jq -c "$2"; } # FILE FILTER
jobstack push -q -s odd --max-attempts 1 $'/d/<script>alert("1")</script>\x1b[31m&amp;' '/d/"on' "/d/'load" /d/4 /d/5 >/dev/null
SLURM_MEM_PER_NODE=4096 jobstack-worker -q -s odd --slots 1 -- sh -c 'head -c "$JOBSTACK_ENTRY"000 /dev/zero; case $JOBSTACK_ENTRY in 1) echo "</td><script>alert(2)</script>" >&2; exit 3;; esac' >/dev/null
check 'a page' jobstack report odd --html odd.html
check '... is whole, asks for nothing, and runs nothing of what names contain' python3 page.py odd.html '4 are done, 1 dead' $'/d/<script>alert("1")</script>\x1b[31m&amp;' '</td><script>alert(2)</script>' '#SBATCH --time=' 'Requested: 4.0 GiB per node. 1 attempt as large as the p99 uses '
check 'a page of many' jobstack report many --html many.html
check '... with its sentences' python3 page.py many.html 'What went wrong: 585 of 4096 attempts' 'Bad node: none' 'Request next time: --time=' '#SBATCH --array='
is '... and all that `report --json` says' "$(data many.html '.reports[0]|del(.more_nodes)')" "$(jobstack report many --json | jq -c .)"
spread=$(sql "SELECT FORMAT(STDDEV_SAMP(us)/AVG(us),2,'en_US'),FORMAT(STDDEV_SAMP(bytes*1e6/us)/AVG(bytes*1e6/us),2,'en_US') FROM (
	SELECT TIMESTAMPDIFF(MICROSECOND,a.started,a.ended) us,read_bytes+write_bytes bytes FROM attempt a JOIN worker w USING(worker_id)
	WHERE a.stack_id=$ID AND outcome=0 AND node='n2') x WHERE us>0" | tr '\t' ' ')
is '... the variation is that of SQL' "$(data many.html '.reports[0].nodes[]|select(.node=="n2")|[.time_cv,.bytes_cv][]' | xargs printf '%.2f ' | sed 's/ $//')" "$spread"
check '... of one of which nothing has ended' jobstack report -s empty --since 2h --html empty.html
check '... and of several' jobstack report odd empty bad --html several.html
check '... in one file' python3 page.py several.html odd empty bad
for i in {1..60}; do push "one$i" /1 && jobstack pop -q -s "one$i" >/dev/null && jobstack close -s "one$i" 1; done
check '... of many, in 300 kB' jobstack report many odd one{1..60} --html sixty.html
check '... with the main figures of each' python3 page.py sixty.html one1 one60
is '... and only these of the largest' "$(data sixty.html '[.reports[]|select(.brief)|.stack] | index("many") != null and index("one60") == null')" true
check '... and of all' jobstack report --all --html all.html
is '... each stack once' "$(data all.html '.reports[].stack' | tr -d '"' | sort | tr '\n' ' ')" "$(jobstack status --json | jq -r .stack | sort | tr '\n' ' ')"
check '--all and a name' says 2 "--all means every stack: don't name one" jobstack report --all odd
check '... one of which is not there' says 2 'there is no stack "nosuch"' jobstack report odd nosuch --html part.html
check '... has the others' python3 page.py part.html odd
check '... also if it is the first' says 2 'there is no stack "nosuch"' jobstack report nosuch odd --html part2.html
check '... has them, too' python3 page.py part2.html odd
LC_ALL=C check '... in another locale' jobstack report odd --html c.html
timeless() { sed 's/"made":"[^"]*"//; s/"last_seen_seconds":[0-9.]*//g' "$@" | cksum; }
is '... the same' "$(timeless c.html)" "$(timeless odd.html)"
is '... or printed' "$(jobstack report odd --html - | timeless)" "$(timeless odd.html)"
check 'a directory that is not there' says 2 "can't write the page to nowhere/page.html: No such file" jobstack report odd --html nowhere/page.html
check '--html and --json' says 2 "--html can't be used with --json" jobstack report odd --html x --json
check '--every without it' says 2 '--every needs --html' jobstack report odd --every 5
check '--every of two' says 2 '--every follows one stack' jobstack report odd bad --html x --every 5
jobstack push -q -s live /d/1 /d/2 >/dev/null
timeout 200 jobstack report live --html live.html --every 1 &
writer=$!
check 'a page that is written again' wait_for 20 grep -q '2 of 2 entries left' live.html
check '... is loaded again' grep -q '"reload_seconds":1,' live.html
worker -s live -- true
wait $writer
is '... until nothing is left' "$? $(grep -c '"reload_seconds":[1-9]' live.html) $(grep -c 'Finished. 2 are done' live.html)" '0 0 1'

# ---- entries of weeks, and fewer of them than the workers that their work would take
jobstack push -q -s weeks /d/1 /d/2 >/dev/null
worker -s weeks --slots 1 -- true
sql "UPDATE attempt JOIN stack USING(stack_id) SET started=ended-INTERVAL 21 DAY WHERE name='weeks'"
is 'entries of three weeks: a job for two of them, no more workers than entries' \
	"$(jobstack report -s weeks --slurm --within 30d | grep -oE '(time|array|timeout)[= ][^ ]*' | tr '\n' ' ')" 'time=42-00:00:00 array=1-2 timeout 1512h '
check 'too short a wall time' says 1 'no number of workers' jobstack report -s many --slurm --within 10s
like '... in the report' "$(jobstack report -s many --within 10s)" 'no number of workers can finish in 10 s'

# ---- memory that does not grow: 4,096 and 131,072 attempts
made_up large
sql "INSERT INTO entry SELECT $ID,entry_id,datapath FROM entry JOIN stack USING(stack_id) WHERE name='many';
INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,started,ended,user_us,system_us,maxrss_kib,log_at,log_out,log_err)
SELECT $ID,entry_id,1,$WORKER+entry_id%3,0,1,0,'2026-11-01'+INTERVAL entry_id SECOND,'2026-11-01'+INTERVAL entry_id*3 SECOND,1,1,1,0,9,9 FROM entry WHERE stack_id=$ID"
settle
cat >memory.py <<'P'
import resource, subprocess, sys, time
before = time.monotonic()
subprocess.run(["jobstack", *sys.argv[1:], "-s", "large"], check=True, stdout=open("out", "wb"))
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, round(time.monotonic() - before, 2))
P
commands=('report' 'export' 'export --what entries' 'export --format jsonl')
declare -A small
# shellcheck disable=SC2086 # options are words
for c in "${commands[@]}"; do small[$c]=$(python3 memory.py $c | cut -d' ' -f1); done
for n in 4096 8192 16384 32768 65536; do
	sql "INSERT INTO entry SELECT stack_id,entry_id+$n,datapath FROM entry WHERE stack_id=$ID;
	INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,started,ended,user_us,system_us,maxrss_kib,log_at,log_out,log_err)
	SELECT stack_id,entry_id+$n,attempt,worker_id,outcome,final,exit_code,started,ended,user_us,system_us,maxrss_kib,log_at,log_out,log_err FROM attempt WHERE stack_id=$ID"
done
settle
allowed=8192
! grep -q __asan_init "$(command -v jobstack)" || allowed=300000 # it keeps what was freed
for c in "${commands[@]}"; do
	# shellcheck disable=SC2086
	read -r kib seconds < <(python3 memory.py $c)
	echo "# $c: 131072 attempts in $seconds s, $kib KiB; 4096 in ${small[$c]} KiB"
	check "$c: 32 times the attempts in the same memory" test $((kib - small[$c])) -le $allowed
done
is '... all of them' "$(jobstack export -s large --what entries -o entry | wc -l)" 131073
finish
