#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: nothing
#
# The manual pages: every command has one, every option of --help is in its page, every function of the header in libjobstack.3;
# groff and mandoc have nothing to say about any; man finds and shows them where they are installed.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
pages=$JOBSTACK_BIN/documents/man

# A page as plain words, as a reader sees it.
shown() { MANWIDTH=200 man -l "$1" | col -bx | tr -s ' \n' ' '; }

mapfile -t commands < <(jobstack --help | sed -nE 's/^  ([a-z-]+) .*/\1/p')
check 'there are commands' test "${#commands[@]}" -gt 15
for command in "${commands[@]/#/jobstack }" jobstack-worker; do
	page=$pages/${command/ /-}.1
	text=$(shown "$page") || text=''
	missing=''
	help=$($command --help)
	while read -r option; do
		[[ $text == *" $option"[\ ,=[]* ]] || missing+=" $option"
	done < <(sed -nE 's/^  (-.|  )[, ] (--[a-z-]+).*/\1\n\2/p' <<<"$help" | grep -- - | tr -d ' ')
	[[ $help == *--version* && $text == *--version* ]] || missing+=' (nothing at all)'
	is "$command: its page has all its options" "$missing" ''
done
like 'jobstack(1) lists the commands' "$(shown "$pages/jobstack.1")" "jobstack-push\\(1\\) put datapaths"
like 'jobstack(7) has the words' "$(shown "$pages/jobstack.7")" 'lease The time a worker may be silent'

text=$(shown "$pages/libjobstack.3")
missing=''
while read -r function; do
	[[ $text == *"$function("* ]] || missing+=" $function"
done < <(sed -n '/^[^ \t#/*].*jobstack_[a-z_]*(/ { /typedef/d; s/^.*[ *]\(jobstack_[a-z_0-9]*\)(.*/\1/p }' "$JOBSTACK_SOURCE/include/jobstack/jobstack.h")
is 'libjobstack(3) has every function of the header' "$missing" ''
like '... with what is said of it' "$text" 'int jobstack_requeue\(.*Pushes back what FILTER names among dead and done entries'

is 'groff has nothing to say' "$(for page in "$pages"/*; do groff -man -ww -Tutf8 -z "$page"; done 2>&1)" ''
is 'nor has mandoc' "$(mandoc -Tlint -Wwarning "$pages"/* 2>&1)" ''

# the proof that tests can fail: what is broken is seen
sed 's/--slots/--slits/; s/\\-\\-slots/\\-\\-slits/' "$pages/jobstack-worker.1" >worker.1
unlike 'an option that is not there is not found' "$(shown worker.1)" ' --slots'
printf '.TH X 1 "" ""\n.SH NAME\n.PP\n.BOGUS\n' >bad.1
check 'mandoc has something to say about a bad page' test -n "$(mandoc -Tlint -Wwarning bad.1 2>&1)"

check 'installed' cmake --install "$JOBSTACK_BIN" --prefix "$PWD/prefix"
is 'man finds a page by PATH alone' "$(PATH=$PWD/prefix/bin:$PATH MANPATH='' man -w jobstack-push)" "$PWD/prefix/share/man/man1/jobstack-push.1"
finish
