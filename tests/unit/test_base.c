/* SPDX-License-Identifier: BSD-2-Clause
 *
 * base: numbers and durations as people type them, the clock's texts, buffers, options, small files.
 */
#define _GNU_SOURCE
#include "base/attempt.h"
#include "base/bar.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/near.h"
#include "base/num.h"
#include "base/opt.h"
#include "base/utf8.h"
#include "proc/proc.h"

#include <errno.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void durations(void **state)
{
	static const struct {
		const char *text;
		int64_t us; /* -1: refused */
	} row[] = {{"90", 90000000},
		   {"90s", 90000000},
		   {"15m", 900000000},
		   {"2h", 7200000000},
		   {"7d", INT64_C(604800000000)},
		   {"1:30:00", INT64_C(5400000000)},
		   {"2-00:00:00", INT64_C(172800000000)},
		   {"1-12", INT64_C(129600000000)},
		   {"10:30", 630000000},
		   {"0", 0},
		   {"0.5", 500000},
		   {"1.5s", 1500000},
		   {"100ms", 100000},
		   {"1.25m", 75000000},
		   {"366d", INT64_C(31622400000000)},
		   {"367d", -1},
		   {"366.5d", -1},
		   {"", -1},
		   {"s", -1},
		   {"-5", -1},
		   {"5x", -1},
		   {"5 s", -1},
		   {" 5", -1},
		   {"1:2:3:4", -1},
		   {":", -1},
		   {"1:", -1},
		   {"1-", -1},
		   {"-1-2", -1},
		   {"99999999999999999999", -1},
		   {"1e3", -1},
		   {"+5", -1},
		   {"5s ", -1},
		   {"0x10", -1},
		   {"1-2-3", -1}};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int64_t us = -7;
		int status = js_num_duration(row[i].text, &us);

		if (status != (row[i].us < 0 ? -1 : 0) || us != (status == 0 ? row[i].us : -7))
			fail_msg("\"%s\": status %d, %lld us", row[i].text, status, (long long)us);
	}
	assert_int_equal(js_num_duration(NULL, &(int64_t){0}), -1);
}

/* Each is rounded to the smallest unit that is shown, and what is rounded up to a limit is shown as beyond it. */
static void rounded_durations(void **state)
{
	static const struct {
		int64_t us;
		const char *text;
	} row[] = {{-1, "?"},
		   {0, "0.0 s"},
		   {9940000, "9.9 s"},
		   {9960000, "10 s"},
		   {59900000, "60 s"},
		   {119400000, "119 s"},
		   {119600000, "2 min 0 s"},
		   {7199400000, "119 min 59 s"},
		   {7199600000, "2 h 0 min"},
		   {INT64_C(10799) * 1000000, "3 h 0 min"},
		   {INT64_C(172799) * 1000000, "2 d 0 h"},
		   {INT64_C(262800) * 1000000, "3 d 1 h"}};
	char text[40];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		js_num_duration_text(row[i].us, text, sizeof(text));
		assert_string_equal(text, row[i].text);
	}
}

static void numbers(void **state)
{
	uint64_t u;
	int64_t n;

	(void)state;
	assert_int_equal(js_num_u64("18446744073709551615", 0, UINT64_MAX, &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(js_num_u64("18446744073709551616", 0, UINT64_MAX, &u), -1);
	assert_int_equal(js_num_u64("-1", 0, 10, &u), -1);
	assert_int_equal(js_num_u64("", 0, 10, &u), -1);
	assert_int_equal(js_num_u64("11", 0, 10, &u), -1);
	assert_int_equal(js_num_i64("-10", -10, 10, &n), 0);
	assert_true(n == -10);
	assert_int_equal(js_num_i64("-11", -10, 10, &n), -1);
	assert_int_equal(js_num_i64("--1", -10, 10, &n), -1);
	assert_int_equal(js_num_i64("-9223372036854775808", INT64_MIN, 0, &n), 0);
	assert_true(n == INT64_MIN);
	assert_int_equal(js_num_i64("-9223372036854775809", INT64_MIN, 0, &n), -1);
	assert_int_equal(js_num_size("512M", &u), 0);
	assert_true(u == 512u << 20);
	assert_int_equal(js_num_size("2g", &u), 0);
	assert_true(u == UINT64_C(2) << 30);
	assert_int_equal(js_num_size("2GB", &u), -1);
	assert_int_equal(js_num_size("99999999999T", &u), -1);
}

static void clock_texts(void **state)
{
	char iso[JS_CLOCK_ISO];
	int64_t t = INT64_C(1795242011123456);

	(void)state;
	js_clock_iso(t, iso);
	assert_string_equal(iso, "2026-11-21T06:20:11.123456Z");
	assert_true(js_clock_parse("2026-11-21 06:20:11.123456") == t);
	assert_true(js_clock_parse("2026-11-21 06:20:11") == t - 123456);
	assert_true(js_clock_parse("2026-11-21 06:20:11.5") == t - 123456 + 500000);
	assert_true(js_clock_parse("nonsense") == -1);
	assert_true(js_clock_parse(NULL) == -1);
	js_clock_iso(-1, iso);
	assert_string_equal(iso, "");
}

static void first_error_wins(void **state)
{
	struct jobstack_error e = JOBSTACK_ERROR_INIT;

	(void)state;
	assert_int_equal(js_error_set(&e, JOBSTACK_EFILE, "a\nb\x1b[31m%d", 7), JOBSTACK_EFILE);
	assert_int_equal(js_error_set(&e, JOBSTACK_EBUG, "later"), JOBSTACK_EBUG);
	assert_int_equal(e.code, JOBSTACK_EFILE);
	assert_string_equal(e.text, "a?b?[31m7");
	assert_int_equal(js_error_set(NULL, JOBSTACK_EBUG, "nobody listens"), JOBSTACK_EBUG);
	assert_int_equal(js_error_why(&e, JOBSTACK_EBUG, JOBSTACK_WHY_MEMORY, "later"), JOBSTACK_EBUG);
	assert_int_equal(e.server_errno, 0);
}

/* The number of the reason comes and goes with the error that it is of. */
static void errors_have_reasons(void **state)
{
	struct jobstack_error e = JOBSTACK_ERROR_INIT, other = JOBSTACK_ERROR_INIT;

	(void)state;
	assert_int_equal(js_error_why(&e, JOBSTACK_EMISSING, JOBSTACK_WHY_NO_STACK, "there is no %d", 7),
			 JOBSTACK_EMISSING);
	assert_int_equal(e.server_errno, JOBSTACK_WHY_NO_STACK);
	assert_string_equal(e.text, "there is no 7");
	js_error_pass(&other, &e);
	assert_int_equal(other.server_errno, JOBSTACK_WHY_NO_STACK);
	js_error_clear(&e);
	assert_int_equal(e.server_errno, 0);
	(void)js_error_memory(&e);
	assert_true(js_error_is_memory(e.server_errno) && !js_error_is_disk(e.server_errno));
	js_error_pass(&other, &e); /* it is filled */
	assert_int_equal(other.code, JOBSTACK_EMISSING);
	js_error_pass(NULL, &e);
	assert_true(js_error_is_disk(1114) && !js_error_is_memory(0) && !js_error_is_disk(0));
}

static void buffers(void **state)
{
	struct js_buf b = {0};

	(void)state;
	for (int i = 0; i < 10000; i++)
		js_buf_printf(&b, "%d,", i);
	assert_int_equal(b.failed, 0);
	assert_int_equal(b.len, 48890);
	assert_int_equal(b.data[b.len], 0);
	assert_memory_equal(b.data + b.len - 5, "9999,", 5);
	js_buf_reset(&b);
	assert_int_equal(b.len, 0);
	js_buf_u64(&b, UINT64_MAX);
	js_buf_char(&b, ' ');
	js_buf_i64(&b, INT64_MIN);
	js_buf_i64(&b, 0);
	js_buf_hex(&b, "0123456789abcdef", "\xff\x00\x1a", 3);
	js_buf_hex(&b, "0123456789abcdef", NULL, 0);
	assert_string_equal(b.data, "18446744073709551615 -92233720368547758080ff001a");
	js_buf_free(&b);
	assert_null(b.data);
}

static void options(void **state)
{
	static const struct js_opt table[] = {{'n', "number", "N", "a number", NULL},
					      {300, "flag", NULL, "a flag", NULL},
					      {'w', "watch", "[SEC]", "perhaps", NULL},
					      {301, "long", NULL,
					       "first\nthe second line has more words than the help has columns for, "
					       "so that it must go on below, under its beginning",
					       NULL},
					      {0, NULL, NULL, NULL, NULL}};
	static const struct js_opts o = {"prog", "[OPTIONS]", "About.", table, NULL, 1};
	char *argv[] = {"prog", "-n", "5", "--flag", "-w", "--watch=3", "cmd", "--other", NULL};
	char *wrong[] = {"prog", "--nosuch", NULL}, *missing[] = {"prog", "--number", NULL},
	     *extra[] = {"prog", "--flag=1", NULL};
	struct jobstack_error e = JOBSTACK_ERROR_INIT;
	struct js_buf help = {0};
	const char *arg;

	(void)state;
	optind = 0;
	assert_int_equal(js_opt_next(&o, 8, argv, &arg, &e), 'n');
	assert_string_equal(arg, "5");
	assert_int_equal(js_opt_next(&o, 8, argv, &arg, &e), 300);
	assert_int_equal(js_opt_next(&o, 8, argv, &arg, &e), 'w');
	assert_string_equal(arg, "");
	assert_int_equal(js_opt_next(&o, 8, argv, &arg, &e), 'w');
	assert_string_equal(arg, "3");
	assert_int_equal(js_opt_next(&o, 8, argv, &arg, &e), -1);
	assert_int_equal(optind, 6);
	optind = 0;
	assert_int_equal(js_opt_next(&o, 2, wrong, &arg, &e), '?');
	assert_string_equal(e.text, "there is no option --nosuch");
	assert_int_equal(e.server_errno, JOBSTACK_WHY_OPTION);
	js_error_clear(&e);
	optind = 0;
	wrong[1] = "--nubmer=7";
	assert_int_equal(js_opt_next(&o, 2, wrong, &arg, &e), '?');
	assert_string_equal(e.text, "there is no option --nubmer (did you mean --number?)");
	js_error_clear(&e);
	optind = 0;
	wrong[1] = "-h";
	assert_int_equal(js_opt_next(&o, 2, wrong, &arg, &e), '?');
	assert_string_equal(e.text, "there is no option -h");
	js_error_clear(&e);
	optind = 0;
	assert_int_equal(js_opt_next(&o, 2, missing, &arg, &e), '?');
	assert_non_null(strstr(e.text, "needs a value"));
	assert_int_equal(e.server_errno, JOBSTACK_WHY_OPTION);
	js_error_clear(&e);
	optind = 0;
	assert_int_equal(js_opt_next(&o, 2, extra, &arg, &e), '?');
	assert_non_null(strstr(e.text, "takes no value"));
	assert_int_equal(e.server_errno, JOBSTACK_WHY_OPTION);
	js_opt_help(&o, 0, 0, &help);
	assert_non_null(strstr(help.data, "--watch[=SEC]"));
	assert_non_null(strstr(help.data,
			       "\n      --long                first the second line has more words than the help has "
			       "columns for, so that it must go on\n"
			       "                            below, under its beginning\n"));
	js_buf_free(&help);
}

/* Of many options, --help shows those without a mark, in lines as wide as the terminal; --help-all shows all. */
static void many_options(void **state)
{
	static struct js_opt table[21];
	static const struct js_opts o = {
		"prog many",
		"[OPTIONS]",
		"About what\nit does.",
		table,
		"A note,\nwhich goes on.\n\n  prog --number 1 with an example that is wider than "
		"the terminal\n  prog 2",
		0};
	struct js_buf help = {0};

	(void)state;
	for (int i = 0; i < 20; i++)
		table[i] = (struct js_opt){'a' + i, "option", NULL, i < 18 ? "~seldom" : "often", NULL};
	js_opt_help(&o, 60, 0, &help);
	assert_string_equal(help.data,
			    "usage: prog many [OPTIONS]\n\nAbout what it does.\n\n"
			    "  -s, --option              often\n  -t, --option              often\n"
			    "`prog many --help-all` shows all 20 options.\n\n"
			    "A note, which goes on.\n\n  prog --number 1 with an example that is wider than the "
			    "terminal\n  prog 2\n");
	js_buf_reset(&help);
	js_opt_help(&o, 60, 1, &help);
	assert_non_null(strstr(help.data, "  -a, --option              seldom\n"));
	assert_null(strstr(help.data, "--help-all"));
	js_buf_reset(&help);
	js_opt_spec(&o, &help);
	assert_non_null(strstr(help.data, "option\ta\toption\t\tseldom\n"));
	js_buf_free(&help);
}

static const char *meant(const char *word)
{
	static const char *const words[] = {"push", "pop", "prune", "status", "submit", "set", "list", "logs"};
	struct js_near near = JS_NEAR_INIT(word);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		js_near_try(&near, words[i]);
	return near.best == NULL ? "" : near.best;
}

static void near_words(void **state)
{
	(void)state;
	assert_string_equal(meant("stauts"), "status");
	assert_string_equal(meant("STATUS"), "status");
	assert_string_equal(meant("stat"), "status");
	assert_string_equal(meant("log"), "logs");
	assert_string_equal(meant("psuh"), "push");
	assert_string_equal(meant("sumbit"), "submit");
	assert_string_equal(meant("lsit"), "list");
	assert_string_equal(meant("x"), "");
	assert_string_equal(meant(""), "");
	assert_string_equal(meant("tree"), "");
	assert_string_equal(meant("a word that is longer than any command is"), "");
}

static void option_spec(void **state)
{
	static const struct js_opt table[] = {{'n', "number", "N", "one\nor\ttwo \\", NULL},
					      {300, "flag", NULL, "a flag", NULL},
					      {301, "secret", NULL, NULL, NULL},
					      {0, NULL, NULL, NULL, NULL}};
	static const struct js_opts o = {"prog", "WORD", "About.", table, NULL, 0};
	struct js_buf text = {0};

	(void)state;
	js_opt_spec(&o, &text);
	assert_string_equal(text.data, "title\tprog\nusage\tWORD\nabout\tAbout.\n"
				       "option\tn\tnumber\tN\tone\\nor\\ttwo \\\\\noption\t\tflag\t\ta flag\n");
	js_buf_free(&text);
}

static void files(void **state)
{
	struct js_proc proc;
	char boot[40], table[64];
	char dir[] = "/tmp/jobstack-unit-XXXXXX", path[64], deep[64];
	struct js_buf b = {0};
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/f", dir);
	(void)snprintf(deep, sizeof(deep), "%s/a/b/c", dir);
	assert_int_equal(js_file_replace(path, 0600, "one", 3), 0);
	assert_int_equal(js_file_replace(path, 0600, "two!", 4), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(js_file_read(path, &b), 0);
	assert_string_equal(b.data, "two!");
	js_buf_free(&b);
	assert_int_equal(js_file_mkdirs(deep, 0700), 0);
	assert_int_equal(js_file_mkdirs(deep, 0700), 0);
	assert_int_equal(js_file_mkdirs(path, 0700), -1);
	assert_int_equal(errno, ENOTDIR);
	if (geteuid() != 0) { /* the directory's own reason, and not that the one below it is missing */
		assert_int_equal(chmod(dir, 0500), 0);
		(void)snprintf(deep, sizeof(deep), "%s/no/b", dir);
		assert_int_equal(js_file_can_make(deep), -1);
		assert_int_equal(errno, EACCES);
		assert_int_equal(js_file_mkdirs(deep, 0700), -1);
		assert_int_equal(errno, EACCES);
		assert_int_equal(chmod(dir, 0700), 0);
	}
	(void)snprintf(deep, sizeof(deep), "%s/new/b", dir);
	assert_int_equal(js_file_can_make(deep), 0);
	assert_int_equal(js_file_can_make("/"), access("/", W_OK | X_OK));
	assert_int_equal(js_file_can_make("nosuch-dir/b"), access(".", W_OK | X_OK));
	(void)snprintf(deep, sizeof(deep), "%s/f/b", dir);
	assert_int_equal(js_file_can_make(deep), -1);
	assert_int_equal(errno, ENOTDIR);
	(void)snprintf(deep, sizeof(deep), "%s/a/b/c", dir);
	assert_int_equal(js_file_replace("/nosuch/dir/f", 0600, "x", 1), -1);
	assert_true(js_proc_start(getpid()) > 0);
	assert_true(js_proc_start(999999999) == -1);
	assert_int_equal(js_proc_read(getpid(), &proc), 0);
	assert_int_equal(proc.parent, getppid());
	assert_int_equal(js_proc_read(999999999, &proc), -1);
	js_proc_boot_id(boot);
	js_proc_space(table);
	assert_int_equal(strlen(boot), 36);
	assert_memory_equal(table, boot, 36);
	(void)unlink(path);
	(void)rmdir(deep);
	(void)snprintf(deep, sizeof(deep), "%s/a/b", dir);
	(void)rmdir(deep);
	(void)snprintf(deep, sizeof(deep), "%s/a", dir);
	(void)rmdir(deep);
	assert_int_equal(rmdir(dir), 0);
}

/* What a terminal shows, and how wide. */
static void characters(void **state)
{
	static const struct {
		const char *text;
		size_t len, shown;
		unsigned columns;
	} row[] = {{"a", 1, 1, 1},
		   {"\n", 1, 0, 1},
		   {"\x7f", 1, 0, 1},
		   {"\xff", 0, 0, 1},
		   {"\xc2\x9b", 2, 0, 1},	   /* a C1 control: CSI */
		   {"\xc3\xa4", 2, 2, 1},	   /* a with dots */
		   {"\xcc\x88", 2, 2, 0},	   /* just the dots */
		   {"\xe2\x80\xae", 3, 0, 1},	   /* what follows runs from right to left */
		   {"\xe2\x80\xa8", 3, 0, 1},	   /* a line ends */
		   {"\xe2\x80\xa7", 3, 3, 1},	   /* its neighbour, a dot */
		   {"\xe2\x80\x8d", 3, 3, 0},	   /* joins */
		   {"\xef\xbb\xbf", 3, 0, 1},	   /* a byte order mark */
		   {"\xe6\x97\xa5", 3, 3, 2},	   /* a Chinese sun */
		   {"\xf0\x9f\x98\x80", 4, 4, 2}}; /* a face */
	char text[] = "a\xe2\x80\xae\xc3\xa4\x1b[0m\xc3";

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		size_t size = strlen(row[i].text);

		assert_int_equal(js_utf8_len(row[i].text, size), row[i].len);
		assert_int_equal(js_utf8_shown(row[i].text, size), row[i].shown);
		if (row[i].shown > 0)
			assert_int_equal(js_utf8_columns(row[i].text, size), row[i].columns);
		assert_int_equal(js_utf8_len(row[i].text, size - 1), 0);
	}
	js_utf8_clean(text);
	assert_string_equal(text, "a???\xc3\xa4?[0m?");
}

/* An outcome begins with nothing known of usage, whatever columns there are. */
static void bars(void **state)
{
	static const struct {
		struct js_bar bar;
		unsigned width;
		int style;
		const char *text;
	} row[] = {
		{{0, 0, 0, 0}, 12, 0, "[          ]"},
		{{10, 5, 0, 0}, 12, 0, "[#####     ]"},
		{{10, 5, 2, 1}, 12, 0, "[#####==!  ]"},
		{{10, 10, 0, 0}, 12, 0, "[##########]"},
		{{3, 2, 0, 1}, 12, 0, "[######!!!!]"},
		/* one of ten million is seen, and not all is done */
		{{10000000, 9999999, 0, 1}, 12, 0, "[#########!]"},
		{{10000000, 9999998, 1, 1}, 12, 0, "[########=!]"},
		{{10000000, 9999999, 0, 0}, 12, 0, "[######### ]"},
		{{10000000, 1, 0, 0}, 12, 0, "[#         ]"},
		{{UINT64_MAX, UINT64_MAX, 0, 0}, 6, 0, "[####]"},
		/* parts that exceed the whole, as counts of two moments may */
		{{1, 2, 2, 0}, 6, 0, "[##==]"},
		/* no room */
		{{10, 5, 2, 1}, 4, 0, "[=!]"},
		{{10, 5, 2, 1}, 3, 0, "[!]"},
		{{10, 5, 2, 1}, 2, 0, ""},
		{{10, 5, 2, 1}, 0, 0, ""},
		{{80, 33, 0, 0}, 12, JS_BAR_UTF8, "[\u2588\u2588\u2588\u2588\u258f     ]"},
		{{80, 39, 20, 1}, 12, JS_BAR_UTF8, "[\u2588\u2588\u2588\u2588\u2589\u2592\u2592!  ]"},
		{{80, 79, 0, 0}, 12, JS_BAR_UTF8, "[\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2589]"},
		{{4, 1, 1, 1}, 6, JS_BAR_COLOURS, "[\033[32m#\033[0m\033[33m=\033[0m\033[31m!\033[0m ]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct js_buf out = {0};

		js_buf_str(&out, "");
		js_bar_draw(&out, &row[i].bar, row[i].width, row[i].style);
		assert_string_equal(out.data, row[i].text);
		js_buf_free(&out);
	}
}

static void usage_unknown(void **state)
{
	const struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;

	(void)state;
#define IS_UNKNOWN(member, ...) assert_int_equal(o.member, -1);
	JS_ATTEMPT_USAGE(IS_UNKNOWN)
}

static int waits; /* so many readings of the wall clock have to wait for a processor, as on a busy machine */

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (id == CLOCK_REALTIME && waits > 0) {
		waits--;
		(void)usleep(2 * JS_CLOCK_LEAP_US);
	}
	return (int)syscall(SYS_clock_gettime, id, t);
}

static void busy_clocks(void **state)
{
	int64_t now;
	struct js_clock_bound bound = {INT64_MAX, js_clock_ahead_us(&now)};

	(void)state;
	assert_true(js_clock_holds(&bound));
	waits = 3;
	assert_true(js_clock_holds(&bound));
	assert_int_equal(waits, 0);
	bound.wall_us += 2 * JS_CLOCK_LEAP_US;
	assert_false(js_clock_holds(&bound));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(durations),	       cmocka_unit_test(rounded_durations),
					   cmocka_unit_test(numbers),	       cmocka_unit_test(clock_texts),
					   cmocka_unit_test(first_error_wins), cmocka_unit_test(errors_have_reasons),
					   cmocka_unit_test(buffers),	       cmocka_unit_test(options),
					   cmocka_unit_test(many_options),     cmocka_unit_test(near_words),
					   cmocka_unit_test(option_spec),      cmocka_unit_test(files),
					   cmocka_unit_test(characters),       cmocka_unit_test(bars),
					   cmocka_unit_test(busy_clocks),      cmocka_unit_test(usage_unknown)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
