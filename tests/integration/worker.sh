#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack-worker: what it runs, with what, and what becomes of every kind of end.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

outcomes() { sql "SELECT CONCAT_WS(' ',entry_id,attempt,ELT(outcome+1,'done','failed','lost','interrupted'),COALESCE(exit_code,'-'),COALESCE(signo,'-'))
	FROM attempt JOIN stack USING(stack_id) WHERE name='$1' ORDER BY entry_id,attempt"; }
printed() { cat jobstack-logs/"$1"/*.log 2>/dev/null; }

# what a command gets
jobstack push -q -s env '/a/b.c/d.e.txt' >/dev/null
check 'placeholders' worker -s env --max-entries 1 -- printf '%s|' {} {/} {//} {.} {/.} {#} {%} x{}y
like '... each' "$(printed env)" '/a/b.c/d.e.txt\|d.e.txt\|/a/b.c\|/a/b.c/d.e\|d.e\|1\|1\|x/a/b.c/d.e.txty\|'
jobstack push -q -s env2 /x/y >/dev/null
check 'environment, stdin, process group' worker -s env2 -- sh -c \
	'echo "$JOBSTACK_STACK $JOBSTACK_ENTRY $JOBSTACK_ATTEMPT $JOBSTACK_DATAPATH $JOBSTACK_SLOT"; readlink /proc/self/fd/0; ps -o pgid= -p $$ | tr -d " "; echo $$'
like '... as promised' "$(printed env2)" $'env2 1 1 /x/y 1\n/dev/null\n([0-9]+)\n'
mapfile -t lines < <(printed env2)
is '... a group of its own' "${lines[3]}" "${lines[4]}"

# any bytes, as argument, in the environment, and through a shell
python3 - <<'P' >odd
import sys
names = [b"/new\nline", b"/'quote'", b'/"double"', b"/100%;x", b"/back\\slash", b"/\xff\xfe\x80", b"-leading", b"/" + bytes(range(1, 256)),
         b"/$(touch bad)`touch bad`;touch bad", b"/x' OR 1=1 -- "]
sys.stdout.buffer.write(b"".join(n + b"\0" for n in names))
P
jobstack push -q -0 -s odd -a odd >/dev/null
mkdir got
check 'odd names' worker -s odd --slots 2 -- python3 -c '
import os, sys
open("got/" + os.environ["JOBSTACK_ENTRY"], "wb").write(os.fsencode(sys.argv[1]) + b"\0" + os.environb[b"JOBSTACK_DATAPATH"] + b"\0")' {}
check '... byte for byte in {} and the environment' python3 -c "
names = open('odd','rb').read().split(b'\0')[:-1]
for i, n in enumerate(names): assert open('got/%d' % (i + 1),'rb').read() == n + b'\0' + n + b'\0', n"
jobstack push -q -0 -s shell -a odd >/dev/null
mkdir sh
check 'a shell sees no byte of a name' worker -s shell --shell -- 'printf %s {} >sh/{#}; printf %s "in "{}" quotes {}" >sh/{#}.q'
check '... byte for byte' python3 -c "
names = open('odd','rb').read().split(b'\0')[:-1]
for i, n in enumerate(names):
    assert open('sh/%d' % (i + 1),'rb').read() == n, n
    assert open('sh/%d.q' % (i + 1),'rb').read() == b'in ' + n + b' quotes ' + n, n"
check '... and ran nothing' test ! -e bad

# pipelines (the unit test run_template has all kinds), and which shell it is
pipe='cat {} | gzip >sh/gz.{#}'
jobstack push -q -s pipe --max-attempts 1 /nofile >/dev/null
check 'a pipeline whose first part fails' worker -s pipe --shell -- "$pipe"
is '... has failed' "$(outcomes pipe)" '1 1 failed 1 -'
like '... and says why' "$(jobstack show -s pipe 1)" 'a part of the pipeline failed \(1 0\)'
like '... after what the part itself said' "$(jobstack status -s pipe)" 'a part of the pipeline failed \(1 0\): cat: /nofile: No such file'
jobstack requeue -q -s pipe
check '--no-pipefail' worker -s pipe --shell --no-pipefail -- "$pipe"
is '... does not look at it' "$(outcomes pipe | tail -1)" '1 2 done 0 -'
mkdir nobash
for tool in cat gzip; do ln -s "$(command -v $tool)" nobash; done
jobstack requeue -q -s pipe -t done
check 'without bash it is /bin/sh, which is said' says 0 '^[^\n]*no bash in .PATH, so /bin/sh is used' env PATH="$PWD/nobash" "$(command -v jobstack-worker)" -s pipe --shell -- "$pipe"
is '... ' "$(outcomes pipe | tail -1)" '1 3 done 0 -'
is '--shell=PROGRAM' "$(echo x | jobstack run --dry-run --shell=/bin/dash -- 'echo {}')" "/bin/dash -c 'echo \"\${1}\"' jobstack x"
is '--shell alone takes no word that follows' "$(echo x | jobstack run --dry-run --shell 'echo {}')" "bash -o pipefail -c 'echo \"\${1}\"' jobstack x"
check '... which must be one' says 2 "reads sh's language .*not \"tcsh\": write .-- tcsh -c" worker -s pipe --shell=tcsh -- true
check 'where the name can not be quoted it is refused, with what to type' says 2 'in \$\( or after it: put f=\{/\}; in front, and type "\$f" there' worker -s pipe --shell -- 'cat {} | echo "$(wc -c <{/})"'
is '... which works' "$(cd sh && echo "a  'b" | tee "a  'b" | jobstack run -q --output - --shell -- 'f={/}; cat {} | echo "$(wc -c <"$f")"')" 6
check '--no-pipefail alone' says 2 'can only be used with --shell' worker -s pipe --no-pipefail -- true

# ends
numbered 1 6 | jobstack push -q -s ends --max-attempts 2 --retry-delay 0 >/dev/null
check 'a worker does its part whatever the outcomes' worker -s ends --shell --fatal-exit 5 -- \
	': {}; case $JOBSTACK_ENTRY in 1) exit 0;; 2) exit 3;; 3) kill -SEGV $$;; 4) exit 5;; 5) test "$JOBSTACK_ATTEMPT" = 2 || exit 75;; 6) exit 127;; esac'
is '... and each is on record' "$(outcomes ends)" "1 1 done 0 -
2 1 failed 3 -
2 2 failed 3 -
3 1 failed - 11
3 2 failed - 11
4 1 failed 5 -
5 1 interrupted 75 -
5 2 done 0 -
6 1 failed 127 -
6 2 failed 127 -"
is '... dead are those that used up their attempts, or were fatal' "$(ledger ends)" '2 4 0 0 0 0'
check '... its audit' audit ends
numbered 1 1 | jobstack push -q -s strict --max-attempts 1 >/dev/null
check '--strict' fails_with 1 worker -s strict --strict -- false
numbered 1 2 | jobstack push -q -s slow --max-attempts 1 >/dev/null
check '--timeout: TERM, grace, KILL to the whole group' worker -s slow --slots 2 --timeout 2 --grace 0.2 -- sh -c 'trap "" TERM; sleep 100 & wait; sleep 100; wait'
is '... failed, by KILL' "$(outcomes slow)" $'1 1 failed - 9\n2 1 failed - 9'
like '... with the reason' "$(sql "SELECT reason FROM attempt JOIN stack USING(stack_id) WHERE name='slow' LIMIT 1")" 'timeout after'
like '... list says so, and not which signal ended it' "$(jobstack list -s slow 1)" '1 timeout '

# not now, by what is printed
cat >licence <<'S'
#!/bin/sh
case $JOBSTACK_ENTRY.$JOBSTACK_ATTEMPT in
1.1) echo 'a line'; echo 'Licence checkout failed.' >&2; exit 1 ;;
2.1) printf 'a\0b\nLicense checkout failed.\nthe end\n'; exit 3 ;;
3.*) echo 'License checkout failed'; exit 1 ;;
4.*) echo 'no License checkout failed'; exit 1 ;;
5.*) echo 'License checkout failed' ;;
6.*) echo 'License checkout failed'; exec sleep 100 ;;
esac
S
chmod +x licence
for option in --output --error; do
	# the sixth by itself: no other may reach its time limit
	for limit in 300 0.5; do
		numbered $([[ $limit == 300 ]] && echo 1 5 || echo 6 6) | jobstack push -q -s defer --max-attempts 1 --retry-delay 0 >/dev/null
		check "--defer-match, with $option, --timeout $limit" worker -s defer --slots 6 --timeout $limit --max-defers 3 --fatal-exit 3 $option 'defer/{#}' \
			--defer-match '^Licen[cs]e checkout failed(.|x)?$' -- ./licence
	done
	is '... defers what failed and matched, and no more than that' "$(outcomes defer | head -n 12)" "1 1 interrupted 1 -
1 2 done 0 -
2 1 interrupted 3 -
2 2 done 0 -
3 1 interrupted 1 -
3 2 interrupted 1 -
3 3 failed 1 -
4 1 failed 1 -
5 1 done 0 -
6 1 failed - 15"
	is '... and says why' "$(sql "SELECT reason FROM attempt JOIN stack USING(stack_id) WHERE name='defer' AND reason LIKE 'defer%' ORDER BY entry_id, attempt")" \
		'deferred: it printed "Licence checkout failed."
deferred: it printed "License checkout failed."
deferred: it printed "License checkout failed"
deferred: it printed "License checkout failed"
deferred: it printed "License checkout failed", 3 times in a row'
	[[ $option == --error ]] || jobstack drop -q -s defer --yes
done
is '... and nothing is left' "$(ledger defer)" '3 3 0 0 0 0'
jobstack requeue -q -s defer 3
check '... after a requeue they are counted anew' worker -s defer --max-defers 2 --defer-match failed -- ./licence
is '... to the same end' "$(outcomes defer | grep '^3' | tail -n 2)" $'3 4 interrupted 1 -\n3 5 failed 1 -'
check 'a pattern that is none' says 2 'regular expression, not "\[a": Unmatched \[' worker -s defer --defer-match '[a' -- true
check '... an empty one' says 2 "defer-match takes a regular expression, such as .*, not \"\"" worker -s defer --defer-match= -- true
check '... two of them' says 2 'defer-match' worker -s defer --defer-match a --defer-match b -- true
check '... run says so before it pushes' says 2 'regular expression, not "a\{": .*nothing was pushed' jobstack run -s defer2 --defer-match 'a{' -- true </dev/null
for bad in 0 -1 x 1.5 99999999999; do
	check "... --max-defers $bad" says 2 "max-defers takes .*, not \"$bad\"" worker -s defer --defer-match a --max-defers $bad -- true
done

# not now, by the exit status: as often, and no longer than the worker is there
numbered 1 3 | jobstack push -q -s later --max-attempts 1 --retry-delay 0 >/dev/null
check 'exit 75 has the same bound' worker -s later --slots 3 --max-defers 3 --shell -- \
	': {}; echo "no $JOBSTACK_ENTRY.$JOBSTACK_ATTEMPT" >&2; case $JOBSTACK_ENTRY.$JOBSTACK_ATTEMPT in 2.3) exit 0;; 3.2) exit 3;; *) exit 75;; esac'
is '... in a row' "$(outcomes later)" "1 1 interrupted 75 -
1 2 interrupted 75 -
1 3 failed 75 -
2 1 interrupted 75 -
2 2 interrupted 75 -
2 3 done 0 -
3 1 interrupted 75 -
3 2 failed 3 -"
is '... and it is said' "$(sql "SELECT DISTINCT reason, err_tail FROM attempt JOIN stack USING(stack_id) WHERE name='later' AND exit_code=75 ORDER BY reason")" \
	$'deferred: exit 75, 3 times in a row\tno 1.3\\n
deferred: exit 75: "no 1.1"\tNULL
deferred: exit 75: "no 1.2"\tNULL
deferred: exit 75: "no 2.1"\tNULL
deferred: exit 75: "no 2.2"\tNULL
deferred: exit 75: "no 3.1"\tNULL'
is '... the rest is as it was' "$(ledger later)" '1 2 0 0 0 0'
check '... its audit' audit later

# scripts for job arrays, which take their file by the task's number
printf '%s\n' a.nc b.nc c.nc >array.list
cat >array.sh <<'S'
#!/bin/bash
# the file is number $SLURM_ARRAY_TASK_ID of the list
file=$(sed -n "${SLURM_ARRAY_TASK_ID}p" array.list) || exit
[[ -n $file ]] && echo "$file" >>array.got
S
printf 'import os\nprint(os.environ["SLURM_ARRAY_TASK_ID"])\n' >array.py
chmod +x array.sh
seq 3 | jobstack push -q -s array --max-attempts 1 >/dev/null
export SLURM_ARRAY_TASK_ID=2
check 'an old script for an array is refused' says 2 $'array.sh reads SLURM_ARRAY_TASK_ID \\(line 3\\).*\n[^\n]*    -- ./array.sh \\{\\} .*\n[^\n]*    --as-array -- ./array.sh ' \
	worker -s array -- ./array.sh
check '... in whatever way it is called' says 2 'array.sh reads .* -- env -u SLURM_ARRAY_TASK_ID nice bash array.sh .\{\}. ' worker -s array -- nice bash array.sh {}
check '... also one of Python' says 2 'array.py reads .*line 2' worker -s array -- python3 array.py
check '... in code' says 2 'CMD reads ' worker -s array -- sh -c 'echo $SLURM_ARRAY_TASK_ID'
check '... named in a shell script' says 2 'array.sh reads ' worker -s array --shell -- 'cd . && bash array.sh'
check '... by a shell script' says 2 'CMD reads .*line 2' worker -s array --shell -- $'true\ncat ${SLURM_ARRAY_TASK_ID}.nc'
check '... by run, before it pushes' says 2 'array.sh reads .*nothing was pushed' sh -c 'seq 3 | jobstack run -s array2 -- ./array.sh'
check '... none has run' test ! -e array.got
for good in './array.sh.txt {}' 'cat array.src' 'env SLURM_ARRAY_TASK_ID={} ./array.sh' 'env -u SLURM_ARRAY_TASK_ID ./array.sh {}' '--shell -- SLURM_ARRAY_TASK_ID=1 ./array.sh'; do
	cp array.sh array.src; cp array.list array.sh.txt; chmod +x array.sh.txt; chmod -x array.src
	[[ $good == --* ]] || good="-- $good"
	# shellcheck disable=SC2086
	check "... but not: $good" jobstack-worker -s array --dry-run $good
done
check '--as-array' worker -s array --as-array -- ./array.sh
is '... each gets its own' "$(sort array.got | tr '\n' ' ')" 'a.nc b.nc c.nc '
jobstack requeue -q -s array -t done
check 'where nobody sees it' worker -s array -- bash -c '. ./array.src'
is '... the script fails' "$(ledger array) $(wc -l <array.got)" '0 3 0 0 0 0 3'
for reads in 'files=(a b c); echo "${files[$SLURM_ARRAY_TASK_ID]}"' 'echo $((SLURM_ARRAY_TASK_ID - 1))' 'head -n $SLURM_ARRAY_TASK_ID array.list' 'python3 array.py | xargs -I @ python3 -c "int(\"@\")"'; do
	printf '%s\n' "$reads" >array.src
	jobstack requeue -q -s array 1
	worker -s array -- bash -o pipefail -c '. ./array.src'
done
is '... whatever takes it for a number' "$(ledger array)" '0 3 0 0 0 0'
unset SLURM_ARRAY_TASK_ID
check '--as-array --persistent' says 2 "can't be used with" jobstack-worker -s array --as-array --persistent -- true

# what is the worker's own fault charges nobody
numbered 1 3 | jobstack push -q -s fault >/dev/null
check 'a command that is not there' fails_with 2 worker -s fault -- nosuchcommand {}
printf 'x' >plain
check 'one that is not executable' fails_with 2 worker -s fault -- ./plain {}
check '... says how it becomes so' says 2 'not executable.*chmod \+x' worker -s fault -- ./plain {}
check 'one without its ./' says 2 'it is in this directory: write ./plain' worker -s fault -- plain {}
check 'one that is not there: where it was looked for' says 2 "can't run ./nothing: not found in $PWD" worker -s fault -- ./nothing {}
head -c 100 /bin/true >foreign && : >nothing && chmod +x foreign nothing
printf '\xff\xff' | dd of=foreign bs=1 seek=18 conv=notrunc status=none # another machine's number
check 'one for another machine' says 2 "can't run ./foreign: neither a program for this machine nor a script" worker -s fault -- ./foreign {}
check 'an empty one, which a shell would call a success' says 2 "can't run ./nothing: neither a program" worker -s fault -- ./nothing {}
rm nothing
printf '%s\n' true ./plain false ./nothing | jobstack push -q -s chosen --max-attempts 1 >/dev/null
check 'one that the entries choose is not the fault of the worker' worker -s chosen -- {}
is '... but theirs' "$(jobstack list -t all -s chosen -o entry,state,reason | sed "s|$PWD|.|")" $'1\tdone\t-\n2\tdead\tcan\'t run ./plain: not executable (Permission denied)\n3\tdead\texit 1\n4\tdead\tcan\'t run ./nothing: not found in .'
check 'one of several words in one' says 2 'leave out the quotes' worker -s fault -- 'cat {}'
check 'a stack before --' says 2 "options go before --" worker fault -- cat {}
check 'a directory for the output that can not be made, before anything runs' says 2 "can't keep the output in $PWD/plain/no/fault: Not a directory: choose another directory with --log-dir" \
	worker -s fault --log-dir plain/no -- touch ran
check '... indeed' test ! -e ran
check 'a name in code is doubted' says 0 'the code of sh .*JOBSTACK_DATAPATH' jobstack-worker -s fault --dry-run -- sh -c 'cat {}'
check 'so is a pipe without a shell' says 0 'is passed to cat as an argument: use --shell' jobstack-worker -s fault --dry-run -- cat {} '|' wc
check '... and not what is right' says 0 '^$' jobstack-worker -s fault --dry-run -- sh -c 'cat "$1" | wc' sh {}
check '... nor a script' says 0 '^$' jobstack-worker -s fault --dry-run --shell -- 'cat {} | wc'
check 'a stack that is not there' fails_with 2 worker -s nosuch -- true
check 'no command' fails_with 2 worker -s fault
check 'an option that is not one' fails_with 2 worker -s fault --slots many -- true
check 'an output directory that can not be made' fails_with 2 worker -s fault --output /proc/nosuch/{#} -- true
is '... no failure was counted' "$(ledger fault) $(outcomes fault)" '0 0 3 0 0 0 '
numbered 1 30 | jobstack push -q -s breaker >/dev/null
check 'the first 20 all fail: the breaker' fails_with 1 worker -s breaker -- false
is '... pauses the stack' "$(sql "SELECT state FROM stack WHERE name='breaker'")" 1
check '... for the others too' worker -s breaker --idle-timeout 0 -- true
check '... until it is resumed' jobstack resume -q -s breaker
check '... ' worker -s breaker --slots 2 -- true
is '... then all is done' "$(ledger breaker)" '30 0 0 0 0 0'
jobstack push -q -s fit /x >/dev/null
check '--node-check fails' says 1 '--node-check failed on [^ ]+: echo a; echo no GPU >&2; exit 3 .exit 3: "?no GPU' \
	worker -s fit --node-check 'echo a; echo no GPU >&2; exit 3' -- true
like '... nothing was claimed, and it is on record' "$(ledger fit) $(sql "SELECT worker.reason FROM worker JOIN stack USING(stack_id) WHERE name='fit'")" \
	'^0 0 1 0 0 0 bad node: --node-check failed on .*no GPU'
check '--node-check finds all well' worker -s fit --node-check 'test -d /' -- true
is '... ' "$(ledger fit)" '1 0 0 0 0 0'
numbered 1 90 | jobstack push -q -s head --max-attempts 1 >/dev/null
check '30 bad files at the head pause nothing' worker -s head --shell -- ': {}; test $JOBSTACK_ENTRY -gt 30'
is '... and the others are done' "$(sql "SELECT state FROM stack WHERE name='head'") $(ledger head)" '0 60 30 0 0 0 0'

jobstack push -q -s again --max-attempts 21 --retry-delay 0 /x >/dev/null
check 'one entry that fails 21 times is no 20 entries' worker -s again -- false
is '... the stack stays open' "$(sql "SELECT state FROM stack WHERE name='again'") $(ledger again)" '0 0 1 0 0 0 0'

# relative names
mkdir here there
(cd here && echo content >file && jobstack push -q -s rel file >/dev/null)
check 'relative names: not from elsewhere' fails_with 2 sh -c 'cd there && timeout 300 jobstack-worker -q -s rel -- cat'
check '... but with --chdir' worker -s rel --chdir here -- cat
like '... there' "$(printed rel)" content

# output
numbered 1 3 | jobstack push -q -s out >/dev/null
check '--output and --error' worker -s out --output 'o/{#}/out' --error 'o/{#}/err' -- sh -c 'echo out $JOBSTACK_ENTRY; echo err $JOBSTACK_ENTRY >&2'
is '... a file an entry' "$(cat o/1/out o/2/err o/3/out)" $'out 1\nerr 2\nout 3'
numbered 1 40 | jobstack push -q -s dash >/dev/null
worker -s dash --slots 4 --output - -- sh -c 'for i in 1 2 3; do echo $JOBSTACK_ENTRY; sleep 0.01; done' >dash.out
is '--output -: an entry at a time' "$(uniq -c dash.out | awk '{print $1}' | sort -u)" 3
is '... all of them' "$(sort -u dash.out | wc -l)" 40
is '--output without a placeholder is refused' "$(worker -s out --output same -- true 2>&1 >/dev/null; echo $?)" "$(printf '%s\n2' 'jobstack-worker: --output and --error need a placeholder such as {#}, or all entries would write to one file')"
numbered 1 3 | jobstack push -q -s creates --max-attempts 1 >/dev/null
touch made.1
check '--creates' worker -s creates --creates 'made.{#}' --shell -- ': {}; test $JOBSTACK_ENTRY = 3 || touch made.{#}; touch ran.{#}'
is '... there already: done; missing afterwards: failed' "$(outcomes creates)" $'1 1 done - -\n2 1 done 0 -\n3 1 failed 0 -'
check '... what was there did not run' test ! -e ran.1
is '... the record names the file' "$(sql "SELECT reason FROM attempt JOIN stack USING(stack_id) WHERE name='creates' AND entry_id<>2 ORDER BY entry_id")" \
	$'the --creates file was there already: made.1\nexit 0, but the --creates file is missing: made.3'

# a result that was cut short is no result, however its attempt ended
jobstack push -q -s half --max-attempts 2 --retry-delay 0 /failed /ahead /deferred /dead >/dev/null
jobstack push -q -s halflost /lost >/dev/null
cat >half.sh <<'S'
	echo half >"half$1"
	case $JOBSTACK_ATTEMPT$1 in
	1/failed) kill -9 $$ ;;
	1/ahead) touch -d '+1 hour' half/ahead; exit 1 ;;
	1/deferred) exit 75 ;;
	1/lost) kill -9 $PPID; sleep 60 ;;
	[12]/dead) exit 1 ;;
	esac
	echo whole >"half$1"
S
mkdir half
half() { worker --creates 'half/{/}' "$@" -- sh half.sh {}; }
check '--creates after a result that was cut short' half -s half
is '... the command runs again' "$(outcomes half)" $'1 1 failed - 9\n1 2 done 0 -\n2 1 failed 1 -\n2 2 done 0 -\n3 1 interrupted 75 -\n3 2 done 0 -\n4 1 failed 1 -\n4 2 failed 1 -'
check '... with a worker that was killed' fails_with 137 half -s halflost
check '... another one goes on' half -s halflost
is '... the command runs again' "$(outcomes halflost)" $'1 1 lost - -\n1 2 done 0 -'
is '... so every result is whole' "$(cat half/failed half/ahead half/deferred half/lost | sort | uniq -c | tr -d ' ')" 4whole
echo whole >half/dead # by hand, after the attempts
jobstack requeue -q -s half >/dev/null
check '... a file that was made afterwards counts' half -s half
is '... the command does not run' "$(outcomes half | tail -1) $(cat half/dead)" '4 3 done - - whole'
jobstack requeue -q -s half -t done >/dev/null
check '--creates and `requeue -t done`' says 0 'half/.* is not newer than the last attempt' half -s half
is '... all of them run again' "$(outcomes half | grep -c 'done 0 -')" 7
is '... nothing else is left beside the results' "$(ls -A half | tr '\n' ' ')" 'ahead dead deferred failed lost '
numbered 1 3 | jobstack push -q -s dry >/dev/null
is '--dry-run prints and claims nothing' "$(worker -s dry --dry-run -- echo 'it is' {} | head -1) $(ledger dry)" "echo 'it is' /d/1 0 0 3 0 0 0"

# usage
jobstack push -q -s usage /x >/dev/null
check 'usage' worker -s usage -- sh -c 'head -c 3000000 /dev/zero >big; cat big >/dev/null; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'
is '... is on record' "$(sql "SELECT user_us+system_us>1000 AND maxrss_kib>500 AND read_bytes>=3000000 AND write_bytes>=3000000 AND
	started<ended FROM attempt JOIN stack USING(stack_id) WHERE name='usage'")" 1
# page faults that wait for the disk (none where the directory is in memory): as the command counts them itself, everywhere they are told
cat >faults.py <<'P'
import mmap, os, resource
with open("evicted", "w+b") as f:
    f.write(b"x" * 4000000)
    f.flush()
    os.fsync(f.fileno())
    os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    pages = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    sum(pages[i] for i in range(0, len(pages), 4096))
print(resource.getrusage(resource.RUSAGE_SELF).ru_majflt)
P
jobstack push -q -s faults /x >/dev/null
check 'page faults' worker -s faults -- python3 faults.py
faults=$(sql "SELECT major_faults FROM attempt JOIN stack USING(stack_id) WHERE name='faults'") own=$(jobstack logs -s faults 1 --stdout)
check "... are on record ($faults; the command counted $own)" test "$own" -le "$faults" -a "$faults" -le $((own + 500))
is '... in list and export' "$(jobstack list -s faults 1 -o major_faults) $(jobstack export -s faults -o major_faults | tr -d '\r' | paste -sd,)" "$faults major_faults,$faults"
is '... in JSON' "$(jobstack show -s faults 1 --json | python3 -c 'import json,sys; o = json.load(sys.stdin); print(o["major_faults"], o["attempts"][0]["major_faults"])')" "$faults $faults"
like '... in show' "$(jobstack show -s faults 1)" "used +CPU [0-9.]+ s user, [0-9.]+ s system; largest process .*; read .*, wrote .*; major page faults $faults; storage read "
# a tree of processes: memory of all of them, what they share once; what storage had to do
cat >tree.py <<'P'
import mmap, os, time
def fill(size):
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(0, size, 4096):
        pages[i] = 1
    return pages
with open("big", "r+b") as f:
    os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    f.read()
with open("written", "wb") as f:
    f.write(bytes(3 << 20))
    f.flush()
    os.fsync(f.fileno())
ours = fill(64 << 20)
for _ in range(2):
    if os.fork() == 0:
        own = fill(32 << 20)
        open("filled.%d" % os.getpid(), "w").close()
        time.sleep(1000)
while not os.path.exists("sampled"):
    time.sleep(0.1)
P
head -c 2M /dev/urandom >big && sync big
of_tree() { sql "SELECT $1 FROM attempt JOIN stack USING(stack_id) WHERE name='tree' ORDER BY entry_id DESC LIMIT 1"; }
filled() { [[ $(find . -name 'filled.*' | wc -l) == 2 ]]; }
for seconds in 3 10 30 100; do # nobody sees a sample being taken: a slow machine gets longer
	rm -f filled.* sampled
	jobstack push -q -s tree "$PWD/y$seconds" >/dev/null
	jobstack-worker -q -s tree -- python3 tree.py &
	tree=$!
	wait_for 30 filled
	sleep "$seconds"
	touch sampled
	wait $tree
	[[ $(of_tree 'peak_kib BETWEEN 125*1024 AND 180*1024') != 1 ]] || break
done
check "memory of a tree: $(of_tree peak_kib) KiB" test "$(of_tree 'peak_kib BETWEEN 125*1024 AND 180*1024')" = 1
check '... more than of the largest process' test "$(of_tree 'maxrss_kib<peak_kib')" = 1
case $(stat -f -c %T .) in
ext2/ext3 | xfs | btrfs) check "storage: $(of_tree storage_read_bytes), $(of_tree storage_write_bytes)" test "$(of_tree 'storage_read_bytes>=2*1024*1024 AND storage_write_bytes>=3*1024*1024')" = 1 ;;
tmpfs | ramfs) is 'storage that is not there' "$(of_tree 'storage_read_bytes IS NOT NULL')" 1 ;;
*) is 'storage that is not counted' "$(of_tree 'COALESCE(storage_read_bytes,-1)<>0')" 1 ;;
esac
is 'waiting is known where it is counted' "$(of_tree 'io_wait_us IS NOT NULL')" "$(cat /proc/sys/kernel/task_delayacct 2>/dev/null || echo 1)"
is 'a command of less than a second is not sampled' "$(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='faults' AND peak_kib IS NOT NULL AND TIMESTAMPDIFF(MICROSECOND,started,ended)<1000000")" 0
check 'it can be requeued' jobstack requeue -q -s faults 1
check '... and run again' worker -s faults -- true
check '... and pruned' jobstack prune -q -s faults --older-than 0 --archive faults.jsonl
is '... into the archive' "$(python3 -c 'import json; print(json.loads(open("faults.jsonl").readline())["major_faults"])')" "$faults"

# signals: drain
for signal in TERM USR1; do
	numbered 1 20 | jobstack push -q -s $signal >/dev/null
	timeout 300 jobstack-worker -q -s $signal --slots 2 --grace 0.3 -- sh -c 'echo $$ >>pids; exec sleep 1000' &
	pid=$!
	check "$signal: two run" wait_for 20 ledger_is $signal '0 0 18 0 0 2'
	kill -$signal "$(pgrep -P $pid)" # of timeout
	check '... it ends with 0' wait $pid
	is '... and all goes back without a failure' "$(ledger $signal) $(outcomes $signal | cut -d' ' -f2-3 | sort -u)" '0 0 20 0 0 0 1 interrupted'
	check '... its audit' audit $signal
done
check '... no command is left' none_of_ours $(<pids)

# Slurm's signals go to each process of a step, to the commands perhaps first: these have not failed
cat >struck.sh <<'S'
[ $JOBSTACK_ENTRY != 1 ] || { echo $$ >"$1.1"; exec sleep 1000; }
trap "exit $((128 + $2))" $1
echo $$ >"$1.2"
sleep 1000 & wait
S
both_run() { [[ -s $1.1 && -s $1.2 ]]; }
for signal in TERM INT HUP USR1; do
	for _ in 1 2 3 4 5 6 7 8; do # the worker waits a tenth of a second for a signal to itself
		rm -f $signal.?
		numbered 1 2 | jobstack push -q -s struck.$signal --max-attempts 1 >/dev/null
		set -m # or it would ignore SIGINT
		jobstack-worker -q -s struck.$signal --slots 2 --grace 0.2 -- sh struck.sh $signal "$(kill -l $signal)" &
		pid=$!
		set +m
		check "$signal: two commands run" wait_for 20 both_run $signal
		mapfile -t commands < <(cat $signal.1 $signal.2)
		began=${EPOCHREALTIME/./}
		kill -$signal "${commands[@]}"
		while [[ -e /proc/${commands[0]} && -e /proc/${commands[1]} && $((${EPOCHREALTIME/./} - began)) -lt 1000000 ]]; do :; done
		kill -$signal $pid
		took=$((${EPOCHREALTIME/./} - began))
		check '... they are struck before the worker, which ends' wait $pid
		((took > 80000)) || break
		jobstack drop -q -s struck.$signal --yes # the machine was too slow for that
	done
	is "... they go back without a failure ($took us)" "$(ledger struck.$signal) $(outcomes struck.$signal | cut -d' ' -f2-3 | sort -u)" '0 0 2 0 0 0 1 interrupted'
done
numbered 1 3 | jobstack push -q -s alone --max-attempts 1 >/dev/null
check 'commands that end in the same way by themselves' worker -s alone --slots 3 --shell -- \
	': {}; case $JOBSTACK_ENTRY in 1) kill -USR1 $$;; 2) exit 138;; 3) kill -HUP $$;; esac'
is '... have failed' "$(outcomes alone)" $'1 1 failed - 10\n2 1 failed 138 -\n3 1 failed - 1'

# kill -9 of a worker and its keeper at once: only its entries; the rest is finished by others; requeue takes them back
numbered 1 40 | jobstack push -q -s kill >/dev/null
timeout 300 jobstack-worker -q -s kill --slots 2 --batch 2 -- sh -c 'echo $$ >>killed; exec sleep 1000' &
pid=$!
check 'kill -9: two run' wait_for 20 eval '[[ -e killed && $(wc -l <killed) == 2 ]]'
keeper=$(pgrep -P $pid)
kill -STOP "$keeper" # so that it can't do anything about it
kill -KILL "$(pgrep -P "$keeper" -x jobstack-worker)"
kill -KILL "$keeper"
wait $pid
check '... the kernel ends its commands' wait_for 20 none_of_ours $(<killed)
host() { sql "UPDATE worker JOIN stack USING(stack_id) SET identity=JSON_SET(identity,'\$.host','$1') WHERE name='kill' AND ended IS NULL"; }
host elsewhere # the others would recover it, if they took long
check 'others finish the rest' worker -s kill --slots 2 --max-entries 38 -- true
is '... and what is left can be seen' "$(ledger kill) $(jobstack list -s kill -t running -o entry | tr '\n' ' ')" '38 0 0 0 0 2 1 2 '
host "$(uname -n)"
like 'requeue takes it back' "$(jobstack requeue -s kill 2>&1)" '2 recovered'
check '... and it runs again' worker -s kill -- true
is '... ' "$(ledger kill)" '40 0 0 0 0 0'
is '... with its loss on record' "$(outcomes kill | head -2)" $'1 1 lost - -\n1 2 done 0 -'
check '... its audit' audit kill

# --commands: entries are command lines; those of another account run only if that is allowed
printf '# a task file\n\n  \t\necho "a  b" | tr a-z A-Z >lines.1; exit 0\n \t# indented\n false; test $? = 1 && echo $JOBSTACK_ENTRY >lines.2\nexit 7\n' >tasks
is 'push --commands: no comments, no blank lines' "$(jobstack push -q --commands --max-attempts 1 -s lines -a tasks >said 2>&1 && jobstack list -s lines -t ready -o datapath)" \
	$'echo "a  b" | tr a-z A-Z >lines.1; exit 0\n false; test $? = 1 && echo $JOBSTACK_ENTRY >lines.2\nexit 7'
is '--dry-run' "$(jobstack-worker -s lines --commands --dry-run | tail -1)" "bash -c 'exit 7'"
check 'they run' worker -s lines --commands
is '... by bash, or as --shell=PROGRAM says' "$(for s in bash /bin/dash; do jobstack run -q --output - --commands --shell=$s ::: "echo {1..3} $s"; done; jobstack run -q --output - --commands ::: 'false | [[ -n x ]] && echo {1..3}')" \
	$'1 2 3 bash\n{1..3} /bin/dash\n1 2 3'
is '... by a shell' "$(cat lines.1 lines.2; outcomes lines | tr '\n' ' ')" $'A  B\n2\n1 1 done 0 - 2 1 done 0 - 3 1 failed 7 - '
like 'show has the line to type' "$(jobstack show -s lines 3)" "bash -c 'exit 7'"
check 'a line of disBatch that is no command' says 2 'line 2, #DISBATCH BARRIER, is not supported' sh -c 'printf "true\n#DISBATCH BARRIER\nfalse\n" | jobstack push --commands -s lines'
check 'a line with a NUL' says 1 'line 1 was refused: it has a NUL byte' sh -c 'printf "echo \0x\n" | jobstack push --commands -s lines'
check 'a line that is too long' says 1 'line 1 was refused: it is 32769 bytes' sh -c 'printf "%032769d\n" 1 | jobstack push --commands -s lines'
for w in '-- true' '--shell' '--persistent' '-I x' '--colsep ,'; do
	# shellcheck disable=SC2086
	check "--commands and $w" says 2 'each entry is a command line' jobstack-worker -s lines --commands $w
done
check '--allow-user alone' says 2 'needs --commands' jobstack-worker -s lines --allow-user x -- true
check '... empty' says 2 'allow-user takes' jobstack-worker -s lines --commands --allow-user ''
db=$(sed -n 's/^database=//p' "$JOBSTACK_TEST_CNF")
admin() { "$SQL_CLIENT" --defaults-file="$JOBSTACK_TEST_ADMIN_CNF" -e "$1"; }
admin "CREATE USER '$db-2'@'%' IDENTIFIED BY 'abc'; GRANT SELECT,INSERT,UPDATE,DELETE ON \`$db\`.* TO '$db-2'@'%'"
at_end 'admin "DROP USER \`$db-2\`@\`%\`"'
sed "s/^user=.*/user=$db-2/; s/^password=.*/password=abc/" "$JOBSTACK_TEST_CNF" >other.cnf
chmod 600 other.cnf
for i in 1 2 3 4; do # every second one is of the other account
	[[ $((i % 2)) == 1 ]] && cnf=$JOBSTACK_TEST_CNF || cnf=other.cnf
	jobstack push -q --defaults-file "$cnf" --commands -s both "echo $i >>both" >/dev/null
done
check 'lines of another account' says 0 "entry 2: not run: pushed by $db-2@%; --allow-user $db-2 runs it" jobstack-worker -s both --commands
is '... are not run' "$(cat both; ledger both)" $'1\n3\n2 2 0 0 0 0'
sql "DELETE FROM push_range WHERE lo=4 AND stack_id=(SELECT stack_id FROM stack WHERE name='both')"
jobstack requeue -q -s both
check '... but if that is allowed; nobody knows of one' says 0 'entry 4: not run: pushed by unknown' jobstack-worker -s both --commands --allow-user "$db-2"
is '... ' "$(cat both; ledger both)" $'1\n3\n2\n3 1 0 0 0 0'

# a full disk under the log
mkdir full
cat >full.sh <<'S'
mount -t tmpfs -o size=64k none full
exec timeout 300 jobstack-worker -q -s full --log-dir full -- sh -c 'head -c 30000 /dev/zero'
S
numbered 1 10 | jobstack push -q -s full >/dev/null
text=$(own_mounts bash full.sh 2>&1) && status=0 || status=$?
is 'a full disk under the log: the worker ends' "$status" 2
like '... and says so' "$text" 'No space left on device.*does not count as a failed attempt'
check '... nothing is lost' audit full
like '... no failure was counted' "$(ledger full)" '^[12] 0 [89] 0 0 0$'
finish
