#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# A server that is after the password (tests/lib/rogue.py) gets nothing of it from either tool, however it asks.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
check 'no way of asking gives a rogue server the password' \
	python3 "$JOBSTACK_SOURCE/tests/lib/rogue.py" "$JOBSTACK_TEST_DIR" "$(command -v jobstack)" \
	"$(command -v jobstack-worker)"
finish
