/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ten findings as JSON, and as text that is made of it.  Each has a line with its numbers, in their order.
 */
#include "show/report_io.h"

#include "show/amount.h"
#include "show/json.h"
#include "show/report.h"
#include "show/term.h"
#include "show/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The words of each finding.  In VALUE, each % stands for the next number of the finding: %n a count, %p a share, %t
 * seconds, %s bytes, %f a number, %r one that is not negative; %m for the next file system's name. */
static const struct words {
	const char *title, *value, *meaning, *advice;
} words[FIGURES_FINDINGS] = {
	{"read-heavy, write-heavy, or both",
	 "of %n attempts %p read-heavy, %p write-heavy, %p both; of the files %p, %p, %p",
	 "A read-heavy attempt reads at least three times as many bytes as it writes, in all files together. A file "
	 "counts with the sum of its attempts.",
	 "Keep what is read often on node-local or fast storage; collect small results before they are written."},
	{"only reading or only writing", "%p of the attempts only read, %p only wrote",
	 "Only means that |R-W|/(R+W) is at least 0.9.",
	 "A command that does one thing only can be tuned for it: large reads, or large writes. Others may be split."},
	{"time between runs on the same file", "%n intervals: half are under %t, 90 % under %t",
	 "From the start of a run that was done to the start of the next one. A file's data is idle meanwhile.",
	 "If it is idle for days, move it to cheaper storage and stage it in again; if for minutes, keep it cached."},
	{"runs of the same kind in a row", "reading: %r on average; writing: %r",
	 "How often a file's runs mostly read before one mostly writes, and the other way round.",
	 "Long rows of reading runs gain from a copy close to the nodes; make it after the last writing run."},
	{"files that several stacks process",
	 "%p of the files; %p were processed by a writing, then by a reading stack",
	 "A stack that writes, followed by another one that reads, may be a producer and its consumer.",
	 "Run the consumer soon after the producer, on the same nodes or storage; `jobstack history FILE` shows both."},
	{"bytes of an attempt", "reading: median %s, 95 % up to %s; writing: median %s, 95 % up to %s",
	 "What read-heavy attempts read, and what write-heavy ones wrote.",
	 "These are the sizes to plan for: the bandwidth is this, times the slots, divided by the time of an attempt."},
	{"bytes by file system", "%n file systems: least %s (%m), most %s (%m)",
	 "By the file system of the datapath, with all that the attempts read and wrote, wherever.",
	 "If the one that is used most is also the slow one, put some of the files on another."},
	{"spread among attempts at the same time", "%n groups: times vary by %p; over all attempts by %p",
	 "Standard deviation divided by the mean, for attempts that began while the first of their group ran.",
	 "As large as over all attempts: files or nodes differ. Much smaller: the load changes with time, or a few "
	 "attempts took extremely long (see the slowest)."},
	{"time by hour of the day",
	 "%n h: mean %t (least); %n h: mean %t (most); within an hour it varies by %p; correlation %f",
	 "By the hour of the start, UTC. The correlation of an hour's mean with its variation is from -1 to 1.",
	 "Start large runs in the fast hours. Near 1: slow hours are also unpredictable, so give more time in them."},
	{"variation on the same file", "%n files: bytes vary by %p, time by %p",
	 "Standard deviation divided by the mean, for the done runs on a file; the median over the files.",
	 "If only the time varies, the storage or the node is the cause, not the file: allow for it in --timeout."},
};

/* Words a number as its KIND says, the letter behind % in the table above. */
static struct show_amount word_number(char kind, double value)
{
	struct show_amount a = {"none"};

	if (value < 0 && kind != 'f')
		return a;
	switch (kind) {
	case 'p': return show_percent(value);
	case 't': return show_took(value * 1e6);
	case 's': return show_size(value);
	default: (void)snprintf(a.text, sizeof(a.text), kind == 'n' ? "%.0f" : "%.2f", value);
	}
	return a;
}

/* Words the numbers of finding I: a part of the sentence, up to a semicolon, in which a number is unknown becomes "no
 * such attempts" behind its colon. */
static void word_finding(const struct figures_io *io, size_t i, struct js_buf *out)
{
	const struct figures_finding *f = &io->finding[i];
	size_t n = 0, mounts = 0, part = 0;
	int unknown = 0;

	for (const char *p = words[i].value;; p++) {
		if ((*p == ';' || *p == '\0') && unknown && part > 0) { /* "reading: none" */
			out->len = part;
			js_buf_str(out, "no such attempts");
		}
		if (*p == '\0')
			return;
		if (*p == ';')
			part = (size_t)(unknown = 0);
		if (*p == '%' && p[1] == 'm' && mounts < 2) {
			show_safe(out, io->mount[mounts], strlen(io->mount[mounts]));
			mounts++;
			p++;
		} else if (*p == '%' && p[1] != ' ' && n < f->n) {
			unknown |= f->number[n].value < 0 && p[1] != 'f';
			js_buf_str(out, word_number(*++p, f->number[n++].value).text);
		} else
			js_buf_char(out, *p);
		if (*p == ' ' && p > words[i].value && p[-1] == ':')
			part = out->len;
	}
}

/* Appends a finding: its title, what it is here, what that means, and what to do; or why it does not apply. */
static void add_finding_text(const json_t *f, unsigned columns, int colours, struct js_buf *out)
{
	const char *why = show_get_text(f, "not_applicable");
	struct js_buf line = {0};

	js_buf_printf(&line, "%2.0f %s", show_get_number(f, "finding"), show_get_text(f, "title"));
	show_paint(out, colours, SHOW_BOLD, line.data != NULL ? line.data : "");
	js_buf_reset(&line);
	if (*why != '\0')
		js_buf_printf(&line, "not applicable: %s", why);
	else
		js_buf_printf(&line, "%s\nmeaning: %s\nadvice: %s", show_get_text(f, "value"),
			      show_get_text(f, "meaning"), show_get_text(f, "advice"));
	js_buf_char(out, '\n');
	show_wrap(out, line.data != NULL ? line.data : "", columns);
	js_buf_str(out, "\n\n");
	out->failed |= line.failed;
	js_buf_free(&line);
}

void show_io_text(const json_t *io, unsigned columns, int colours, struct js_buf *out)
{
	const json_t *findings = json_object_get(io, "findings"), *intervals = json_object_get(io, "intervals");

	columns = columns == 0 ? 80 : columns;
	for (size_t i = 0; i < json_array_size(findings); i++)
		add_finding_text(json_array_get(findings, i), columns, colours, out);
	if (show_get_number(io, "interval_count") > 1) {
		show_paint(out, colours, SHOW_BOLD, "time between runs on the same file");
		js_buf_char(out, '\n');
		show_histogram_text(intervals, columns, out);
		js_buf_char(out, '\n');
	}
	js_buf_printf(out, "findings 3, 4, 5, 8, 10, and the files of 1: from %.0f files (%s of all)\n",
		      show_get_number(io, "files"), show_percent(show_get_number(io, "share_of_files")).text);
}

/* Of a finding that does not apply, numbers and value are null. */
json_t *show_io_json(const struct figures_io *io)
{
	json_t *findings = json_array();

	for (size_t i = 0; i < FIGURES_FINDINGS; i++) {
		const struct figures_finding *f = &io->finding[i];
		json_t *numbers = f->why == NULL ? json_object() : json_null();
		struct js_buf value = {0};

		for (size_t n = 0; n < f->n && f->why == NULL; n++)
			SHOW_SET(numbers,
				 KEY_REAL(f->number[n].name, f->number[n].value,
					  f->number[n].value >= 0 || strcmp(f->number[n].name, "correlation") == 0));
		if (f->why == NULL)
			word_finding(io, i, &value);
		SHOW_APPEND(findings, KEY_COUNT("finding", i + 1), KEY_TEXT("title", words[i].title),
			    show_said_member("value", &value), KEY_TEXT("meaning", words[i].meaning),
			    KEY_TEXT("advice", words[i].advice), KEY_TEXT("not_applicable", f->why),
			    KEY_JSON("numbers", numbers));
	}
	return SHOW_OBJECT(KEY_JSON("findings", findings), KEY_COUNT("files", io->files),
			   KEY_REAL("share_of_files", io->share, 1), KEY_COUNT("interval_count", io->gaps_us.n),
			   KEY_JSON("intervals", show_histogram_json(&io->gaps_us)));
}
