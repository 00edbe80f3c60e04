#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# needs: db
#
# Completion, as a person meets it: a bash and a zsh on a terminal, text typed, Tab pressed, and what the line is then.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
made=$JOBSTACK_BIN/documents/completion
typed=$JOBSTACK_SOURCE/tests/lib/typed.py

export JOBSTACK_COMPLETION_LIMIT=60 # on a busy machine two seconds are little
check 'init' jobstack init
for stack in airs-2012 calipso.v4 odd:name@site; do jobstack push -q -s "$stack" /x >/dev/null; done
mkdir data && : >data/list.txt

cat >bashrc <<'END'
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
bind 'set show-all-if-ambiguous on'
bind -x '"\C-g": printf "%s\n" "$READLINE_LINE" >"$TYPED"'
END
printf '. %q\n' "$made/jobstack" >>bashrc
mkdir functions && cp "$made/_jobstack" functions/
cat >zshrc <<'END'
unsetopt beep
fpath=($PWD/functions $fpath)
autoload -Uz compinit && compinit -u -D
dump() { print -r -- "$BUFFER" >$TYPED }
zle -N dump
bindkey -e
bindkey '^G' dump
bindkey '^U' kill-whole-line
END

# Each: what is typed, and what it must be afterwards, or "~" and what must be listed.  A blank at the end is left out, and so is
# the comma that zsh sets there until something else is typed.
cases=(
	'jobstack pus' 'jobstack push'
	'jobstack push --uniq' 'jobstack push --unique'
	'jobstack push -s air' 'jobstack push -s airs-2012'
	'jobstack push --stack calip' 'jobstack push --stack calipso.v4'
	'jobstack push --stack=calip' 'jobstack push --stack=calipso.v4'
	'jobstack status -s odd:na' 'jobstack status -s odd:name@site'
	'jobstack-worker -s air' 'jobstack-worker -s airs-2012'
	'jobstack-worker -s airs-2012 --on-lease-loss fi' 'jobstack-worker -s airs-2012 --on-lease-loss finish'
	'jobstack pop --format js' 'jobstack pop --format json'
	'jobstack list -t can' 'jobstack list -t cancelled'
	'jobstack list -t dead,can' 'jobstack list -t dead,cancelled'
	'jobstack server sta' '~start.*status'
	'jobstack set max-att' 'jobstack set max-attempts='
	'jobstack push -a data/l' 'jobstack push -a data/list.txt'
	'jobstack push --defaults-file=data/l' 'jobstack push --defaults-file=data/list.txt'
	'jobstack-worker -- jobstack-work' 'jobstack-worker -- jobstack-worker'
	'jobstack-worker -s airs-2012 -- cat data/l' 'jobstack-worker -s airs-2012 -- cat data/list.txt'
	'jobstack list -s ' '~airs-2012.*calipso.v4'
	'jobstack ' '~init.*status'
)
words=()
for ((i = 0; i < ${#cases[@]}; i += 2)); do words+=("${cases[i]}"); done
for shell in bash zsh; do
	check "$shell takes it" "$shell" -n "$made/$([[ $shell == bash ]] && echo jobstack || echo _jobstack)"
	mapfile -t got < <("$typed" "$shell" "${shell}rc" "${words[@]}" 2>&1)
	for ((i = 0; i < ${#words[@]}; i++)); do
		line=${got[i]-}
		expected=${cases[i * 2 + 1]}
		if [[ $expected == '~'* ]]; then
			like "$shell: ${words[i]} <Tab> lists" "${line#*$'\t'}" "${expected#?}"
		else
			line=${line%%$'\t'*}
			while [[ $line == *[\ ,] ]]; do line=${line%?}; done
			is "$shell: ${words[i]} <Tab>" "$line" "$expected"
		fi
	done
done

# without a database: nothing is offered, nothing is said, and nobody waits for long
for shell in bash zsh; do
	line=$(JOBSTACK_DEFAULTS_FILE=/proc/none "$typed" "$shell" "${shell}rc" 'jobstack push -s air')
	is "$shell, without a database: nothing" "${line%%$'\t'*}" 'jobstack push -s air'
	unlike '... and no error on the screen' "$line" 'nowhere|jobstack push: |rror'
done
finish
