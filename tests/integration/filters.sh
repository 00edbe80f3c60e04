#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The options that choose entries, of list and requeue alike: by name, exit code, signal, node, reason and time; each value that is
# none, options that contradict each other, what matches nothing; on a stack that is longer than what one query looks at, against
# grep.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
entries() { jobstack list -q -o entry "$@" | tr '\n' ' '; }

# ---- wrong usage, without a database
for c in list requeue; do
	try() { local said=$1; shift; check "$c $*" says 2 "$said" jobstack $c --defaults-file /dev/null "$@"; }
	try 'it is empty' --match ''
	try 'a \[ has no \]' --match '/a/['
	try 'goes backwards' --match '[z-a]'
	try 'are not supported' --match '[[:digit:]]'
	try 'follows its last backslash' --match 'a\'
	try 'from 0 to 255' --exit 256
	try 'from 0 to 255' --exit ''
	try 'from 0 to 255' --exit 5-3
	try 'from 0 to 255' --exit 1,,2
	try 'from 0 to 255' --exit -1
	try 'names or numbers of signals' --signal NONE
	try 'names or numbers of signals' --signal 65
	try 'names of nodes' --node 'n[1-3]'
	try 'names of nodes' --node n1,
	try 'got an empty string' --reason ''
	try 'takes a time' --older-than soon
	try 'takes a time' --newer-than 0
	try 'can.t be used together' --exit 1 --signal KILL
	try 'nothing can match' --older-than 2h --newer-than 1h
	try 'from 1 on' -n 0
done
check 'what runs has not ended' says 2 'running entries have no attempt that has ended' jobstack list -t running --exit 3
check 'what is held neither' says 2 'held entries have no attempt that has ended' jobstack list -t held --newer-than 1h
check 'nor was it anywhere' says 2 'held entries have no attempts' jobstack list -t held --node n1
check 'what is lost has no exit code' says 2 'has no exit status' jobstack requeue -t lost --exit 1

# ---- how they ended
for i in 1 2 3 4 5 6 7; do echo "/d/$i"; done | jobstack push -q -s f --max-attempts 2 --retry-delay 0
cat >cmd <<'S'
#!/bin/sh
case $JOBSTACK_ENTRY.$JOBSTACK_ATTEMPT in
2.* | 3.1 | 6.2) exit 3 ;;
3.2 | 6.1) exit 4 ;;
4.*) kill -KILL $$ ;;
5.*) kill -SEGV $$ ;;
esac
S
chmod +x cmd
check 'some fail' worker -s f -- ./cmd
is 'they are dead' "$(ledger f)" '2 5 0 0 0 0'
is '--exit' "$(entries -s f --exit 3)" '2 6 '
is '... a range' "$(entries -s f --exit 3-4)" '2 3 6 '
is '... several, or one after the other' "$(entries -s f --exit 4,200-255),$(entries -s f --exit 4 --exit 3)" '3 ,2 3 6 '
is '... 0 is one' "$(entries -s f -t all --exit 0)" '1 7 '
is '--signal' "$(entries -s f --signal KILL)" '4 '
is '... its name in all forms, its number' "$(entries -s f --signal sigkill),$(entries -s f --signal 11,9)" '4 ,4 5 '
is '--reason' "$(entries -s f --reason 'by signal 9')" '4 '
is '--match with them' "$(entries -s f --match '/d/[2-3]' --exit 3)" '2 '
is 'named ones, of these' "$(entries -s f 2 3 /d/4 --exit 3-4)" '2 3 '
is 'as JSON' "$(jobstack list -s f --exit 3 --json -o entry | tr '\n' ' ')" '{"entry":2} {"entry":6} '
sql "UPDATE attempt JOIN stack USING(stack_id) SET ended=ended-INTERVAL 2 HOUR WHERE name='f' AND entry_id IN(2,7)"
is '--older-than' "$(entries -s f -t all --older-than 1h)" '7 2 '
is '--newer-than' "$(entries -s f --newer-than 1h)" '3 4 5 6 '
is '... both' "$(entries -s f --older-than 1h --newer-than 1d)" '2 '
echo /d/8 | jobstack push -q -s f
jobstack pop -q -s f >/dev/null
sql "UPDATE worker JOIN stack USING(stack_id) SET node=IF(kind=1,'n2','n1') WHERE name='f'"
is '--node: where it was, or runs' "$(entries -s f --node n2),$(entries -s f --node n1),$(entries -s f --node n1,n2 -t all)" '8 ,2 3 4 5 6 ,8 1 7 2 3 4 5 6 '
is '... by its host' "$(entries -s f --node "$(sql 'SELECT JSON_VALUE(identity,"$.host") FROM worker WHERE kind=1 ORDER BY worker_id DESC LIMIT 1')" -t running)" '8 '
is 'what is dead because it failed is told once' "$(entries -s f -t dead,failed)" '2 3 4 5 6 '
check 'nothing matches' says 1 'no entry of the stack "f" is running or dead and matches the other options: select' jobstack list -s f --match '/x/*'
check '... in these states' says 1 'no entry of the stack "f" is in these states and matches the other options' jobstack list -s f -t 'done' --exit 3
# ---- names of any bytes
printf '%s\0' '/a/1.nc' '/a/b/2.nc' '/a/[x]' '/a/50%_|\' $'/a/\xe4' $'/a/\xc3\xa4' '/A/1.nc' $'/a/\n' | jobstack push -q -0 -s n
is 'a slash is like others' "$(entries -s n -t all --match '/a/*.nc')" '1 2 '
is 'bytes, not letters' "$(entries -s n -t all --match '/a/?')" '5 8 '
is '... in whatever locale' "$(LC_ALL=C.UTF-8 entries -s n -t all --match '/a/??')" '6 '
is 'what SQL would take for a pattern' "$(entries -s n -t all --match '*0%_|\\')" '4 '
is 'brackets' "$(entries -s n -t all --match '/[aA]/[0-9].nc')" '1 7 '
is '... quoted' "$(entries -s n -t all --match '*[[]x\]')" '3 '
is '... with -n' "$(entries -s n -t all --match '/a/[!0-9]*' -n 2)" '2 3 '
check 'nothing is meant but what is said: case' says 1 'no entry' jobstack list -s n -t all --match '/A/*.NC'

# ---- requeue by the same
says_would() { check "would: ${*:2}" prints 0 "$1 would be requeued" jobstack requeue -s f --dry-run "${@:2}"; }
says_would 2 --exit 3
says_would 2 --signal 9,11
says_would 5 --node n1
says_would 1 --older-than 1h
says_would 1 --match '/d/[2-3]' --exit 3
says_would 2 -t 'done' --match '*'
says_would 1 -t 'done' -n 1
check 'nothing matches' says 1 'no requeueable entry of the stack "f" matches these options' jobstack requeue -s f --match '/x/*'
check '... of named ones' prints 1 '0 requeued, 1 refused' \
	jobstack requeue -s f 2 --exit 4
like '... which is said' "$(cat said)" 'entry 2 .* is refused: it does not match the options'
check 'by the last attempt' prints 0 '2 requeued' jobstack requeue -s f -t dead --exit 3
is '... it was these' "$(entries -s f -t ready)" '2 6 '
check 'one of them' prints 0 '1 requeued' jobstack requeue -s f --signal KILL,SEGV -n 1
check 'a done one, by its name' prints 0 '1 requeued' jobstack requeue -s f -t 'done' --match '/d/7'
is 'the ledger' "$(ledger f)" '1 2 4 0 0 1'
check 'it balances' jobstack check -q -s f

# ---- a long stack, in which every entry is dead, against grep
seq -f '/long/%.0f' 45000 | tee long | jobstack push -q -s long
sql "SELECT stack_id INTO @s FROM stack WHERE name='long'; DELETE FROM span WHERE stack_id=@s;
	INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,ended)
		SELECT @s,entry_id,1,0,1,0,entry_id%7,UTC_TIMESTAMP(6) FROM entry WHERE stack_id=@s;
	INSERT INTO set_aside(stack_id,entry_id,attempt,\`rank\`) SELECT @s,entry_id,1,0 FROM entry WHERE stack_id=@s;
	UPDATE stack SET dead=45000 WHERE stack_id=@s"
check 'its ledger' jobstack check -q -s long
listed() { jobstack list -s long -t "$1" -o datapath --match "$2" | cmp - <(grep -E "$3" long); }
for t in dead failed; do
	check "$t: all" listed $t '*' .
	check "$t: few in each piece" listed $t '*999' '999$'
	check "$t: more than a page at the end" listed $t '/long/4[2-4]*' '/4[2-4]'
	check "$t: the last" listed $t '*/45000' '/45000$'
done
is 'and by exit code' "$(jobstack list -s long --exit 2 --match '*[05]' -o entry | md5sum)" "$(seq 45000 | awk '$1 % 7 == 2 && /[05]$/' | md5sum)"
mapfile -t named < <(seq 1 11 45000)
is 'thousands of named ones' "$(jobstack list -s long "${named[@]}" --match '*[13579]' -o entry | md5sum)" "$(seq 1 11 45000 | grep '[13579]$' | md5sum)"
check 'requeue: few in each piece' prints 0 '45 requeued' jobstack requeue -s long --match '*999'
is '... in one span: a list' "$(sql "SELECT COUNT(*) FROM span JOIN stack USING(stack_id) WHERE name='long'")" 1
for i in 1 2 3; do jobstack requeue -s long --match '*[0-4]' --json >re.$i & done
wait
is 'three at once: each entry once' "$(cat re.? | sed 's/.*"requeued":\([0-9]*\).*/\1/' | awk '{ n += $1 } END { print n }')" 22500
is '... it was these' "$(jobstack list -s long -t ready -o datapath | sort | md5sum)" "$(grep -E '[0-4]$|999$' long | sort | md5sum)"
check 'the ledger balances' jobstack check -q -s long

# ---- spans of one entry each, which are told together: in line by priority, and backwards on a last-in-first-out stack
for order in '' --lifo; do
	numbered 1 250 | jobstack push -q -s "alone$order" $order >/dev/null
	sql "SET @s=(SELECT stack_id FROM stack WHERE name='alone$order'); DELETE FROM span WHERE stack_id=@s;
		INSERT INTO span(stack_id,class,\`rank\`,pos,lo,hi,attempt,fails,losses,due) SELECT @s,1,entry_id<=5,IF('$order'='',1,-1)*IF(entry_id=20,305,10*CAST(entry_id AS SIGNED)),
			entry_id,entry_id,1+(entry_id=8),0,0,UTC_TIMESTAMP(6)+INTERVAL 1 HOUR FROM entry WHERE stack_id=@s;
		INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) VALUES(@s,8,1,0,1,0,UTC_TIMESTAMP(6))"
	is "each that waits is told once, with its attempt $order" "$(jobstack list -q -s "alone$order" -t waiting -o entry,attempt | sort -n | md5sum)" \
		"$(seq 250 | awk '{ print $1 "\t" ($1 == 8) }' | md5sum)"
	# told in the order in which they would be popped, also where that goes neither up nor down
	first=$(seq 6 19 && seq 21 30 && echo 20 && seq 31 250) last=$(seq 5)
	[[ $order == '' ]] || { first=$(tac <<<"$first") last=$(tac <<<"$last"); }
	in_line=$(printf '%s\n' "$first" "$last")
	is "... in their order $order" "$(jobstack list -q -s "alone$order" -t waiting -o entry)" "$in_line"
	is "... the first of them $order" "$(jobstack list -q -s "alone$order" -t waiting -o entry -n 7)" "$(head -n 7 <<<"$in_line")"
	is "... by name $order" "$(jobstack list -q -s "alone$order" -t waiting --match '/d/?' -o entry)" "$(grep -x '.' <<<"$in_line")"
	is "... some of them $order" "$(jobstack list -q -s "alone$order" -t waiting 3 9 77 -o entry)" "$(grep -xE '3|9|77' <<<"$in_line")"
done
finish
