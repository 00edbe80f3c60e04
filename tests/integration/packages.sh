#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack-worker --packages: which Python packages commands imported, with a real Python and distributions made here;
# and commands that write into the FIFO what they like.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
export PYTHONPATH=$PWD/lib TMPDIR=$PWD/tmp
mkdir -p lib tmp
# distribution NAME VERSION MODULE
distribution() {
	mkdir -p "lib/$1-$2.dist-info" "lib/$3"
	touch "lib/$3/__init__.py"
	printf '%s\n' "$3/__init__.py,," "$1-$2.dist-info/METADATA,," "../../bin/$3,," >"lib/$1-$2.dist-info/RECORD"
}
distribution Snow_Cover 1.2 snow
distribution ice 0.9 icy
mkdir -p lib/old-3.1-py3.11.egg-info lib/older && touch lib/older/__init__.py && echo older >lib/old-3.1-py3.11.egg-info/top_level.txt

# ---- what is imported counts, once per attempt, also of a command that is killed
cat >a.py <<-'END'
	import json, os, snow, older.__init__
	if os.environ["JOBSTACK_ENTRY"] == "1":
	    os.kill(os.getpid(), 9)
	if os.environ["JOBSTACK_ENTRY"] == "2":
	    if os.fork() == 0:
	        import icy
	        os._exit(0)
	    os.wait()
	    os.system("python3 -c 'import snow, icy'")
END
numbered 1 3 | jobstack push -q -s a --max-attempts 1 >/dev/null
check 'commands in Python' worker -s a --packages -- python3 a.py
is '... have packages' "$(packages a)" 'ice 0.9 1;old 3.1 3;snow-cover 1.2 3;'
is '... and their directory is gone' "$(ls tmp)" ''

is '... in one list for those with the same' "$(sql "SELECT GROUP_CONCAT(n ORDER BY n) FROM (SELECT COUNT(*) n FROM attempt JOIN stack USING(stack_id) WHERE name='a' GROUP BY packages) t")" 1,2
like '... which show has' "$(jobstack show -s a 2)" 'packages +ice 0.9, old 3.1, snow-cover 1.2'
# what SCHEMA.md asks of the history
questions=$(sed -n '/^## Useful questions/,/^## Migrations/p' "$JOBSTACK_SOURCE/docs/SCHEMA.md" | grep '^    ' | sed "s/airs-2012/a/; s/numpy 1.24/ice 0.9/")
used=$(sed -n '/^ *SELECT a.entry_id, a.attempt, e.datapath/,/;$/p' <<<"$questions")
is '... which attempt used a version' "$(sql "$used")" $'2\t1\t/d/2'
check '... and all other questions' sql "$questions"
like '... which the report shows' "$(jobstack report a | tr -s ' \n' ' ')" 'PACKAGE VERSION ATTEMPTS NODES old 3.1 3 1 snow-cover 1.2 3 1 ice 0.9 1 1'
check '... and the page' eval 'jobstack report a --html a.html && grep -q "snow-cover" a.html'

# ---- events have them too, also of a command that is killed
numbered 1 3 | jobstack push -q -s event --max-attempts 1 >/dev/null
check 'a worker that writes events' worker -s event --slots 2 --packages --events event.log -- python3 a.py
is '... with the packages of each attempt' "$(jq -cS '[.entry,.packages]' event.log | sort)" \
	"$(printf '[%d,{"old":"3.1","snow-cover":"1.2"}]\n' 1 2 3 | sed '2s/{/{"ice":"0.9",/')"
numbered 1 1 | jobstack push -q -s none >/dev/null
check 'a command without packages' worker -s none --packages --events none.log -- true
is '... has none' "$(jq -c .packages none.log)" '{}'

# ---- a moved tree: what lies beside the program is taken
mkdir -p tree/bin tree/share/jobstack/shims/jobstack_packages
cp "$(command -v jobstack-worker)" tree/bin/
{ cat "$JOBSTACK_SOURCE/src/shims/jobstack_packages/sitecustomize.py" && echo "open('$PWD/beside', 'w')"; } \
	>tree/share/jobstack/shims/jobstack_packages/sitecustomize.py
numbered 1 1 | jobstack push -q -s moved >/dev/null
check 'a worker of a moved tree' env PATH="$PWD/tree/bin:$PATH" jobstack-worker -q -s moved --packages -- python3 -c pass
check '... uses the hook beside it' test -e beside

# ---- off, unless somebody asks; a refusal wins
for how in : JOBSTACK_PACKAGES=0:--packages JOBSTACK_PACKAGES=1:--no-packages; do
	numbered 1 1 | jobstack push -q -s "off" >/dev/null
	check "a worker with '$how'" env ${how%%:*} jobstack-worker -q -s off ${how#*:} -- sh -c 'echo "$PYTHONPATH" >path'
	is '... leaves PYTHONPATH' "$(cat path)" "$PWD/lib"
done
is '... and records nothing' "$(packages off)" ''
numbered 1 1 | jobstack push -q -s on >/dev/null
check 'a worker with JOBSTACK_PACKAGES=1, which it says' says 0 'records the Python packages that commands import .--no-packages switches this off' \
	env JOBSTACK_PACKAGES=1 jobstack-worker -s on -- python3 -c 'import icy'
is '... records' "$(packages on)" 'ice 0.9 1;'

# ---- the sitecustomize that is there already runs as without us, and may fail as without us
echo 'import sys, icy; sys.stdout.write("mine %s %d\n" % (__name__, any("jobstack-packages" in p for p in sys.path)))' >lib/sitecustomize.py
numbered 1 1 | jobstack push -q -s site >/dev/null
check 'a sitecustomize of the user' eval 'worker -s site --packages --output - -- python3 -c "import snow, sys; print(sys.path[-1][:1], sys.modules[\"sitecustomize\"].__file__[-21:])" >site.out'
like '... runs once' "$(cat site.out)" $'^mine sitecustomize 0\n/ .?lib/sitecustomize\\.py$'
is '... and its imports count' "$(packages site)" 'ice 0.9 1;snow-cover 1.2 1;'
echo 'raise RuntimeError("mine")' >lib/sitecustomize.py
numbered 1 1 | jobstack push -q -s site >/dev/null
check '... that fails' eval 'worker -s site --packages --output - -- python3 -c "print(7)" >site.out 2>&1'
is '... does what it does without us' "$(grep -c -x -e 'RuntimeError: mine' -e 7 site.out)" 2
rm lib/sitecustomize.py

# ---- commands that write into the FIFO themselves; a command that reuses every descriptor number
cat >bad.py <<-'END'
	import os, select, sys, time, snow
	place = os.environ["PYTHONPATH"].split(":")[0] + "/fifo"
	fd = os.open(place, os.O_WRONLY | os.O_NONBLOCK)
	def put(data):
	    try:
	        os.write(fd, data)
	    except BlockingIOError:
	        pass
	if sys.argv[1] == "1":
	    for i in range(2000):
	        put(b"\0\xff\n\t\n1.1\n77777.1\tsnow\n-1.1\tsnow\n1.1\t/nosuch\n1.1.1\tx\n" + b"x" * 3000)
	    put(b"\n")
	elif sys.argv[1] == "2":
	    for i in range(10000):
	        put(b"2.1\tnone%d\n" % i)
	else: # a full FIFO loses what is written into it, so this one waits until the floods are over and there is room
	    while not (os.path.exists("over.1") and os.path.exists("over.2")):
	        time.sleep(0.02)
	    select.select([], [fd], [])
	    os.closerange(3, 256)
	    fds = [os.open("own%d" % i, os.O_CREAT | os.O_WRONLY) for i in range(200)]
	    for f in fds:
	        os.write(f, b"whole\n")
	    import icy
	    for f in fds:
	        os.write(f, b"file\n")
	open("over." + sys.argv[1], "w")
END
numbered 1 3 | sed 's/.*\([0-9]\)$/\1/' | jobstack push -q -s bad >/dev/null
check 'commands that flood the FIFO' worker -s bad --packages --slots 2 -- python3 bad.py {}
is '... end as they are' "$(jobstack list -s bad -t done -o entry | tr '\n' ' ')" '1 2 3 '
is '... are counted still' "$(packages bad | grep -o 'ice 0.9 1;')" 'ice 0.9 1;'
is '... and their files are whole' "$(cat own* | sort | uniq -c | tr -s ' \n' ' ')" ' 200 file 200 whole '

# ---- whatever a command does, it runs as without us, and says nothing of us
cat >ways.py <<-'END'
	import os, shutil, subprocess, sys, threading
	way, hook = sys.argv[1], os.environ["PYTHONPATH"].split(":")[0]
	def child(*options):
	    subprocess.run([sys.executable, *options, "-c", "import json, icy" if options == () else "import json"], check=True)
	if way == "environ":
	    os.environ.clear()
	elif way == "threads":
	    import zipfile, decimal
	    all = [threading.Thread(target=__import__, args=(name,)) for name in ("icy", "snow", "older", "wave", "sched") * 5]
	    [t.start() for t in all], [t.join() for t in all]
	elif way == "interpreters":
	    for name in ("_interpreters", "_xxsubinterpreters"):
	        try:
	            inner = __import__(name)
	            break
	        except ImportError:
	            pass
	    failed = inner.run_string(inner.create(), "import icy")
	    assert failed is None, failed
	elif way == "options":
	    for option in "-S", "-I", "-E", "-s", "-B", "-O":
	        child(option)
	elif way == "nofifo":
	    os.unlink(hook + "/fifo")
	    child()
	    os.mkdir(hook + "/fifo")
	    child()
	elif way == "nodir":
	    shutil.rmtree(hook)
	    child()
	import icy
	print("ends well")
END
for way in environ threads interpreters options nofifo nodir; do
	jobstack push -q -s "way-$way" "$way" >/dev/null
	check "a command, $way" eval 'worker -s "way-$way" --packages --output - -- python3 -W ignore ways.py {} >way.out 2>&1'
	is '... runs as without us' "$(cat way.out)" 'ends well'
done
is '... and what it imports counts' "$(packages way-environ) $(packages way-interpreters) $(packages way-options)" 'ice 0.9 1; ice 0.9 1; ice 0.9 1;'
is '... once, by however many threads' "$(packages way-threads)" 'ice 0.9 1;old 3.1 1;snow-cover 1.2 1;'
is '... and nothing is left' "$(ls tmp)" ''

# ---- in a container another directory may have the name of one of ours
mkdir -p other/snow other/Snow_Cover-7.dist-info && touch other/snow/__init__.py
export -f own_mounts
jobstack push -q -s box /box >/dev/null
check 'a command that sees other directories' worker -s box --packages -- "$BASH" -c 'own_mounts sh -c "mount --bind other lib && cd / && python3 -c \"import snow\""'
is '... has no packages of ours' "$(packages box)" ''

# ---- 5,000 packages, of which 4,096 are told apart
mkdir many
(cd many && seq -f 'p%.0f-1.dist-info' 0 4999 | xargs mkdir && seq -f 'p%.0f.py' 0 4999 | xargs touch)
numbered 1 1 | jobstack push -q -s many >/dev/null
check 'very many packages' env PYTHONPATH="$PWD/many" jobstack-worker -q -s many --packages -- python3 -c 'for i in range(5000): __import__("p%d" % i)'
check '... are bounded' eval 'n=$(packages many | grep -o ";" | wc -l); echo "$n"; [ "$n" -gt 1000 ] && [ "$n" -le 4096 ]'

# ---- no directory; a directory that a killed worker left; the hook's syntax; drop
numbered 1 1 | jobstack push -q -s nodir >/dev/null
mkdir 'no:path' # PYTHONPATH can't have it
check 'without a directory the work is done, and it says so' says 0 'Python packages are not recorded: can.t make a directory in .*/no:path.*1 file done' \
	env TMPDIR="$PWD/no:path" jobstack-worker -s nodir --packages -- true
numbered 1 1 | jobstack push -q -s left >/dev/null
left=$(printf 'jobstack-packages-%s-left' "$(worker -s left --packages --output - -- sh -c 'echo "${PYTHONPATH%%:*}"' | sed 's/.*packages-\([0-9a-f]*\)-.*/\1/')")
mkdir -p "tmp/$left/__pycache__" && mkfifo "tmp/$left/fifo" && touch "tmp/$left/__pycache__/x.pyc" && touch -d '1 hour ago' "tmp/$left"
numbered 1 1 | jobstack push -q -s left >/dev/null
check 'a later worker' worker -s left --packages -- true
is '... removes what a killed one left' "$(ls tmp)" ''
check 'the hook has nothing that Python 2.7 lacks' python3 -W ignore - "$JOBSTACK_SOURCE/src/shims/jobstack_packages/sitecustomize.py" <<'P'
import ast, sys
new = ("JoinedStr", "Nonlocal", "AnnAssign", "NamedExpr", "AsyncFunctionDef", "Await", "YieldFrom", "Starred", "MatMult", "TypeAlias")
for node in ast.walk(ast.parse(open(sys.argv[1]).read())):
    assert type(node).__name__ not in new, ast.dump(node)
    if isinstance(node, ast.FunctionDef):
        assert not node.args.kwonlyargs and node.returns is None and not any(a.annotation for a in node.args.args), node.name
    if isinstance(node, ast.Raise):
        assert node.cause is None, node.lineno
    if isinstance(node, ast.ClassDef):
        assert not node.keywords, node.name
P
check 'drop removes the packages' jobstack drop -s a --yes
is '... all' "$(sql "SELECT COUNT(*) FROM fact WHERE stack_id NOT IN (SELECT stack_id FROM stack)")" 0
finish
