# SPDX-License-Identifier: BSD-2-Clause
#
# awk -f roff.awk -f api.awk -v prose_dir=docs/man -v out_dir=DIR -v date=YYYY-MM-DD -v version=X jobstack.h PART.h...
#
# libjobstack.3: the public headers, section by section: each declaration, and below it the comment that stands above it.
# What comes before and after is docs/man/libjobstack.3.md.  Prints the page's name.
#
# A block is what stands between two blank lines; a comment at its head is its explanation, the rest is code.

function flush_block(    text, code_text, i, s, body, in_comment, n) {
	n = lines
	lines = 0
	if (n == 0)
		return
	i = 1
	body = text = ""
	for (; i <= n; i++)
		if (block[i] ~ /^#define JOBSTACK_BEGIN/)
			return
	i = 1
	if (block[1] ~ /^\/\* -+ .* \*\/$/) {
		s = block[1]
		sub(/^\/\* -+ /, "", s)
		sub(/ \*\/$/, "", s)
		out = out ".SS " toupper(substr(s, 1, 1)) inline(substr(s, 2)) "\n"
		begun = 0
		return
	}
	if (block[1] ~ /^\/\*/) {
		for (; i <= n; i++) {
			s = block[i]
			in_comment = s !~ /\*\//
			sub(/[ \t]*\*\/.*$/, "", s)
			sub(/^[ \t]*\/?\*+ ?/, "", s)
			text = text (text == "" ? "" : "\n") s
			if (!in_comment)
				break
		}
		i++
	}
	for (; i <= n; i++) {
		s = block[i]
		if (s ~ /^#(if|endif|pragma|include)/ || s ~ /^extern "C"/ || s == "}" || s ~ /^#define JOBSTACK_[A-Z]+_H$/ || s ~ /^JOBSTACK_(BEGIN|END)$/)
			continue
		body = body guard(code(expand(s))) "\n"
	}
	if (body == "" && text == "")
		return
	if (body == "") { # a comment alone: the one at the head of the file, and notes
		if (description != "" && text ~ /^SPDX/)
			return
		if (description == "") {
			sub(/^SPDX[^\n]*\n\n?/, "", text)
			sub(/^libjobstack:[^\n]*\n\n?/, "", text)
			description = roff_text(text, 0)
		} else
			out = out ".PP\n" roff_text(text, 0)
		return
	}
	out = out (begun ? ".PP\n" : "") ".nf\n" body ".fi\n"
	begun = 1
	if (text != "")
		out = out ".RS 4\n" roff_text(text, 0) ".RE\n"
}

# Tabs as blanks: four for one that indents, so that the lines are short; others to the next multiple of eight, so that
# what is aligned stays so.
function expand(s,    i, c, n, column, out, text) {
	out = ""
	column = text = 0
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		n = c == "\t" ? 8 - column % 8 : 1
		if (c != "\t")
			text = 1
		out = out (c != "\t" ? c : sprintf("%" (text ? n : 4) "s", ""))
		column += n
	}
	return out
}

/^\/\* clang-format (on|off) \*\/$/ { next }

{
	if ($0 ~ /^[ \t]*$/ && depth == 0 && !inside) {
		flush_block()
		next
	}
	# a declaration after which another comment begins ends its block
	if (depth == 0 && !inside && $0 ~ /^\/\*/ && lines > 0)
		flush_block()
	block[++lines] = $0
	s = $0
	if (inside) {
		if (s ~ /\*\//)
			inside = 0
		next
	}
	if (s ~ /^[ \t]*\/\*/ && s !~ /\*\//) {
		inside = 1
		next
	}
	if (s ~ /\/\*/ && s !~ /\*\//)
		inside = 1
	gsub(/\/\*.*\*\//, "", s)
	gsub(/\/\*.*/, "", s)
	if (s !~ /^#/ && s !~ /extern "C"/) {
		depth += gsub(/[{]/, "{", s)
		depth -= gsub(/[}]/, "}", s)
		if (depth < 0)
			depth = 0
	}
}

END {
	flush_block()
	if (out == "" || description == "") {
		print "api.awk: this is not the public header" >"/dev/stderr"
		exit 1
	}
	file = out_dir "/libjobstack.3"
	n = prose(prose_dir "/libjobstack.3.md", text, title)
	printf "%s", head("libjobstack", 3, "a durable queue of files, kept in MySQL or MariaDB") >file
	printf ".SH SYNOPSIS\n%s", roff_text(text["SYNOPSIS"], 0) >file
	printf ".SH DESCRIPTION\n%s.PP\n%s", roff_text(text["DESCRIPTION"], 0), description >file
	printf ".SH API\n%s", out >file
	for (i = 1; i <= n; i++)
		if (title[i] != "SYNOPSIS" && title[i] != "DESCRIPTION")
			printf ".SH %s\n%s", title[i], roff_text(text[title[i]], 0) >file
	printf ".SH SEE ALSO\n\\fBjobstack\\fP(1), \\fBjobstack\\-worker\\fP(1), \\fBjobstack\\fP(7)\n" >file
	close(file)
	print file
}
