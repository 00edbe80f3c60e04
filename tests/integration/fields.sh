#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Entries with several fields: --colsep.
# shellcheck disable=SC2016
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q
reasons() { sql "SELECT CONCAT_WS(' ',entry_id,ELT(outcome+1,'done','failed'),COALESCE(exit_code,'-'),COALESCE(reason,'-')) FROM attempt JOIN stack USING(stack_id)
	WHERE name='$1' ORDER BY entry_id"; }
words='for w; do printf "[%s]" "$w"; done'
all() { for i in "${@:2}"; do jobstack logs -s "$1" "$i"; echo; done; }

printf '%s\n' $'/data/a b.nc\t1.5\tit'"'"'s; touch PWNED' $'/x.y/z.tar.gz\t\t`touch PWNED`' | jobstack push -q -s tab >/dev/null
check 'fields between tabs' worker -s tab --colsep '\t' -- sh -c "$words" sh '{1}' '{1/}' '{1//}' '{1.}' '{1/.}' '-o{2}.{3}' '{#}'
is '... as they are' "$(all tab 1 2)" "[/data/a b.nc][a b.nc][/data][/data/a b][a b][-o1.5.it's; touch PWNED][1]
[/x.y/z.tar.gz][z.tar.gz][/x.y][/x.y/z.tar][z.tar][-o.\`touch PWNED\`][2]"
jobstack requeue -q -s tab -t 'done' 2>/dev/null
check '... in a script' worker -s tab --colsep '\t' --shell -- 'echo {2} "{1/.}"; echo '"'{3}'"' $(echo "{}" | wc -c)'
is '... no byte is evaluated' "$(all tab 1 2 | tr '\n' '|') $(test -e PWNED; echo $?)" "1.5 a b|it's; touch PWNED 35|| z.tar|\`touch PWNED\` 29|| 1"
like 'show has a line that runs it again' "$(jobstack show -s tab 1)" 'by hand:'
jobstack show -s tab 1 | tail -1 >byhand
is '... which does' "$(bash byhand | head -1)" '1.5 a b'

# what has too few
printf '%s\n' '/a,1' '/b' '/c,3,x' ',,' | jobstack push -q -s few --retry-delay 1h >/dev/null
check 'entries without a field' worker -s few --slots 1 --colsep , -- sh -c 'echo "$1" >>few.ran; echo "$1-$2"' sh '{1}' '{2}'
is '... fail, and say why' "$(reasons few)" '1 done 0 -
2 failed - not run: it has 1 field, but the command needs {2}
3 done 0 -
4 done 0 -'
is '... for good, without another attempt' "$(ledger few)" '3 1 0 0 0 0'
is '... they are not run' "$(cat few.ran)" $'/a\n/c'
is '... and an empty one is one' "$(jobstack logs -s few 4)" -
check '... the audit' audit few
check '--dry-run says so' says 0 'entry 2 would fail' sh -c 'jobstack requeue -q -s few 2>/dev/null; jobstack-worker -s few --colsep , --dry-run -- echo "{2}"'

# in the names of files
printf '%s\n' '/d/a.x,one' '/d/b.x,two' | jobstack push -q -s files --max-attempts 1 >/dev/null
touch made.two
check 'fields in --output, --error, --creates' worker -s files --colsep , --output 'o/{2}/{1/.}.out' --error 'o/{2}/err' --creates 'made.{2}' --shell -- 'echo {1}; echo {2} >&2; touch made.{2}'
is '... name the files' "$(cat o/one/a.out o/one/err) $(ls o/two 2>/dev/null) $(ledger files)" $'/d/a.x\none  2 0 0 0 0 0'
printf '%s\n' '/d/a.x' | jobstack push -q -s nofile --max-attempts 1 >/dev/null
check 'a file name without its field' worker -s nofile --colsep , --output 'p/{3}' -- touch ran.nofile
is '... fails the entry, too' "$(reasons nofile) $(ls p ran.nofile 2>/dev/null)" '1 failed - not run: it has 1 field, but the command needs {3} '
printf '%s\n' '/d/a.x,one' | jobstack push -q -s persist >/dev/null
check 'a persistent command gets the whole' worker -s persist --colsep , --output 'q/{2}' --persistent --shell -- 'while read -r e a p; do echo "$p"; echo done; done'
is '... its files may have fields' "$(cat q/one)" '/d/a.x,one'
check '... but not its words' says 2 "can't be used in a persistent command" worker -s persist --colsep , --persistent -- cmd '{1}'

# without --colsep
jobstack push -q -s none /d/f.x >/dev/null
check 'without --colsep the first field is the whole' worker -s none -- sh -c "$words" sh '{1}' '{1/}' '${2}' '{0}'
is '...' "$(jobstack logs -s none 1)" '[/d/f.x][f.x][${2}][{0}]'
check '... and another is refused' says 2 '\{2\} is the placeholder of a field, and fields need --colsep' worker -s none -- grep 'x{2}' {}
check '... unless {} has another name' worker -s none -I @ --dry-run -- grep 'x{2}' @
for bad in '' '\' '\s+' '\x00'; do
	check "--colsep '$bad'" says 2 '--colsep takes a string' worker -s none --colsep "$bad" -- true
done

# relative names: what does not begin with a slash belongs to the directory it was pushed from, whichever field is a path
mkdir here there
(cd here && echo content >file && echo '7 file' | jobstack push -q -s rel >/dev/null)
check 'a line with a relative name belongs to its directory' fails_with 2 sh -c 'cd there && timeout 300 jobstack-worker -q -s rel --colsep " " -- cat "{2}"'
check '... --chdir says where' worker -s rel --colsep ' ' --chdir here -- cat '{2}'
is '...' "$(jobstack logs -s rel 1)" content

# run
printf '%s\n' '1::2' '3::4' | jobstack run -q --colsep :: -s run --shell -- 'n={#}; echo $((n))-{2}-{1}' >/dev/null 2>run.err
is 'jobstack run' "$(jobstack logs -s run 1; jobstack logs -s run 2)" $'1-2-1\n2-4-3'
finish
