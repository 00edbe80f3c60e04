# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# nap SECONDS: sleeps, without a process: it reads from a pipe that never says anything.  To be sourced by bash.
exec {NAP_PIPE}<> <(:) # at once: it sets $!
nap() { read -rt "$1" -u "$NAP_PIPE" || true; }
