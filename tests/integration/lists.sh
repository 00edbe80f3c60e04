#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Files of command lines: `jobstack run -a LIST` without a command.  Each occurrence of a line is an entry of its own; a corrected
# line runs alone; a line that is gone neither runs nor counts, also if it was running when everything was killed; one that comes
# back runs; and a list of names is not executed.
# shellcheck source=tests/lib/tap.sh
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
# shellcheck source=tests/lib/jobstack.sh
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"

cd "$JOBSTACK_TEST_DIR" || exit
jobstack init -q
run() { timeout 300 jobstack run "$@"; }
ran() { sort ran 2>/dev/null | uniq -c | awk '{print $2 "x" $1}' | tr '\n' ' '; rm -f ran; }

# ---- what the lines are
printf '%s\n' '#!/bin/bash' 'echo 1 >>ran' '' '  # no' 'echo 2 >>ran; true' 'echo 1 >>ran' 'exit 4 # echo' 'echo 1 >>ran #2' 'echo 1 >>ran' >tasks.txt
check 'the lines are the commands, and that is said' says 1 "there is no command, so the lines of $PWD/tasks.txt are the commands" run --max-attempts 1 -a tasks.txt
is '... each as often as it is there' "$(ran)" '1x4 2x1 '
check '... nothing was left out' ledger_is tasks.txt-1 '5 1 0 0 0 0'
is '... with comments that tell them apart' "$(jobstack list -s tasks.txt-1 -t 'done' -o datapath)" $'echo 1 >>ran\necho 2 >>ran; true\necho 1 >>ran #2\necho 1 >>ran #2 #2\necho 1 >>ran #3'
mkdir sub && ln -s ../tasks.txt sub/link
check 'the same path, typed otherwise, is the same list' says 1 '0 done|1 failed' run -a sub/../sub/link
is '... nothing ran again' "$(ran)$(sql 'SELECT COUNT(*) FROM stack')" 1
sed -i 's/^exit 4.*/echo mended >>ran/' tasks.txt
check 'a corrected line runs alone, and the old one does not count' says 0 'cancelled 1 line of earlier runs: not in' run <tasks.txt
is '... ' "$(ran)$(ledger tasks.txt-1)" 'mendedx1 6 0 0 0 0 0'
echo 'echo 1 >>ran' >>tasks.txt
check 'one occurrence more runs once' run -q -a tasks.txt
is '... ' "$(ran)" '1x1 '
sed -i 's/^echo mended.*/exit 4 # echo/' tasks.txt
check 'a line that has come back runs again' fails_with 1 run -q -a tasks.txt
is '... as the same entry' "$(sql "SELECT entry_id,attempt FROM set_aside JOIN stack USING(stack_id) WHERE name='tasks.txt-1'")" $'4\t2'
jobstack cancel -q -s tasks.txt-1 -t dead -m mine
check 'what a person has cancelled stays so' run -q -a tasks.txt
check 'audit' audit tasks.txt-1
check '-s NAME: the list is known' says 0 "repeating, .*--arg-file=.*tasks.txt" run -s tasks.txt-1 </dev/null
is '--dry-run' "$(run --dry-run -q -a tasks.txt | tail -n 1)" "bash -c 'echo 1 >>ran #4'"
check 'a stack of -s may have other lists, too' fails_with 1 run -q -s both -a tasks.txt --fatal-exit 4
echo 'echo other >>ran' >other.txt
jobstack requeue -q -s both -t dead
check '... whose lines are not given up' fails_with 1 run -q -s both -a other.txt
is '... ' "$(sql "SELECT cancelled FROM stack WHERE name='both'")" 0
rm -f ran

# ---- kills between
printf '%s\n' 'echo $$ >pid; exec sleep 1000' 'echo old >>ran' >killed.txt
run -q -j1 -a killed.txt &
check 'a list that is killed' wait_for 20 test -s pid
mapfile -t all < <(process_tree $!)
kill_ours "${all[@]}"
wait $! 2>/dev/null
echo 'echo new >>ran' >killed.txt
check 'neither what ran nor what was left runs again' run -q -a killed.txt
is '... ' "$(ran)$(ledger killed.txt-1)" 'newx1 1 0 0 0 0 0'
check '... audit' audit killed.txt-1
seq -f 'echo %.0f >>ran' 20 >twice.txt
for i in 1 2; do run -q -a twice.txt & pids[i]=$!; done
check 'two at once' wait "${pids[1]}" "${pids[2]}"
is '... each line once' "$(sort -n ran | tr '\n' ' ')" "$(seq 20 | tr '\n' ' ')"
rm -f ran

# ---- what is no list of commands
touch a.sh b.sh c.sh
printf '%s\n' ./a.sh ./b.sh ./c.sh >names
said=$(run -q -j2 -a names 2>&1)
like 'a list of names is refused' "$said" "the lines of $PWD/names are names of files"
is '... with both lines' "$(sed -n 's/^    //p' <<<"$said")" $'jobstack run -q -j2 -a names -- CMD {}\njobstack run --commands -q -j2 -a names'
line=$(sed -n 's/^    //p' <<<"$said" | sed 's/CMD/echo/')
is '... that work: a command on each' "$(bash -c "$(head -n 1 <<<"$line")"; jobstack list -s echo-1 -t 'done' -o datapath)" $'./a.sh\n./b.sh\n./c.sh'
check '... each as a command' fails_with 1 bash -c "$(tail -n 1 <<<"$line") --max-attempts 1"
check '... from standard input' says 2 'jobstack run -q <.*/names -- CMD \{\}' run -q <names
check 'a pipe is none' says 2 'no command to run: if each line is a command, type:' bash -c 'cat tasks.txt | jobstack run -q'
check '... nor are names with NUL' says 2 'there is no command' run -q -0 -a names
check '-s NAME <FILE of a script: what the stack has' says 0 'repeating, .*-- echo' run -s echo-1 <tasks.txt

# ---- disBatch
# shellcheck disable=SC2016 # the commands' own
printf '%s\n' "#DISBATCH PREFIX cd sub;" '#disbatch suffix  >>../ran' 'echo a' 'echo "$PWD"' >dis.txt
check 'PREFIX and SUFFIX' run -q -a dis.txt
is '... ' "$(ran)" "$PWD/subx1 ax1 "
for word in 'REPEAT 5 echo' BARRIER; do
	printf '%s\n' 'echo a >>ran' "#DISBATCH $word" >no.txt
	check "$word is refused by name" says 2 "line 2, #DISBATCH $word, is not supported .*: write the lines of a REPEAT out" run -q -a no.txt
done
check '... before anything ran' test ! -e ran
printf '%s\n' "echo a \\" b "echo c\\\\" >slash.txt
check 'a line that ends with a backslash' says 1 'line 1 was refused: it ends with a backslash' run --max-attempts 1 -a slash.txt
is '... the others run' "$(jobstack list -s slash.txt-1 -t all -o datapath)" $'echo c\\x5c\\x5c\nb'
finish
