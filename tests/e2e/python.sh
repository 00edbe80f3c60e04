#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: db
#
# The Python module: it says what the header says; push, pop, close, look; names of any bytes; what goes wrong is an exception.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
export PYTHONDONTWRITEBYTECODE=1 JOBSTACK_LIBRARY=$JOBSTACK_BIN/libjobstack.so PYTHONPATH=$JOBSTACK_SOURCE/src/python

check 'header.py is what the header says' "$JOBSTACK_SOURCE/scripts/python-structs" --check
"$JOBSTACK_SOURCE/scripts/python-structs" --probe >probe.c
check '... which a compiler reads as well' cc -Wall -Werror -I "$JOBSTACK_SOURCE/include" -o probe probe.c
cat >layout.py <<'P'
import ctypes, subprocess
from jobstack import header
lines = subprocess.check_output(["./probe"]).decode().splitlines()
structs, bad = set(), []
for words in (line.split() for line in lines):
    name, _, member = words[0].partition(".")
    what = getattr(header, name)
    if member == "init":
        got = ["init", bytes(getattr(what, "init", what)()).hex()]
        words = ["init"] + words[1:]
    elif member:
        got = [words[0], str(getattr(what, member).offset), str(getattr(what, member).size)]
    elif isinstance(what, type):
        structs.add(name)
        got = [name, str(ctypes.sizeof(what))]
    else:
        got = [name, str(what)]
    if got != words:
        bad.append("%s: the compiler says %s" % (got, words))
assert len(lines) > 150 and len(structs) >= 14, (len(lines), structs)
assert not bad, bad
P
check '... and sees the same sizes, offsets, values and beginnings' python3 layout.py
check '... a member that drifted is noticed' python3 - <<'P'
import ctypes
from jobstack import header
header.jobstack_outcome = type("jobstack_outcome", (ctypes.Structure,), {"_fields_": header.jobstack_outcome._fields_[1:]})
try:
    exec(open("layout.py").read())
except AttributeError:
    raise SystemExit(0)
raise SystemExit("it was not")
P
check 'it is Python 3.6' python3 - <<'P'
import ast, glob, os, sys
files = glob.glob(os.path.join(os.environ["PYTHONPATH"], "jobstack", "*.py"))
assert len(files) >= 6
for file in files:
    ast.parse(open(file).read(), file, **({"feature_version": (3, 6)} if sys.version_info >= (3, 8) else {}))
P

cat >work.py <<'P'
import logging, os, pathlib, threading
import jobstack
from jobstack import Failed, Later, LeaseLost, Missing, NoDatabase, Stack, UsageError
logging.getLogger("jobstack").setLevel(logging.CRITICAL)

def raises(kind, function, *args, **kw):
    try:
        function(*args, **kw)
    except kind as e:
        return e
    raise AssertionError("no %s from %s" % (kind, function))

db = jobstack.connect()
assert "/" in db.describe()
s = Stack("any", db)
raises(Missing, s.status)
names = [b"/n/plain", b"/n/with blank ", b"/n/new\nline", b"/n/\xff\xfe", "/n/\u00e4".encode()]
assert s.push([names[0], os.fsdecode(names[1]), pathlib.Path(os.fsdecode(names[2])), names[3], "/n/\u00e4"]) == 5
assert s.push(iter(names), unique=True) == 0
assert s.push("/n/plain", unique=True) == 0, "a str is one name"
assert (s.status().pushed, s.status().ready, s.status().left) == (5, 5, 5)
assert [e.datapath for e in s.entries(batch=2) if not e.done()] == names
assert s.status().finished and s.status().state == "finished" and s.status().done == 5
assert [i.datapath for i in s.list("done")] == names and s.list("dead") == []
assert s.find(names[3]) == 4 and s.find("/n/none") is None

# what goes wrong in a `with`
s = Stack("wrong", db)
s.push(["/w/%d" % i for i in range(1, 8)], max_attempts=1, retry_delay=0)
handed = set()
for entry in s.entries():
    if entry.number == 7:
        break
    with entry:
        if entry.number == 1:
            raise ValueError("no\nsuch \x00 thing")
        if entry.number == 2:
            raise Failed("by code", 7)
        if entry.number == 3 and entry.attempt == 1:
            raise Later("not now")
        if entry.number == 4 and 4 not in handed:
            handed.add(4)
            entry.hand_back()
        if entry.number == 5:
            assert os.fspath(entry) == "/w/5" and entry.fails == 0
            entry.renew(3600)
        if entry.number == 6:
            entry.failed("fatal", 9, fatal=True)
assert entry.open
try:
    with entry:
        raise KeyboardInterrupt
except KeyboardInterrupt:
    pass
for entry in s.entries(wait=True):
    with entry:
        assert entry.number in (3, 4, 7), entry
dead = {i.entry: (i.exit_code, i.reason) for i in s.list("dead")}
assert dead == {1: (1, "ValueError: no such ? thing"), 2: (7, "by code"), 6: (9, "fatal")}, dead
assert sorted(i.entry for i in s.list(["done"])) == [3, 4, 5, 7]
assert [i.outcome for i in s.attempts(7)] == ["interrupted", "done"], s.attempts(7)
assert [i.outcome for i in s.attempts(3)] == ["interrupted", "done"] and s.attempts(3)[0].reason == "not now"
table = jobstack.dataframe("wrong", db)
rows = [(e, a, o) for e, a, o in zip(table["entry"], table["attempt"], table["outcome"]) if e in (5, 6, 7)]
assert rows == [(5, 1, "done"), (6, 1, "failed"), (7, 1, "interrupted"), (7, 2, "done")], rows
assert set(table["path"]) == {"/w/%d" % i for i in range(1, 8)} and all(s >= 0 for s in table["seconds"])
item = s.attempts(5)[0]
assert item.major_faults == -1, "a script's close tells of no usage"
assert item.seconds >= 0 and item.node and item.user and item.argv[0] == "python" and item.state == "done"
assert s.cancel("not needed", entries=[5, 6]) == 1 and [i.entry for i in s.list("cancelled")] == [6]
assert s.requeue(entries=[1, 2], dry_run=True) == 2 and s.requeue(entries=[1, 2]) == 2 and s.requeue() == 0
assert s.requeue("cancelled") == 1
try:
    with s.pop(reraise=True) as entry:
        raise OSError("it is passed on")
except OSError as e:
    assert entry.error is e
e = s.pop()
number = e.number
e.done()
assert raises(LeaseLost, e.failed, "too late").code == 1
assert raises(UsageError, e.failed, code=0)
s.pause("for a moment")
assert s.status().state == "paused" and s.status().note == "for a moment" and s.pop() is None
s.resume()
for e in s.entries():
    e.hand_back() if not e.attempt else e.done()
raises(UsageError, lambda: [None for _ in Stack("two", db).entries()] if Stack("two", db).push(["/1", "/2"]) else None)
assert Stack("two", db).status().running == 1, "the entry that was seen is still held, the other is not"

# a pop that is left in the middle gives back what nobody saw
s = Stack("batch", db)
s.push("/b/%d" % i for i in range(10))
for e in s.entries(batch=5):
    e.done()
    if e.number == 2:
        break
assert (s.status().done, s.status().ready, s.status().running) == (2, 8, 0), s.status()

# errors
raises(UsageError, Stack, "a\0b", db)
raises(UsageError, Stack("a/b", db).push, ["/x"])
raises(UsageError, s.push, ["a\0b"])
raises(TypeError, s.push, [7])
raises(ZeroDivisionError, s.push, (1 // 0 for _ in [1]))
raises(ZeroDivisionError, s.each, lambda item: 1 // 0)
raises(UsageError, s.each, lambda item: s.status())
raises(UsageError, s.list, "sleeping")
raises(UsageError, s.pop, lease=0)
assert raises(NoDatabase, jobstack.connect, "/dev/null", host="127.0.0.1", port=1, patience=0).code == -69
assert raises(Missing, Stack("none", db).pop).code == -3
if os.fork() == 0:
    try:
        s.status()
    except UsageError:
        os._exit(7)
    os._exit(0)
assert os.WEXITSTATUS(os.wait()[1]) == 7, "a child may not use its parent's connection"

# a thread a connection
s = Stack("threads", db)
s.push(["/t/%d" % i for i in range(200)])
seen = []
def work():
    with jobstack.connect() as mine:
        for entry in mine.stack("threads").entries(batch=7):
            with entry:
                seen.append(entry.number)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert sorted(seen) == list(range(1, 201))
os.environ["JOBSTACK_STACK"] = "threads"
assert Stack().status().done == 200
assert "threads" in [x.stack for x in db.stacks()]
db.close()
raises(UsageError, s.status)
P
check 'push, pop, close, look, and what goes wrong' python3 -X faulthandler work.py

# closed, or used, while a call runs; and what outlives its connection
cat >closing.py <<'P'
import copy, logging, os, threading
import jobstack
from jobstack import UsageError
from jobstack.library import ITEM, lib
logging.getLogger("jobstack").setLevel(logging.CRITICAL)

def refused(word, function, *args):
    try:
        function(*args)
    except UsageError as e:
        assert word in str(e), (function, e)
        return
    raise AssertionError("%s was not refused" % function)

def all_refused(word, db, s, entry):
    for function in (s.status, s.list, s.pop, s.requeue, s.pause, s.resume, s.cancel, entry.done, entry.failed, entry.later,
                     entry.hand_back, entry.renew, db.stacks, db.describe, lambda: next(s.entries())):
        refused(word, function)
    for function in (s.push, s.find, s.attempts, s.each):
        refused(word, function, b"1" if function in (s.push, s.find) else 1 if function == s.attempts else print)
    refused(word, jobstack.dataframe, "closing", db)

def elsewhere(function, *args):
    raised = []
    def work():
        try:
            function(*args)
        except BaseException as e:
            raised.append(e)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]

def in_child(function):
    pid = os.fork()
    if pid == 0:
        try:
            function()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0

db = jobstack.connect()
s = db.stack("closing")
assert s.push(["/c/%d" % i for i in range(20)]) == 20
entry = s.pop()
with s.pop():
    pass

# by a callback: of a list, of an export, of a push's names, of the stacks
def names():
    yield "/c/more"
    db.close()
refused("in use", s.each, lambda item: db.close())
refused("in use", db.visit, lib.jobstack_export, ITEM, lambda raw: db.close(), b"closing", None)
refused("in use", db.visit, lib.jobstack_status, jobstack.library.STATUS, lambda raw: db.close(), None)
refused("in use", s.push, names())
s.each(lambda item: refused("in use", db.close))
s.each(lambda item: all_refused("in use", db, s, entry), limit=1)
# by another thread, and by a child, which only forgets it
s.each(lambda item: elsewhere(refused, "in use", db.close))
s.each(lambda item: elsewhere(all_refused, "in use", db, s, entry), limit=1)
s.each(lambda item: in_child(db.close), limit=1)
assert s.status().running == 1, "nothing of that was done"

# by another thread at any moment of a call
for _ in range(40):
    mine = jobstack.connect()
    def close():
        while mine._handle:
            try:
                mine.close()
            except UsageError:
                pass
    thread = threading.Thread(target=close)
    thread.start()
    try:
        while True:
            mine.stacks()
    except UsageError as e:
        assert "closed" in str(e) or "in use" in str(e), e
    thread.join()

# what outlives it
left = s.entries(batch=3)
next(left).done()
twin = copy.copy(db)
db.close()
db.close()
all_refused("closed", db, s, entry)
refused("closed", left.close)
refused("closed", entry.__exit__, None, None, None)
twin.close()
refused("closed", twin.stacks)
with jobstack.connect() as db:
    s = db.stack("closing")
    del db
assert entry.number == 1 and entry.path == "/c/0"
refused("closed", s.status)
P
check 'closed while a call runs, and used after that' python3 -X faulthandler closing.py
for name in any wrong two batch threads closing; do check "the audit of $name" audit $name; done
is 'relative names belong to the pushing directory' "$(python3 -c 'import jobstack; jobstack.Stack("rel").push(["x"])' && sql "SELECT cwd FROM stack WHERE name='rel'")" "$PWD"

# Slurm's variables, and the lease to the job's end
jobstack push -q -s slurm /x >/dev/null
end=$(($(date +%s) + 1000))
check 'in a job' env SLURM_JOB_ID=77 SLURM_ARRAY_JOB_ID=70 SLURM_ARRAY_TASK_ID=3 SLURMD_NODENAME=n9 SLURM_JOB_END_TIME=$end python3 -c '
import jobstack
jobstack.Stack("slurm").pop()'
like '... it is known to be there, until the job ends' "$(jobstack status -s slurm --json)" '"node":"n9".*"job":"77","array_job":"70","array_task":"3"'
like '... its lease ends with the job' "$(sql "SELECT lease_us DIV 1000000 FROM worker JOIN stack USING(stack_id) WHERE name='slurm'")" '^(9[0-9][0-9]|1000)$'

# the option file, as the command finds it
mkdir -p home2/.config/jobstack
cp "$JOBSTACK_TEST_CNF" home2/.config/jobstack/client.cnf
where='import jobstack; print(jobstack.connect().describe().split()[0])'
is 'the file that `jobstack server` writes' "$(env -u JOBSTACK_DEFAULTS_FILE -u XDG_CONFIG_HOME HOME="$PWD/home2" python3 -c "$where")" "$(python3 -c "$where")"
mv home2/.config/jobstack/client.cnf home2/.my.cnf
is '... or ~/.my.cnf' "$(env -u JOBSTACK_DEFAULTS_FILE -u XDG_CONFIG_HOME HOME="$PWD/home2" python3 -c "$where")" "$(python3 -c "$where")"

# installed, from wherever the prefix is
check 'installed' cmake --install "$JOBSTACK_BIN" --prefix "$PWD/prefix"
mv prefix moved
is '... it finds its library' "$(env -u JOBSTACK_LIBRARY PYTHONPATH="$PWD/moved/share/jobstack/python" python3 -c 'import jobstack; print(jobstack.version() == jobstack.__version__, jobstack.library.lib._name)' | sed "s|[^ ]*/\.\./||")" \
	"True $(cd moved && find lib* -name "libjobstack.so.[0-9]")"
like '... and says so if it does not' "$(JOBSTACK_LIBRARY=/proc/none python3 -c 'import jobstack' 2>&1)" 'ImportError: can.t load libjobstack \(set \$JOBSTACK_LIBRARY to its path\): /proc/none'
finish
