#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# jobstack push, many names at once: by LOAD where the server takes them, by INSERT where it does not, or not any more.  Whichever it
# is, the names are there byte for byte.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
own_server loads
jobstack init -q
admin() { "$SQL_CLIENT" --defaults-file="$lab/admin.cnf" -N -B -e "$1"; }
loads() { admin "SHOW GLOBAL STATUS LIKE 'Com_load'" | cut -f2; }
allow() { admin "SET GLOBAL local_infile=$1"; }
# Every byte but NUL, at either end and doubled, the longest names, and what a LOAD could take for an end, an escape or a NULL.
python3 - <<'P' >odd
import sys
names = [b"/" + bytes([a]) for a in range(1, 256)] + [b"/" + bytes([a, a]) + b"x" for a in range(1, 256)]
names += [b"/\\N", b"\\N", b"NULL", b"\\0", b"\\", b"/\\\\", b"/\n", b"\r\n", b"\t", b"'", b'"', b'""', b'"a","b"', b"a\tb\tc", b"1", b"0", b" ", b"  x  ",
          b"/\xff\xfe\x80", b"\xc3\x28", b"\xf0\x9f\x98", b"\xf0\x9f\x98\x80", b"%s%n", b"x' OR 1=1 -- ", b"- x", b"--"]
every = bytes(range(1, 256))
names += [b"/" + (every * 17)[:4095 - n] for n in range(400)] + [bytes([97 + n % 26]) * 4096 for n in range(400)]
names += [b"/%d" % n for n in range(3000)]
sys.stdout.buffer.write(b"".join(n + b"\0" for n in names))
P
# as_pushed STACK FILE: the stack holds the file's names, in its order.
as_pushed() {
	sql "SELECT HEX(datapath) FROM entry JOIN stack USING(stack_id) WHERE name='$1' ORDER BY entry_id" >"$1.hex"
	python3 - "$1.hex" "$2" <<-'P'
		import sys
		got = [bytes.fromhex(line) for line in open(sys.argv[1]).read().split()]
		assert got == open(sys.argv[2], "rb").read().split(b"\0")[:-1], len(got)
	P
}
python3 - <<'P'
odd = open("odd", "rb").read().split(b"\0")[:-1]
# names that a server's collation would take for the same
odd += [b"/same", b"/Same", b"/same ", b"/same\t", "/s\u00e4me".encode(), "/sa\u0308me".encode()]
open("odd", "wb").write(b"".join(n + b"\0" for n in odd))
open("once", "wb").write(b"".join(n + b"\0" for n in dict.fromkeys(odd)))
half = [b"/%d" % n for n in range(10000)]
open("half", "wb").write(b"".join(n + b"\0" for n in half))
open("doubled", "wb").write(b"".join(n + b"\0" for n in half for _ in range(2)))
P
n=$(tr -cd '\0' <odd | wc -c) m=$(tr -cd '\0' <once | wc -c)

allow 1
before=$(loads)
is 'odd names, where loads are taken' "$(jobstack push -0 -s load -a odd)" "$n pushed"
check '... it was a load' test "$(loads)" -gt "$before"
check '... they are there byte for byte' as_pushed load odd
check '... the ledger balances' jobstack check -q -s load
check '... numbered without a gap' test "$(sql "SELECT tail-pushed FROM stack WHERE name='load'")" = 0
before=$(loads)
check 'a few names are no load' sh -c 'jobstack push -q -s load /1 && seq 2000 | jobstack push -q -s load'
is '... indeed' "$(loads)" "$before"
is 'unique names, each twice' "$(tr '\0' '\n' <doubled | jobstack push -s unique --unique)" '10000 pushed, 10000 skipped (known already)'
check '... in loads' test "$(loads)" -ge $((before + 2))
check '... in their order' as_pushed unique half
before=$(loads)
check 'what is pushed beside unique names' sh -c 'seq 5000 | jobstack push -q -s unique'
check '... is a load, too' test "$(loads)" -gt "$before"
before=$(loads)
is '... and known from then on' "$(seq 5001 | jobstack push -s unique --unique)" '1 pushed, 5000 skipped (known already)'
is '... without a load' "$(loads)" "$before"
check '... the ledger balances' jobstack check -q -s unique
check 'last in, first out' sh -c 'seq 5000 | jobstack push -q -s lifo --lifo --priority 3'
is '... is the last' "$(jobstack pop -s lifo --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["entry"])' 2>/dev/null)" 5000
check '... the ledger balances' jobstack check -q -s lifo
check 'all or nothing' sh -c 'seq 5000 | jobstack push -q -s held --atomic'
is '... all' "$(ledger held)" '0 0 5000 0 0 0'
(seq -f /%.0f 70000 && head -c 40000 /dev/zero | tr '\0' x) | jobstack push -q -s nothing --atomic >/dev/null 2>&1
is '... nothing' "$(ledger nothing)" '0 0 0 0 0 0'
check '... the ledger balances' jobstack check -q -s nothing
check 'relative names' sh -c 'seq 5000 | jobstack push -q -s relative'
check '... belong where they were pushed' says 1 'were pushed in' sh -c 'cd / && seq 5000 | jobstack push -q -s relative'
is '... all of those' "$(ledger relative)" '0 0 5000 0 0 0'
check '... the ledger balances' jobstack check -q -s relative

# a writer that is slow, and never pauses for as long as a push takes for a pause
slowly() { for ((i = 1; ; i++)); do [[ ! -e seen ]] && echo "/slow/$i" && sleep 0.02 || return 0; done; }
some_ready() { (($(sql "SELECT COALESCE(SUM(hi-lo+1),0) FROM span JOIN stack USING(stack_id) WHERE name='slow'") > 0)); }
slowly | jobstack push -q -s slow &
check 'names that come slowly can be popped while others come' wait_for 20 some_ready
touch seen
check '... and the push ends well' wait $!

before=$(loads)
is 'odd names, each only once' "$(jobstack push -0 -s unique.load --unique -a once)" "$m pushed"
check '... in loads' test "$(loads)" -gt "$before"
check '... they are there byte for byte' as_pushed unique.load once
check '... the ledger balances' jobstack check -q -s unique.load
is '... pushed again' "$(jobstack push -0 -s unique.load --unique -a odd)" "0 pushed, $n skipped (known already)"

allow 0
before=$(loads)
is 'odd names, where loads are not taken' "$(jobstack push -0 -s insert -a odd)" "$n pushed"
check '... they are there byte for byte' as_pushed insert odd
check '... the ledger balances' jobstack check -q -s insert
is '... each only once' "$(jobstack push -0 -s unique.insert --unique -a odd)" "$m pushed, $((n - m)) skipped (known already)"
check '... they are there byte for byte' as_pushed unique.insert once
check '... the ledger balances' jobstack check -q -s unique.insert
is '... there was no load' "$(loads)" "$before"

allow 1
seq -f '/%.0f' 200000 | tr '\n' '\0' >many
mkfifo pipe
jobstack push -0 -s off <pipe >off.out 2>off.err &
pusher=$!
exec 7>pipe
head -c 500000 many >&7
some_loaded() { (($(loads) > before)) && (($(sql "SELECT pushed FROM stack WHERE name='off'") > 2000)); }
check 'a push begins with a load' wait_for 20 some_loaded
allow 0
tail -c +500001 many >&7
exec 7>&-
wait $pusher
is 'loads are switched off in the middle of a push' "$(cat off.out off.err)" '200000 pushed'
check '... all is there' as_pushed off many
check '... the ledger balances' jobstack check -q -s off
finish
