# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Completion of jobstack and jobstack-worker for bash 4 and later, with or without the package bash-completion.  Names of stacks come
# from the database, within two seconds ($JOBSTACK_COMPLETION_LIMIT) or not at all.

@TABLES@

# PROGRAM [DEFAULTS-FILE]: the names of the stacks.
_jobstack_stacks() {
	local program=$1 file=${2-}
	case $program in *-worker) program=${program%-worker} ;; esac
	timeout -s KILL "${JOBSTACK_COMPLETION_LIMIT:-2}" "$program" status --json ${file:+"--defaults-file=$file"} 2>/dev/null </dev/null |
		grep -o '"stack": *"[^"]*"' | cut -d'"' -f4 | sort -u
}

# Fills COMPREPLY for a value of KIND that begins with TEXT.
_jobstack_value() { # KIND TEXT PROGRAM DEFAULTS-FILE
	local kind=$1 text=$2 done=''
	case $kind in
	stack | stack-command) mapfile -t COMPREPLY < <(compgen -W "$(_jobstack_stacks "$3" "$4")" -- "$text") ;;
	words:*) mapfile -t COMPREPLY < <(compgen -W "${kind#words:}" -- "$text") ;;
	list:*)
		[[ $text != *,* ]] || done=${text%,*},
		mapfile -t COMPREPLY < <(compgen -P "$done" -W "${kind#list:}" -- "${text##*,}")
		compopt -o nospace 2>/dev/null
		;;
	file | command) mapfile -t COMPREPLY < <(compgen -f -- "$text") && compopt -o filenames 2>/dev/null ;;
	dir) mapfile -t COMPREPLY < <(compgen -d -- "$text") && compopt -o filenames 2>/dev/null ;;
	host) mapfile -t COMPREPLY < <(compgen -A hostname -- "$text") ;;
	user) mapfile -t COMPREPLY < <(compgen -u -- "$text") ;;
	esac
}

_jobstack() {
	local line=${COMP_LINE:0:COMP_POINT} words=() word cur program=$1 options kinds rest defaults='' waiting='' ended='' at
	local table='' given=0 kind break_at
	COMPREPLY=()
	# The words as they were typed: bash has taken them apart at = and : as well.
	read -ra words <<<"$line"
	[[ $line != *[[:space:]] ]] || words+=('')
	((${#words[@]} > 1)) || return 0
	cur=${words[-1]}
	unset 'words[-1]'
	at=1
	if [[ ${program##*/} == jobstack-worker ]]; then
		table=jobstack-worker
	elif ((${#words[@]} == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$_jobstack_commands --help --help-all --version" -- "$cur")
		return 0
	else
		table=${words[1]} at=2
	fi
	_jobstack_table "$table" || return 0
	# What stands before the word that is typed now.
	for word in "${words[@]:at}"; do
		if [[ $waiting ]]; then
			[[ $waiting != --defaults-file ]] || defaults=$word
			waiting=''
		elif [[ $word == -- ]]; then
			ended=1
			break
		elif [[ $word == --*=* ]]; then
			[[ $word != --defaults-file=* ]] || defaults=${word#*=}
		elif [[ $word == -* ]]; then
			[[ $'\n'$kinds != *$'\n'"$word="* ]] || waiting=$word
		else
			given=$((given + 1))
			if [[ $rest == command ]]; then
				ended=1
				break
			fi
			# a verb may have options of its own
			_jobstack_table "$table $word" || _jobstack_table "$table"
		fi
		at=$((at + 1))
	done
	if [[ $ended && $rest == *command ]]; then
		_jobstack_command "$at" "$cur"
		return 0
	fi
	if [[ $waiting || ($cur == --*=* && ! $ended) ]]; then
		[[ $waiting ]] || { waiting=${cur%%=*} && break_at=${cur%%=*}=; }
		kind=$(sed -n "s/^$waiting=//p" <<<"$kinds")
		_jobstack_value "$kind" "${cur#"${break_at-}"}" "$program" "$defaults"
		[[ ! ${break_at-} ]] || COMPREPLY=("${COMPREPLY[@]/#/$break_at}")
	elif [[ $cur == -* && ! $ended ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
	elif [[ $rest == command ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	elif [[ $rest != words:* || $rest == *=* ]] || ((given == 0)); then
		_jobstack_value "$rest" "$cur" "$program" "$defaults"
		[[ $rest != *=* ]] || compopt -o nospace 2>/dev/null
	fi
	# Bash replaces only what comes behind the last character at which it breaks words.
	break_at=${cur%"${cur##*[=:@]}"}
	if [[ $break_at && $COMP_WORDBREAKS == *"${break_at: -1}"* ]]; then
		COMPREPLY=("${COMPREPLY[@]#"$break_at"}")
	fi
}

# The command behind the options: its name, then what its own completion says (with bash-completion), else files.
_jobstack_command() { # INDEX-OF-THE-LAST-OPTION-WORD CURRENT
	local first=$1
	[[ ${words[first]-} != -- ]] || first=$((first + 1))
	if ((first >= ${#words[@]})); then
		mapfile -t COMPREPLY < <(compgen -c -- "$2")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$2")
		compopt -o filenames 2>/dev/null
	fi
}

complete -F _jobstack jobstack jobstack-worker
