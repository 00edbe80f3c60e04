#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The habits of those who come from GNU parallel and xargs.  Each line of the table is typed after the real parallel and after
# `jobstack run`, where the table has an @, in a new directory.  What the first word says must hold:
#
#   same    both print the same, and end alike
#   type    jobstack refuses it with a line to type; that line, typed in its place, prints what parallel prints.  It may itself be
#           answered with another one, if two things are not as in parallel
#   hint    jobstack refuses it, and says what to do in words, since only a person knows the names
#
# Lines end alike if both statuses are 0 or none is: parallel's counts the failures.
# shellcheck source=tests/lib/tap.sh
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"

cd "$JOBSTACK_TEST_DIR" || exit
jobstack init -q
lines=$(cat <<'END'
same  @ echo ::: a b c
same  @ echo {} ::: a 'b  c' '$x'
same  @ echo '{}-{}' x{}y ::: a b
same  @ echo {.} {/} {//} {/.} ::: d/x.tar.gz plain /abs/f.c
same  @ --plus echo {..} ::: d/x.tar.gz y.csv.gz one.c plain
same  @ --plus echo {...} {/..} {/...} ::: d/x.y.tar.gz y.csv.gz plain
same  @ --plus echo {+.} {+..} {+...} ::: x.y.tar.gz y.csv.gz
same  @ --plus echo {+/}/{/} {.}.{+.} ::: d/e/x.gz /abs/f.c
same  @ --plus echo {..}.tsv ::: README.csv.gz
same  @ echo {#} ::: a b c
same  @ -j1 echo {%} ::: a b c
same  @ -P 2 --timeout 10 echo {1} ::: a b
same  @ echo {1.} {1/} {1//} {1/.} ::: d/x.c
same  printf '%s\n' a b c | @ echo {}
same  printf 'a\0b\nc\0' | @ -0 echo {}
same  printf 'a b\n c\n' | @ echo '[{}]'
same  @ --arg-file names echo {}
same  @ echo {} :::: names
same  @ --colsep , -a table.csv echo {2}-{1}
same  @ --colsep '\t' -a table.tsv echo {1} {3}
same  @ --colsep , echo {1/.} {2} ::: d/a.c,2
same  @ -I ,, echo ,, x ::: a b
same  @ --tag --bar --eta --joblog log echo x ::: a b
same  @ --dry-run echo ::: a b
same  @ --workdir d cat ::: in
same  @ false ::: a
same  @ 'exit 3;' ::: a
same  @ -a tasks
same  @ <tasks
type  cat tasks | @
type  @ ::: 'echo a' 'echo b'
type  @ 'echo {} | tr a b' ::: a c
type  @ 'echo {}; echo {/}' ::: d/a
type  @ echo {} '|' tr a b ::: a c
type  @ echo {} '>' '{}.out;' cat {}.out ::: a c
type  @ 'echo {.} > {/}.out; cat {/}.out' ::: d/a.c
type  @ echo ::: a b ::: c d
type  @ echo {} ::: a b ::: c d
type  @ echo {2} {1} ::: a b ::: c d
type  @ echo {1}{2}{3} ::: a b ::: c d ::: e f
type  @ -j1 echo {#} {%} ::: a b ::: c d
type  @ echo ::: a b :::+ c d
type  @ echo {2}={1} ::: a b c :::+ d e
type  @ --link echo ::: a b ::: c d
type  @ --link echo {1} {2} ::: a b c ::: d
type  @ --halt now,fail=1 echo ::: a b
type  @ --resume --joblog log echo ::: a b
type  @ --load 999 --memfree 1k echo ::: a b
type  @ --env PATH --line-buffer -r echo ::: a b
type  @ --nice 5 --retries 3 echo ::: a b
type  printf 'a,b,c' | @ -d , echo
type  printf 'a,b\nc,d\n' | @ -C , echo {2} {1}
type  @ -t --shuf echo ::: a
hint  @ echo '{= s/a/b/ =}' ::: a
hint  @ echo {-1} ::: a
hint  @ --plus echo {%.gz} ::: a.gz
hint  @ --colsep , echo {} ::: a,b
hint  cat names | @ --pipe wc -l
hint  @ --header : --colsep , -a table.csv echo {1}
hint  @ -S host1,host2 echo ::: a
hint  @ --array 1-5 echo
hint  @ -j 100% echo ::: a
hint  @ echo :::: names ::: a
END
)

# Types LINE, with TOOL in the place of @: its output, status and messages are in NAME.out, NAME.status, NAME.err.
typed() { # NAME TOOL LINE
	local status=0
	bash -c "${3//@/$2}" >"$1.out" 2>"$1.err" </dev/null || status=$?
	echo "$status" >"$1.status"
}

alike() { cmp -s "parallel.out" "$1.out" && (($(<parallel.status) == 0 == ($(<"$1.status") == 0))); }

# try KIND LINE: prints what is wrong
try() {
	local kind=$1 line=$2 said again name=jobstack
	mkdir d && touch names && echo hello >d/in
	printf '%s\n' x 'y z' >names
	printf '%s\n' 1,one 2,two >table.csv
	printf '%s\t%s\t%s\n' a b c d e f >table.tsv
	printf '%s\n' '#!/bin/bash' '# a comment' 'echo one' '' '  # another' 'echo two | tr t T' 'echo one' >tasks
	[[ $kind == hint ]] || typed parallel 'parallel -k' "$line"
	typed jobstack 'jobstack run -q -k --retry-delay 0.1' "$line"
	case $kind in
	same) ;;
	hint)
		[[ $(<jobstack.status) == 2 && ! -s jobstack.out && $(<jobstack.err) == *[\`:]* ]] || echo "status $(<jobstack.status), said $(<jobstack.err)"
		return 0
		;;
	type)
		for again in 1 2 3; do
			said=$(sed -n 's/^    //p; s/.*; type: //p' "$name.err" | tail -n 1)
			[[ $(<"$name.status") == 2 && $said ]] || break
			name=again$again
			typed $name '' "${line%%@*}$said"
		done
		[[ $name != jobstack ]] || echo "no line to type: $(<jobstack.err)"
		;;
	esac
	alike $name || diff -u --label parallel --label "$name ($(<$name.status); $(<$name.err); typed $said)" parallel.out $name.out
}

# Six at once: each of them mostly waits for a worker to start and to end.
n=0
while read -r kind line; do
	((++n <= 6)) || wait -n
	mkdir $n
	(cd $n && try "$kind" "$line" >wrong 2>&1) &
	kinds[n]=$kind table[n]=$line
done <<<"$lines"
wait
for ((i = 1; i <= n; i++)); do
	is "${kinds[i]}: ${table[i]}" "$(<$i/wrong)" ''
done
check 'at least 60 lines' test $n -ge 60
finish
