#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The shims for persistent commands, each with its own language: names of any bytes, what fails and why, what is printed.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
shims=$JOBSTACK_SOURCE/src/shims

mkdir names
python3 - <<'P'
import os
names = [b"plain", b"with blank ", b"new\nline", b"cr\r", b"back\\slash\\n\\", b"umlaut \xc3\xa4", b"\xff\xfe", b"done", b"fail", b"later"]
with open("names.0", "wb") as f:
    for n in names:
        f.write(b"names/" + n + b"\0")
        open(b"names/" + n, "w").close()
P

# A program that answers on every descriptor that it finds, and takes the requests that it can read.
cat >liar <<'S'
#!/bin/bash
for fd in $(seq "$1" 40); do
	{ [[ -e /proc/$$/fd/$fd ]] && { echo done >&"$fd"; read -rt 0.01 -u "$fd"; }; } 2>/dev/null
done
true
S
chmod +x liar

# Each does the same with the name it gets: opens the file, which shows that it is the right one, and writes its number of bytes
# into it; prints a line "done" and one more, by a program; starts one that lies, and fails, for "fail"; and says "later" the first time for "later".
cat >work.py <<'S'
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
import jobstack_persistent
def process(path):
    with open(path, "r+") as f:
        f.write(str(len(os.fsencode(path))))
    print("done")
    subprocess.run(["echo", "from a child"])
    if path == "names/fail":
        subprocess.run(["./liar", "1"], close_fds=False)
        raise ValueError("this\nfails")
    if path == "names/later" and not os.path.exists("was.later"):
        open("was.later", "w").close()
        raise jobstack_persistent.Failed("not now", 75)
jobstack_persistent.run(process)
S
cat >work.pl <<'S'
use JobstackPersistent;
JobstackPersistent::run(sub {
    my ($path) = @_;
    open(my $f, '+<', $path) or die "$path: $!\n";
    print $f length $path;
    close $f;
    print "done\n";
    system 'echo', 'from a child';
    die "this\nfails" if $path eq 'names/fail' && !system './liar', 1;
    if ($path eq 'names/later' && !-e 'was.later') {
        open(my $was, '>', 'was.later');
        die { code => 75, message => 'not now' };
    }
});
S
cat >work.sh <<'S'
. "$1/jobstack-persistent.sh"
process() {
	local LC_ALL=C
	[[ -e $1 ]] || return 9
	echo -n ${#1} >"$1"
	echo done
	echo 'from a child'
	[[ $1 != names/fail ]] || { ./liar 1 && return 1; }
	[[ -v log ]] || exec {log}>>log
	echo done >&"$log"
	[[ $1 != names/later || -e was.later ]] || { : >was.later && return 75; }
}
jobstack_persistent process
S
cat >work.R <<'S'
source(file.path(commandArgs(TRUE)[1], "jobstack_persistent.R"))
jobstack_persistent(function(path) {
  if (!file.exists(path)) stop("no such file")
  cat(length(charToRaw(path)), file = path)
  print("done", quote = FALSE)
  cat("done\nfrom a child\n")
  if (path == "names/fail") { system("./liar 2"); stop("this\nfails") }
  if (path == "names/later" && !file.exists("was.later")) {
    file.create("was.later")
    stop(jobstack_failed("not now", 75))
  }
})
S
cat >process.m <<'S'
function process(path)
  f = fopen(path, 'r+');
  if f < 0
    error('no such file');
  end
  fprintf(f, '%d', numel(path));
  fclose(f);
  printf("done\n");
  system('echo done; echo from a child');
  if strcmp(path, 'names/fail')
    system('./liar 1');
    error("this\nfails");
  end
  if strcmp(path, 'names/later') && ~exist('was.later', 'file')
    fclose(fopen('was.later', 'w'));
    error('jobstack:75', 'not now');
  end
end
S

# try LANGUAGE COMMAND...
try() {
	local name=$1
	shift
	rm -f was.later
	find names -type f -exec truncate -s 0 {} +
	jobstack push -q -0 -s "$name" -a names.0 --max-attempts 1 --retry-delay 0 >/dev/null
	check "$name" worker -s "$name" --persistent -- "$@"
	is '... all but one are done' "$(ledger "$name")" '9 1 0 0 0 0'
	check '... with the right names' python3 -c "
import os
for n in open('names.0', 'rb').read().split(b'\0')[:-1]:
    assert open(n).read() == str(len(n)), (n, open(n).read())"
	like '... one failed, for its reason' "$(sql "SELECT CONCAT(exit_code,': ',reason) FROM attempt JOIN stack USING(stack_id)
		WHERE name='$name' AND outcome=1")" "$([[ $name == bash ]] && echo '^1: failed 1$' || echo '^1: .*this.*fails')"
	is '... one was put off' "$(sql "SELECT COUNT(*) FROM attempt JOIN stack USING(stack_id) WHERE name='$name' AND outcome=3 AND exit_code=75")" 1
	like '... what was printed is output' "$(jobstack logs -s "$name" 1 2>&1)" 'from a child'
	check '... its audit' audit "$name"
}
try python python3 work.py "$shims"
try perl perl -I "$shims" work.pl
try bash bash work.sh "$shims"
is '... what it keeps open stays open, for programs too' "$(sort log | uniq -c | tr -s ' ')" ' 11 done' # one by the liar
try R Rscript --vanilla work.R "$shims"
try octave octave-cli -qf --path "$shims" --eval 'jobstack_persistent(@process)'
finish
