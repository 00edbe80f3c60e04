#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack report --io: the ten findings, on campaigns whose answers are known, which SQL has written.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
# campaign STACK START SECONDS READ WRITTEN: an attempt for each of its entries e, which was done; expressions of SQL, START in seconds
campaign() {
	sql "INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,started,ended,read_bytes,write_bytes)
		SELECT stack_id,e,1,0,0,1,0,'2026-03-01'+INTERVAL ($2)*1000000 MICROSECOND,'2026-03-01'+INTERVAL (($2)+($3))*1000000 MICROSECOND,$4,$5
		FROM (SELECT stack_id,entry_id e FROM entry JOIN stack USING(stack_id) WHERE name='$1') t"
}
finding() { jobstack report --io --json "${@:2}" | jq ".findings[$1-1] | .numbers // .not_applicable"; }
# near NUMBERS KEY=VALUE...: as the object has them, within 1 %
near() {
	local of
	[[ $1 == '{'* ]] || { echo "no numbers: $1"; return 1; }
	for of in "${@:2}"; do
		jq -e --argjson v "${of#*=}" --arg k "${of%=*}" '.[$k] != null and (.[$k] - $v | fabs) <= ($v | fabs) * 0.01' <<<"$1" >/dev/null ||
			{ echo "not $of: $1"; return 1; }
	done
}

# A producer of 1,000 files; a consumer of half of them, 4 h later, or 100 h for each fifth; and one that does as much of both.
numbered 1 1000 | jobstack push -q -s produce
numbered 1 500 | jobstack push -q -s consume
seq -f /g/%.0f 250 | jobstack push -q -s both
campaign produce e*10 9 1048576 100*1048576+e*0
campaign consume 'e*10+IF(e%5=0,360000,14400)' 3 '200*1048576*IF(e<=25,4,1)' 1048576
campaign both e 1 2000000 2000000
check '1: what is read-heavy' near "$(finding 1 produce consume both)" attempts=1750 read_heavy=0.285714 write_heavy=0.571428 both=0.142857 \
	files_read_heavy=0.02 files_write_heavy=0.4 files_both=0.58
check '2: one direction only' near "$(finding 2 produce consume both)" only_read=0.285714 only_written=0.571428
check '3: time between runs' near "$(finding 3 produce consume both)" intervals=500 median=14400 p90=360000
check '5: producer and consumer' near "$(finding 5 produce consume both)" shared=0.4 written_then_read=0.4
check '... are not those that only share' near "$(finding 5 consume produce)" shared=0.5 written_then_read=0.5
check '6: bytes' near "$(finding 6 produce consume both)" read_median=209715200 read_p95=209715200 written_median=104857600 written_p95=104857600
is '7: file systems that nobody noted' "$(finding 7 produce)" '"no attempt'"'"'s file system is known"'
sql "UPDATE attempt JOIN stack USING(stack_id) SET mount=IF(entry_id<=100,7,9) WHERE name='produce'; INSERT INTO fact
	SELECT stack_id,1,9,UTC_TIMESTAMP(6),'lustre /scratch' FROM stack WHERE name='produce' UNION
	SELECT stack_id,1,7,UTC_TIMESTAMP(6),'ext4 /local' FROM stack WHERE name='produce'"
check '7: file systems' near "$(finding 7 produce consume)" file_systems=2 least=10590617600 most=95315558400
like '... and their names' "$(jobstack report --io produce | tr -s '\n ' ' ')" '2 file systems: least 9.9 GiB \(ext4 /local\), most 88.8 GiB \(lustre /scratch\)'
is '5: of one stack' "$(finding 5 produce)" '"only one stack was given. Name all that share files, such as `jobstack report --io A B`"'

# Each of 100 files: two writing runs, then four reading ones
for _ in 1 2 3 4 5 6; do numbered 1 100; done | jobstack push -q -s rows
campaign rows e 1 'IF(e<=200,0,1000000)' 'IF(e<=200,1000000,0)'
check '4: rows of the same kind' near "$(finding 4 rows)" reading=4 writing=2
# A failure and its retry are one run.
jobstack push -q -s retried /r
campaign retried 0 1 0 0
sql "UPDATE attempt JOIN stack USING(stack_id) SET outcome=1,final=0 WHERE name='retried';
	INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,started,ended) SELECT stack_id,1,2,0,0,1,started+INTERVAL 9 SECOND,ended+INTERVAL 9 SECOND
	FROM attempt a JOIN stack s USING(stack_id) WHERE name='retried'"
is '3: no retry counts' "$(finding 3 retried)" '"no file has two runs that were done (retries of a failure don'"'"'t count)"'

# Pairs of runs on the same file at the same time, 10 s and 30 s, of the same size
for _ in 1 2; do numbered 1 100; done | jobstack push -q -s pairs
campaign pairs '((e-1)%100)*100' 'IF(e<=100,10,30)' 500000 500000
check '8: at the same time' near "$(finding 8 pairs)" groups=100 variation=0.707107 variation_of_all=0.501255
check '10: on the same file' near "$(finding 10 pairs)" files=100 bytes_variation=0 time_variation=0.707107
# The later the hour, the slower, and the more it varies; in another stack the less.
numbered 1 600 | jobstack push -q -s hours
campaign hours '((e-1) DIV 100)*3600+e' '(10+((e-1) DIV 100))*(1+0.01*(1+((e-1) DIV 100))*IF(e%2=0,1,-1))' 500000 500000
check '9: hours' near "$(finding 9 hours)" fastest_hour=0 fastest_mean=10 slowest_hour=5 slowest_mean=15 variation=0.035176 correlation=1
numbered 1 600 | jobstack push -q -s calmer
campaign calmer '((e-1) DIV 100)*3600+e' '(10+((e-1) DIV 100))*(1+0.01*(6-((e-1) DIV 100))*IF(e%2=0,1,-1))' 500000 500000
check '... the other way round' near "$(finding 9 calmer)" correlation=-1

# Where nothing is known, it says so.
jobstack push -q -s nothing /n
is 'an empty stack: nothing applies' "$(jobstack report --io nothing --json | jq -c '[.findings[] | .not_applicable != null]')" \
	'[true,true,true,true,true,true,true,true,true,true]'
like '... as text' "$(jobstack report --io nothing)" '10 variation on the same file
not applicable: no file has two runs that were done'
like 'the text' "$(jobstack report --io produce consume)" 'intervals: half are under 4 h 0 min, 90 % under 4 d'
check 'no such stack' says 2 'there is no stack "none"' jobstack report --io produce none
check 'with --slurm' says 2 'can.t be used with' jobstack report --io produce --slurm

# Sums that no number of 64 bits holds, and a stack whose highest number is damaged: nothing is looked for behind the last entry.
for _ in 1 2; do numbered 1 3; done | jobstack push -q -s huge
campaign huge e 1 9000000000000000000 0
check '1: more bytes than 64 bits hold' near "$(finding 1 huge)" attempts=6 files_read_heavy=1
sql "UPDATE stack SET tail=9223372036854775808 WHERE name='huge'"
check 'a highest number that is damaged' near "$(timeout 60 jobstack report --io --json huge | jq '.findings[0].numbers')" attempts=6
is '... for an export, too' "$(timeout 60 jobstack export -s huge --what entries --json | wc -l) $(timeout 60 jobstack export -s huge -t failed --json | wc -l)" '6 0'
check '... and for a search' fails_with 2 timeout 60 jobstack show -s huge /d/none
sql "UPDATE stack SET tail=6,indexed=0 WHERE name='huge'; DELETE p FROM path p JOIN stack USING(stack_id) WHERE name='huge'"

# Of very many files it looks at some, the same ones each time.
numbered 1 250000 | jobstack push -q -s many
campaign many e 1 500000 0
jobstack report --io many --json >first
is 'a sample' "$(jq -c '[.share_of_files, (.files > 98000 and .files < 102000)]' first)" '[0.4,true]'
is '... is the same again' "$(jobstack report --io many --json)" "$(cat first)"
finish
