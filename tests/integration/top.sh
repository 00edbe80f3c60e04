#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack top, in a real terminal (tmux): keys in, screen out.  All views and actions, windows of any size, both kinds of locale,
# hostile names, a database that goes away, and every way to end.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
unset TMUX NO_COLOR COLUMNS LINES PAGER
export TMUX_TMPDIR=$PWD SLURM_CONF=$PWD/there-is-none

# tmux's server must not keep what this shell has open: locks of the lab, the test's own files
tm() {
	(
		for fd in /proc/"$BASHPID"/fd/*; do
			fd=${fd##*/}
			((fd < 3)) || eval "exec $fd>&-"
		done
		exec tmux -L top -f /dev/null "$@"
	)
}
at_end 'tm kill-server 2>/dev/null; wait_for 10 nothing_runs'
# a session of its own keeps the server: without one it ends, and what begins meanwhile fails
tm new-session -d -s keep 'exec sleep 1000'
on_screen() { # COMMAND...: in a new window of 80x24
	tm kill-session -t top 2>/dev/null
	tm new-session -d -s top -x 80 -y 24 "$*; echo \"ended with \$?\"; exec sleep 1000"
	tm set-option -t top window-size manual
}
keys() { tm send-keys -t top "$@"; }
size() { tm resize-window -t top -x "$1" -y "$2"; }
screen() { tm capture-pane -p -t top; }
shows() { [[ $(screen) =~ $1 ]]; }
sees() { # NAME REGEX
	if wait_for 10 shows "$2" >/dev/null; then pass "$1"; else fail "$1" "$(screen)"; fi
}
chosen() { tm capture-pane -p -e -t top | grep -a $'\e\[[0-9;]*7m' | grep -qaE "$1"; } # a line that looks chosen
fits() { [[ $(screen | wc -L) -le $1 ]]; }
state() { sql "SELECT state, IFNULL(max_running,0) FROM stack WHERE name='$1'" | tr '\t' ' '; }
state_is() { [[ $(state "$1") == "$2" ]]; }
nothing_runs() { # shellcheck disable=SC2046
	none_of_ours $(pgrep -x 'jobstack-top|tmux: server')
}
in_pty() { TERM=xterm "$JOBSTACK_SOURCE/tests/support/in-pty" "$@"; }

jobstack init -q
numbered 1 6 | jobstack push -q -s airs --max-attempts 1 >/dev/null
printf '/d/\033]0;evil\a\033[2Jbad\0' | jobstack push -q -0 -s airs >/dev/null
worker -s airs -- sh -c 'case $1 in *3 | *4) echo "bad magic in $1" >&2; exit 3;; *5) kill -9 $$;; *bad) printf "\033[2Jseen\n"; exit 4;; esac; echo "fine: $1"' sh
jobstack push -q -s long /d/long /d/ready >/dev/null
worker -s long -- sh -c 'touch began; exec sleep 1000' &
worker=$!
at_end 'kill_ours $worker $(worker_tree long)'
check 'an entry runs' wait_for 20 test -e began
nudge() { kill -URG "$(worker_pids long)" && [[ $(sql "SELECT running FROM worker JOIN stack USING(stack_id) WHERE name='long'") == 1:* ]]; }
check '... and a heartbeat has said so' wait_for 20 nudge
check 'without a terminal it names what needs none' says 2 'needs a terminal.*jobstack status' jobstack top
check '... on a dumb one too' fails_with 2 env TERM=dumb "$JOBSTACK_SOURCE/tests/support/in-pty" --out dumb -- jobstack top
check '... on an unknown one too' fails_with 2 env TERM=nonsense "$JOBSTACK_SOURCE/tests/support/in-pty" --out dumb -- jobstack top
like '... which says so' "$(cat dumb)" 'TERM is not known.*jobstack status'
check 'no such stack' fails_with 2 in_pty --out none -- jobstack top arsi
check 'its program was not built' eval 'cp "$(command -v jobstack)" . && fails_with 2 in_pty --out none -- ./jobstack top && grep -q libncurses-dev none'

on_screen jobstack top
sees 'all stacks, the one that works first' $'^all stacks\n.*STACK.*\nlong .*\nairs .*'
check 'the first is chosen' wait_for 10 chosen '^.*long'
keys j
check 'a key chooses the next' wait_for 10 chosen '^.*airs'
jobstack push -q -s newer /1 >/dev/null
sees '... which moves down' $'\nlong .*\nnewer .*\nairs .*'
check '... and stays chosen' wait_for 10 chosen '^.*airs'
jobstack drop -q --yes -s newer
keys / A I R Enter
sees '/ leaves lines with a text' $'only lines with: AIR\n.*STACK.*\nairs .*\n\n'
keys Enter
sees 'Enter: one stack, with its failures' $'^airs\n.*dead.*2 +exit 3 +bad magic in /d/[34] '
sees '... when its entries ended' $'\nended +[▁▂▃▄▅▆▇█]+\n +[0-9.]+ [a-z]+ per column'
keys '?'
sees '? helps' 'Enter +open the stack'
keys x r
sees 'r asks' 'run `jobstack requeue -s airs --exit=3`\? \(y/n\)'
keys n
sees '... no' 'nothing was changed'
is '... is no' "$(ledger airs)" '3 4 0 0 0 0'
keys r y
sees '... y requeues the group' '2 requeued'
is '... it alone' "$(ledger airs)" '3 2 2 0 0 0'
check '... and it leaves the screen' wait_for 10 eval '! shows "exit 3"'
keys / e x i t Enter Enter
sees 'Enter: an entry, with its attempts' $'^airs, entry 7\nentry +7\n.*attempt 1: failed: exit 4'
sees '... and its output; nothing in it is taken for a command' '\n?output .*\?\[2Jseen'
keys l
sees 'l pages its output' '\[any key goes back'
keys q
sees '... q goes back' '^airs, entry 7'
keys r y
sees 'an entry is requeued' '1 requeued'
keys c y
sees '... or cancelled' '1 cancelled'
is '... is' "$(jobstack list -s airs -t cancelled -o entry)" 7
keys q
sees 'q goes back' $'^airs\n'
keys Escape
sees 'so does Esc' $'^all stacks\n.*airs'
keys k p
sees 'p pauses' 'the stack "long" is paused now'
check '... the stack that is chosen' state_is long '1 0'
keys u
sees 'u resumes' 'is open again'
keys m 1 x BSpace 2 Enter
check 'm sets a limit' wait_for 10 state_is long '0 12'
keys m z Enter
sees '... or says what is wrong with it' 'max-running takes'
keys Enter
sees 'the entry that runs, and its worker' $'RUNNING FOR.*/d/long.*\n.*WORKER'

size 20 8
check '20 columns' wait_for 10 fits 20
sees '... the rest can be reached' $'^long\n'
keys End
check '... by keys' wait_for 10 chosen '[0-9]'
size 1 1
check '1x1' wait_for 10 fits 1
size 100 30
sees 'and back' $'^long\n.*stack +long \\(open\\)'
keys Enter
sees 'Enter on the worker: what it runs' '^long, entry 1'
keys K y
sees 'which can be killed' 'entry 1 is dead: killed by .*\[any key'
keys Space
keys q q q
sees 'q leaves' 'ended with 0'

on_screen LC_ALL=C jobstack top airs
sees 'the C locale' $'^airs\n.*\nended +[-.:=+*%#]'
is '... has no other letters' "$(screen | LC_ALL=C grep -c '[^ -~]')" 0
keys q
sees 'q leaves where it began' 'ended with 0'

jobstack push -q -s idle /i >/dev/null
on_screen jobstack top idle
sees 'a stack without workers and failures' $'^idle\n.*ready +1'
keys p
sees '... can be paused' 'the stack "idle" is paused now'

# a relay to the server, which can be stopped
real=$(sed -n 's/^port=//p' "$JOBSTACK_TEST_CNF")
relay() { python3 "$JOBSTACK_SOURCE/tests/lib/relay.py" "$real" "$1" 2>>relay.err & relay=$!; }
at_end 'kill_ours $relay'
relay 0
check 'a relay' wait_for 10 test -s port
sed "s/^port=.*/port=$(cat port)/" "$JOBSTACK_TEST_CNF" >relay.cnf
chmod 600 relay.cnf
on_screen jobstack top --defaults-file relay.cnf
sees 'by the relay' $'^all stacks\n.*airs'
kill -STOP $relay
sees 'a server that does not answer: the picture stays' $'the database has not answered for [0-9]+ s\n.*airs'
keys '?'
sees '... and keys work' 'Enter +open the stack'
keys x
kill -KILL $relay
sees 'one that is not there' 'not answered for [0-9]+ s: the database'
relay "$(cat port)"
wait_for 10 eval '! shows "has not answered"' >/dev/null
sees 'it comes back' $'^all stacks\nSTACK'
tm kill-session -t top

check 'Ctrl-C leaves' fails_with 130 in_pty --out w expect='all stacks' $'send=\003' -- jobstack top
check 'SIGTERM leaves' fails_with 143 in_pty --out w expect='all stacks' signal=TERM -- jobstack top
check 'SIGHUP leaves' fails_with 129 in_pty --out w expect='all stacks' signal=HUP -- jobstack top
check 'a crash gives the terminal back' fails_with 134 in_pty --out w expect='all stacks' signal=ABRT -- jobstack top
check 'Ctrl-Z and fg' in_pty --out w expect='all stacks' raw $'send=\032' stopped cooked signal=CONT raw send=q -- jobstack top
on_screen "trap '' HUP; touch ignored; exec jobstack top"
sees 'SIGHUP is ignored' '^all stacks'
tm kill-server
check 'it ends with its terminal' wait_for 10 nothing_runs

# called by its own name
like 'jobstack-top --help is help' "$(jobstack-top --help)" '^usage: jobstack top '
check '... and else it checks the same as jobstack top' says 2 'this needs a terminal' jobstack-top
finish
