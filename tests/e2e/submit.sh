#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: db
# shellcheck disable=SC2016
#
# jobstack submit, with a Slurm of its own whose arrays are small: what is refused, sizing, the script and its quoting, rounds until
# nothing is left, those that end for another reason, and the mail at the end.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
. "$JOBSTACK_SOURCE/scripts/lib/slurm-lab.sh"
set +e
lab=$JOBSTACK_TEST_DIR/slurm
chmod 711 "$JOBSTACK_TEST_DIR"
here=$PWD
mkdir bin none
printf '#!/bin/sh\ncat >>%q\n' "$here/mail" >bin/sendmail
printf '#!/bin/sh\necho "$@" >>%q\n' "$here/slurm-mail" >bin/mailprog
chmod +x bin/*
slurm_lab_tune() { sed -i "s,^MaxArraySize=.*,MaxArraySize=5,;s,^MailProg=.*,MailProg=$here/bin/mailprog," "$1/slurm.conf"; }
jobstack init -q
submit() { timeout 300 jobstack submit "$@"; }
idle() { [[ -z $(squeue -h -o %i) ]]; }
said() { grep -qsE "$2" "jobstack-logs/$1"/slurm-*.out || { cat "jobstack-logs/$1"/slurm-*.out && return 1; }; }

# ---- wrong from the start: no Slurm is asked
numbered 1 20 | jobstack push -q -s wide >/dev/null
check 'no CMD' says 2 'there is no command to run' submit -s wide --workers 3
check '... or files behind it' says 2 'submit takes no files: .jobstack push -s NAME FILE...' submit -s wide --workers 3 -- ./c ::: a b
check 'no --workers' says 2 '--workers N is required' submit -s wide -- true
check '--workers 0' says 2 '--workers takes a whole number from 1 to 1000000, not "0"' submit -s wide --workers 0 -- true
check '--array is ours' says 2 "sbatch's --array can't be used" submit -s wide --workers 3 --array=1-9 -- true
check '... in --sbatch too' says 2 "sbatch's --array can't be used" submit -s wide --workers 3 --sbatch='-a 1-9' -- true
check 'more slots than CPUs' says 2 'is more than --cpus-per-task=2' submit -s wide --workers 3 --slots 4 --cpus-per-task=2 -- true
check 'a value by itself' says 2 'unexpected argument "2:00:00": write sbatch.s options as --OPT=VALUE' submit -s wide --workers 3 --time 2:00:00 -- true
check "one of sbatch's short options" says 2 'there is no option -p: .*--partition=NAME' submit -s wide --workers 3 -p p -- true
check 'an open quote' says 2 'missing closing quote' submit -s wide --workers 3 --sbatch="--comment='x" -- true
check '--notify without an address' says 2 '--notify takes an address' submit -s wide --workers 3 --notify= -- true
check '--follow without what would follow' says 2 '--follow can only be used with' submit -s wide --workers 3 --follow=--mem=1G -- true
check "a worker's option with a wrong value: in its own words" says 2 '--lease takes a duration' submit -s wide --workers 3 --lease soon -- true
check 'a stack that is not there' says 2 'there is no stack "nowhere"' submit -s nowhere --workers 3 -- true
check 'fewer workers than each job has' says 2 '--workers 2 is less than the 4 workers that each job starts' submit -s wide --workers 2 --ntasks=4 -- true
check 'a command that is not there' says 2 "can't run ./nothing.*nothing was submitted" bash -c 'timeout 300 jobstack submit -s wide --workers 2 -- ./nothing 2>&1 | tr "\n" " " >&2; exit "${PIPESTATUS[0]}"'
check 'no sbatch in $PATH' says 2 'there is no sbatch in \$PATH' env PATH="$here/none" "$(command -v jobstack)" submit -s wide --workers 3 -- true
jobstack push -q -s rest /x >/dev/null
jobstack pause -s rest -q
check 'a paused stack' says 1 'is paused.*jobstack resume' submit -s rest --workers 3 -- true
jobstack resume -s rest -q
worker -s rest -- true
check 'a finished stack' says 0 'nothing to submit: rest: no entry is left: 1 of 1 is done: `jobstack push -s rest` adds entries' submit -s rest --workers 3 -- true
(mkdir elsewhere && cd elsewhere && jobstack push -q -s rel x) >/dev/null
check 'names of another directory' says 2 'pushed from the directory .*/elsewhere: submit from there, or give it with --chdir' submit -s rel --workers 1 -- true
check '... --chdir' submit -s rel --workers 1 --chdir elsewhere --dry-run -- true

check 'a Slurm of its own' slurm_lab_up "$lab" 2 4
. "$lab/env.sh"
export PATH=$here/bin:$PATH

# ---- one that runs
check "sbatch's word for a wrong option" says 1 'invalid partition specified: nowhere.*nothing was submitted' \
	bash -c 'timeout 300 jobstack submit -s wide --workers 3 --partition=nowhere -- true 2>&1 | tr "\n" " " >&2; exit "${PIPESTATUS[0]}"'
dry() { submit -s wide --dry-run "$@" -- true; }
is 'a database on a loopback address, and all nodes are this host: nothing to say' "$(dry --workers 1 2>&1 >/dev/null)" ''
scontrol update NodeName=n2 NodeAddr=192.0.2.7
check '... with a node elsewhere: refused' says 1 'not submitted: only this host can reach the database at .*other hosts \(192.0.2.7\): write host=NAME into ' \
	submit -s wide --workers 1 -- true
(umask 077 && { echo "# Written by jobstack server start"; cat "$JOBSTACK_TEST_CNF"; } >ours.cnf)
check '... a server of our own: the two commands' says 1 "\`jobstack server stop --client-file $here/ours.cnf\`, then \`jobstack server start --bind $(uname -n) --client-file" \
	submit -s wide --defaults-file ours.cnf --workers 1 -- true
check 'a stack that does not exist' says 2 'there is no stack "later"' submit -s later --workers 2 --force --dry-run -- true
like '... workers may wait for it' "$(submit -s later --workers 2 --force --wait-for-stack --dry-run -- true 2>/dev/null)" 'jobstack-worker .*--wait-for-stack .*-- true'
check '... a dry run, and --force, only warn' says 0 '^jobstack submit: warning: only this host' submit -s wide --workers 1 --force --dry-run -- true
scontrol create PartitionName=here Nodes=n1
is '... a partition without that node' "$(dry --workers 1 --partition=here 2>&1 >/dev/null)" ''
is '... or nodes' "$(dry --workers 1 --nodelist=n1 2>&1 >/dev/null)" ''
check '... --force' submit -s wide --workers 1 --force --begin=now+1hour -q -- true
scancel -n jobstack-wide
scontrol update NodeName=n2 NodeAddr=127.0.0.1
like 'never more workers than asked for: ten by fours are two jobs' "$(dry --workers 10 --ntasks=4)" ' --array=1-2 --ntasks=4 '
like 'a range of nodes counts by its lower end' "$(dry --workers 4 --nodes=2-3)" ' --no-kill --array=1-2 --nodes=2-3 '
unlike 'what comes after a round is no dry run' "$(dry --workers 1 --until-done)" 'chain=[^ ]* .*--dry-run'
is 'twenty entries, two slots a worker: ten workers; four elements an array: three arrays' \
	"$(submit -s wide --workers 100 --slots 2 --time=5 --json -- true >json; jq -c '[.workers,.slots,.left,(.jobs|length),.next]' json)" '[10,2,20,3,null]'
check '... all are done' wait_for 60 ledger_is wide '20 0 0 0 0 0'
check '... by workers with two slots' test "$(sql "SELECT MIN(slots)+MAX(slots) FROM worker JOIN stack USING(stack_id) WHERE name='wide' AND JSON_VALUE(identity,'\$.array_job') IS NOT NULL")" = 4
like '... the script is there' "$(cat "$(jq -r .script json)")" $'^#!/bin/bash\n.*export SLURM_OVERLAP=1.*\nexec srun --kill-on-bad-exit=0 --wait=0 --cpus-per-task=2 /.*/jobstack-worker --stack=wide '
unlike '... without the password' "$(cat "$(jq -r .script json)")" "$(sed -n 's/^password=//p' "$JOBSTACK_TEST_CNF")"
check '... the array as well, and a signal, as KillWait is short here' grep -q -- '--signal=USR1@15 .*--array=1-4 --time=5' "$(jq -r .script json)"

# ---- srun inside a command: a PMI-2 program of two ranks in each of two slots, as MPI libraries begin
cat >ranks.c <<'X'
#include <slurm/pmi2.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	char name[16], said[64] = "";
	int spawned, size, rank, app, len;
	if (PMI2_Init(&spawned, &size, &rank, &app) != 0)
		return 1;
	snprintf(name, sizeof(name), "%d", rank);
	if (PMI2_KVS_Put(name, argv[argc - 1]) != 0 || PMI2_KVS_Fence() != 0)
		return 2;
	snprintf(name, sizeof(name), "%d", (rank + 1) % size);
	if (PMI2_KVS_Get(NULL, PMI2_ID_NULL, name, said, sizeof(said), &len) != 0 || strcmp(said, argv[argc - 1]) != 0)
		return 3;
	printf("%s: rank %d of %d\n", said, rank, size);
	return PMI2_Finalize();
}
X
check 'a program of two ranks' cc -o ranks ranks.c -lpmi2
cat >ranks.sh <<'X'
echo "slot: $SLURM_CPUS_PER_TASK CPUs, $OMP_NUM_THREADS threads, tasks ${SLURM_NTASKS-}${SLURM_NPROCS-}"
srun bash -c 'echo "one: $SLURM_PROCID of $SLURM_NTASKS, CPUs $SLURM_CPUS_ON_NODE"'
exec srun --mpi=pmi2 -n2 ./ranks "$1"
X
ranks_of() { # STACK: each entry has run by itself, with CPUS
	local n
	is "$1: all entries are done" "$(ledger "$1")" '2 0 0 0 0 0'
	for n in 1 2; do
		is "... $n" "$(jobstack logs -s "$1" $n --stdout | sort | tr '\n' ' ')" "$n: rank 0 of 2 $n: rank 1 of 2 one: 0 of 1, CPUs $2 slot: 2 CPUs, 2 threads, tasks  "
	done
}
seq 1 2 | jobstack push -q -s ranks --max-attempts 1
submit -s ranks --workers 1 --slots 2 --cpus-per-task=4 -q -- bash ranks.sh
check 'srun in a command, in a job of submit' wait_for 60 ledger_is ranks '2 0 0 0 0 0'
ranks_of ranks 1 # each step has CPUs of its own
seq 1 2 | jobstack push -q -s held --max-attempts 1
check '... in a step that holds all CPUs, with two workers' timeout 300 srun -Q --nodes=1 --ntasks=2 --cpus-per-task=2 bash -c 'export SLURM_CPUS_PER_TASK=4; exec jobstack-worker -q -s held --slots 2 -- bash ranks.sh'
ranks_of held 4 # they share those of the job

# ---- any bytes
odd=$'a\nb\r\n#SBATCH --time=0\n"$(x)\'\\ \xff{#}%a `'
jobstack push -q -s odd /x >/dev/null
submit -s odd --workers 1 --dry-run -- sh -c 'printf "%s\0" "$@" >got' "$odd" "$odd" '' '*' {} >dry
is '... sbatch is shown' "$(tail -n1 dry | cut -d' ' -f1-3)" 'sbatch --parsable --job-name=jobstack-odd'
is '... and nothing submitted' "$(squeue -h -n jobstack-odd -o %i)$(ls -d jobstack-logs/odd 2>/dev/null)" ''
number=$(submit -s odd --workers 1 --parsable -- sh -c 'printf "%s\0" "$@" >got' "$odd" "$odd" '' '*' {})
like '--parsable' "$number" '^[0-9]+$'
check 'CMD of any bytes' wait_for 30 ledger_is odd '1 0 0 0 0 0'
printf '%s\0' "${odd/'{#}'/1}" '' '*' /x >expected
check '... comes as it was typed' cmp expected got
is '... and the dry run had told it' "$(sed '$d' dry | tail -n1)" "$(tail -n1 jobstack-logs/odd/submit-*.sh)"

# ---- what to type next, and the same once more
jobstack push -q -s next --max-attempts 1 /x >/dev/null
check '--again, and nothing to repeat' says 2 'no earlier `jobstack submit` of the stack next to repeat' submit next --again
check '... nor of @, the newest stack' says 2 'no earlier `jobstack submit` of the stack next to repeat' submit @ --again
said=$(submit next --workers 1 --time=5 -- sh -c 'test -e ok')
like 'the next steps' "$said" $'job ([0-9]+): .*\nprogress: jobstack status next -w\nqueue: squeue -j ([0-9]+)\ncancel: scancel ([0-9]+)$'
check 'it fails' wait_for 30 ledger_is next '0 1 0 0 0 0'
touch ok
like 'requeue tells how to start workers' "$(jobstack requeue -s next 2>&1)" '`jobstack submit next --again` starts workers'
check 'the same by its name' submit next --again --dry-run
check '--again with another time, and --watch' fails_with 130 env TERM=xterm "$JOBSTACK_SOURCE/tests/support/in-pty" --out watched expect='Ctrl-C leaves the display, and the jobs continue' expect='every 2 s' $'send=\003' \
	-- jobstack submit @ --again --time=6 --watch
check '... told' grep -q "in $here: jobstack submit --stack=next --workers=1 --time=5 --time=6 -- sh -c 'test -e ok'" watched
check '... done' wait_for 30 ledger_is next '1 0 0 0 0 0'
check '--again and a command' says 2 '--again repeats the command, too: "true"' submit next --again -- true
check '--watch and --parsable' says 2 "--watch can't be used with" submit next --watch --parsable --workers 1 -- true

# ---- a later round, in which nobody is there to try again: sbatch refuses for a moment, or can't be used
mkdir moment
printf '#!/bin/sh\n[ -e again ] || { echo "the site says no" >&2; touch again; exit 1; }\nexec %q "$@"\n' "$(command -v sbatch)" >moment/sbatch
chmod +x moment/sbatch
jobstack push -q -s refused /x >/dev/null
mkdir greets && printf '#!/bin/sh\necho "Welcome to 3 nodes"\necho\necho $ANSWER\n' >greets/sbatch && chmod +x greets/sbatch
greets() { env PATH="$here/greets:$PATH" ANSWER="$1" timeout 300 jobstack submit -s refused --workers 1 --parsable -- true; }
check "a site's greeting before the number" prints 0 77 greets '77;here'
check '... is shown' grep -qx 'Welcome to 3 nodes' said
check 'no number' says 2 'printed no job number: `squeue --me` shows' greets Bye
check 'in a later round: the end is told' says 2 'round 1: no more workers are submitted, because sbatch rejected the next job: .* with 1 left' \
	env PATH="$here/greets:$PATH" timeout 300 jobstack submit --chain=1,0,0,0,0,999999 -s refused --workers 1 --until-done --notify refused@example.org -- true
check '... and mailed' grep -qx 'To: refused@example.org' mail
jobstack push -q -s again /x >/dev/null
check 'refused for a moment: the round comes' env PATH="$here/moment:$PATH" timeout 300 jobstack submit --chain=1,0,0,0,0,999999 -s again --workers 1 --until-done -q -- true

# ---- rounds.  Each worker leaves after an entry, so three entries are three rounds
numbered 1 3 | jobstack push -q -s rounds --max-attempts 1 >/dev/null
check '--until-done' submit -s rounds --workers 1 --max-entries 1 --time=5 --until-done --notify me@example.org -q -- sh -c 'test "$1" != /d/2' - {}
# ---- exit 75 charges nobody, and closes nothing
jobstack push -q -s idle --retry-delay 0 /x >/dev/null
check 'rounds that close nothing' env PATH="$here/failing:$PATH" bash -c 'mkdir failing && printf "#!/bin/sh\nexit 1\n" >failing/sendmail && chmod +x failing/sendmail &&
	timeout 300 jobstack submit -s idle --workers 1 --max-entries 1 --until-done --notify me@example.org -q -- sh -c "exit 75"'
# ---- cancelled by a person
jobstack push -q -s cancelled /x >/dev/null
is 'a name of its own leaves a comment for status --why' "$(submit -s cancelled --workers 1 --job-name=mine --dry-run -- true | tail -n1 | grep -o -- '--comment=[^ ]*')" --comment=jobstack:cancelled
submit -s cancelled --workers 1 --until-done --json -- sh -c 'touch runs; sleep 1000' >json
check 'one that hangs' wait_for 30 test -e runs
scancel "$(jq .job json)"
# ---- the database was away when the round ended, and longer than a day
jobstack push -q -s away /x >/dev/null
(umask 077 && sed 's/^port=.*/port=1/' "$JOBSTACK_TEST_CNF" >away.cnf)
ran=$(sbatch --parsable --output=/dev/null --wrap true) # one that nobody cancels
check 'no database: another look later' says 0 'trying again in 60 minutes' submit --defaults-file away.cnf --chain="1,0,0,1,99,$ran" -s away --workers 1 --until-done -- true
like '... what it remembers: no round without progress' "$(cat jobstack-logs/away/submit-*-next.sh)" "--requeue .*--chain=1,0,0,0,100,$ran "
cp "$JOBSTACK_TEST_CNF" away.cnf
scontrol update "JobId=$(squeue -h -n jobstack-away -o %i)" StartTime=now
# ---- no more than a mail
jobstack push -q -s once /x >/dev/null
check '--notify alone' submit -s once --workers 1 --notify me@example.org -q -- true
check 'all of them end' wait_for 90 idle
is '--until-done: two are done, one is dead' "$(ledger rounds)" '2 1 0 0 0 0'
is '... in three jobs' "$(sql "SELECT COUNT(DISTINCT JSON_VALUE(identity,'\$.job')) FROM worker JOIN stack USING(stack_id) WHERE name='rounds'")" 3
check '... the end is told' said rounds 'round 3: only dead entries are left: 2 done, 1 dead'
check '... and mailed' grep -qx 'Subject: jobstack rounds: 2 done, 1 dead, 0 left' mail
check '... to whom it was asked for' grep -qx 'To: me@example.org' mail
check '... with what is known of the stack' grep -q '^only dead entries are left' mail
check 'nothing closed in two rounds: the end' said idle 'round 2: no more workers are submitted, because no entry ended in the last 2 jobs, and 1 is left'
check '... mailed by Slurm, as sendmail did not take it' grep -q 'jobstack idle: 0 done, 0 dead, 1 left Ended' slurm-mail
check 'scancel: the end' said cancelled 'round 1: no more workers are submitted, because the last jobs were cancelled'
is 'the database is back: the chain goes on' "$(ledger away)" '1 0 0 0 0 0'
check '--notify alone: the mail' grep -qx 'Subject: jobstack once: 1 done, 0 dead, 0 left' mail

# ---- and by the time that it is judged the controller may have forgotten the jobs
jobstack push -q -s accounts /x >/dev/null
mkdir accounts
printf '#!/bin/sh\necho "$@" >asked\necho "999998|CANCELLED by 1000"\necho "999999|COMPLETED"\n' >accounts/sacct
chmod +x accounts/sacct
check 'scancel by the accounts: the end' says 1 'no more workers are submitted, because the last jobs were cancelled' \
	env PATH="$here/accounts:$PATH" timeout 300 jobstack submit --chain=1,0,0,0,0,999998:999999 -s accounts --workers 1 --until-done -- true
check '... they were asked for' grep -q -- '--jobs=999998,999999$' asked
check 'a wait for others hides no round that closed nothing' says 1 'no entry ended in the last 2 jobs' submit --chain="2,0,0,1,1,$ran" -s accounts --workers 1 --until-done -- true

# ---- what is left is in the hands of others: another look later
jobstack push -q -s popped /x >/dev/null
jobstack pop -q -s popped >/dev/null
check 'all that is left runs elsewhere' says 0 'trying again in 15 minutes' submit --chain="1,0,0,0,0,$ran" -s popped --workers 1 --until-done -- true
like '... by a job that waits' "$(squeue -h -n jobstack-popped -o %T)" '^PENDING$'
like '... and remembers' "$(cat jobstack-logs/popped/submit-*-next.sh)" "submit --stack=popped --defaults-file=[^ ]* --chain=1,0,0,0,1,$ran --workers=1 --until-done -- true"
scancel -n jobstack-popped
# ---- the controller is away when a round is to be submitted
kill -KILL "$(<"$lab/slurmctld.pid")"
(submit --chain="1,0,0,0,0,$ran" -s accounts --workers 1 --until-done -q -- true >waits 2>&1; echo "status $?" >>waits) &
check 'no controller: sbatch fails' wait_for 30 grep -qi 'error' waits
(exec_bare "$lab/log/start.log" slurmctld -f "$lab/slurm.conf")
check '... when it is back, the round is submitted' wait_for 40 grep -qx 'status 0' waits
check '... and done' wait_for 60 ledger_is accounts '1 0 0 0 0 0'
for s in next away accounts wide odd rounds idle cancelled once popped again; do check "audit of $s" audit $s; done
finish
