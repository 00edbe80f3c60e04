#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Installs what is missing, on Debian and its relatives.  Source it and call `deps_need build run tests`, or run it with
# these words.  What is there already, from wherever, is left alone; nothing is asked of apt when nothing is missing.
# No service is started: a policy-rc.d that says no is in place while packages are installed, and only then.
# Status 77: something is missing and we may not install it; what to type is said.
#
# JOBSTACK_DEPS_DB=mysql prefers MySQL to MariaDB, where one is missing.

set -euo pipefail
# shellcheck source=scripts/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

has_header() { have cc && printf '#include <stddef.h>\n#include <%s>\n' "$1" | cc "${@:2}" -E -x c - >/dev/null 2>&1; }
has_server() { have mariadbd || have mysqld; }
has_client() { have mariadb || have mysql; }
has_mysql_header() { has_header mysql.h -I/usr/include/mariadb -I/usr/include/mysql; }
has_cmocka() { has_header cmocka.h -include setjmp.h -include stdarg.h -include stdint.h; }
has_galera() { compgen -G '/usr/lib*/galera*/libgalera_smm.so' >/dev/null || ! have mariadbd; } # MySQL has none
has_ninja_or_make() { have ninja || have make; }
has_gnu_parallel() { [[ $(parallel --version 2>/dev/null </dev/null) == *'GNU parallel'* ]]; }
has_dbd_mysql() { perl -MDBD::mysql -e 1 2>/dev/null; }
has_abidw() { have abidw || [[ $(. /etc/os-release && echo "$ID $VERSION_ID") != 'debian 12' ]]; }
has_modules() {
	compgen -G '/usr/lib/*/modulecmd.tcl' >/dev/null || [[ -f /usr/lib/modulecmd.tcl || -x /usr/share/lmod/lmod/libexec/lmod ]]
}
has_clang_rt() { have clang && [[ -d $(clang -print-runtime-dir 2>/dev/null) || -d $(clang -print-resource-dir)/lib/linux ]]; }

# GROUP; how to see that it is there; the packages that give it, alternatives separated by /
deps_table() {
	local server='mariadb-server / mysql-server' client='mariadb-client / mysql-client'
	local library='libmariadb-dev libmariadb-dev-compat / default-libmysqlclient-dev / libmysqlclient-dev'
	if [[ ${JOBSTACK_DEPS_DB-} == mysql ]]; then
		server='mysql-server / mariadb-server' client='mysql-client / mariadb-client'
		library='libmysqlclient-dev / libmariadb-dev libmariadb-dev-compat'
	fi
	cat <<-END
		build; have cc; gcc libc6-dev
		build; have cmake; cmake
		build; has_ninja_or_make; ninja-build / make
		build; have pkg-config; pkg-config / pkgconf
		build; has_mysql_header; $library
		build; has_header jansson.h; libjansson-dev
		build; has_header zlib.h; zlib1g-dev
		build; has_header openssl/evp.h; libssl-dev
		build; has_header slurm/slurm.h; libslurm-dev
		build; has_header curses.h; libncurses-dev
		run; has_server; $server
		run; has_client; $client
		run; have openssl; openssl
		run; have munged; munge
		run; have slurmctld; slurmctld
		run; have slurmd; slurmd
		run; have sinfo; slurm-client
		run; have flock; util-linux
		run; have ps; procps
		tests; has_cmocka; libcmocka-dev
		tests; has_header slurm/pmi2.h; libpmi2-0-dev
		tests; have python3; python3
		tests; have clang; clang
		tests; has_clang_rt; libclang-rt-dev
		tests; have clang-format; clang-format
		tests; have valgrind; valgrind
		tests; have spin; spin
		tests; have ss; iproute2
		tests; have hostname; hostname
		tests; have perl; perl
		tests; have jq; jq
		tests; has_gnu_parallel; parallel
		tests; have Rscript; r-base-core
		tests; have octave-cli; octave
		tests; have man; man-db
		tests; have groff; groff-base
		tests; have mandoc; mandoc
		tests; have mkfs.btrfs; btrfs-progs
		tests; has_galera; galera-4
		tests; have col; bsdextrautils
		tests; have zsh; zsh
		tests; has_modules; environment-modules / lmod
		tests; have systemd-analyze; systemd
		tests; have dpkg-shlibdeps; dpkg-dev
		tests; have file; file
		tests; have tmux; tmux
		tests; have rsyslogd; rsyslog
		tests; have chromium; chromium
		tests; has_abidw; abigail-tools
		bench; have python3; python3
		bench; have xargs; findutils
		rivals; has_gnu_parallel; parallel
		rivals; has_dbd_mysql; libdbd-mysql-perl
	END
}

# The rows of these groups that are not there, as their packages.
deps_missing() {
	local group check packages
	while IFS=';' read -r group check packages; do
		[[ " $* " == *" $group "* ]] || continue
		$check || echo "${packages# }"
	done < <(deps_table)
}

apt_quiet() {
	DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 \
		-o Dpkg::Options::=--force-confold "$@" </dev/null
}

# Of the alternatives "a b / c / d", the first that apt could install, or the first.
deps_choose() {
	local alternatives=() one
	mapfile -t alternatives <<<"${1// \/ /$'\n'}"
	if ((${#alternatives[@]} > 1)); then
		for one in "${alternatives[@]}"; do
			# shellcheck disable=SC2086
			if apt_quiet -s install --no-install-recommends $one >/dev/null 2>&1; then
				echo "$one"
				return
			fi
		done
	fi
	echo "${alternatives[0]}"
}

POLICY=/usr/sbin/policy-rc.d
POLICY_SAVED=$POLICY.before-jobstack
POLICY_MARK='# put here by jobstack while it installs packages'

# If we were killed in an earlier run, what was there before is still beside it; what is in its place is ours.
policy_restore() {
	if grep -qsxF "$POLICY_MARK" "$POLICY"; then
		rm -f "$POLICY"
		[[ ! -e $POLICY_SAVED && ! -L $POLICY_SAVED ]] || mv "$POLICY_SAVED" "$POLICY"
	fi
}

# Runs as root, in a process of its own: deps.sh --install PACKAGES-ALTERNATIVES...
deps_install() {
	local log packages=() row try
	exec 9>/run/jobstack-deps.lock || die 77 "can't write to /run"
	flock 9
	log=$(mktemp)
	policy_restore
	on_end "policy_restore; rm -f '$log'"
	say "apt-get update"
	apt_quiet update >"$log" 2>&1 || say "apt-get update says: $(grep -m1 -E '^[EW]:' "$log" || true); going on with what is known"
	for row in "$@"; do
		# shellcheck disable=SC2207
		packages+=($(deps_choose "$row"))
	done
	say "apt-get install --no-install-recommends ${packages[*]}"
	[[ ! -e $POLICY && ! -L $POLICY ]] || mv "$POLICY" "$POLICY_SAVED"
	printf '#!/bin/sh\n%s\nexit 101\n' "$POLICY_MARK" >"$POLICY"
	chmod 755 "$POLICY"
	for try in 1 2; do
		if apt_quiet install -y --no-install-recommends "${packages[@]}" >"$log" 2>&1 9>&-; then
			return 0
		fi
		((try == 2)) || apt_quiet update >>"$log" 2>&1 || true
	done
	tail -n 25 "$log" >&2
	die 1 "apt-get could not install ${packages[*]}: its last words are above"
}

# deps_need GROUP...
deps_need() {
	local rows=() hint=() row as_root=()
	mapfile -t rows < <(deps_missing "$@")
	((${#rows[@]})) || return 0
	for row in "${rows[@]}"; do
		hint+=("${row%% / *}")
	done
	if ! have apt-get; then
		die 77 "missing here; by Debian's names: ${hint[*]}: install them, then try again"
	fi
	if ((EUID != 0)); then
		as_root=(sudo)
		[[ -t 0 && -t 2 ]] || as_root=(sudo -n)
		if ! have sudo || ! "${as_root[@]}" true 2>/dev/null; then
			die 77 "something is missing, and only root can install it: sudo apt-get install --no-install-recommends ${hint[*]}"
		fi
	fi
	"${as_root[@]}" env "JOBSTACK_DEPS_DB=${JOBSTACK_DEPS_DB-}" bash "$LIB_DIR/deps.sh" --install "${rows[@]}" || exit
	hash -r
	mapfile -t rows < <(deps_missing "$@")
	((${#rows[@]} == 0)) || die 1 "still missing after apt-get install: ${rows[*]}"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
	if [[ ${1-} == --install ]]; then
		shift
		deps_install "$@"
	else
		(($#)) || set -- build run tests
		deps_need "$@"
	fi
fi
