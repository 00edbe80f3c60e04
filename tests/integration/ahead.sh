#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Claims ahead of long commands, where a step takes noticeable time: a slot's next entry is there before the command ends.  If
# the worker is killed, again and again, no entry is dead that has never run.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
real=$(sed -n 's/^port=//p' "$JOBSTACK_TEST_CNF")
python3 -B "$JOBSTACK_SOURCE/tests/lib/relay.py" "$real" 0 0.1 &
at_end "kill $! 2>/dev/null"
wait_for 20 test -s port
sed "s/^port=.*/port=$(cat port)/" "$JOBSTACK_TEST_CNF" >far.cnf && chmod 600 far.cnf
cat >work <<'END'
echo "$1" >>ran
[ ! -e linger ] || exec tail -f /dev/null
sleep 1.2
END
claimed() { sql "SELECT COALESCE(SUM(open),0) FROM claim JOIN stack USING(stack_id) WHERE name='$1'"; }
claims_over() { (($(claimed "$1") > $2)); }
ran() { [[ -f ran ]] && (($(wc -l <ran) >= $1)); }

# The steps take a tenth of a second, commands 1.2 s: without claims ahead the slots would hold two entries at most.
numbered 1 40 | jobstack push -q -s five --max-losses 2 >/dev/null
for round in 1 2 3 4 5; do
	before=$(cat ran 2>/dev/null | wc -l)
	JOBSTACK_DEFAULTS_FILE=far.cnf jobstack-worker -q -s five --slots 2 -- sh work {} 2>said &
	keeper=$!
	if ((round == 1)); then
		check 'entries are claimed ahead' wait_for 30 claims_over five 2
		# From now on commands stay.  Else one could end while this test looks, and the worker would be killed between the claim of
		# a next entry and its start: such an entry counts as lost, too, however it was claimed.
		touch linger
	else
		check "... commands run, round $round" wait_for 30 ran $((before + 2))
	fi
	kill -KILL "$(pgrep -P "$keeper" -x jobstack-worker)"
	wait "$keeper" 2>/dev/null
	is '... what it held is back' "$(claimed five)" 0
done
dead=$(sql "SELECT e.datapath FROM set_aside d JOIN entry e USING(stack_id,entry_id) JOIN stack s USING(stack_id) WHERE s.name='five'")
is 'no entry is dead that has never run' "$(comm -23 <(sort <<<"$dead") <(sort -u ran))" ''
check '... some are dead, so that this says something' test -n "$dead"
sql "UPDATE stack SET max_losses=1 WHERE name='five'"
rm -f ran linger
JOBSTACK_DEFAULTS_FILE=far.cnf jobstack-worker -q -s five --slots 2 -- sh work {} 2>said &
keeper=$!
check 'with max-losses=1' wait_for 30 ran 4
is '... nothing is claimed ahead' "$(($(claimed five) > 2))" 0
kill -TERM "$keeper"
wait "$keeper"
check 'the audit' audit five

# Which descriptors a command has while the worker connects again, which takes long here: those that the worker was given, and no
# socket of the worker's.  On an old kernel, too.
cat >has.c <<'END'
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
	int file = open("had", O_WRONLY | O_CREAT | O_APPEND, 0666);
	struct stat st;

	for (int fd = 3; fd < 64; fd++)
		if (fd != file && fstat(fd, &st) == 0 && (fd == 8 || S_ISSOCK(st.st_mode)) && write(file, fd == 8 ? "8" : "s", 1) != 1)
			return 1;
	return usleep(10000) != 0;
}
END
cc -O1 -o has has.c || exit 1
cut() { # all connections but this one
	sql "$(sql "SELECT CONCAT('KILL CONNECTION ',id,';') FROM information_schema.processlist
		WHERE id<>CONNECTION_ID() AND user=SUBSTRING_INDEX(USER(),'@',1)")" 2>/dev/null
}
for kernel in '' "$JOBSTACK_BIN/tests/old-kernel"; do
	rm -f had
	stack=has${kernel:+.old}
	numbered 1 120 | jobstack push -q -s "$stack" >/dev/null
	JOBSTACK_DEFAULTS_FILE=far.cnf $kernel jobstack-worker -q -s "$stack" --slots 2 -- ./has 8</dev/null 2>said &
	pid=$!
	for ((n = 0; n < 8; n++)); do
		is_ours "$pid" || break
		cut
		nap 0.15
	done
	wait "$pid"
	is "commands while connections are cut${kernel:+, on an old kernel}" "$? $(ledger "$stack")" '0 120 0 0 0 0 0'
	is '... have what the worker was given, and no socket' "$(tr -d 8 <had)$(tr -dc 8 <had | wc -c)" 120
done
finish
