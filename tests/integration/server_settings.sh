#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# A server with settings that jobstack can't work with: the message names the setting, and what to set; it is no bug of jobstack's.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
export LAB_SETTINGS=$'log-bin=binlog\nserver-id=1\nbinlog-format=STATEMENT\nmax-allowed-packet=65536'
. "$JOBSTACK_SOURCE/tests/lib/own-server.sh"
own_server wrong
admin() { db_lab_admin "$lab" <<<"$1"; }

check 'STATEMENT: init' says 69 'binlog_format=ROW' jobstack init
admin 'SET GLOBAL binlog_format=ROW'
check 'ROW: init' jobstack init -q
check 'a small push' sh -c 'jobstack push -q /a /b >/dev/null'
admin 'SET GLOBAL binlog_format=STATEMENT'
check 'STATEMENT: push' says 69 'setting.*binlog_format=ROW' jobstack push /c
check 'STATEMENT: a worker' says 69 'setting.*binlog_format=ROW' worker -- true
admin 'SET GLOBAL binlog_format=ROW'
seq -f "/$(printf 'n%.0s' {1..200})/%.0f" 1 4000 >names
admin 'SET GLOBAL local_infile=0'
check 'a small max_allowed_packet: a large push' says 69 'max_allowed_packet=65536, but the statement to send has [0-9]+ bytes.*max_allowed_packet=64M' \
	jobstack push -a names
like 'the doctor names it' "$(jobstack doctor 2>&1)" 'max_allowed_packet is 0.0625 MB'
admin 'SET GLOBAL max_allowed_packet=67108864'
check 'a larger one' sh -c 'jobstack push -q -a names >/dev/null'
check 'nothing is half done' jobstack check
finish
