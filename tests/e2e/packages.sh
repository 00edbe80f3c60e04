#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# cpack -G DEB makes packages with what belongs in them, and the files for a site (modulefiles, systemd units) name the
# place they are installed to.  That the packages install and work on a clean system is shown by scripts/package-test.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"

check 'cpack -G DEB' cpack -G DEB --config "$JOBSTACK_BIN/CPackConfig.cmake" -B "$PWD/deb"
version=$(jobstack --version | cut -d' ' -f2)
arch=$(dpkg --print-architecture)
field() { dpkg-deb -f "deb/$1_$version-1_$arch.deb" "$2"; }
files() { dpkg-deb -c "deb/$1_$version-1_$arch.deb" | awk '{ print $6 }'; }
has() { # PACKAGE FILE...
	local all file package=$1
	all=$'\n'$(files "$package")$'\n'
	shift
	for file; do [[ $all == *$'\n'"./usr/$file"$'\n'* ]] || { echo "$file is not in $package" && return 1; }; done
}
check 'jobstack has the tools and what they need' has jobstack bin/jobstack bin/jobstack-server bin/jobstack-worker bin/jobstack-top \
	share/jobstack/schema/jobstack.sql share/jobstack/shims/jobstack_persistent.py
check '... pages, completions, units, documents' has jobstack share/man/man1/jobstack.1.gz share/man/man1/jobstack-push.1.gz \
	share/man/man1/jobstack-worker.1.gz share/man/man7/jobstack.7.gz share/bash-completion/completions/jobstack \
	share/bash-completion/completions/jobstack-worker share/zsh/vendor-completions/_jobstack \
	lib/systemd/user/jobstack-server.service lib/systemd/system/jobstack-server@.service \
	share/doc/jobstack/copyright share/doc/jobstack/changelog.Debian.gz share/doc/jobstack/docs/ADMIN.md
lib=$(files libjobstack2 | sed -n 's,^./usr/\(.*\)/libjobstack.so.2$,\1,p')
check 'libjobstack2 has the library' has libjobstack2 "$lib/libjobstack.so.2" "$lib/libjobstack.so.$version"
check 'libjobstack-dev has the rest of it' has libjobstack-dev include/jobstack/jobstack.h "$lib/libjobstack.so" \
	"$lib/libjobstack.a" "$lib/pkgconfig/jobstack.pc" "$lib/cmake/jobstack/jobstack-config.cmake" share/man/man3/libjobstack.3.gz
check 'jobstack-slurm has the module' has jobstack-slurm "$lib/jobstack/jobstack_slurm.so"
like 'what it depends on was found' "$(field jobstack Depends)" '^libc6 .*libjansson4.*(libmariadb3|libmysqlclient).*libncursesw6.*zlib1g'
unlike '... without libslurm' "$(field jobstack Depends)" 'slurm'
like '... which the module needs' "$(field jobstack-slurm Depends)" "jobstack \\(= $version-1\\).*libslurm[0-9]"
is 'no file in two packages' "$(for p in jobstack jobstack-slurm libjobstack2 libjobstack-dev; do files "$p"; done | grep -v '/$' | sort | uniq -d)" ''
is 'no field is empty' "$(for deb in deb/*.deb; do dpkg-deb -f "$deb"; done | grep -E '^[A-Za-z-]+: *$')" ''
dpkg-deb -x "deb/jobstack_$version-1_$arch.deb" tree
is 'what is in it runs' "$(tree/usr/bin/jobstack --version)" "$(jobstack --version)"
like 'its unit names its own place' "$(cat tree/usr/lib/systemd/user/jobstack-server.service)" $'\nExecStart=/usr/bin/jobstack server run '

check 'cmake --install' cmake --install "$JOBSTACK_BIN" --prefix "$PWD/prefix"
for unit in system/jobstack-server@.service user/jobstack-server.service; do
	file=prefix/lib/systemd/$unit
	like "$unit names the prefix" "$(cat "$file")" "ExecStart=$PWD/prefix/bin/jobstack server run"
	manager=(--system)
	[[ $unit == system/* ]] || manager=(--user)
	is '... and systemd takes it' "$(XDG_RUNTIME_DIR=$PWD MANPATH=$PWD/prefix/share/man systemd-analyze "${manager[@]}" verify "$PWD/$file" 2>&1)" ''
done
sed 's/^Restart=.*/Restart=perhaps/' prefix/lib/systemd/user/jobstack-server.service >bad.service
check '... which says so if it does not' test -n "$(XDG_RUNTIME_DIR=$PWD systemd-analyze --user verify "$PWD/bad.service" 2>&1)"

# Environment Modules, or Lmod, which reads both kinds: whatever is here
module_bash() { # KIND WORD...: what `module` would have the shell do
	local kind=$1 modulecmd
	shift
	if [[ $kind == lmod ]]; then
		MODULEPATH=$PWD/prefix/share/jobstack/modulefiles/lmod "$LMOD" bash "$@"
		return
	fi
	for modulecmd in /usr/lib/*/modulecmd.tcl /usr/lib/modulecmd.tcl /usr/share/[Mm]odules/libexec/modulecmd.tcl; do
		[[ ! -f $modulecmd ]] || break
	done
	MODULEPATH=$PWD/prefix/share/jobstack/modulefiles/tcl "$modulecmd" bash "$@" # by its own first line: there may be a tclsh8.6 and no tclsh
}
LMOD=/usr/share/lmod/lmod/libexec/lmod
kind=tcl
[[ ! -x $LMOD ]] || kind=lmod
where=$(
	PATH=/usr/bin:/bin
	unset LOADEDMODULES _LMFILES_ MANPATH
	eval "$(module_bash "$kind" load jobstack 2>&1)"
	command -v jobstack
	man -w jobstack
	eval "$(module_bash "$kind" unload jobstack 2>&1)"
	command -v jobstack || echo gone
)
is "the modulefile ($kind) loads, and unloads" "$where" "$PWD/prefix/bin/jobstack
$PWD/prefix/share/man/man1/jobstack.1
gone"
for recipe in "$JOBSTACK_SOURCE"/cmake/packaging/spack/package.py "$JOBSTACK_SOURCE"/cmake/packaging/easybuild/*.eb; do
	check "${recipe##*/} is Python" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$recipe"
	like '... and says that it is untested' "$(head -n 4 "$recipe")" 'UNTESTED'
done
finish
