#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: slurm
#
# docs/TUTORIAL.md as it stands: every command works, and prints what the page shows.  The server is the one that it starts.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
at_end 'jobstack server stop -q --data "$PWD/tutorial/server" 2>/dev/null'
if ! getent hosts "$(hostname)" >/dev/null; then # a bare chroot does not know its own name
	mkdir bin
	printf '#!/bin/sh\necho 127.0.0.1\n' >bin/hostname
	chmod +x bin/hostname
	export PATH=$PWD/bin:$PATH
fi
status=0
timeout 500 python3 "$JOBSTACK_SOURCE/tests/lib/page.py" "$JOBSTACK_SOURCE/docs/TUTORIAL.md" >said 2>&1 || status=$?
cat said
is 'the page works as it stands' "$status" 0
check '... and all of it was run' test "$(grep -c '^ok - ' said)" -eq "$(grep -c '^```sh$' "$JOBSTACK_SOURCE/docs/TUTORIAL.md")"
check '... it leaves nothing behind' test ! -e tutorial
finish
