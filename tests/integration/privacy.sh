#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The site's file: what it switches on, and how users switch that off.  `report --share` and events: each kind of name has a
# marker, which must not appear.  `prune --usage`.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
export TMPDIR=$PWD/tmp JOBSTACK_SITE_FILE=$PWD/site.cnf
mkdir tmp
distribution() { # NAME MODULE
	mkdir -p "lib/$1-1.dist-info"
	: >"lib/$2.py"
	echo "$2.py,," >"lib/$1-1.dist-info/RECORD"
}
distribution PubLic_Snow snow
distribution MARKpackage secret
export PYTHONPATH=$PWD/lib

# ---- the site's file: it switches on, and users switch off
printf '%s\n' '# of our centre' '[client]' 'host=nowhere' '[site]' 'packages = 1 # for all' "events = '$PWD/events'" >site.cnf
one() { # STACK [ENVIRONMENT...] [-- OPTIONS]: a worker on one more entry
	local stack=$1 with=()
	shift
	while (($#)) && [[ $1 != -- ]]; do
		with+=("$1")
		shift
	done
	[[ ${1-} != -- ]] || shift
	echo /d/1 | jobstack push -q -s "$stack" >/dev/null
	env "${with[@]}" jobstack-worker -s "$stack" "$@" -- python3 -c 'import snow'
}
check 'a worker says what the site switched on, and how to switch it off' \
	says 0 "records the Python packages that commands import, because $PWD/site.cnf says so .--no-packages switches this off.*an event for each attempt goes to $PWD/events, because $PWD/site.cnf says so .\`export JOBSTACK_EVENTS=\` switches this off" one on
is '... records packages' "$(packages on)" 'public-snow 1 1;'
is '... and has an event, which names no package, since the site calls none public' "$(jq -c '[.stack,.packages]' events)" '["on",{}]'
printf '%s\n' '[site]' 'packages = 1' "events = $PWD/named" 'packages-public = public-*' >public.cnf
check 'a list of those that are' eval 'echo /d/2 | jobstack push -q -s named && JOBSTACK_SITE_FILE=public.cnf worker -s named -- python3 -c "import snow, secret"'
is '... events name these' "$(jq -c .packages named)" '{"public-snow":"1"}'
for how in JOBSTACK_PACKAGES=0 '-- --no-packages' '-- --packages --no-packages' 'JOBSTACK_PACKAGES=0 -- --packages'; do
	# shellcheck disable=SC2086
	check "off by $how" one off $how
done
is '... records nothing' "$(packages off)" ''
check 'an empty $JOBSTACK_EVENTS: no events' one quiet JOBSTACK_EVENTS=
check 'a file of the user in its place' one quiet -- --events mine
check '... by the environment' one quiet JOBSTACK_EVENTS=mine2
is '... has them' "$(jq -r .stack mine mine2 | tr '\n' ' ')$(grep -c quiet events)" 'quiet quiet 0'
unlike 'what the user wished himself is not put on the site' "$(one quiet -- --events mine --packages 2>&1)" 'because'
check 'without the file nothing is recorded' one none JOBSTACK_SITE_FILE=/nosuch/file
is '...' "$(packages none)$(grep -c none events)" 0
# a fault in it: the work goes on, with nothing switched on
while IFS='|' read -r line why; do
	printf '%s\n' '[site]' 'packages=1' "$line" >bad.cnf
	check "a line that says '$line'" says 0 "the site's file is ignored .bad.cnf, line 3: .*$why" one bad JOBSTACK_SITE_FILE=bad.cnf
done <<'L'
packages = yes|packages takes 1 or 0
events = relative|syslog, or an absolute path
packages|KEY = VALUE
pakages = 1|takes packages, events, packages-public and slurm-every
slurm-every = 59|at least 1m
slurm-every = seldom|at least 1m and at most 1d, such as 5m, or never
slurm-every = 2d|at most 1d
packages-public = [a|invalid pattern
packages-public = /nosuch/list|can't read /nosuch/list
L
is '... records nothing' "$(packages bad)" ''
echo 'packages=1' >bad.cnf
check 'a line in no group' says 0 'write .site. above it' one bad JOBSTACK_SITE_FILE=bad.cnf
check 'a file that is a directory' says 0 "option file .*lib can't be read" one bad JOBSTACK_SITE_FILE="$PWD/lib"
check '... is an error for a report that relies on it' eval 'JOBSTACK_SITE_FILE=$PWD/lib says 2 "option file .*lib can.t be read" jobstack report --share -s on'

# ---- a stack with a marker in each kind of name
mkdir -p MARKarguments
cat >MARKarguments/run.py <<'P'
import os, sys, snow, secret
sys.stderr.write("MARKmessages\n")
sys.exit(1 if os.environ["JOBSTACK_ENTRY"] == "2" else 0)
P
printf '/MARKdatapaths/%d\n' 1 2 3 | jobstack push -q -s shared --max-attempts 1 >/dev/null
rm -f events
check 'a stack with markers' env CONDA_PREFIX=/MARKarguments jobstack-worker -q -s shared --code-version MARKarguments -- python3 "$PWD/MARKarguments/run.py" {} MARKarguments
sql "UPDATE worker JOIN stack USING(stack_id) SET worker.user='MARKusers' WHERE name='shared';
	UPDATE stack SET note='MARKmessages',cwd='/MARKdatapaths' WHERE name='shared';
	UPDATE fact JOIN stack USING(stack_id) SET text='lustre /MARKdatapaths' WHERE name='shared' AND kind=1"
jobstack pause -q -s shared
sql "UPDATE stack SET note='MARKmessages' WHERE name='shared'"
forms() { # OPTION...: the report as text, JSON and page
	jobstack report -s shared "$@" && jobstack report -s shared --json "$@" && jobstack report -s shared --html - "$@" && jobstack report -s shared --html - --io "$@"
}
marks() { forms "$@" | grep -io 'MARK[a-z]*' | sort -uf | tr '\n' ' ' | sed 's/markpackage/MARKpackage/'; }
is 'a shared report has no datapath' "$(jobstack report -s shared --share --json | jq -c '.slowest[0].datapath')" null
is 'all are in a report' "$(marks)" 'MARKarguments MARKdatapaths MARKmessages MARKpackage MARKusers '
is 'none is in a shared one' "$(marks --share)" ''
for what in datapaths arguments users messages; do
	is "... but $what, where asked for" "$(marks --share="$what")" "MARK$what "
done
is '... and packages' "$(marks --share=packages)" 'MARKpackage '
is '... or several' "$(marks --share=users,packages)" 'MARKpackage MARKusers '
for form in '' --json '--html -'; do
	# shellcheck disable=SC2086
	like "it says what it leaves out ($form)" "$(jobstack report -s shared --share=users $form | tr -d '\n')" '(left out: datapaths, arguments, packages that the site does not list, messages|"left_out":\["datapaths","arguments","packages","messages"\])'
done
like '... keeps the nodes' "$(jobstack report -s shared --share --json | jq -r '.nodes[0].node')" '[a-z]'
like '... how entries ended' "$(jobstack report -s shared --share)" '1 +exit 1 '
check 'an unknown kind is refused' says 2 'unknown word "all"; choose from datapaths, arguments, users, packages, messages' jobstack report -s shared --share=all
is 'no event has a marker, or a user' "$(grep -c -e MARK -e "\"$(id -un)\"" events)$(wc -l <events)" 03
is '... and its strings are these' "$(jq -r 'to_entries[]|select(.value|type=="string")|.key' events | sort -u | tr '\n' ' ')" 'cause command ended event node outcome program stack started '
# the site's list
for list in 'public-snow, MARK*' '/list' 'nothing'; do
	printf 'Public_Snow # and so on\n\nmark*\n' >list
	printf '[site]\npackages-public = %s\n' "${list/#\//$PWD/}" >site.cnf
	is "packages that are public: $list" "$(jobstack report -s shared --share | grep -Eo '^ *(public-snow|markpackage|and [0-9]+ more)' | tr -s ' \n' ' ')" \
		"$([[ $list == nothing ]] || echo ' markpackage public-snow ')"
done

# ---- prune --usage
sql "UPDATE stack SET note=NULL,cwd=NULL WHERE name='shared'"
usage() { sql "SELECT SUM(kind=3),GROUP_CONCAT(DISTINCT kind ORDER BY kind) FROM fact JOIN stack USING(stack_id) WHERE name='$1'" | tr '\t' ' '; }
is 'before' "$(usage shared)" '1 0,1,2,3'
check 'prune --usage tells' prints 0 'would remove 1 package list and 1 platform of "shared"' jobstack prune -s shared --usage --older-than 0 --dry-run
check '... not what is younger' prints 0 'removed 0 package lists and 0 platforms of "shared" (of workers that ended over 24 h 0 min ago)' jobstack prune -s shared --usage --older-than 1d
is '... and has removed nothing' "$(usage shared)" '1 0,1,2,3'
numbered 4 5 | jobstack push -q -s shared >/dev/null
jobstack resume -q -s shared
worker -s shared --packages --lease 6 -- sh -c 'python3 -c "import snow"; [ $JOBSTACK_ENTRY = 4 ] || until test -e go; do sleep 0.05; done' &
check 'a worker that runs has packages' wait_for 30 eval '[[ $(usage shared) == "2 "* ]]'
check 'prune --usage beside it' prints 0 'removed 1 package list and 1 platform of "shared"' jobstack prune -s shared --usage --older-than 0
is '... keeps those of the worker, and the versions' "$(usage shared)" '1 0,1,2,3'
touch go
wait
check '... which goes on' ledger_is shared '4 1 0 0 0 0'
check '... and when it has ended' prints 0 '[0,1,1]' \
	eval 'jobstack prune -s shared --usage --older-than 0 --json | jq -c "[.entries,.packages,.platforms]"'
is '... nothing of it is left' "$(usage shared)" '0 0,1'
check '... a report has the rest' eval 'jobstack report -s shared | grep -q "4 done"'
check '... as the ledger has' jobstack check -q -s shared
check 'it takes no archive' says 2 "--archive can.t be used with --usage" jobstack prune -s shared --usage --older-than 0 --archive x
# 300 lists of packages, and 300 platforms
digits='(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)'
sql "INSERT INTO fact(stack_id,kind,fact,seen,text) SELECT stack_id,2+k.d,a.d+10*b.d+100*c.d,'2020-01-01','x 1' FROM stack JOIN $digits a JOIN $digits b
	JOIN $digits c JOIN $digits k WHERE name='shared' AND c.d<3 AND k.d<2"
check 'much of it goes in steps' prints 0 'removed 300 package lists and 300 platforms of "shared" (of workers that ended over 24 h 0 min ago)' jobstack prune -s shared --usage --older-than 1d
is '... all' "$(usage shared)" '0 0,1'
finish
