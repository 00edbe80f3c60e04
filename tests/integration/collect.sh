#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack logs --stdout --all: the results of a stack in one file, in the order of the list.  Promise: what is missing, or not
# whole, is named, and the status is 1; nothing is printed in its place.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
collect() { jobstack logs --stdout --all -q -s "$1" >results 2>missing; }
misses() { # STACK NUMBERS: these entries are named, no others
	fails_with 1 collect "$1" && [[ $(grep -o 'entry [0-9]*' missing | cut -d' ' -f2 | sort -un | xargs) == "$2" ]] || { cat missing; return 1; }
}

# Retries, in packed logs of several workers and files; one entry prints nothing, one no newline at the end.
numbered 1 300 | jobstack push -q -s packed --max-attempts 3 --retry-delay 0 >/dev/null
# shellcheck disable=SC2016
job='echo noise >&2; [ $JOBSTACK_ATTEMPT = 1 ] && [ $((JOBSTACK_ENTRY % 3)) = 0 ] && { echo half; exit 1; }
	case $1 in /d/7) ;; /d/8) printf "%s" "$1 "; ;; *) echo "$1 $JOBSTACK_ATTEMPT";; esac; head -c 900 /dev/zero | tr "\0" x >&2'
for _ in 1 2; do worker -s packed --slots 2 --log-size 64K -- sh -c "$job" sh & done
wait
is 'all are done' "$(ledger packed)" '300 0 0 0 0 0'
check 'the results of a stack' collect packed
is '... in the order of the list, each of the attempt that was done' "$(cat results)" \
	"$(for i in $(seq 300); do case $i in 7) ;; 8) printf '/d/8 ' ;; *) echo "/d/$i $((i % 3 == 0 ? 2 : 1))" ;; esac; done)"
is '... and nothing else' "$(cat missing)" ''
like 'without -q a line says whose output it is' "$(jobstack logs --stdout --all -s packed | head -n 3)" $'^==> entry 1 attempt 1: done on .*: /d/1\n/d/1 1'
is 'a part of the list' "$(jobstack logs --stdout --all -q -s packed --match '/d/1?')" "$(for i in $(seq 10 19); do echo "/d/$i $((i % 3 == 0 ? 2 : 1))"; done)"
# shellcheck disable=SC2012
cut=$(ls jobstack-logs/packed/*.log | head -n 1)
truncate -s $(($(stat -c %s "$cut") / 2)) "$cut"
check 'a log that was cut in its middle' fails_with 1 collect packed
like '... is named with the file' "$(cat missing)" "packed/[^ ]*\.log, written on .*, has only a part of what attempt [12] of entry [0-9]+ \\(/d/[0-9]+\\) printed"
rm "$cut"
check 'a log that is gone' fails_with 1 collect packed
is '... each of its entries is named' "$(($(grep -c "can't read the output of attempt [12] of entry" missing) + $(wc -l <results)))" 298
jobstack prune -q --yes packed --older-than 0s
check 'pruned: that is said' fails_with 1 collect packed
like '... once' "$(cat missing)" 'no entry .* matches|results are missing: not finished 0, pruned 300 of the stack "packed"'

# Entries without a result.
numbered 1 6 | jobstack push -q -s holes --max-attempts 1 >/dev/null
# shellcheck disable=SC2016
worker -s holes -- sh -c 'echo "$1"; [ "$1" != /d/2 ]' sh
jobstack push -q -s holes /d/7 >/dev/null
check 'dead and ready ones' misses holes '2 7'
is '... the others are there' "$(cat results)" "$(numbered 1 6 | grep -v /d/2)"
worker -s holes --output - -- true
check 'what went to the standard output of a worker was not kept' misses holes '2 7'
jobstack requeue -q -s holes -t 'done' --match /d/3
check 'requeued: a result may still change' fails_with 1 collect holes
like '... which is said' "$(cat missing)" 'results are missing: not finished 1, pruned 0'
worker -s holes -- false
check '... and what is dead now is named' misses holes '2 3 7'
is '... with what it had printed' "$(grep -c /d/3 results)" 1

# Output whose middle was left out, also where the line that says so lies between two blocks; a file per entry; stderr of its own.
jobstack push -q -s long 1000 65545 131000 10 >/dev/null
# shellcheck disable=SC2016
worker -s long --output-limit 128K --shell -- 'head -c {} /dev/zero | tr "\0" "\n"; [ {} != 131000 ] || seq 1 30000'
check 'a middle that was left out' misses long 3
is '... nothing of it is printed' "$(wc -c <results)" $((1000 + 65545 + 10))
jobstack push -q -s own a b >/dev/null
worker -s own --output 'own/{}.out' --error 'own/{}.err' -- sh -c 'echo "$1"; echo no >&2' sh
check 'a file per entry' collect own
is '... is printed' "$(cat results)" $'a\nb'
is '... and its stderr' "$(jobstack logs --stderr --all -q -s own)" $'no\nno'
check 'a disk that is full is no success' fails_with 70 sh -c 'jobstack logs --stdout --all -q -s own >/dev/full'
check 'no such stack' says 2 'there is no stack "nosuch"' jobstack logs --all -s nosuch
finish
