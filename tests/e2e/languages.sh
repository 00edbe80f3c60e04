#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: db
#
# The examples that pop, process and close, each in its own language and as it stands but for the name of the stack: names of
# any bytes, an entry that fails, and none that is done twice by two at once.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
export PYTHONDONTWRITEBYTECODE=1 JOBSTACK_LIBRARY=$JOBSTACK_BIN/libjobstack.so PYTHONPATH=$JOBSTACK_SOURCE/src/python

mkdir names
python3 - <<'P'
names = [b"plain", b"with blank ", b"new\nline", b"newline\n", b"\n\n", b"cr\r", b"back\\slash\\n\\", b"umlaut \xc3\xa4", b"\xff\xfe",
         b"-n", b"'\"$(date)`", b"1\n2\n3", b"fail"]
with open("names.0", "wb") as f:
    for n in names:
        f.write(b"names/" + n + b"\0")
        open(b"names/" + n, "w").close()
P
n=13

# The work is the same in each: the name's length goes into the file, which shows that it was the right one; "fail" fails.
cat >retrieve.sh <<'S'
#!/bin/bash
LC_ALL=C
[[ -e $1 && $1 != names/fail ]] || exit 1
echo -n ${#1} >>"$1"
S
chmod +x retrieve.sh
cat >process.py <<'S'
import os
def process(path):
    if path == "names/fail":
        raise ValueError("this fails")
    with open(path, "r+") as f:
        f.seek(0, 2)
        f.write(str(len(os.fsencode(path))))
S
cat >process.R <<'S'
process <- function(path) {
  if (path == "names/fail") stop("this fails")
  if (!file.exists(path)) stop("no such file")
  cat(length(charToRaw(path)), file = path, append = TRUE)
}
S
cat >process.pl <<'S'
sub process {
    my ($path) = @_;
    die "this fails\n" if $path eq 'names/fail';
    open(my $f, '+<', $path) or die "$path: $!\n";
    seek $f, 0, 2;
    print $f length $path;
    close $f;
}
1;
S
cat >process.m <<'S'
function process(path)
  if strcmp(path, 'names/fail')
    error('this fails');
  end
  f = fopen(path, 'r+');
  if f < 0
    error('no such file');
  end
  fseek(f, 0, 'eof');
  fprintf(f, '%d', numel(path));
  fclose(f);
end
S
cat >process.c <<'S'
#include <stdio.h>
#include <string.h>
int process(const char *path);
int process(const char *path)
{
	FILE *f = strcmp(path, "names/fail") == 0 ? NULL : fopen(path, "r+");

	if (f == NULL || fseek(f, 0, SEEK_END) != 0 || fprintf(f, "%zu", strlen(path)) < 0)
		return 1;
	return fclose(f) == 0 ? 0 : 1;
}
S

# try EXAMPLE COMMAND...: the example with a stack of its own
try() {
	local name=${1##*[-_]}
	sed "s/airs-2012/$name/g" "$JOBSTACK_SOURCE/docs/examples/$1" >"$1"
	find names -type f -exec truncate -s 0 {} +
	jobstack push -q -0 -s "$name" -a names.0 --max-attempts 1 >/dev/null
	shift
	timeout 300 "$@" >"$name.1" 2>&1 &
	check "$name: it ends" timeout 300 "$@"
	check '... and another beside it' wait $!
	is '... all but one are done' "$(ledger "$name")" "$((n - 1)) 1 0 0 0 0"
	check '... once, with the right names' python3 -c "
for n in open('names.0', 'rb').read().split(b'\0')[:-1]:
    assert open(n).read() == ('' if n == b'names/fail' else str(len(n))), (n, open(n).read())"
	is '... one failed' "$(sql "SELECT CONCAT(datapath,' ',exit_code) FROM attempt JOIN entry USING(stack_id,entry_id) JOIN stack USING(stack_id)
		WHERE name='$name' AND outcome=1")" 'names/fail 1'
	check '... its audit' audit "$name"
}
for one in pop-loop worker-steps; do
	sed "s/airs-2012/${one#*-}.c/g" "$JOBSTACK_SOURCE/docs/examples/$one.c" >"$one.c"
	cc -Wall -Wextra -Werror -I "$JOBSTACK_SOURCE/include" -o "$one" "$one.c" process.c -L "$JOBSTACK_BIN" -ljobstack
	try "$one.c" env LD_LIBRARY_PATH="$JOBSTACK_BIN" "./$one" "$JOBSTACK_DEFAULTS_FILE"
done
try pop-loop.sh bash pop-loop.sh
try pop-loop.py python3 pop-loop.py
try pop-loop.pl perl pop-loop.pl
try pop-loop.R Rscript --vanilla pop-loop.R
try pop_loop.m octave-cli -qf pop_loop.m
is 'in Python what was raised is the reason' "$(jobstack show -s loop.py $n --json | grep -o 'ValueError: this fails' | head -n 1)" 'ValueError: this fails'

# What can't go on says so by its status, and does not take it for an empty stack.
printf '[client]\nhost=127.0.0.1\nport=1\n' >none.cnf
for one in 'bash pop-loop.sh' 'python3 pop-loop.py' 'perl pop-loop.pl' 'Rscript --vanilla pop-loop.R' 'octave-cli -qf pop_loop.m'; do
	# shellcheck disable=SC2086
	check "without a database: $one" fails_with 1 env JOBSTACK_DEFAULTS_FILE=none.cnf timeout 300 $one
done
finish
