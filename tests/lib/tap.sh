# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# The little that shell tests need.  Source it first; end with `finish`.
#
#   check NAME COMMAND...          passes if COMMAND succeeds; shows what it printed if not
#   is NAME GOT EXPECTED           passes if the two texts are the same
#   like NAME GOT REGEX            passes if GOT matches the extended regular expression
#   unlike NAME GOT REGEX          passes if it does not
#   fails_with STATUS COMMAND...   a condition for check: COMMAND ends with just this status
#   wait_for SECONDS COMMAND...    a condition for check, and a way to wait: polls until COMMAND succeeds.  SECONDS is what an idle
#                                  machine needs at most; a busy one gets five times as long, for the bound is there to end a hang.
#                                  The longer it waits, the less often it looks: each look costs processes, and others run beside
#   pass NAME, fail NAME           for what is decided in another way
#   at_end COMMAND                 runs when the test ends, however it does; the last one given runs first
#   plan N                         there must be just N checks
#   finish                         says how many; status 1 if any failed, if there was none, or not as many as planned
#
# A test that ends before finish has failed.

. "$JOBSTACK_SOURCE/scripts/lib/nap.sh"
TAP_DONE=0 TAP_FAILED=0 TAP_PLAN='' TAP_FINISHED='' TAP_END=()
TAP_SAID=$(mktemp "${JOBSTACK_TEST_DIR:-${TMPDIR:-/tmp}}/tap.XXXXXX")

pass() {
	TAP_DONE=$((TAP_DONE + 1))
	printf 'ok - %s\n' "$1"
}

# fail NAME [TEXT]: the text is shown, indented.
fail() {
	TAP_DONE=$((TAP_DONE + 1))
	TAP_FAILED=$((TAP_FAILED + 1))
	printf 'not ok - %s (%s line %s)\n' "$1" "${0##*/}" "$(tap_line)"
	[[ -z ${2-} ]] || printf '%s\n' "$2" | sed 's/^/#   /'
}

# The line in the test itself that led here.
tap_line() {
	local i
	for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
		[[ ${BASH_SOURCE[i]} == "$0" ]] && break
	done
	echo "${BASH_LINENO[i - 1]}"
}

check() {
	local name=$1 status=0
	shift
	"$@" >"$TAP_SAID" 2>&1 || status=$?
	if ((status == 0)); then
		pass "$name"
	else
		fail "$name" "status $status from: $*
$(head -c 20000 "$TAP_SAID" | tr -d '\0')"
	fi
}

is() {
	if [[ $2 == "$3" ]]; then pass "$1"; else fail "$1" "got:      $2
expected: $3"; fi
}

like() {
	if [[ $2 =~ $3 ]]; then pass "$1"; else fail "$1" "got:      $2
is not like: $3"; fi
}

unlike() {
	if [[ $2 =~ $3 ]]; then fail "$1" "got:      $2
is like: $3"; else pass "$1"; fi
}

fails_with() {
	local expected=$1 status=0
	shift
	"$@" || status=$?
	((status == expected)) && return 0
	echo "ended with status $status, not $expected: $*"
	return 1
}

wait_for() {
	local bound=$(($1 * 500)) from waited nap up
	read -r up _ </proc/uptime
	from=$((10#${up/./}))
	shift
	until "$@"; do
		read -r up _ </proc/uptime
		waited=$((10#${up/./} - from))
		if ((waited >= bound)); then
			echo "waited in vain for: $*"
			return 1
		fi
		nap=$((waited < 50 ? 5 : waited < 200 ? waited / 10 : 20))
		printf -v nap '0.%02d' "$nap"
		nap "$nap"
	done
}

at_end() { TAP_END=("$1" "${TAP_END[@]}"); }
plan() { TAP_PLAN=$1; }

finish() {
	TAP_FINISHED=1
	exit
}

tap_end() {
	local status=$? command
	trap - EXIT
	trap : INT TERM HUP
	set +e
	for command in "${TAP_END[@]}"; do
		eval "$command"
	done
	rm -f "$TAP_SAID"
	if [[ ! $TAP_FINISHED ]]; then
		echo "not ok - ended with status $status before finish"
		exit $((status ? status : 1))
	fi
	echo "1..$TAP_DONE"
	if ((TAP_FAILED)); then
		echo "# $TAP_FAILED of $TAP_DONE failed"
		exit 1
	fi
	if ((TAP_DONE == 0)); then
		echo "not ok - no check ran"
		exit 1
	fi
	if [[ $TAP_PLAN ]] && ((TAP_PLAN != TAP_DONE)); then
		echo "not ok - $TAP_PLAN checks were planned"
		exit 1
	fi
	exit 0
}
trap tap_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
