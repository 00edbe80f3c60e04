/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The report for people, on a terminal or in a mail.  Promise: it shows nothing but what the JSON has.
 */
#include "show/report.h"

#include "show/json.h"
#include "show/rows.h"
#include "show/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 80
#define NODES 40 /* nodes that are listed; the others are added up */

#define CV_MEANS "CV: standard deviation divided by mean"

/* The report, where its text goes, and the width of what is wrapped; the page's width is that of tables, 0: names are
 * not cut. */
struct text {
	const json_t *r;
	struct js_buf *out;
	unsigned columns;
	struct show_page page;
};

/* Begins a section; the rest of the heading's line is the caller's. */
static void add_heading(const struct text *t, const char *words)
{
	js_buf_char(t->out, '\n');
	show_paint(t->out, t->page.colours, SHOW_BOLD, words);
}

/* Begins a line of the head or of the resources: its NAME, and blanks up to the column of the values. */
static void begin_report_line(const struct text *t, const char *name)
{
	js_buf_printf(t->out, "  %-11s", name);
}

/* Returns a number of seconds in the object O as text. */
static struct show_amount took_text(const json_t *o, const char *key)
{
	return show_number(SHOW_TOOK, show_get_number(o, key));
}

/* ----------------------------------------------------------------------------------------------- who, when, what */

/* Appends ": 37 done, 3 dead" of entries or attempts, without those that are 0. */
static void add_counts(const struct text *t, const json_t *o, int coloured)
{
	static const struct {
		const char *key;
		enum show_colour colour;
	} count[] = {{"done", SHOW_GREEN},	  {"failed", SHOW_PLAIN},  {"lost", SHOW_PLAIN},
		     {"interrupted", SHOW_PLAIN}, {"dead", SHOW_RED},	   {"running", SHOW_PLAIN},
		     {"ready", SHOW_PLAIN},	  {"waiting", SHOW_PLAIN}, {"held", SHOW_PLAIN},
		     {"cancelled", SHOW_YELLOW},  {"moved", SHOW_PLAIN},   {"pruned", SHOW_PLAIN}};
	const char *before = ": ";
	char words[64];

	for (size_t i = 0; i < sizeof(count) / sizeof(count[0]); i++) {
		if (show_get_number(o, count[i].key) <= 0)
			continue;
		(void)snprintf(words, sizeof(words), "%.0f %s", show_get_number(o, count[i].key), count[i].key);
		js_buf_str(t->out, before);
		show_paint(t->out, t->page.colours && coloured, count[i].colour, words);
		before = ", ";
	}
}

/* Appends "  attempts   41: 37 done, 4 failed; of 40 entries". */
static void add_attempts_line(const struct text *t)
{
	const json_t *attempts = json_object_get(t->r, "attempts");
	double n = show_get_number(attempts, "entries");

	begin_report_line(t, "attempts");
	js_buf_printf(t->out, "%.0f", show_get_number(attempts, "all"));
	add_counts(t, attempts, 0);
	js_buf_printf(t->out, "; of %.0f %s\n", n, n == 1 ? "entry" : "entries");
}

/* Appends "  users      ann, bob and others", if any is known, and when the attempts ran. */
static void add_users_and_time(const struct text *t)
{
	const json_t *users = json_object_get(t->r, "users");

	if (json_array_size(users) > 0)
		begin_report_line(t, "users");
	for (size_t i = 0; i < json_array_size(users); i++) {
		js_buf_str(t->out, i > 0 ? ", " : "");
		show_get_name(json_array_get(users, i), "user", t->out);
	}
	if (json_array_size(users) > 0)
		js_buf_str(t->out, json_is_true(json_object_get(t->r, "more_users")) ? " and others\n" : "\n");
	begin_report_line(t, "time");
	js_buf_printf(t->out, "%s to %s UTC (%s)\n", show_start(t->r, "from").text, show_start(t->r, "to").text,
		      took_text(t->r, "seconds").text);
}

/* Appends what is there even if nothing has run: the stack and its state, what --share leaves out, how many entries are
 * in which state, and why nobody works, if nobody does. */
static void add_report_head(const struct text *t)
{
	const json_t *entries = json_object_get(t->r, "entries");
	const char *left_out = show_get_text(t->r, "left_out_words"), *idle = show_get_text(t->r, "idle");
	struct js_buf title = {0};

	js_buf_printf(&title, "%s (%s)%s", show_get_text(t->r, "stack"), show_get_text(t->r, "state"),
		      json_is_true(json_object_get(t->r, "so_far")) ? ", so far" : "");
	show_paint(t->out, t->page.colours, SHOW_BOLD, title.data != NULL ? title.data : "");
	js_buf_free(&title);
	js_buf_char(t->out, '\n');
	if (*left_out != '\0')
		js_buf_printf(t->out, "  %s\n", left_out);
	begin_report_line(t, "entries");
	js_buf_printf(t->out, "%.0f", show_get_number(entries, "pushed"));
	add_counts(t, entries, 1);
	js_buf_char(t->out, '\n');
	if (*idle != '\0') {
		begin_report_line(t, "workers");
		js_buf_printf(t->out, "%s\n", idle);
	}
}

/* Appends the points of the verdict, each a line, or more on a narrow terminal: "Slowest: entry 17 took 3 min on n4."
 */
static void add_points(const struct text *t)
{
	const json_t *points = json_object_get(json_object_get(t->r, "verdict"), "points");
	struct js_buf line = {0};

	js_buf_char(t->out, '\n');
	for (size_t i = 0; i < json_array_size(points); i++) {
		const json_t *one = json_array_get(points, i);

		js_buf_reset(&line);
		js_buf_printf(&line, "%s: %s", show_get_text(one, "head"), show_get_text(one, "text"));
		show_wrap(t->out, line.data != NULL ? line.data : "", t->columns);
		js_buf_char(t->out, '\n');
	}
	js_buf_free(&line);
}

/* ------------------------------------------------------------------------------------------------------- figures */

void show_histogram_text(const json_t *histogram, unsigned columns, struct js_buf *out)
{
	unsigned width = columns > 60 ? columns - 40 : columns > 40 ? 20 : 8;
	double most = show_largest(histogram, "done"), n;
	int begun = 0;

	for (size_t i = 0; i < json_array_size(histogram); i++) {
		const json_t *bar = json_array_get(histogram, i);

		n = show_get_number(bar, "done");
		begun |= n > 0;
		if (!begun)
			continue;
		js_buf_printf(out, "  from %-12s%9.0f%s", took_text(bar, "from").text, n, n > 0 ? "  " : "");
		show_bar(out, width, n, most);
		js_buf_char(out, '\n');
	}
}

/* Appends quantiles and histogram of how long done entries took.  Of a single one there is only its time. */
static void add_durations(const struct text *t)
{
	const json_t *d = json_object_get(t->r, "durations");
	double n = show_get_number(d, "done");

	if (n == 0)
		return;
	add_heading(t, "how long the entries took");
	js_buf_printf(t->out, " (%.0f done)\n  ", n);
	if (n > 1)
		js_buf_printf(t->out, "p50 %s, p90 %s, p99 %s, longest %s, mean ", took_text(d, "p50").text,
			      took_text(d, "p90").text, took_text(d, "p99").text, took_text(d, "max").text);
	js_buf_printf(t->out, "%s\n", took_text(d, "mean").text);
	if (n > 1)
		show_histogram_text(json_object_get(d, "histogram"), t->columns, t->out);
}

/* The tables.  Each is shown if its list has at least LEAST objects, of which MOST are listed (0: all).  Behind the
 * heading stands NOTE. */
#define TABLE_COLUMNS 8
struct table {
	const char *list, *heading, *note;
	size_t least, most;
	struct show_row_column column[TABLE_COLUMNS];
};
#define SPREAD                                                                                                         \
	{{"MEAN", 1, 4, 0}, "mean", SHOW_TOOK}, {{"CV", 1, 3, 0}, "time_cv", SHOW_RATIO},                              \
		{{"BYTES/S", 1, 2, 0}, "bytes_per_second", SHOW_SIZE},                                                 \
	{                                                                                                              \
		{"CV", 1, 1, 0}, "bytes_cv", SHOW_RATIO                                                                \
	}
#define FACT(name)                                                                                                     \
	{{name, 0, 0, 12}, "name", SHOW_NAME}, {{"ATTEMPTS", 1, 0, 0}, "attempts", SHOW_COUNT},                        \
		{{"NOT DONE", 1, 5, 0}, "not_done", SHOW_FAULTS}, {{"TOTAL TIME", 1, 6, 0}, "seconds", SHOW_TOOK},     \
		SPREAD

static const struct table over_time = {"throughput",
				       "over time",
				       "",
				       2,
				       0,
				       {{{"FROM", 0, 0, 0}, "from", SHOW_START},
					{{"DONE", 1, 0, 0}, "done", SHOW_COUNT},
					{{"NOT DONE", 1, 6, 0}, "not_done", SHOW_FAULTS},
					{{"RUNNING", 1, 5, 0}, "running", SHOW_TENTHS},
					{{"LEFT", 1, 3, 0}, "left", SHOW_COUNT},
					{{"WORKERS", 1, 4, 0}, "workers", SHOW_TENTHS},
					{{"", 0, 1, 0}, "done", SHOW_BAR}}};
static const struct table nodes = {"nodes",
				   "nodes",
				   " (MEAN of done entries; SLOTS per worker; BUSY: average commands at once)\n",
				   1,
				   NODES,
				   {{{"NODE", 0, 0, 8}, "node", SHOW_NAME},
				    {{"ATTEMPTS", 1, 0, 0}, "attempts", SHOW_COUNT},
				    {{"FAILED", 1, 5, 0}, "failed", SHOW_FAULTS},
				    {{"LOST", 1, 3, 0}, "lost", SHOW_FAULTS},
				    {{"INTERRUPTED", 1, 1, 0}, "interrupted", SHOW_COUNT},
				    {{"MEAN", 1, 4, 0}, "mean_done", SHOW_TOOK},
				    {{"SLOTS", 1, 2, 0}, "slots", SHOW_NUMBER},
				    {{"BUSY", 1, 2, 0}, "busy", SHOW_TENTHS}}};
static const struct table hours = {
	"hours",
	"hours of the day",
	" (UTC, by start; " CV_MEANS ")\n",
	2,
	0,
	{{{"HOUR", 0, 0, 0}, "hour", SHOW_HOUR}, {{"DONE", 1, 0, 0}, "done", SHOW_COUNT}, SPREAD}};
static const struct table file_systems = {"file_systems",	"file systems", " (" CV_MEANS ")\n", 2, 0,
					  {FACT("FILE SYSTEM")}};
static const struct table programs = {"programs",	"programs and their versions", " (" CV_MEANS ")\n", 2, 0,
				      {FACT("VERSION")}};
static const struct table slowest = {"slowest",
				     "slowest\n",
				     "",
				     2,
				     0,
				     {{{"TOOK", 1, 0, 0}, "seconds", SHOW_TOOK},
				      {{"ENTRY", 1, 0, 0}, "entry", SHOW_COUNT},
				      {{"OUTCOME", 0, 2, 0}, "outcome", SHOW_OUTCOME},
				      {{"NODE", 0, 1, 8}, "node", SHOW_NAME},
				      {{"DATAPATH", 0, 0, 12}, "datapath", SHOW_NAME}}};
static const struct table causes = {"causes",
				    "wasted: ",
				    "",
				    1,
				    0,
				    {{{"CAUSE", 0, 0, 10}, "how", SHOW_NAME},
				     {{"ATTEMPTS", 1, 0, 0}, "attempts", SHOW_COUNT},
				     {{"TIME", 1, 0, 0}, "seconds", SHOW_TOOK},
				     {{"SHARE", 1, 1, 0}, "share", SHOW_SHARE}}};
static const struct table packages = {"packages",
				      "Python packages\n",
				      "",
				      1,
				      0,
				      {{{"PACKAGE", 0, 0, 10}, "package", SHOW_NAME},
				       {{"VERSION", 0, 1, 0}, "version", SHOW_NAME},
				       {{"ATTEMPTS", 1, 0, 0}, "attempts", SHOW_COUNT},
				       {{"NODES", 1, 1, 0}, "nodes", SHOW_COUNT}}};

/* Begins TABLE, which is in FROM, if it is to be shown.  Then returns its list, else NULL. */
static const json_t *begin_table(const struct text *t, const json_t *from, const struct table *table)
{
	const json_t *list = json_object_get(from, table->list);

	if (json_array_size(list) < table->least)
		return NULL;
	add_heading(t, table->heading);
	js_buf_str(t->out, table->note);
	return list;
}

/* Appends the rows of a table that begin_table has begun.  The columns end with the first without a key. */
static void write_table(const struct text *t, const json_t *list, const struct table *table)
{
	size_t n = 0;

	while (n < TABLE_COLUMNS && table->column[n].key != NULL)
		n++;
	show_rows(list, table->column, n, table->most, &t->page);
}

static void add_table(const struct text *t, const struct table *table)
{
	const json_t *list = begin_table(t, t->r, table);

	if (list != NULL)
		write_table(t, list, table);
}

/* Appends a line for each step of time.  How long a step is stands in its objects, and so in the heading. */
static void add_over_time(const struct text *t)
{
	const json_t *list = begin_table(t, t->r, &over_time);

	if (list == NULL)
		return;
	js_buf_printf(t->out, " (%s per line; RUNNING and WORKERS are averages)\n",
		      show_whole(llround(1e6 * show_get_number(json_array_get(list, 0), "seconds"))).text);
	write_table(t, list, &over_time);
}

/* Appends the causes of what was wasted, the most expensive first. */
static void add_waste(const struct text *t)
{
	const json_t *w = json_object_get(t->r, "wasted"), *attempts = json_object_get(t->r, "attempts");
	const json_t *list = begin_table(t, w, &causes);
	double unknown = show_get_number(attempts, "time_not_known");

	if (list == NULL)
		return;
	js_buf_printf(t->out, "%s of the %s that all commands took together (%.1f %%)\n", took_text(w, "seconds").text,
		      took_text(attempts, "seconds").text, 100 * fmax(0, show_get_number(w, "share")));
	write_table(t, list, &causes);
	if (unknown > 0)
		js_buf_printf(t->out, "  (the duration of %.0f of them is unknown)\n", unknown);
}

/* Appends the groups of dead entries, and how to retry them. */
static void add_failures(const struct text *t)
{
	const json_t *list = json_object_get(t->r, "failures");

	if (json_array_size(list) == 0)
		return;
	add_heading(t, "dead entries");
	js_buf_printf(t->out, " (`jobstack requeue -s %s` retries them)\n", show_get_text(t->r, "stack"));
	show_failures_rows(list, &t->page);
}

/* Appends "  memory     p50 1.2 GiB, p99 3.0 GiB, largest 3.4 GiB OF", if any attempt's is known. */
static void add_memory_line(const struct text *t, const char *name, const json_t *memory, const char *of)
{
	if (show_get_number(memory, "attempts") <= 0)
		return;
	begin_report_line(t, name);
	js_buf_printf(t->out, "p50 %s, p99 %s, largest %s %s\n", show_size(show_get_number(memory, "p50")).text,
		      show_size(show_get_number(memory, "p99")).text, show_size(show_get_number(memory, "max")).text,
		      of);
}

/* Appends the resources that were used; nothing if none is known. */
static void add_usage(const struct text *t)
{
	const json_t *u = json_object_get(t->r, "used");
	const json_t *memory = json_object_get(u, "memory_bytes");
	double cpu = show_get_number(u, "cpu_seconds"), bytes = show_get_number(u, "read_bytes");
	const char *requested = show_get_text(u, "requested");

	if (cpu < 0 && bytes < 0 && show_get_number(memory, "attempts") <= 0)
		return;
	add_heading(t, "resources used\n");
	if (cpu >= 0) {
		begin_report_line(t, "CPU time");
		js_buf_printf(t->out, "%s, %.0f %% of the slots' time\n", took_text(u, "cpu_seconds").text,
			      100 * fmax(0, show_get_number(u, "cpu_share")));
	}
	add_memory_line(t, "memory", memory, "(largest process)");
	add_memory_line(t, "", json_object_get(u, "peak_bytes"),
			"(all processes, without mapped files; commands over 1 s)");
	if (*requested != '\0') {
		js_buf_str(t->out, "  ");
		show_wrap(t->out, requested, t->columns);
		js_buf_char(t->out, '\n');
	}
	if (bytes >= 0) {
		begin_report_line(t, "files");
		js_buf_printf(t->out, "read %s, wrote %s\n", show_size(bytes).text,
			      show_size(show_get_number(u, "write_bytes")).text);
	}
}

static void add_packages(const struct text *t)
{
	double more = show_get_number(t->r, "more_packages");

	add_table(t, &packages);
	if (json_array_size(json_object_get(t->r, "packages")) > 0 && more > 0)
		js_buf_printf(t->out, "  and %.0f more\n", more);
}

/* The sections stand in the order in which a reader needs them: what happened, the verdict, the figures behind it, and
 * what to request for the next run. */
void show_report_text(const json_t *r, unsigned columns, int colours, struct js_buf *out)
{
	const struct text t = {
		r, out, columns == 0 ? COLUMNS : columns, {.out = out, .columns = columns, .colours = colours}};
	const char *nothing = show_get_text(r, "nothing"), *some = show_get_text(r, "restriction");
	const json_t *advice = json_object_get(r, "advice");

	add_report_head(&t);
	if (*nothing != '\0') {
		js_buf_printf(out, "%s\n", nothing);
		return;
	}
	if (*some != '\0')
		js_buf_printf(out, "  %s\n", some);
	add_attempts_line(&t);
	add_users_and_time(&t);
	add_points(&t);
	add_durations(&t);
	add_over_time(&t);
	add_table(&t, &nodes);
	add_table(&t, &hours);
	add_table(&t, &file_systems);
	add_table(&t, &programs);
	add_table(&t, &slowest);
	add_waste(&t);
	add_failures(&t);
	add_usage(&t);
	add_packages(&t);
	add_heading(&t, "for the next run\n");
	for (size_t i = 0; i < json_array_size(advice); i++)
		js_buf_printf(out, "  %s\n", json_string_value(json_array_get(advice, i)));
}
