# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f roff.awk -f man.awk -v prose_dir=docs/man -v out_dir=DIR -v date=YYYY-MM-DD SPEC
#
# Manual pages of section 1 and jobstack.7, of each command in SPEC (the output of `jobstack --spec`).
#
# docs/man/NAME.md is the text of a page: what stands before its first section is the DESCRIPTION.  Its section OPTIONS
# extends the options of the table: "## --NAME" begins what is added to that option, and text before the first of these
# stands above all options.  A command without such a file gets the texts of its --help.  What docs/man/common.md has
# ends the sections of the same names in each page.  Prints the pages' names.

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
$1 == "group" {
	group = $2
	if (!(group in group_known)) {
		group_known[group] = 1
		heading[++groups] = group
	}
}
$1 == "command" { does[$2] = $3; current = $2; group_of[$2] = group }
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

# The options of the table, each with what the page adds to it (MORE[name]), below INTRO.
function options_of(p, intro, more,    i, out, text) {
	out = intro == "" ? "" : roff_text(intro, 0)
	for (i = 1; i <= options[p]; i++) {
		text = help[p, i]
		gsub(/\n/, " ", text)
		if (text !~ /^[a-z]+(,| \(default\))/) # else it begins with a value
			text = toupper(substr(text, 1, 1)) substr(text, 2)
		out = out ".TP\n" option_head(p, i) "\n" inline(text ".") "\n"
		if (name[p, i] in more) {
			out = out ".IP\n" roff_text(more[name[p, i]], 1)
			delete more[name[p, i]]
		}
	}
	for (i in more)
		fail(page[p] ".md adds to the option --" i ", which is not there")
	return out
}

# Splits the text of a page's section OPTIONS.  Returns what stands before the first option.
function split_options(text, more,    line, n, i, now, intro) {
	clear(more)
	now = intro = ""
	n = split(text, line, "\n")
	for (i = 1; i <= n; i++) {
		if (line[i] ~ /^## --/)
			now = substr(line[i], 6)
		else if (now == "")
			intro = intro (intro == "" ? "" : "\n") line[i]
		else if (now in more || line[i] != "")
			more[now] = more[now] (more[now] == "" ? "" : "\n") line[i]
	}
	return intro
}

function fail(what) {
	print "man.awk: " what >"/dev/stderr"
	failed = 1
}

# Only lines that stand as they are: examples.
function all_literal(text,    line, n, i) {
	n = split(text, line, "\n")
	for (i = 1; i <= n; i++)
		if (line[i] != "" && line[i] !~ /^  /)
			return 0
	return 1
}

# SEE ALSO: the first paragraph of the page's text names pages, and two are added that belong to all.
function see_also(me, text,    at, more) {
	at = index(text, "\n\n")
	more = at > 0 ? substr(text, at + 2) : ""
	if (at > 0)
		text = substr(text, 1, at - 1)
	if (me != "jobstack")
		text = text (text == "" ? "" : ", ") "jobstack(1)" (me == "" ? "" : ", jobstack(7)")
	return roff_text(text, 0) (more == "" ? "" : ".PP\n" roff_text(more, 0))
}

# The sections in their order.  SECTION[name] is roff already.
function emit(file, top, section, extra, extras, me, also,    i, order, n) {
	printf "%s", top >file
	n = split("DESCRIPTION|COMMANDS|OPTIONS|NOTES|*|EXAMPLES|EXIT STATUS|ENVIRONMENT|FILES|BUGS", order, "|")
	for (i = 1; i <= n; i++) {
		if (order[i] == "*")
			emit_extra(file, section, extra, extras)
		else if (section[order[i]] != "") {
			printf ".SH %s\n%s", order[i], section[order[i]] >file
			section[order[i]] = ""
		}
	}
	printf ".SH SEE ALSO\n%s", see_also(me, also) >file
	close(file)
	print file
}

function emit_extra(file, section, extra, extras,    i) {
	for (i = 1; i <= extras; i++)
		if (section[extra[i]] != "" && extra[i] !~ /^(EXAMPLES|EXIT STATUS|ENVIRONMENT|FILES|BUGS|DESCRIPTION|OPTIONS|NOTES|COMMANDS|SEE ALSO)$/) {
			printf ".SH %s\n%s", extra[i], section[extra[i]] >file
			section[extra[i]] = ""
		}
}

# Reads FILE into SECTION, as roff; its titles into EXTRA, its OPTIONS and SEE ALSO as they are into PART.  Returns how
# many sections there are; 0: there is no such file.
function add_prose(file, section, extra, part,    text, t, n, i) {
	n = prose(file, text, t)
	for (i = 1; i <= n; i++) {
		extra[i] = t[i]
		if (t[i] == "OPTIONS" || t[i] == "SEE ALSO")
			part[t[i]] = text[t[i]]
		section[t[i]] = section[t[i]] (section[t[i]] != "" && text[t[i]] !~ /^[^\n]*\n: / ? ".PP\n" : "") \
			roff_text(text[t[i]], 0)
	}
	return n
}

function clear(array,    i) {
	for (i in array)
		delete array[i]
}

function command_page(p,    section, extra, extras, part, more, top, d, none, ignored, intro) {
	clear(section)
	clear(part)
	d = does[of[p]]
	if (title[p] != "jobstack " of[p] && title[p] != of[p]) { # a verb with a table of its own
		d = about[p]
		sub(/[.\n].*/, "", d)
		d = tolower(substr(d, 1, 1)) substr(d, 2)
	}
	top = head(page[p], 1, d) ".SH SYNOPSIS\n\\fB" code(title[p]) "\\fP " code(usage[p]) "\n"
	extras = add_prose(prose_dir "/" page[p] ".md", section, extra, part)
	if (extras == 0) {
		section["DESCRIPTION"] = roff_text(about[p], 0)
		section[all_literal(notes[p]) ? "EXAMPLES" : "NOTES"] = roff_text(notes[p], 0)
	}
	add_prose(prose_dir "/common.md", section, none, ignored)
	intro = split_options(part["OPTIONS"], more)
	section["OPTIONS"] = options_of(p, intro, more)
	emit(out_dir "/" page[p] ".1", top, section, extra, extras, page[p], part["SEE ALSO"])
}

# The commands, below the headings that `jobstack --help` has.
function command_list(    g, i, s) {
	s = ""
	for (g = 1; g <= groups; g++) {
		s = s ".SS " inline(toupper(substr(heading[g], 1, 1)) substr(heading[g], 2)) "\n"
		for (i = 1; i <= pages; i++)
			if (group_of[of[i]] == heading[g] && (title[i] == "jobstack " of[i] || title[i] == of[i]))
				s = s ".TP\n" inline(page[i] "(1)") "\n" inline(does[of[i]]) "\n"
	}
	return s
}

function main_page(    section, extra, extras, part, top) {
	top = head("jobstack", 1, "run a command on each file of a list that is kept in MySQL or MariaDB") ".SH SYNOPSIS\n" \
		"\\fBjobstack\\fP \\fICOMMAND\\fP [OPTIONS]\n.br\n\\fBjobstack\\fP \\-\\-help | \\-\\-version\n"
	clear(section)
	clear(part)
	section["COMMANDS"] = command_list()
	extras = add_prose(prose_dir "/jobstack.md", section, extra, part)
	emit(out_dir "/jobstack.1", top, section, extra, extras, "jobstack", part["SEE ALSO"])
}

function concepts_page(    section, extra, extras, part) {
	clear(section)
	clear(part)
	extras = add_prose(prose_dir "/jobstack.7.md", section, extra, part)
	emit(out_dir "/jobstack.7", head("jobstack", 7, "stacks, entries and attempts: the words and promises of jobstack"),
		section, extra, extras, "", part["SEE ALSO"])
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
	exit failed
}
