# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f completion.awk -v shell=bash|zsh SPEC TEMPLATE
#
# The completion of a shell: TEMPLATE (cmake/packaging/completion), with the tables that `jobstack --spec` told (SPEC) in the place of
# its line @TABLES@.  What a value is completed with is decided here, by its name in --help: see kind().

function unescape(s) {
	gsub(/\\n/, " ", s)
	gsub(/\\t/, " ", s)
	return s
}

# stack, file, dir, host, user, list:WORDS (with commas), words:WORDS, or none.
function kind(name, arg, help,    w, n, i, s, word) {
	if (name == "stack" || arg == "STACK")
		return "stack"
	if (arg ~ /\|/) {
		gsub(/\|/, " ", arg)
		return "words:" arg
	}
	if (arg == "FILE" || arg == "TEMPLATE")
		return "file"
	if (arg == "DIR")
		return "dir"
	if (arg == "HOST" || arg == "NODE")
		return "host"
	if (arg == "STATES" || arg == "FIELDS") {
		help = unescape(help)
		if (arg == "FIELDS")
			sub(/^[^:]*:/, "", help)
		n = split(help, w, /[^a-z_0-9]+/)
		s = ""
		for (i = 1; i <= n; i++) {
			word = w[i]
			if (word == "" || index(" " s " ", " " word " "))
				continue
			if (arg == "FIELDS" || word ~ /^(ready|waiting|held|running|done|failed|lost|dead|cancelled|all)$/)
				s = s (s == "" ? "" : " ") word
		}
		return "list:" s
	}
	return name == "user" ? "user" : "none"
}

# What a command takes beside options: stack, stack-command (a stack, and a command after --), command, words:..., file, or none.
function rest(usage, notes,    s, w, n, i) {
	if (usage ~ /^\[?STACK/ && usage !~ /KEY=VALUE/)
		return usage ~ /-- CMD/ ? "stack-command" : "stack"
	if (usage ~ /-- CMD/)
		return "command"
	if (usage ~ /^[a-z-]+\|[a-z|-]+/) {
		match(usage, /^[a-z|-]+/)
		s = substr(usage, 1, RLENGTH)
		gsub(/\|/, " ", s)
		return "words:" s
	}
	if (usage ~ /KEY=VALUE/) {
		n = split(notes, w, /\\n/)
		s = ""
		for (i = 1; i <= n; i++)
			if (match(w[i], /^  [a-z-]+=/))
				s = s (s == "" ? "" : " ") substr(w[i], 3, RLENGTH - 2)
		return "words:" s
	}
	return usage ~ /DATAPATH|FILE/ ? "file" : "none"
}

BEGIN { FS = "\t" }
NR == FNR && $1 == "command" { command[++commands] = $2; does[$2] = $3 }
NR == FNR && $1 == "title" {
	title[++pages] = $2
	sub(/^jobstack /, "", title[pages])
}
NR == FNR && $1 == "usage" { usage[pages] = unescape($2) }
NR == FNR && $1 == "notes" { notes[pages] = $2 }
NR == FNR && $1 == "option" {
	n = ++options[pages]
	letter[pages, n] = $2; name[pages, n] = $3; arg[pages, n] = $4; help[pages, n] = unescape($5)
}
NR == FNR { next }
$0 == "@TABLES@" {
	if (pages == 0) {
		print "completion.awk: no commands in the specification" >"/dev/stderr"
		exit 1
	}
	if (shell == "zsh")
		zsh_tables()
	else
		bash_tables()
	next
}
{ print }

function bash_tables(    p, i, s, k, words) {
	s = ""
	for (i = 1; i <= commands; i++)
		if (command[i] != "jobstack-worker")
			s = s (s == "" ? "" : " ") command[i]
	printf "_jobstack_commands='%s'\n\n", s
	print "# COMMAND: sets options (all words), kinds (OPTION=KIND of those with a value, a line each), rest."
	print "_jobstack_table() {\n\toptions='' kinds='' rest=none\n\tcase $1 in"
	for (p = 1; p <= pages; p++) {
		words = kinds = ""
		for (i = 1; i <= options[p]; i++) {
			k = kind(name[p, i], arg[p, i], help[p, i])
			if (letter[p, i] != "")
				words = words " -" letter[p, i]
			words = words " --" name[p, i]
			if (arg[p, i] != "" && arg[p, i] !~ /^\[/) {
				if (letter[p, i] != "")
					kinds = kinds "\n-" letter[p, i] "=" k
				kinds = kinds "\n--" name[p, i] "=" k
			}
		}
		printf "\t'%s')\n\t\toptions='%s'\n\t\tkinds='%s'\n\t\trest='%s'\n\t\t;;\n", title[p], substr(words, 2), substr(kinds, 2),
			rest(usage[p], notes[p])
	}
	print "\t*) return 1 ;;\n\tesac\n}"
}

# A text inside single quotes, in a description of _arguments.
function zsh_text(s) {
	sub(/[;:(].*/, "", s)
	sub(/[ ,]+$/, "", s)
	gsub(/'/, "'\\''", s)
	gsub(/\[/, "\\[", s)
	gsub(/\]/, "\\]", s)
	return s
}

function zsh_action(k, what) {
	if (k == "stack")
		return "_jobstack_stacks"
	if (k == "file")
		return "_files"
	if (k == "dir")
		return "_files -/"
	if (k == "host")
		return "_hosts"
	if (k == "user")
		return "_users"
	if (k ~ /^words:/)
		return "(" substr(k, 7) ")"
	if (k ~ /^list:/)
		return "_values -s , " what " " substr(k, 6)
	return " "
}

function zsh_tables(    p, i, s, k, one, value, r, f) {
	print "_jobstack_commands() {\n\tlocal -a commands\n\tcommands=("
	for (i = 1; i <= commands; i++)
		if (command[i] != "jobstack-worker")
			printf "\t\t'%s:%s'\n", command[i], zsh_text(does[command[i]])
	print "\t)\n\t_describe -t commands 'jobstack command' commands\n}\n"
	for (p = 1; p <= pages; p++) {
		f = title[p]
		gsub(/ /, "-", f)
		printf "_jobstack_of_%s() {\n\t_arguments -s -S \\\n", f
		for (i = 1; i <= options[p]; i++) {
			k = kind(name[p, i], arg[p, i], help[p, i])
			s = "[" zsh_text(help[p, i]) "]"
			value = arg[p, i] == "" || arg[p, i] ~ /^\[/ ? "" : ":" tolower(name[p, i]) ":" zsh_action(k, name[p, i])
			one = value == "" ? "" : "="
			if (letter[p, i] != "")
				printf "\t\t'(-%s --%s)-%s%s%s%s' '(-%s --%s)--%s%s%s%s' \\\n", letter[p, i], name[p, i], letter[p, i], \
					value == "" ? "" : "+", s, value, letter[p, i], name[p, i], name[p, i], one, s, value
			else
				printf "\t\t'--%s%s%s%s' \\\n", name[p, i], one, s, value
		}
		r = rest(usage[p], notes[p])
		if (r == "command")
			print "\t\t'(-)1:command: _command_names -e' '*::arguments:_normal'"
		else if (r ~ /^stack/)
			print "\t\t'*: :_jobstack_" (r == "stack" ? "stacks" : "stack_or_command") "'"
		else if (r ~ /^words:/ && r ~ /=/)
			print "\t\t'*:setting:compadd -S \"\" -- " substr(r, 7) "'"
		else if (r ~ /^words:/)
			print "\t\t'1:verb:(" substr(r, 7) ")'"
		else if (r == "file")
			print "\t\t'*:file:_files'"
		else
			print "\t\t'*: :'"
		print "}\n"
	}
}
