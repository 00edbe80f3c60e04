#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack push: what goes in, while it goes in, and every bad input: a clear error, nothing lost, nothing half done.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"


check 'without a schema: what to do' says 69 'run .jobstack init' jobstack push /x
check 'init' jobstack init
is 'arguments' "$(jobstack push -s a /1 /2 '/3 with blank')" '3 pushed'
is 'lines' "$(printf '/4\n/5\n' | jobstack push -s a)" '2 pushed'
is 'a last line without its end' "$(printf '/6\n/7' | jobstack push -s a)" '2 pushed'
is 'NUL-separated' "$(printf '/8\0/9\n9\0' | jobstack push -0 -s a)" '2 pushed'
printf '/10\n' >list
is 'from a file' "$(jobstack push -a list -s a)" '1 pushed'
is 'all of it' "$(ledger a)" '0 0 10 0 0 0'
is 'json' "$(jobstack push -s a --json /11)" '{"stack":"a","pushed":1,"skipped":0,"refused":0}'

check 'empty input' says 1 'nothing to push' jobstack push -s none </dev/null
is '... makes no stack' "$(sql "SELECT COUNT(*) FROM stack WHERE name='none'")" 0
check 'empty lines are passed over, and that is said' says 0 '2 empty lines' jobstack push -s blank <<<$'/1\n\n\n/2'
# a bad line is named, and the others are pushed
long=/$(printf '%032768d' 0)
check 'a line of over 32 KiB' says 1 'line 3 was refused: it is 32769 bytes long, and 32768 is the limit' \
	jobstack push -s long <<<"/1"$'\n'"/2"$'\n'"$long"$'\n'"/4"
is '... the others are there' "$(ledger long)" '0 0 3 0 0 0'
check 'a line of a megabyte, which is the last' says 1 'line 2 was refused: it is 1000000 bytes' jobstack push -s long < <(echo /5 && head -c 1000000 /dev/zero | tr '\0' x)
check 'a name of exactly 32 KiB' jobstack push -s long "${long:0:32768}"
is '... whole' "$(sql "SELECT MAX(LENGTH(datapath)) FROM entry JOIN stack USING(stack_id) WHERE name='long'")" 32768
seq -f "/%.0f${long:0:32760}" 100 >hundred
check 'a hundred of these' prints 0 '100 pushed' jobstack push -s hundred --unique -a hundred
check '... each once' prints 0 '0 pushed, 100 skipped (known already)' jobstack push -s hundred --unique -a hundred
check '... run' sh -c 'timeout 300 jobstack-worker -q -s hundred --slots 2 --output - -- printf "%s\n" {} | sort -V | cmp - hundred'
check '... as environment and as request' timeout 300 jobstack run -q -s hundred2 -a hundred --persistent --shell -- 'while read -r e a n; do [ ${#n} -gt 32700 ] && echo done || echo failed; done'
printf '/1\n/a\0b\n/3\n' >nul
check 'NUL in line mode' says 1 'line 2 was refused: it has a NUL byte .was -0 meant' jobstack push -s nul -a nul
is '... the others are there' "$(ledger nul)" '0 0 2 0 0 0'
check '... JSON' prints 1 '{"stack":"nul","pushed":2,"skipped":0,"refused":1}' jobstack push -s nul -a nul --json
check '... all are bad' says 1 'argument 2 was refused: it is empty.*nothing was pushed' jobstack push -s nul3 '' ''
check '... run' says 1 'line 2 was refused: it has a NUL byte' jobstack run -s nul4 -a nul -- true
is '... the others have run' "$(ledger nul4)" '2 0 0 0 0 0'
check '... a dry run' says 1 'line 2 was refused' jobstack run --dry-run -a nul -- true
check '--atomic: none of them' says 1 'line 2 was refused.*nothing was pushed' jobstack push -s nul2 --atomic -a nul
is '... indeed' "$(ledger nul2)" ''
check 'many bad lines are counted' says 1 'line 11 was refused.*2 more were refused' jobstack push -s many < <(
	echo /1
	for _ in {1..12}; do printf '/a\0\n'; done
)
check 'a stack name with odd bytes' says 2 'not a valid stack' jobstack push -s "a/b" /x
check 'another' says 2 'not a valid stack' jobstack push -s $'a\nb' /x
check 'a file that is not there' says 2 'nosuch' jobstack push -a nosuch
check 'an unknown option' says 2 'no option --nosuch' jobstack push --nosuch
check 'a value that is not one' says 2 'retry-delay' jobstack push --retry-delay soon /x
check '-0, but lines' says 2 'leave out -0' jobstack push -0 -s lines < <(printf '/1\n/2\n')
check '... makes no stack' says 2 'no stack "lines"' jobstack status -s lines
printf '/1\r\n/2\r\n/3' >crlf
check 'a list from Windows is refused' says 2 'line 1 ends with a carriage return.* nothing was pushed: --crlf strips' jobstack push -s crlf -a crlf
check '... a single line' says 2 'carriage return' jobstack push -s crlf <<<$'/1\r'
check '... without its end' says 2 'carriage return' sh -c 'printf "/1\r" | jobstack push -s crlf'
check '... by run, too' says 2 'carriage return.*--crlf' jobstack run -s crlf -a crlf -- true
check '... makes no stack' says 2 'no stack "crlf"' jobstack status -s crlf
printf '/1\r\n\r\n/%032767d\r\n/x\r\r\n/5\n' 0 >crlf2
check '--crlf strips one at each end' says 0 '1 empty line' jobstack push -s crlf --crlf -a crlf2
is '... and no more' "$(sql "SELECT GROUP_CONCAT(LENGTH(datapath) ORDER BY entry_id) FROM entry JOIN stack USING(stack_id) WHERE name='crlf'")" 2,32768,3,2
check '... run' sh -c 'jobstack run -q -s crlfrun --crlf -a crlf --shell -- "test -n {}" && jobstack list -s crlfrun -t done -o datapath | grep -qx /2'
check 'a list of which some lines end so' says 2 'line 2 ends with a carriage return.* nothing was pushed: --crlf strips' jobstack push -s cr < <(printf '/1\n/2\r\n/3\n')
check '... makes no stack' says 2 'no stack "cr"' jobstack status -s cr
is '... with -0 all may' "$(printf '/1\r\0' | jobstack push -s cr -0)" '1 pushed'
check 'such a line after the first 64 KiB' says 1 'line 20001 was refused: it ends with a carriage return .--crlf strips it' \
	jobstack push -s cr2 < <(numbered 1 20000 && printf '/x\r\n/y\n')
is '... the others are there' "$(ledger cr2)" '0 0 20001 0 0 0'
check 'a byte-order mark is dropped' says 0 'byte-order mark.*was dropped' jobstack push -s bom < <(printf '\xef\xbb\xbf/1\n\xef\xbb\xbf/2\n')
is '... at the beginning alone' "$(sql "SELECT GROUP_CONCAT(LENGTH(datapath) ORDER BY entry_id) FROM entry JOIN stack USING(stack_id) WHERE name='bom'")" 2,5
check '... before a comment, too' prints 0 '1 pushed' jobstack push -q -s bom2 --commands < <(printf '\xef\xbb\xbf#\ntrue\n')
check '-0 and --crlf' says 2 'is for lines' jobstack push --crlf -0 -a crlf
mkdir adir && touch afile
check 'a directory: said' says 0 'find adir -type f' jobstack push -s doubt adir
check 'a word among files: said' says 0 "meant as the stack's name, write -s NAME" jobstack push -s doubt mystack afile
check 'names that are no files at all are nothing odd' says 0 '^$' jobstack push -s doubt2 id1 id2
is '... all of them are there' "$(ledger doubt) $(ledger doubt2)" '0 0 3 0 0 0 0 0 2 0 0 0'
check 'arguments and a stream at once' says 2 'not from both' jobstack push -0 /x

# names of all kinds come back byte for byte
python3 - <<'P' >odd
import sys
names = [b"/new\nline", b"/'quote'", b'/"double"', b"/100%", b"/a;b", b"/back\\slash", b"/\xff\xfe\x80", b"-leading", b"--", b"- x",
         b"/" + bytes(range(1, 256)), b"/$(touch bad)`touch bad`", b"/x' OR 1=1 -- "]
sys.stdout.buffer.write(b"".join(n + b"\0" for n in names))
P
check 'odd names go in' jobstack push -0 -s odd -a odd
sql "SELECT HEX(datapath) FROM entry JOIN stack USING(stack_id) WHERE name='odd' ORDER BY entry_id" >odd.hex
check '... and are there byte for byte' python3 -c "
import sys
assert [bytes.fromhex(l) for l in open('odd.hex').read().split()] == open('odd','rb').read().split(b'\0')[:-1]"

check 'relative names from another directory' says 1 'were pushed in' sh -c 'cd / && jobstack push -s odd relative'
check 'absolute ones from there' sh -c 'cd / && jobstack push -s odd /absolute'

# --unique: over repeated and interrupted pushes
numbered 1 5000 >five
is 'unique, first' "$(head -3000 five | jobstack push --unique -s u)" '3000 pushed'
is 'unique, again and more' "$(jobstack push --unique -s u -a five)" '2000 pushed, 3000 skipped (known already)'
# parts of 2,000: behind the first, which is new, the others are not checked before they are sent
is 'unique: known names, and doubled ones, behind many new ones' "$({ seq -f /n/%.0f 4500; head -7 five; seq -f /n/%.0f 4495 6600; echo /n/1; seq -f /n/%.0f 6601 9000; } |
	jobstack push --unique -s u)" '9000 pushed, 14 skipped (known already)'
is '... each is there once' "$(sql "SELECT CONCAT(COUNT(*),' ',COUNT(DISTINCT datapath)) FROM entry JOIN stack USING(stack_id) WHERE name='u'")" '14000 14000'
check '... the ledger balances' jobstack check -s u
mkfifo pipe
set -m # or what runs in the background would ignore Ctrl-C
jobstack push --unique -s cut <pipe >cut.out 2>cut.err &
pusher=$!
set +m
exec 7>pipe
numbered 1 2500 >&7
check 'entries can be popped while the input is still open' wait_for 20 ledger_is cut '0 0 2500 0 0 0'
check '... and a worker takes them' worker -s cut --max-entries 100 -- true
kill -INT $pusher
status=0
wait $pusher || status=$?
exec 7>&-
is 'Ctrl-C in a push: by the signal' "$status" 130
like '... and says where it stands' "$(cat cut.err)" 'interrupted after pushing 2500 names: push again with --unique'
is '... goes on without doubling' "$(jobstack push --unique -s cut -a five)" '2500 pushed, 2500 skipped (known already)'
check 'nothing is lost or doubled' audit cut
jobstack push --atomic -s at <pipe >/dev/null 2>&1 &
pusher=$!
exec 7>pipe
numbered 1 3000 >&7
check 'atomic: held' wait_for 20 ledger_is at '0 0 0 0 3000 0'
check '... nothing to pop' fails_with 1 jobstack pop -q -s at
exec 7>&-
wait $pusher
check '... then ready at once' ledger_is at '0 0 3000 0 0 0'
check 'its audit' audit at

jobstack push --atomic -s dead <pipe >/dev/null 2>&1 &
pusher=$!
exec 7>pipe
numbered 1 3000 >&7
check 'an atomic push' wait_for 20 ledger_is dead '0 0 0 0 3000 0'
kill -KILL $pusher
wait $pusher 2>/dev/null
exec 7>&-
sql 'UPDATE push SET beat=beat-INTERVAL 2 HOUR WHERE ended IS NULL'
jobstack push -q -s dead --unique /d/7 >/dev/null
is '... that died: the next push takes it away, and its names count for nothing' "$(ledger dead)" '0 0 1 0 0 0'
check 'its audit' audit dead

# What another push --atomic holds is not known yet.  hold STACK ARGS...: one that has pushed /d/1 to /d/2000, and goes on until 7 is closed
hold() {
	local stack=$1
	shift
	jobstack push --atomic "$@" -s "$stack" <pipe >"$stack.out" 2>"$stack.err" &
	holder=$!
	exec 7>pipe
	numbered 1 2000 >&7
	check "an atomic push to $stack" wait_for 20 ledger_is "$stack" '0 0 0 0 2000 0'
}
let_go() { # STACK STATUS: the holder ends
	local status=0
	exec 7>&-
	wait $holder 2>/dev/null || status=$?
	is "the holder of $1 ends" "$status" "$2"
}
for how in '--unique --atomic' --unique; do
	stack=again${how//[ -]/}
	hold "$stack" --unique
	kill -KILL $holder
	# shellcheck disable=SC2086 # words
	is "killed and repeated at once, $how: all are pushed" "$(numbered 1 2500 | timeout 300 jobstack push $how -s "$stack" 2>"$stack.again")" '2500 pushed'
	let_go "$stack" 137
	like '... and it was said why' "$(cat "$stack.again")" 'push was dead: its 2000 entries'
	is '... each once' "$(ledger "$stack")" '0 0 2500 0 0 0'
	check '... its audit' audit "$stack"
	check '... it balances' jobstack check -q -s "$stack"
done
cut() { sql "KILL $(sql "SELECT IS_USED_LOCK(CONCAT('jobstack.push.',HEX(token))) FROM push WHERE ended IS NULL AND pushed=2000")"; }
hold alive
cut
check 'a holder that lives, though it lost its connection for a moment: refused' says 1 'another push --atomic .*[0-9]+ (s|min) ago, 2000 entries.* holds 1 of these names' \
	timeout 300 jobstack push --unique -s alive /d/2001 /d/7
jobstack push --unique -s alive /d/2002 /d/8 >waits.out 2>waits.err 7>&- &
waits=$!
check '... one that ends soon is waited for' wait_for 20 grep -q 'waiting for it to finish' waits.err
let_go alive 0
check '... with success' wait $waits
is '... then its names are known' "$(cat waits.out)" '1 pushed, 1 skipped (known already)'
is '... and nothing is lost or doubled' "$(ledger alive)" '0 0 2001 0 0 0'
hold cutoff --unique
kill -STOP $holder
cut
is 'one that lost its connection for good' "$(timeout 300 jobstack push --unique -s cutoff /d/7 2>/dev/null)" '1 pushed'
kill -CONT $holder
let_go cutoff 1
like '... is told so' "$(cat cutoff.err)" 'so another push ended it.*nothing was pushed'
is '... and has left nothing' "$(ledger cutoff)" '0 0 1 0 0 0'

check 'default is named when it had something' says 0 'already had 1 entry' sh -c 'jobstack push /1 >/dev/null && jobstack push /2'
finish
