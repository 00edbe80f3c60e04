# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f roff.awk -f man.awk -v prose_dir=docs/man -v out_dir=DIR -v date=YYYY-MM-DD SPEC
#
# Manual pages of section 1 and jobstack.7: of each command that `jobstack --spec` told (SPEC), and its prose in
# docs/man/NAME.md, if there is some.  Sections that every page has (exit status, environment, files) come from
# docs/man/common.md, unless the page has its own.  Prints the pages' names.

function unescape(s,    out, c) {
	out = ""
	while ((c = index(s, "\\")) > 0) {
		out = out substr(s, 1, c - 1)
		out = out (substr(s, c + 1, 1) == "n" ? "\n" : substr(s, c + 1, 1) == "t" ? "\t" : "\\")
		s = substr(s, c + 2)
	}
	return out s
}

BEGIN { FS = "\t" }
$1 == "version" { version = $2 }
$1 == "command" { command[++commands] = $2; does[$2] = $3; current = $2 }
$1 == "title" {
	p = ++pages
	title[p] = $2
	page[p] = $2
	gsub(/ /, "-", page[p])
	of[p] = current
}
$1 == "usage" { usage[p] = unescape($2) }
$1 == "about" { about[p] = unescape($2) }
$1 == "notes" { notes[p] = unescape($2) }
$1 == "option" { n = ++options[p]; letter[p, n] = $2; name[p, n] = $3; arg[p, n] = $4; help[p, n] = unescape($5) }

# "-s, --stack NAME" as --help has it.
function option_head(p, i,    s, a) {
	s = letter[p, i] != "" ? "\\fB\\-" code(letter[p, i]) "\\fP, " : ""
	s = s "\\fB\\-\\-" code(name[p, i]) "\\fP"
	a = arg[p, i]
	if (a ~ /^\[/)
		return s "[=\\fI" code(substr(a, 2, length(a) - 2)) "\\fP]"
	return a == "" ? s : s " \\fI" code(a) "\\fP"
}

function options_of(p,    i, out, text) {
	out = ""
	for (i = 1; i <= options[p]; i++) {
		text = help[p, i]
		gsub(/\n/, " ", text)
		if (text == "this text") # which it is in --help
			text = "print a short help"
		out = out ".TP\n" option_head(p, i) "\n" inline(toupper(substr(text, 1, 1)) substr(text, 2) ".") "\n"
	}
	return out
}

# Only lines that stand as they are: examples.
function all_literal(text,    line, n, i) {
	n = split(text, line, "\n")
	for (i = 1; i <= n; i++)
		if (line[i] != "" && line[i] !~ /^  /)
			return 0
	return 1
}

function see_also(me,    i, s) {
	s = me == "jobstack" ? "" : "\\fBjobstack\\fP(1), "
	for (i = 1; i <= pages; i++)
		if (page[i] != me)
			s = s "\\fB" code(page[i]) "\\fP(1),\n"
	return s "\\fBlibjobstack\\fP(3)" (me == "" ? "" : ",\n\\fBjobstack\\fP(7)") "\n"
}

# The sections in their order.  SECTION[name] is roff already.
function emit(file, top, section, extra, extras, me,    i, order, n) {
	printf "%s", top >file
	n = split("DESCRIPTION|COMMANDS|OPTIONS|NOTES|*|EXAMPLES|EXIT STATUS|ENVIRONMENT|FILES", order, "|")
	for (i = 1; i <= n; i++) {
		if (order[i] == "*")
			emit_extra(file, section, extra, extras)
		else if (section[order[i]] != "") {
			printf ".SH %s\n%s", order[i], section[order[i]] >file
			section[order[i]] = ""
		}
	}
	printf ".SH SEE ALSO\n%s", see_also(me) >file
	close(file)
	print file
}

function emit_extra(file, section, extra, extras,    i) {
	for (i = 1; i <= extras; i++)
		if (section[extra[i]] != "" && extra[i] !~ /^(EXAMPLES|EXIT STATUS|ENVIRONMENT|FILES|DESCRIPTION|OPTIONS|NOTES|COMMANDS)$/) {
			printf ".SH %s\n%s", extra[i], section[extra[i]] >file
			section[extra[i]] = ""
		}
}

# Adds prose to SECTION, and gives what it has; "common" fills only what is empty.
function add_prose(file, section, extra, fill,    text, t, n, i) {
	n = prose(file, text, t)
	for (i = 1; i <= n; i++) {
		extra[i] = t[i]
		if (!fill)
			section[t[i]] = section[t[i]] (section[t[i]] != "" ? ".PP\n" : "") roff_text(text[t[i]], 0)
		else if (section[t[i]] == "")
			section[t[i]] = roff_text(text[t[i]], 0)
	}
	return n
}

function clear(array,    i) {
	for (i in array)
		delete array[i]
}

function command_page(p,    section, extra, extras, top, d, none) {
	clear(section)
	d = does[of[p]]
	if (title[p] != "jobstack " of[p] && title[p] != of[p]) { # a verb of its own
		d = about[p]
		sub(/[.\n].*/, "", d)
		d = tolower(substr(d, 1, 1)) substr(d, 2)
	}
	top = head(page[p], 1, d) ".SH SYNOPSIS\n\\fB" code(title[p]) "\\fP " code(usage[p]) "\n"
	section["DESCRIPTION"] = roff_text(about[p], 0)
	section["OPTIONS"] = options_of(p)
	if (notes[p] != "")
		section[all_literal(notes[p]) ? "EXAMPLES" : "NOTES"] = roff_text(notes[p], 0)
	extras = add_prose(prose_dir "/" page[p] ".md", section, extra, 0)
	add_prose(prose_dir "/common.md", section, none, 1)
	emit(out_dir "/" page[p] ".1", top, section, extra, extras, page[p])
}

function main_page(    section, extra, extras, top, i, s, none) {
	top = head("jobstack", 1, "a durable queue of files for Slurm clusters, in MySQL or MariaDB") ".SH SYNOPSIS\n" \
		"\\fBjobstack\\fP \\fICOMMAND\\fP [OPTIONS]\n.br\n\\fBjobstack\\fP \\-\\-help | \\-\\-version\n"
	s = ""
	for (i = 1; i <= pages; i++)
		if (title[i] == "jobstack " of[i])
			s = s ".TP\n\\fB" code(page[i]) "\\fP(1)\n" inline(does[of[i]]) "\n"
	clear(section)
	section["COMMANDS"] = s
	extras = add_prose(prose_dir "/jobstack.md", section, extra, 0)
	add_prose(prose_dir "/common.md", section, none, 1)
	emit(out_dir "/jobstack.1", top, section, extra, extras, "jobstack")
}

function concepts_page(    section, extra, extras) {
	clear(section)
	extras = add_prose(prose_dir "/jobstack.7.md", section, extra, 0)
	emit(out_dir "/jobstack.7", head("jobstack", 7, "stacks, entries, attempts: how jobstack sees a run"), section, extra,
		extras, "")
}

END {
	if (pages == 0 || version == "") {
		print "man.awk: no commands in the specification" >"/dev/stderr"
		exit 1
	}
	for (p = 1; p <= pages; p++)
		command_page(p)
	main_page()
	concepts_page()
}
