# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2030,SC2031
#
# What the scripts share: messages, waiting for a condition, temporary directories, processes told apart without a doubt
# (a pid alone proves nothing), and getting rid of all that a script has started.  To be sourced by bash; does nothing.

# Daemons live in sbin, which an ordinary user's PATH may lack.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
LIB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/lib/nap.sh
. "$LIB_DIR/nap.sh"

say() { printf '%s\n' "$*" >&2; }

# die STATUS TEXT...
die() {
	local status=$1
	shift
	say "${0##*/}: $*"
	exit "$status"
}

have() { command -v "$1" >/dev/null 2>&1; }

# Hundredths of a second since boot, in $NOW (no process is started for it).
now() {
	local up
	read -r up _ </proc/uptime
	NOW=$((10#${up/./}))
}

# poll SECONDS COMMAND...: tries COMMAND until it succeeds, less often as time goes by; 1 if it never did.
poll() {
	local bound=$(($1 * 100)) from nap
	now
	from=$NOW
	shift
	until "$@"; do
		now
		((NOW - from < bound)) || return 1
		nap=$((NOW - from < 50 ? 5 : NOW - from < 200 ? (NOW - from) / 10 : 20))
		printf -v nap '0.%02d' "$nap"
		nap "$nap"
	done
}

# slurp FILE: its text in $TEXT; 1 if it can't be read.  (Where `set -e` holds, bash 5.2 exits at $(<FILE) when there is
# no such file, whatever || or if stands around it; and what is in /proc may go at any time.)
slurp() {
	TEXT=''
	{ read -rd '' TEXT <"$1" || [[ $TEXT ]]; } 2>/dev/null
}

# proc_alive PID [START]: there is such a process (started at START, see proc_start), and it is no zombie (kill -0 takes those for
# living).  One of which other threads still run looks like a zombie, but has its files and ports until they have ended, too.
proc_alive() {
	local TEXT fields
	slurp "/proc/$1/stat" || return 1
	read -ra fields <<<"${TEXT##*) }"
	[[ ${2-} == '' || ${fields[19]} == "$2" ]] || return 1
	[[ ${fields[0]} != [ZX] ]] || ((fields[17] > 1))
}

# The process's start in clock ticks since boot: with its pid, it is unmistakable.  Nothing if there is no such process.
proc_start() {
	local TEXT fields
	slurp "/proc/$1/stat" || return 0
	read -ra fields <<<"${TEXT##*) }"
	echo "${fields[19]}"
}

# Process ids, one a line: with an open file or their working directory below DIR; with DIR/ in an argument; with this
# very NAME=VALUE in the environment that they were started with; whose name matches REGEX.  The first two look at all
# processes, or at PID... only: where the name is known, that takes a fraction of the time.
pids_by_files() { # DIR [PID...]
	local of=("${@:2}")
	((${#of[@]})) || of=('[0-9]*')
	of=("${of[@]/#//proc/}")
	# shellcheck disable=SC2068
	find ${of[@]/%//fd} ${of[@]/%//cwd} -maxdepth 1 -type l -printf '%p\t%l\n' 2>/dev/null |
		BELOW="$1/" awk -F'\t' 'index($2 "/", ENVIRON["BELOW"]) == 1 { split($1, p, "/"); print p[3] }' | sort -un || true
}
pids_by_args() { # DIR [PID...]
	local of=("${@:2}")
	((${#of[@]})) || of=('[0-9]*')
	of=("${of[@]/#//proc/}")
	# shellcheck disable=SC2068
	grep -laF -- "$1/" ${of[@]/%//cmdline} 2>/dev/null | cut -d/ -f3 || true
}
pids_by_name() { grep -lsE -- "$1" /proc/[0-9]*/comm | cut -d/ -f3 || true; }
pids_by_env() { grep -lazxF -- "$1" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 || true; }

# kill_pids SIGNAL PID...: no word about those that are gone already.
kill_pids() {
	local signal=$1
	shift
	(($# == 0)) || kill "-$signal" "$@" 2>/dev/null || true
}

# none_of COMMAND...: COMMAND prints no process id (zombies don't count: they are for their parent to reap).
none_of() {
	local pid
	for pid in $("$@"); do
		proc_alive "$pid" && return 1
	done
	return 0
}

# stop_all SECONDS COMMAND...: TERM to the processes that COMMAND prints, KILL to what is left after SECONDS; 1 if even
# that left some.
stop_all() {
	local seconds=$1
	shift
	none_of "$@" && return 0
	# shellcheck disable=SC2046
	kill_pids TERM $("$@")
	poll "$seconds" none_of "$@" && return 0
	# shellcheck disable=SC2046
	kill_pids KILL $("$@")
	poll 60 none_of "$@"
}

# exec_bare LOG COMMAND...: becomes COMMAND, with nothing of ours in its hands: no terminal, pipe or lock (whoever waits
# for the end of our output shall not wait for a daemon).  In a subshell, or in the background.
exec_bare() {
	local log=$1 fd
	shift
	exec </dev/null >>"$log" 2>&1
	for fd in "/proc/$BASHPID/fd/"*; do
		fd=${fd##*/}
		((fd < 3 || fd == 255)) || eval "exec $fd>&-"
	done
	exec "$@"
}

# make_tmp NAME: a new directory, and prints it.  Its path has no odd characters and leaves space for a socket's name
# (which may have 107 bytes); others may pass through it but not look in, since a database server of root's runs as
# somebody else.
make_tmp() {
	local base=${TMPDIR:-/tmp} dir
	base=${base%/}
	[[ $base =~ ^/[A-Za-z0-9._/+-]{0,50}$ && -d $base && -w $base ]] || base=/tmp
	dir=$(mktemp -d "$base/$1.XXXXXX")
	chmod 711 "$dir"
	echo "$dir"
}

# check_dir DIR: fit to hold a lab?
check_dir() {
	[[ $1 =~ ^/[A-Za-z0-9._/+-]+$ && ${#1} -le 80 ]] && return 0
	say "$1: must be an absolute path of at most 80 letters, digits and . _ / + -"
	return 1
}

# Picks COUNT neighbouring loopback ports that nobody uses, and puts the first in $PORT.  They lie below those that the
# kernel gives out by itself.  Somebody may be quicker: whoever binds them must be ready to try others.
free_ports() {
	local count=$1 try port used
	used=" $(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '{ n = split($2, a, ":"); if (n == 2) print a[2] }' |
		sort -u | tr '\n' ' ')"
	for ((try = 0; try < 200; try++)); do
		PORT=$((10000 + (RANDOM * 32768 + RANDOM) % (22000 - count)))
		for ((port = PORT; port < PORT + count; port++)); do
			[[ $used != *" $(printf %04X "$port") "* ]] || continue 2
		done
		return 0
	done
	say "no $count free ports between 10000 and 32000"
	return 1
}

# watch_owner STAY OWNER COMMAND...: leaves a process behind that runs COMMAND once the process OWNER is gone, even by
# kill -9, and that ends by itself soon after STAY, a file or directory, has gone.
watch_owner() {
	local stay=$1 owner=$2
	shift 2
	exec_bare /dev/null setsid bash "$LIB_DIR/watchdog" "$stay" "$owner" "$(proc_start "$owner")" "$@" &
	disown $!
}

# unwatch STAY: ends the process that watch_owner left behind for STAY.
unwatch() {
	local pid
	for pid in $(grep -lazxF -- "$1" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 || true); do
		if grep -qsaz '/lib/watchdog$' "/proc/$pid/cmdline"; then kill_pids TERM "$pid"; fi
	done
}

# cmake_tree DIR TOP CMAKE-ARGUMENT...: configures TOP into DIR and builds it there.  A cache from another place (a moved
# or copied checkout) is of no use.  TARGETS: only these words are built.
cmake_tree() {
	local dir=$1 top=$2 generator=() only=()
	# shellcheck disable=SC2206
	[[ -z ${TARGETS-} ]] || only=(--target $TARGETS)
	shift 2
	if [[ -f $dir/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$top" "$dir/CMakeCache.txt"; then
		rm -rf "$dir"
	fi
	[[ -f $dir/CMakeCache.txt ]] || ! have ninja || generator=(-G Ninja)
	cmake -S "$top" -B "$dir" "${generator[@]}" "$@" && cmake --build "$dir" --parallel "$(nproc)" "${only[@]}"
}

# in_group COMMAND...: runs COMMAND as a process group of its own, and waits for it in a way that lets traps run at once.
# end_group ends that group: TERM, then KILL.
GROUP=
in_group() {
	local status=0
	set -m
	"$@" &
	GROUP=$!
	set +m
	wait "$GROUP" || status=$?
	GROUP=
	return "$status"
}
group_gone() { ! kill -0 -- "-$1" 2>/dev/null; }
end_group() {
	local group=$GROUP
	[[ $group ]] || return 0
	GROUP=
	kill -TERM -- "-$group" 2>/dev/null || return 0
	poll 10 group_gone "$group" || kill -KILL -- "-$group" 2>/dev/null || true
}

# on_end FUNCTION: it runs once, whichever way the script ends; a signal's status is kept.
on_end() {
	# shellcheck disable=SC2064
	trap "status=\$?; trap - EXIT; trap : INT TERM HUP; $1; exit \$status" EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
}
