#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# The manual pages: every command has one, which explains more than its --help and has examples; every option of --help-all is in its
# page, every function of the header in libjobstack.3; groff and mandoc have nothing to say about any; man finds and shows them
# where they are installed.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
pages=$JOBSTACK_BIN/documents/man

# A page as plain words, as a reader sees it.  It is formatted once.
mkdir shown
shown() {
	local text=shown/${1##*/}
	[[ -s $text ]] || MANWIDTH=200 man -l "$1" | col -bx | tr -s ' \n' ' ' >"$text"
	cat "$text"
}

mapfile -t commands < <(jobstack --help-all | sed -nE 's/^  ([a-z-]+) .*/\1/p')
check 'there are commands' test "${#commands[@]}" -gt 15
for command in "${commands[@]/#/jobstack }" jobstack-worker; do
	page=$pages/${command/ /-}.1
	text=$(shown "$page") || text=''
	missing=''
	help=$($command --help-all)
	while read -r option; do
		[[ $text == *" $option"[\ ,=[]* ]] || missing+=" $option"
	done < <(sed -nE 's/^  (-.|  )[, ] (--[a-z-]+).*/\1\n\2/p' <<<"$help" | grep -- - | tr -d ' ')
	[[ $help == *--version* && $text == *--version* ]] || missing+=' (nothing at all)'
	is "$command: its page has all its options" "$missing" ''
done
text=$(shown "$pages/jobstack.1")
like 'jobstack(1) lists the commands' "$text" "jobstack-push\\(1\\) add files to a stack"
headings=$(jobstack --help-all | awk '/^[a-z]/ { heading = $0 } /^  [a-z]/ && heading != "" { print heading; heading = "" }')
check 'the help has groups' test "$(wc -l <<<"$headings")" -gt 4
missing=''
while read -r heading; do
	[[ $text == *"${heading^}"* ]] || missing+=" $heading"
done <<<"$headings"
is '... which jobstack(1) has as well' "$missing" ''
like 'jobstack(7) has the words' "$(shown "$pages/jobstack.7")" 'lease How long a worker may send no heartbeat'

# What --help says of a command, in a line.
about() { jobstack --spec | awk -F'\t' -v title="$1" '$1 == "title" { on = $2 == title } on && $1 == "about" { gsub(/\\n/, " ", $2); print $2 }'; }
repeats() { grep -qiF -- "$(about "$1" | cut -c1-60)" <<<"$2"; }
missing=''
repeated=''
for page in "$pages"/*; do
	text=$(shown "$page")
	[[ $text == *' EXAMPLES '* ]] || missing+=" ${page##*/}"
	title=$(sed -n '/^\.SH SYNOPSIS/ { n; s/\\fP.*//; s/^\\fB//; s/\\-/-/g; p; q }' "$page")
	[[ $page != *.1 || $page == */jobstack.1 ]] && continue
	check "... $title has something to compare" test -n "$(about "$title")"
	repeats "$title" "$text" && repeated+=" ${page##*/}"
done
is 'each page has examples' "$missing" ''
lines=$(jobstack --help)
is 'the first help fits on a terminal of 24 lines, with a prompt' "$(wc -lL <<<"$lines" | tr -s ' ')" ' 23 80'
is 'no page repeats --help' "$repeated" ''
missing=''
while read -r page; do
	[[ -e $pages/$page ]] || missing+=" $page"
done < <(cat "$pages"/* | grep -oE '(lib)?jobstack(\\-[a-z]+)*\\fP\([137]\)' | sort -u | sed 's/\\fP(/./; s/\\-/-/g; s/)//')
is 'each page that is named is there' "$missing" ''

# The options in the examples of FILE... that --help does not have.  What submit does not know goes to sbatch.
unknown_options() {
	local line words command word
	awk '/^# / { on = $0 == "# EXAMPLES" } on && /^    /' "$@" | grep -oE 'jobstack(-worker)? [^|;&)]*' | sed 's/ -- .*//' |
		while read -r line; do
			read -ra words <<<"$line"
			command=${words[0]}
			[[ $command == jobstack ]] && command+=" ${words[1]}"
			[[ $line =~ ^jobstack\ (server\ )?submit ]] && continue
			for word in "${words[@]}"; do
				word=${word%%=*}
				[[ $word == --* ]] || word=${word:0:2}
				[[ $word == -* ]] || continue
				$command --help-all | grep -qE -- "^ +(-., )?$word([^a-z-]|\$)" || echo "$command $word"
			done
		done
}
is 'the options in the examples are real ones' "$(unknown_options "$JOBSTACK_SOURCE"/docs/man/*.md)" ''
printf '# EXAMPLES\n    jobstack push -s x --unique --uniq=3 -Z -- -Y\n' >example.md
is '... and others are seen' "$(unknown_options example.md)" $'jobstack push --uniq\njobstack push -Z'

text=$(shown "$pages/libjobstack.3")
missing=''
while read -r function; do
	[[ $text == *"$function("* ]] || missing+=" $function"
done < <(sed -n '/^[^ \t#/*].*jobstack_[a-z_]*(/ { /typedef/d; s/^.*[ *]\(jobstack_[a-z_0-9]*\)(.*/\1/p }' <(cat "$JOBSTACK_SOURCE"/include/jobstack/*.h))
is 'libjobstack(3) has every function of the header' "$missing" ''
like '... with what is said of it' "$text" 'int jobstack_requeue\(.*Makes dead, done and cancelled entries that FILTER .*ready again'
unlike '... and nothing that is for programs alone' "$text" 'clang-format'

is 'groff has nothing to say' "$(for page in "$pages"/*; do groff -man -ww -Tutf8 -z "$page"; done 2>&1)" ''
is 'nor has mandoc' "$(mandoc -Tlint -Wwarning "$pages"/* 2>&1)" ''

# the proof that tests can fail: what is broken is seen
sed 's/--slots/--slits/; s/\\-\\-slots/\\-\\-slits/' "$pages/jobstack-worker.1" >worker.1
unlike 'an option that is not there is not found' "$(shown worker.1)" ' --slots'
is 'a page that repeats --help is seen' "$(repeats 'jobstack push' "x $(about 'jobstack push') x" && echo yes)" yes
mkdir -p source/docs/man source/include/jobstack
cp -r "$JOBSTACK_SOURCE/cmake" source
cp "$JOBSTACK_SOURCE"/include/jobstack/*.h source/include/jobstack
printf 'Text.\n# OPTIONS\n## --nosuch\nMore.\n' >source/docs/man/jobstack-push.md
like 'a page about an option that is not there is refused' \
	"$(source/cmake/make-documents "$JOBSTACK_BIN/documents/spec" "$PWD/source" "$PWD/made" 0 2026-11-22 2>&1 || echo "status $?")" \
	'jobstack-push.md adds to the option --nosuch, .*status 1'
printf '.TH X 1 "" ""\n.SH NAME\n.PP\n.BOGUS\n' >bad.1
check 'mandoc has something to say about a bad page' test -n "$(mandoc -Tlint -Wwarning bad.1 2>&1)"

check 'installed' cmake --install "$JOBSTACK_BIN" --prefix "$PWD/prefix"
is 'man finds a page by PATH alone' "$(PATH=$PWD/prefix/bin:$PATH MANPATH='' man -w jobstack-push)" "$PWD/prefix/share/man/man1/jobstack-push.1"
finish
