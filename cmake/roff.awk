# SPDX-License-Identifier: BSD-2-Clause
#
# What the makers of manual pages share: text, as it stands in --help and in docs/man, becomes roff in the man macros.
# Plain awk (mawk, gawk, busybox 1.35).  Promises: no byte of the text is taken for a request or an escape; `code` is bold.
#
# A text is lines: a blank line ends a paragraph; one that begins with two blanks or a tab stands as it is; "- " begins an item
# of a list; ": " explains the line above it; "# " is a section's title, "## " one below it.

# A word that is typed: every hyphen is a minus.
function code(s) {
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	gsub(/\^/, "\\(ha", s)
	gsub(/~/, "\\(ti", s)
	gsub(/`/, "\\(ga", s)
	gsub(/'/, "\\(aq", s)
	return s
}

# Text outside of code: only what looks like an option has its hyphens kept.
function plain(s,    out, at) {
	gsub(/\\/, "\\e", s)
	gsub(/~/, "\\(ti", s)
	gsub(/\^/, "\\(ha", s)
	gsub(/'/, "\\(aq", s)
	out = ""
	while (match(s, /(^|[ (\[|"=])--?[A-Za-z0-9]/)) {
		at = substr(s, RSTART, RLENGTH)
		gsub(/-/, "\\-", at)
		out = out substr(s, 1, RSTART - 1) at
		s = substr(s, RSTART + RLENGTH)
		if (match(s, /^[A-Za-z0-9-]+/)) {
			at = substr(s, 1, RLENGTH)
			gsub(/-/, "\\-", at)
			out = out at
			s = substr(s, RLENGTH + 1)
		}
	}
	return out s
}

# Text outside of code, with the names of manual pages, as in jobstack-push(1), in bold.
function references(s,    out, at, end) {
	out = ""
	while (match(s, /[A-Za-z][A-Za-z0-9_.-]*\([1-8]\)/)) {
		at = RSTART # plain() changes it
		end = RSTART + RLENGTH
		out = out plain(substr(s, 1, at - 1)) "\\fB" code(substr(s, at, end - at - 3)) "\\fP" substr(s, end - 3, 3)
		s = substr(s, end)
	}
	return out plain(s)
}

# A line of text with `code` in it.
function inline(s,    part, n, i, out) {
	n = split(s, part, "`")
	if (n % 2 == 0) # one is no pair: it stands for itself
		return guard(references(s))
	out = ""
	for (i = 1; i <= n; i++)
		out = out (i % 2 ? references(part[i]) : "\\fB" code(part[i]) "\\fP")
	return guard(out)
}

function guard(s) {
	return s ~ /^[.']/ ? "\\&" s : s
}

# Lines of text (LINE[1..N]) as roff; BELOW: paragraphs inside an item are indented by .IP, not begun by .PP.
function roff(line, n, below,    i, out, literal, fresh, begun, s, para) {
	out = ""
	literal = 0
	fresh = 1 # nothing of this paragraph is there yet
	begun = 0 # something came before
	para = below ? ".IP\n" : ".PP\n"
	for (i = 1; i <= n; i++) {
		s = line[i]
		sub(/[ \t]+$/, "", s)
		if (s ~ /^(  |\t)/ && (literal || fresh || !item)) {
			if (!literal)
				out = out ".RS 4\n" (begun ? ".PP\n" : "") ".nf\n"
			literal = 1
			begun = 1
			sub(/^(    |\t|  )/, "", s)
			s = code(s)
			out = out guard(s) "\n"
			continue
		}
		if (literal && s == "" && i < n && line[i + 1] ~ /^(  |\t)/) {
			out = out "\n"
			continue
		}
		if (literal) {
			out = out ".fi\n.RE\n"
			literal = 0
			fresh = 1
			item = 0
		}
		if (s == "") {
			fresh = 1
			item = 0
		} else if (s ~ /^## /) {
			out = out ".SS " inline(substr(s, 4)) "\n"
			fresh = 1
			begun = 0
		} else if (s ~ /^- /) {
			out = out ".IP \\(bu 2\n" inline(substr(s, 3)) "\n"
			fresh = 0
			begun = item = 1
		} else if (i < n && line[i + 1] ~ /^: /) {
			out = out ".TP\n" inline(s) "\n" inline(substr(line[i + 1], 3)) "\n"
			i++
			fresh = 0
			begun = item = 1
		} else {
			if (fresh && begun)
				out = out para
			sub(/^[ \t]+/, "", s)
			out = out inline(s) "\n"
			fresh = 0
			begun = 1
		}
	}
	item = 0
	return out (literal ? ".fi\n.RE\n" : "")
}

function roff_text(text, below,    line, n) {
	n = split(text, line, "\n")
	return roff(line, n, below)
}

function head(name, section, does) {
	return ".\\\" Made by the build: see docs/man.\n.TH " toupper(code(name)) " " section " \"" date "\" \"jobstack " \
		version "\" \"jobstack\"\n.SH NAME\n" code(name) " \\- " plain(does) "\n"
}

# Reads prose: TEXT[title] gets the text of each section, TITLE[1..] the titles in order, in which what comes before the
# first is DESCRIPTION.  Returns how many; 0: there is no such file.
function prose(file, text, title,    s, n, now, comment) {
	for (s in text)
		delete text[s]
	n = 0
	now = "DESCRIPTION"
	while ((getline s <file) > 0) {
		if (s ~ /^<!--/)
			continue
		if (s ~ /^# /) {
			now = substr(s, 3)
			continue
		}
		if (!(now in text)) {
			if (s == "")
				continue
			title[++n] = now
			text[now] = s
		} else
			text[now] = text[now] "\n" s
	}
	close(file)
	return n
}
