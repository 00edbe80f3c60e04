#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Which version of a program ran, on which platform and file system: recorded for each attempt, shown by show, chosen by
# list and requeue; a program that is rebuilt while a worker runs.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

program_of() { jobstack export "$1" --what entries --format jsonl -o entry,program | sed -n "s/^{\"entry\":$2,\"program\":\"\([0-9a-f]*\)\"}$/\1/p"; }

# ---- a program that is rebuilt between two entries: the second entry waits for it
cat >cmd.sh <<-'END'
	#!/bin/sh
	echo 1
	if [ "$JOBSTACK_ENTRY" = 1 ]; then touch began; until [ -e rebuilt ]; do sleep 0.1; done; fi
END
chmod +x cmd.sh
numbered 1 3 | jobstack push -q -s p --max-attempts 1 >/dev/null
LOADEDMODULES=gcc/12:netcdf/4.9 worker -s p --slots 1 -- ./cmd.sh &
pid=$!
wait_for 20 test -e began
sed 's/echo 1/echo broken >\&2; exit 3/' cmd.sh >new.sh
chmod +x new.sh
mv new.sh cmd.sh
touch rebuilt
check 'the worker ends' wait "$pid"
old=$(program_of p 1) new=$(program_of p 2)
like 'a version is a number' "$old" '^[0-9a-f]{16}$'
check 'a rebuilt program is another version' test "$old" != "$new" -a -n "$new"
is 'the same version has the same number' "$(program_of p 3)" "$new"
jobstack show -v -s p 1 >shown
like 'show: the file and its sum' "$(cat shown)" "program   $PWD/cmd.sh of 20[0-9-]+ [0-9:]+, sha256 [0-9a-f]{12}\.\.\."
like 'show: the modules' "$(cat shown)" 'on        modules: gcc/12:netcdf/4\.9'
like 'show: the kernel' "$(cat shown)" 'on        kernel: Linux '
like 'show: the libraries of the interpreter' "$(cat shown)" 'on        libraries: .*libc\.so'
sum=$(sha256sum cmd.sh)
like 'the sum is that of sha256sum' "$(jobstack show -s p 2)" "sha256 ${sum:0:12}"
like 'status: failures of one version' "$(jobstack status p)" '  \(only with cmd\.sh of 20[^)]*\) broken '
is '--program' "$(jobstack list -s p -t all --program "${old:0:6}" -o entry | tr '\n' ' ')" '1 '
is '--program-changed: entry 1' "$(jobstack list -s p -t all --program-changed -o entry | tr '\n' ' ')" '1 '
touch -d '2 days ago' cmd.sh
is 'another time alone is no change' "$(jobstack list -s p -t all --program-changed -o entry | tr '\n' ' ')" '1 '
like 'requeue what the old version did' "$(jobstack requeue -s p -t done --program-changed --yes)" '^1 requeued'
check 'a wrong version' says 2 'first digits of a version' jobstack list -s p --program xyz
is 'a version that there is not' "$(jobstack list -s p -t all --program 0123456789abcdef -o entry 2>/dev/null)" ''

jobstack export p --format jsonl | python3 "$JOBSTACK_SOURCE/docs/examples/where-time-goes.py" >time
like 'the example analysis: by version' "$(cat time)" "$old +1 +0 .*[0-9]"
like '... failures' "$(cat time)" "$new +2 +2 .*-"
jobstack report p --html p.html --io
like 'the page: versions' "$(cat p.html)" '"programs":\[\{"name":"[^"]+",.*\},\{"name":"'
like '... for a paper' "$(cat p.html)" "3 files were processed between .* with jobstack\."
like '... what it ran on' "$(cat p.html)" 'modules: gcc/12:netcdf/4\.9'
like '... the findings' "$(cat p.html)" '"findings":\[\{"finding":1,"title":"'

# ---- a file that does not answer: opening it waits for the one who has a lease on it
cat >lease.py <<'END'
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN) # the kernel asks for the lease
f = os.open("leased", os.O_RDWR)
os.write(f, b"other contents")
fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
os.close(os.open("held", os.O_CREAT))
while not os.path.exists("release"):
    time.sleep(0.1)
END
echo contents >leased
printf '%s\n' first second third fourth | jobstack push -q -s h >/dev/null
worker -s h --slots 2 --code leased -- sh -c 'touch "ran-$1"
	case $1 in first | third) until [ -e held ]; do sleep 0.1; done; [ "$1" = first ] || sleep 1 ;; second) until [ -e changed ]; do sleep 0.1; done ;; esac' sh {} &
pid=$!
check 'two commands run' wait_for 20 test -e ran-first -a -e ran-second
echo 'new contents' >leased
touch changed
check '... the third with a new version' wait_for 20 test -e ran-third
python3 lease.py &
three_done() { [[ $(jobstack list -s h -t 'done' -o entry | tr '\n' ' ') == '1 2 3 ' ]]; }
check 'while the file does not answer, what has ended is recorded' wait_for 4 three_done
check '... and the fourth waits' test ! -e ran-fourth
touch release
check 'when it answers, the rest is done' wait "$pid"
is '... by three versions' "$(for e in 1 2 3 4; do program_of h "$e"; done | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" '2 1 1 '

# ---- an interpreter and its script; --code, --code-version, git
echo 'pass' >x.py
echo 'one' >table.txt
jobstack push -q -s q /proc/no-file >/dev/null
check 'a script behind its interpreter' worker -s q --code table.txt --code-version 'my release 7' -- sh -c : x.py {}
like '... is recorded' "$(jobstack show -s q 1)" "program   $PWD/x\.py of "
like '... and the file system' "$(jobstack show -v -s q 1)" 'file on   proc /proc'
like '... with --code' "$(jobstack show -s q 1)" "program   $PWD/table\.txt of "
like '... and --code-version' "$(jobstack show -s q 1)" 'program   my release 7'
check '--code of nothing' says 2 '/nosuch can.t be read' worker -s q --code nosuch -- true
mkdir plain
check '--code of a directory without git' says 2 'plain has no git commit' worker -s q --code plain -- true
if command -v git >/dev/null; then
	git init -q repo && git -C repo -c user.name=a -c user.email=a@b commit -q --allow-empty -m 1
	numbered 1 1 | jobstack push -q -s g >/dev/null
	check '--code of a git work tree' worker -s g --code repo -- true
	like '... is its commit' "$(jobstack show -s g 1)" "program   $PWD/repo, commit $(git -C repo rev-parse HEAD)"
	touch repo/new
	changed=$(cd repo && jobstack list -s g -t all --program-changed -o entry | tr '\n' ' ')
	is '... with changes another version' "$changed" '1 '
	git -C repo config core.fsmonitor "touch $PWD/hooked; false" # what git executes there, it does not where nobody works
	check '... which is not looked for elsewhere' says 1 "left out version .*: repeat this in $PWD/repo" jobstack list -s g -t all --program-changed
	check '... since git would execute what it names' test ! -e hooked
	git -C repo status >/dev/null 2>&1
	check '... as it does' test -e hooked
fi

# ---- an argument that every run changes is data (a look at the files holds for 10 ms, so these commands take 20)
echo 0 >results.txt
numbered 1 9 | jobstack push -q -s d >/dev/null
check 'a file that changes with each entry' worker -s d --slots 1 -- sh -c 'echo "$1" >>results.txt; sleep 0.02' sh results.txt
is '... stops making versions' "$(sql "SELECT COUNT(*) FROM fact JOIN stack USING(stack_id) WHERE name='d' AND kind=0")" 5

cat >mine.sh <<-'END'
	#!/bin/sh
	echo "# $1" >>mine.sh
	sleep 0.02
END
chmod +x mine.sh
numbered 1 6 | jobstack push -q -s e >/dev/null
check 'a program that changes itself' worker -s e --slots 1 -- ./mine.sh
is '... counts, however often' "$(sql "SELECT COUNT(*) FROM fact JOIN stack USING(stack_id) WHERE name='e' AND kind=0")" 6

# ---- texts that somebody else wrote
for text in 'git x' 'git ' '- 1 2 x' $'git \033[31mred /x' 'version ' $'0f\033[2J 1 2026-11-23T14:02:11.123456Z /x' '-'; do
	sql "UPDATE fact JOIN stack USING(stack_id) SET text=X'$(printf %s "$text" | od -An -v -tx1 | tr -d ' \n')' WHERE name='q' AND kind=0"
	check "show prints ${text@Q}" eval 'jobstack show -s q 1 >forged'
	is '... without a control character' "$(LC_ALL=C grep -c "$(printf '\033')" forged)" 0
	check '... nor does list fail' eval 'jobstack list -s q -t all --program-changed >/dev/null 2>&1; [ $? -lt 2 ]'
done

# ---- what is not there
numbered 1 1 | jobstack push -q -s r >/dev/null
check 'a pop by a script has no version' eval 'jobstack pop -s r >/dev/null'
check '... and is shown' jobstack show -s r 1
truncate -s 65M large
numbered 1 1 | jobstack push -q -s l >/dev/null
check 'a file over 64 MiB is not read' worker -s l --code large -- true
like '... its size and time are its version' "$(jobstack show -s l 1)" 'large of .*, sha256 unknown'
check 'drop removes the facts' jobstack drop -s l --yes
is '... all' "$(sql "SELECT COUNT(*) FROM fact WHERE stack_id NOT IN (SELECT stack_id FROM stack)")" 0
finish
