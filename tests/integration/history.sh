#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack history: what happened to a file, over all stacks; and that no entry is ever missed, whatever pushes are under way.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
events() { # FILE: "stack entry attempt outcome-or-state command", in order of time
	jobstack history -q --json "$@" | jq -r '"\(.stack) \(.entry) \(.attempt // "-") \(.state // .outcome) \(.command)"'
}
places() { jobstack history -q --json "$@" | jq -r '"\(.stack):\(.entry)"' | sort -u | tr '\n' ' '; }
indexed() { sql "SELECT CONCAT(indexed,' ',tail,' ',(SELECT COUNT(*) FROM path p WHERE p.stack_id=s.stack_id)) FROM stack s WHERE name='$1'"; }
check 'there is nothing yet' says 1 'no stack has the file "/a"' jobstack history /a
check '... nor a duplicate' says 1 'no file is in more than one entry' jobstack history --duplicates
check 'no file is named' says 2 'name a file' jobstack history
check '... or too much' says 2 'takes no datapath' jobstack history --duplicates /a

# the same files by relative and absolute names, twice in a stack, and behind a link
mkdir data && touch data/a data/b "data/it's
odd"$'\xff\\' && ln -s data/a link
find ./data -type f -print0 | sort -z | jobstack push -q -0 -s first --max-attempts 2 --retry-delay 0
(cd data && printf '%s\n' "$PWD"/a "$PWD//b" /elsewhere | jobstack push -q -s second)
printf '%s\n' data/a | jobstack push -q -s first
check 'a worker' worker -s first -- "$BASH" -c '[ "$1" != ./data/b ]' sh {}
is 'a file, by a relative name' "$(events data/a)" "first 1 1 done bash
first 4 1 done bash
second 1 - ready null"
is '... by its absolute name, in other spellings' "$(places "$PWD/data/a") $(places "$PWD/./data//a") $(places ./data/a)" \
	'first:1 first:4 second:1  first:1 first:4 second:1  first:1 first:4 second:1 '
is '... by a link to it' "$(places link)" 'first:1 first:4 second:1 '
is '... from another directory' "$(cd data && places a)" 'first:1 first:4 second:1 '
is 'each attempt, and that the entry is dead' "$(events data/b)" "first 2 1 failed bash
first 2 2 failed bash
first 2 - dead null
second 2 - ready null"
is 'a name of any bytes' "$(places data/it*)" 'first:3 '
is '... as text' "$(jobstack history -q data/it* | awk 'NR == 2 { print $2, $3, $5 }')" 'first 3 done'
is 'its time, its node, its bytes' \
	"$(jobstack history -q --json data/a | jq -c 'select(.stack == "first" and .entry == 1) | [.node != null, .seconds >= 0, .read_bytes >= 0, .exit_code]')" '[true,true,true,0]'
like 'the version of its program' "$(jobstack history -q data/b | sed -n 2p) $(jobstack history -q --json data/b | jq -r .version | head -n 1)" \
	'bash, bash of 20[0-9-]+ [0-9:]+ .*bash'
check 'several files' eval '[[ $(jobstack history data/a data/b | grep -c "^WHEN") == 2 ]]'
check 'one of which is not there' fails_with 1 jobstack history -q data/a data/none
is 'each entry is in the index, once' "$(indexed first), $(indexed second)" '4 4 4, 3 3 3'

is 'files in more than one entry' "$(jobstack history --duplicates --json | jq -c '[.datapath, (.entries | map("\(.stack):\(.entry)"))]' | sort)" \
	"[\"$PWD/data/a\",[\"first:1\",\"first:4\",\"second:1\"]]
[\"$PWD/data/b\",[\"first:2\",\"second:2\"]]"
is '... at most one' "$(jobstack history --duplicates -n 1 | wc -l)" 2
is '... as text' "$(jobstack history --duplicates | grep -c "  first:2 second:2  $PWD/data/b\$")" 1

check 'into a pipe that is closed: no word' eval 'jobstack history --duplicates 2>said | true; [[ ! -s said ]]'
check 'on a full disk' says 70 'No space' eval 'jobstack history data/a >/dev/full'

# running, cancelled, moved, pruned
eval "$(jobstack pop -s second)"
is 'a running entry' "$(events data/a | tail -n 1)" 'second 1 1 running null'
jobstack close -q
unset JOBSTACK_STACK JOBSTACK_ENTRY
check 'a cancelled one' eval 'jobstack cancel -q -s second 2 && [[ $(events data/b | tail -n 1) == "second 2 - cancelled null" ]]'
check 'a moved one' eval 'jobstack requeue -s first --to third 2 && [[ $(places data/b) == "first:2 second:2 third:1 " ]]'
check 'prune' jobstack prune -q -s first --older-than 0
is 'a file whose entries were pruned is known' "$(events data/a | sort)" "first 1 - pruned null
first 4 - pruned null
second 1 1 done null"
check '... and it is said that some were' says 0 '3 entries were pruned from the stack "first"' jobstack history data/a
jobstack push -q -s late /late && worker -s late -- true && jobstack prune -q -s late --older-than 0
check 'an entry that was pruned before the first look is not' says 1 '1 entry was pruned from the stack "late": .* nothing is known' jobstack history /late

# A push --atomic that is under way: its entries are held, and may be withdrawn.
hold() { # STACK: until 7 is closed
	mkfifo "$1.pipe"
	jobstack push --atomic -s "$1" <"$1.pipe" >/dev/null 2>&1 &
	holder=$!
	exec 7>"$1.pipe"
	numbered 1 2000 >&7
	wait_for 20 ledger_is "$1" '0 0 0 0 2000 0'
}
check 'an atomic push' hold held
jobstack push -q -s held /d/after
is 'what it holds is told' "$(events /d/5)" 'held 5 - held null'
is '... and what came behind it' "$(events /d/after)" 'held 2001 - ready null'
is '... but it is not in the index' "$(indexed held)" '0 2001 0'
exec 7>&-
check 'it ends' wait "$holder"
is 'now it is' "$(events /d/5) $(indexed held)" 'held 5 - ready null 2001 2001 2001'
check 'another one' hold withdrawn
is '... is told' "$(places /d/6)" 'held:6 withdrawn:6 '
kill -TERM "$holder"
wait "$holder"
exec 7>&-
is '... is withdrawn' "$(places /d/6)" 'held:6 '
is '... of which no trace is left' "$(sql 'SELECT COUNT(*) FROM path LEFT JOIN entry USING(stack_id,entry_id) JOIN stack USING(stack_id) WHERE datapath IS NULL AND name NOT IN("first")')" 0

# A load takes its numbers before its rows are there: here by hand, with a frozen client's push, after one chunk of it.
seq -f /l/%.0f 3 | jobstack push -q -s load
sql "SELECT stack_id INTO @s FROM stack WHERE name='load';
	INSERT INTO push(token,stack_id,started,beat) VALUES(REPEAT('l',16),@s,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6));
	INSERT INTO push_range SELECT @s,2,3,push_id FROM push WHERE token=REPEAT('l',16); UPDATE push_range SET hi=1 WHERE stack_id=@s AND lo=1;
	UPDATE stack SET tail=5 WHERE stack_id=@s"
jobstack push -q -s load /l/6
is 'entries behind a load that is under way' "$(places /l/6) $(indexed load)" 'load:6  3 6 3'
sql "INSERT INTO entry SELECT stack_id,4,'/l/4' FROM stack WHERE name='load' UNION SELECT stack_id,5,'/l/5' FROM stack WHERE name='load';
	UPDATE push SET ended=UTC_TIMESTAMP(6) WHERE token=REPEAT('l',16);
	UPDATE span JOIN stack USING(stack_id) SET lo=4 WHERE name='load' AND lo=6"
is '... and its own, when it has come' "$(places /l/5) $(places /l/4) $(places /l/6) $(indexed load)" 'load:5  load:4  load:6  6 6 6'

# many at once; a stack that goes
seq -f /m/%.0f 150000 | jobstack push -q -s many
for i in 1 2 3; do jobstack history -q --json /m/149999 >many.$i & done
wait
is 'three at the same time' "$(cat many.? | jq -r .entry | tr '\n' ' ') $(indexed many)" '149999 149999 149999  150000 150000 150000'
check 'a dropped stack' eval 'jobstack drop -q -s many --yes && fails_with 1 jobstack history -q /m/5'
is '... leaves nothing' "$(sql 'SELECT COUNT(*) FROM path LEFT JOIN stack USING(stack_id) WHERE name IS NULL')" 0
finish
