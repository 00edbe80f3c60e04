#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack export: each row once, whatever the names, the states and what goes on meanwhile; the same values as `list` tells; memory
# that does not grow; output that fails.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

push() { local stack=$1; shift; jobstack push -q -s "$stack" "$@" >/dev/null; }
entries() { jobstack export -s "$1" --what entries "${@:2}"; }

# ---- wrong usage
check '--nosuch' says 2 'jobstack export: there is no option --nosuch' jobstack export --nosuch
check 'an unknown format' says 2 'csv or jsonl, not "xml"' jobstack export --format xml
check 'what is not there' says 2 'attempts or entries, not "workers"' jobstack export --what workers
check 'an unknown field' says 2 'unknown field "odd"' jobstack export -o entry,odd
check '... and what was meant' says 2 'did you mean "datapath"' jobstack export -o datpath
check 'the state of an attempt' says 2 'state is a field of entries' jobstack export -o entry,state
check 'an unknown outcome' says 2 '"dead" is not an outcome of an attempt' jobstack export -t done,dead
check 'an unknown state' says 2 '"interrupted" is not a state' jobstack export --what entries -t interrupted
check 'no time' says 2 'takes a duration' jobstack export --since yesterday
check 'an impossible time' says 2 'takes a duration' jobstack export --since 2026-13-01
check 'a word is a stack' says 2 'there is no stack "5"' jobstack export 5
check 'no such stack' says 2 'there is no stack "nosuch"' jobstack export -s nosuch
is '... and no head of a table' "$(jobstack export -s nosuch 2>/dev/null)" ''
like '--help' "$(jobstack export --help)" '^usage: jobstack export '

# ---- each column is explained, and named where it can be asked for
fields=$(jobstack export -o nosuch 2>&1 | sed 's/.*the fields are //; s/: see --help$//')
undocumented=''
for field in $fields; do
	sed -n '/^### Columns/,/^### CSV/p' "$JOBSTACK_SOURCE/docs/DATA.md" | grep -q "^|[^|]*\`$field\`" || undocumented+=" $field"
done
is 'docs/DATA.md explains each column' "$undocumented" ''
is 'list --help names them in that order' "$(jobstack list --help | tr -s ' \n' ' ' | grep -c "value: $fields -0, --null")" 1

# ---- names of any bytes, and every end
cat >names.py <<'P'
import sys
names = [b"/plain", b"/a,b", b'/"quoted"', b"/'single'", b"/new\nline", b"/end\r\n", b"/cr\r", b"/\xff\xfe\x80", b"/back\\slash", b"/ ", b" lead",
         b"/" + bytes(range(1, 256)), "/äöü€𝄞".encode(), b"/tab\there", b"/x" * 2000]
sys.stdout.buffer.write(b"".join((n if n.startswith(b"/") else b"/" + n) + b"\0" for n in names))
P
python3 names.py >names
jobstack push -q -0 -s odd --retry-delay 0 --max-attempts 2 -a names >/dev/null
printf '#!/bin/sh\ncase $JOBSTACK_ENTRY in 2) exit 3;; 3) kill -9 $$;; 4) [ "$JOBSTACK_ATTEMPT" = 2 ];; 5) [ "$JOBSTACK_ATTEMPT" != 1 ] || exit 75;; *) echo out;; esac\n' >cmd
chmod +x cmd
check 'work' worker -s odd --slots 2 --chdir . -- ./cmd
cat >compare.py <<'P'
# Both forms of an export, and what list says in JSON: the same fields with the same values; and the names are those that were pushed.
import base64, csv, io, json, subprocess, sys
what = sys.argv[1]
def run(*a): return subprocess.run(["jobstack", *a], check=True, stdout=subprocess.PIPE).stdout
csv_bytes = run("export", "-s", "odd", "--what", what)
assert csv_bytes.endswith(b"\r\n")
rows = list(csv.reader(io.StringIO(csv_bytes.decode("latin-1"), newline="")))
head, rows = rows[0], rows[1:]
lines = [json.loads(l) for l in run("export", "-s", "odd", "--what", what, "--format", "jsonl").splitlines()]
assert len(rows) == len(lines), (len(rows), len(lines))
if what == "entries":
    assert "state" in head
    expected = sorted((json.loads(l) for l in run("list", "-s", "odd", "-t", "all", "--json").splitlines()), key=lambda o: o["entry"])
else:
    assert "state" not in head
    expected = []
    for e in sorted({o["entry"] for o in lines}):
        expected += json.loads(run("show", "-s", "odd", str(e), "--json"))["attempts"]
assert len(expected) == len(lines), (len(expected), len(lines))
pushed = open("names", "rb").read().split(b"\0")[:-1]
for row, line, e in zip(rows, lines, expected):
    row = dict(zip(head, row))
    name = base64.b64decode(line["datapath_base64"]) if "datapath_base64" in line else line["datapath"].encode()
    assert name == pushed[line["entry"] - 1], name
    assert row["datapath"].encode("latin-1") == name, (row["datapath"], name)
    for key, value in e.items():
        if key in line:
            assert line[key] == value, (key, line[key], value)
    for key, value in line.items():
        if key.startswith("datapath"): continue
        if value is None: assert row[key] == "", (key, row[key])
        elif isinstance(value, float): assert float(row[key]) == value, (key, row[key], value)
        else: assert row[key] == str(value), (key, row[key], value)
print(what, len(lines))
P
is 'attempts: CSV, JSON and show agree' "$(python3 compare.py attempts 2>&1)" "attempts $(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='odd'")"
is 'entries: CSV, JSON and list agree' "$(python3 compare.py entries 2>&1)" "entries $(tr -cd '\0' <names | wc -c)"
is 'fields, in the order asked for' "$(jobstack export -s odd -o outcome,exit_code,signal,attempt,entry -t failed | tr -d '\r')" \
	$'outcome,exit_code,signal,attempt,entry\nfailed,3,,1,2\nfailed,3,,2,2\nfailed,,9,1,3\nfailed,,9,2,3\nfailed,1,,1,4'
is 'interrupted ones' "$(jobstack export -s odd -o entry,attempt,outcome -t interrupted --json)" '{"entry":5,"attempt":1,"outcome":"interrupted"}'
is 'lines end as RFC 4180 says' "$(jobstack export -s odd -o entry -t interrupted | od -An -c | tr -s ' ')" ' e n t r y \r \n 5 \r \n'

# ---- states of entries
push states --retry-delay 1h /1 /2 /3 /4 /5 /6
for n in 1 2 3 4; do jobstack pop -q -s states >/dev/null; done
jobstack close -s states 1 && jobstack close -s states 2 --exit 1 && jobstack close -s states 3
jobstack requeue -q -s states -t 'done' 3 >/dev/null
is 'done, waiting, ready again, running, ready' "$(entries states -o entry,state,attempt,outcome | tr -d '\r')" \
	$'entry,state,attempt,outcome\n1,done,1,done\n2,waiting,1,failed\n3,ready,1,done\n4,running,1,\n5,ready,0,\n6,ready,0,'
like 'what runs has a start and no end' "$(entries states -t running -o entry,started,ended,worker --json)" '^\{"entry":4,"started":"20[^"]*Z","ended":null,"worker":[0-9]+\}$'
is 'in a choice of states' "$(entries states -t failed,done -o entry | tr -d '\r' | tr '\n' ' ')" 'entry 1 2 '
jobstack cancel -q -s states --all >/dev/null 2>&1
is 'cancelled' "$(entries states -o entry,state -t cancelled | tr -d '\r' | tr '\n' ' ')" 'entry,state 2,cancelled 3,cancelled 5,cancelled 6,cancelled '
is '--since: what ended long ago, and what never ran, is left out' "$(sql "UPDATE attempt JOIN stack USING(stack_id) SET ended=ended-INTERVAL 1 DAY WHERE name='states' AND entry_id=1"
	entries states -o entry --since 2h | tr -d '\r' | tr '\n' ' ')" 'entry 2 3 4 '
is '... attempts' "$(jobstack export -s states -o entry --since "$(date -u -d '-3 hours' +%FT%T)Z" | tr -d '\r' | tr '\n' ' ')" 'entry 2 3 '
push from --max-attempts 1 /1 /2
check 'both fail' worker -s from -- false
check 'one goes to another stack' jobstack requeue -q -s from --to other 2
is '... where it went is told' "$(entries from -o entry,state,outcome,to_stack,to_entry | tr -d '\r')" \
	$'entry,state,outcome,to_stack,to_entry\n1,dead,failed,,\n2,moved,failed,other,1'
numbered 1 5000 | jobstack push -q -s sparse >/dev/null
sql "INSERT INTO set_aside(stack_id,entry_id,attempt,\`rank\`,to_stack,state) SELECT stack_id,entry_id,0,0,IF(entry_id=2049,1,NULL),IF(entry_id=2049,2,0) FROM entry JOIN stack USING(stack_id)
	WHERE name='sparse' AND entry_id IN(2,2048,2049,4999)"
is 'the dead alone, wherever they are' "$(entries sparse -t dead -o entry,state | tr -d '\r' | tr '\n' ' ')" 'entry,state 2,dead 2048,dead 4999,dead '
is '... and what has moved' "$(entries sparse -t moved,dead -o entry | tr -d '\r' | tr '\n' ' ')" 'entry 2 2048 2049 4999 '
jobstack drop -q -s sparse --yes
push none /1
is 'nothing has run: only the head' "$(jobstack export -s none -o entry,outcome)" $'entry,outcome\r'

# ---- while workers go on, each entry is there once, in order
numbered 1 6000 | jobstack push -q -s moving --retry-delay 0 >/dev/null
worker -s moving --slots 2 --batch 50 -- sh -c '[ $((JOBSTACK_ENTRY % 3)) != 0 ]' &
pid=$!
while_moving() {
	local n=0 bad
	while kill -0 "$pid" 2>/dev/null || ((n < 3)); do
		bad=$(entries moving -o entry,state | tr -d '\r' | awk -F, 'NR>1 && ($1 != NR-1 || $2 == "") { print; exit } END { if (NR != 6001) print NR }')
		[[ -z $bad ]] || { echo "round $n: $bad"; return 1; }
		n=$((n + 1))
		((n < 12)) || break
	done
	echo "# $n exports while it ran"
}
wait_for 20 sh -c 'jobstack export -s moving -o entry | grep -q 1'
check 'each entry once, in order, while they are worked on' while_moving
jobstack cancel -q -s moving --all >/dev/null 2>&1
wait "$pid"

# ---- output that fails
check 'a full disk' says 70 'can.t write the output: No space left on device' sh -c 'jobstack export -s moving >/dev/full'
check '... at the very end' says 70 'No space left on device' sh -c 'jobstack export -s none >/dev/full'
check 'a closed pipe' python3 -c '
import os, subprocess, sys
for stack in ("moving", "none"):
    r, w = os.pipe(); os.close(r)
    s = subprocess.run(["jobstack", "export", "-s", stack, "--what", "entries"], stdout=w).returncode
    os.close(w)
    assert s == 70, s'
check 'a closed output' fails_with 70 sh -c 'jobstack export -s none >&-'
finish
