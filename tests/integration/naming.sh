#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What a word of the command line names: a table of commands x kinds of words.  Each command of the tool stands in it.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
unset JOBSTACK_STACK
jobstack init -q
: >file.nc
# "work" is a stack.  "both" is a stack, and an entry of the stack "default" (once by the end of its name).  2 is an entry of each.
for stack in default work both tail; do
	jobstack push -q -s "$stack" /d/one.nc two.nc /d/both /d/tail/tail x/tail 17 >/dev/null
done
jobstack push -q -s default both >/dev/null

# run WORDS...: what the command said and printed, without its own name, in lines
run() { timeout 60 jobstack "$@" </dev/null 2>&1; }

# Each line: the words, the status, and a regular expression for what is printed.
table() {
	cat <<'END'
# the word is a stack
list work -t ready|0|two\.nc
logs work -t all|1|entry 1 .*has not run yet
show work 2|0|datapath  two\.nc
show work two.nc|0|datapath  two\.nc
requeue work --dry-run|1|0 would be requeued
requeue work two.nc|1|entry 2 \(two\.nc\) is refused
set work max-running=3|0|max-running=3
set work|0|max-running=3
kill work two.nc|1|entry 2 is not running.*jobstack cancel -s work 2
kill work --all|1|no entry of the stack "work" is running
kill work|2|name the entries to kill
cancel work two.nc|0|1 cancelled
cancel work|2|jobstack cancel work --all. cancels all
cancel work --all --yes|0|the stack "work" is cancelled now
resume work|0|the stack "work" is open again
pause work|0|the stack "work" is paused now
resume work|0|the stack "work" is open again
close work 1 --exit 1|2|entry 1 was never popped
renew work 1|2|entry 1 was never popped
pop work|0|JOBSTACK_STACK='work' JOBSTACK_ENTRY=1
renew work /d/one.nc --lease 1h|0|^$
close work /d/one.nc --exit 1|0|^$
status work|0|stack     work
status work both|0|work .*both 
report work|0|work
export work|0|one\.nc
check work|0|the ledger of work balances
recover work|0|nothing to recover
wait work --timeout 0|124|
prune work --older-than 1d --dry-run|0|0
doctor work|0|[0-9]+ ok, [0-9]+ warn, 0 FAIL .-v
top work|2|needs a terminal
submit work --workers 1 --dry-run -- true|0|.
history work|1|
# a number, or a word with a slash, is an entry
list 2|0|two\.nc
show 2|0|two\.nc
show /d/one.nc|0|entry     1
list /d/both|0|/d/both
requeue 2|1|entry 2 \(two\.nc\) is refused
kill 2|1|entry 2 is not running
logs 2|1|entry 2 .*has not run yet
cancel 2|2|name the stack
set 17|2|"17" is not KEY=VALUE
close 2|2|entry 2 was never popped
renew /d/one.nc|2|entry 1 was never popped
show 17|0|datapath  17
# the word is an entry
list two.nc|0|two\.nc
show two.nc|0|entry     2
show one.nc|0|entry     1
requeue two.nc|1|entry 2 \(two\.nc\) is refused
kill two.nc|1|entry 2 is not running
logs two.nc|1|has not run yet
close two.nc|2|was never popped
set max-running=4|0|max-running=4
# it is both: both lines; what takes one entry knows it by the number of words
list both|2|jobstack list -s both.    jobstack list -s default both$
list both -t all --json|2|jobstack list -s both -t all --json.    jobstack list -s default -t all --json both$
list both 'a b'|2|jobstack list -s both 'a b'.    jobstack list -s default both 'a b'$
list tail|2|jobstack list -s tail.    jobstack list -s default tail$
logs both|2|jobstack logs -s both.    jobstack logs -s default both$
requeue both 2|2|jobstack requeue -s both 2.    jobstack requeue -s default both 2$
kill both|2|jobstack kill -s both.    jobstack kill -s default both$
close both --exit 3|2|jobstack close -s both --exit 3.    jobstack close -s default --exit 3 both$
renew both|2|jobstack renew -s both.    jobstack renew -s default both$
show both|0|datapath  both
show both 2|0|datapath  two\.nc
close both 2|2|entry 2 was never popped
# -s decides
list -s both two.nc|0|two\.nc
list -s default both|0| both
show -s both 2|0|datapath  two\.nc
cancel -s both 2 --dry-run|0|1 would be cancelled
# it is neither
list wrok|2|there is no entry "wrok" in the stack "default", and no stack has this name: did you mean "work"
requeue two.nc nothing|2|no entry "nothing" in the stack "default": name its stack
show two.nx|2|and no stack has this name: did you mean "two.nc"
requeue nothing|2|and no stack has this name: 
kill nothing|2|and no stack has this name: 
logs nothing|2|and no stack has this name: 
close nothing|2|and no stack has this name: 
renew nothing|2|and no stack has this name: 
list nothing/x|2|there is no entry "nothing/x" in the stack "default": 
show nothing 2|2|only one entry can be given, and there is no stack "nothing"
set nothing|2|there is no stack "nothing"
cancel nothing 2|2|there is no stack "nothing"
pop nothing|2|there is no stack "nothing"
doctor nothing|1|FAIL stack +there is no stack "nothing"
status nothing|2|there is no stack "nothing"
drop nothing --yes|2|there is no stack "nothing"
# push and run never take a stack from a word
push work|2|"work" is a stack, and there is no such file, so nothing was pushed; for the stack, type:.    jobstack push -s work$
push file.nc work --unique|2|jobstack push -s work --unique file.nc$
push file.nc --unique|0|pushed
push new-name|0|1 pushed
push -s default work --unique|0|1 pushed
push -s 99 x|2|a new stack can't be called "99"
run work -- true|2|"work" is a stack.*type:.    jobstack run -s work -- true$
run true ::: work|2|jobstack run -s work true :::$
run file.nc -- true|0|1 done
# what has no stack
init|0|
server nothing|2|unknown argument
drop both --yes|0|dropped the stack "both"
END
}
rows=0
tried=' '
while IFS='|' read -r words status regex; do
	[[ $words == \#* ]] && continue
	eval "set -- $words"
	tried+="$1 "
	rows=$((rows + 1))
	got=0
	text=$(run "$@") || got=$?
	[[ $text =~ ${regex//type:./type:$'\n'} || ${text//$'\n'/ } =~ $regex ]] && ((got == status)) && pass "$words" && continue
	fail "$words" "status $got, not $status; is not like: $regex
$text"
done < <(table)
check 'the table was read' test "$rows" -gt 90
missing=''
for command in $(jobstack --spec | sed -n 's/^command\t\([a-z]*\)\t.*/\1/p'); do
	[[ $tried == *" $command "* ]] || missing+=" $command"
done
is 'each command is in it' "$missing" ''
is 'nothing was pushed by mistake' "$(jobstack status work --json | jq .pushed)" 6

# the printed lines work as they are
line=$(run list two.nc tail -t all | sed -n 's/^    //p')
is 'an entry as the first word keeps the stack' "$line" ''
mapfile -t lines < <(run list tail -t all 2>&1 | sed -n 's/^    //p')
check 'the first line' bash -c "${lines[0]}"
check 'the second line: the end of two names' says 2 'several entries of the stack "default" have a name that ends' bash -c "${lines[1]}"

# the stack of the environment, the newest stack, and none
export JOBSTACK_STACK=tail
check 'from the environment' says 2 'an entry of the stack "tail"; type one of these' jobstack list tail
is '... another one' "$(jobstack show work 2 | sed -n 's/^datapath *//p')" two.nc
check '... neither' says 2 'no entry "nothing" in the stack "tail", and no stack has this name' jobstack list nothing
check '... what a script popped' eval "$(jobstack pop work)"
check '... is closed in its stack' timeout 60 jobstack close work --exit 0
is '... just that' "$(jobstack list work -t "done" -o entry)" "$JOBSTACK_ENTRY"
unset JOBSTACK_STACK JOBSTACK_ENTRY JOBSTACK_ATTEMPT JOBSTACK_DATAPATH JOBSTACK_WORKER
jobstack drop -q default --yes
check 'several stacks, no default: a stack' prints 1 '0 would be requeued' jobstack requeue work --dry-run
check '... a wrong word' says 2 'there is no stack "wrok": did you mean "work"' jobstack requeue wrok
check '... an entry of nothing' says 2 'there is no stack "zz"' jobstack kill zz

# kill --all
printf '%s\n' a b c | jobstack push -q -s kill >/dev/null
jobstack-worker -q -s kill -j 2 --grace 1 --idle-timeout 1 -- sh -c "sleep 300" >/dev/null 2>&1 &
check 'two run' wait_for 20 eval '[[ $(jobstack list kill -t running -o entry 2>/dev/null | wc -l) -ge 2 ]]'
jobstack pause -q kill
check 'kill --all ends them' says 0 'killed by' jobstack kill kill --all
check 'the worker ends' wait_for 60 eval '! jobs %1 >/dev/null 2>&1 || [[ -z $(jobs -r) ]]'
is 'nothing runs' "$(jobstack status kill --json | jq .running)" 0
check 'it needs the name of the stack' says 2 'name the stack' jobstack kill --all
check '... and no entries' says 2 'none can be named' jobstack kill kill 1 --all
finish
