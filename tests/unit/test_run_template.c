/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Command templates: what each placeholder gives, and names of any bytes.  Scripts are in test_run_shell.c.
 */
#define _GNU_SOURCE
#include "exec/env.h"
#include "base/error.h"
#include "exec/template.h"
#include "proc/proc.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct js_template_values values_of(const char *name, size_t len)
{
	struct js_template_values v = {name, len, UINT64_MAX, 3, 12, "airs-2012", 77};

	return v;
}

static size_t count(char *const words[])
{
	size_t n = 0;

	while (words[n] != NULL)
		n++;
	return n;
}

/* Expands a command and compares it, word by word. */
static void expect_argv(const char *repl, char *const words[], const char *name, const char *const expected[])
{
	const struct js_template_syntax syntax = {.repl = repl};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_template_values v = values_of(name, strlen(name));
	struct js_template *t;
	char *const *argv;
	size_t i;

	assert_int_equal(js_template_command(&t, words, count(words), &syntax, &error), 0);
	for (int again = 0; again < 2; again++) {
		argv = js_template_argv(t, &v);
		assert_non_null(argv);
		for (i = 0; expected[i] != NULL; i++) {
			assert_non_null(argv[i]);
			assert_string_equal(argv[i], expected[i]);
		}
		assert_null(argv[i]);
	}
	js_template_free(t);
}

static void expect_text(const char *template, const char *name, const char *expected)
{
	struct js_template_values v = values_of(name, strlen(name));
	struct js_buf out = {0};
	struct js_template *t;

	assert_int_equal(js_template_string(&t, template, NULL, NULL), 0);
	assert_int_equal(js_template_text(t, &v, &out), 0);
	assert_string_equal(out.data != NULL ? out.data : "", expected);
	js_buf_free(&out);
	js_template_free(t);
}

static void test_names(void **state)
{
	static const char *const rows[][6] = {
		/* name, {}, {/}, {//}, {.}, {/.} */
		{"a/b.nc", "a/b.nc", "b.nc", "a", "a/b", "b"},
		{"b.nc", "b.nc", "b.nc", ".", "b", "b"},
		{"/b.nc", "/b.nc", "b.nc", "/", "/b", "b"},
		{"/", "/", "/", "/", "/", "/"},
		{"//", "//", "/", "/", "//", "/"},
		{"a.d/b", "a.d/b", "b", "a.d", "a.d/b", "b"},
		{"a.d/b.tar.gz", "a.d/b.tar.gz", "b.tar.gz", "a.d", "a.d/b.tar", "b.tar"},
		{".profile", ".profile", ".profile", ".", ".profile", ".profile"},
		{"x/.profile", "x/.profile", ".profile", "x", "x/.profile", ".profile"},
		{".a.b", ".a.b", ".a.b", ".", ".a", ".a"},
		{"..", "..", "..", ".", "..", ".."},
		{"...x", "...x", "...x", ".", "...x", "...x"},
		{"a.", "a.", "a.", ".", "a", "a"},
		{"a..b", "a..b", "a..b", ".", "a.", "a."},
		{"a//b.c", "a//b.c", "b.c", "a", "a//b", "b"},
		{"///b", "///b", "b", "/", "///b", "b"},
		{"a/b/", "a/b/", "b", "a", "a/b/", "b"},
		{"a/b.c//", "a/b.c//", "b.c", "a", "a/b.c//", "b"},
		{"-rf", "-rf", "-rf", ".", "-rf", "-rf"},
		{"a b/c d.e f", "a b/c d.e f", "c d.e f", "a b", "a b/c d", "c d"},
		{" ", " ", " ", ".", " ", " "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		expect_text("{}", rows[i][0], rows[i][1]);
		expect_text("{/}", rows[i][0], rows[i][2]);
		expect_text("{//}", rows[i][0], rows[i][3]);
		expect_text("{.}", rows[i][0], rows[i][4]);
		expect_text("{/.}", rows[i][0], rows[i][5]);
	}
	expect_text("out/{/.}-{#}-{%}.log", "x/y.z", "out/y-18446744073709551615-12.log");
	expect_text("{{}} {{/}", "n", "{n} {n");
	expect_text("plain", "n", "plain");
	expect_text("{ } {x} {#", "n", "{ } {x} {#");
}

/* Two and three extensions, and what is left: as parallel --plus has them, but for dots at the beginning. */
static void test_extensions(void **state)
{
	static const char *const rows[][2] = {
		{"README.csv.gz", "README|README.csv.gz|README|README.csv.gz|gz|csv.gz||"},
		{"d.x/a.b.c.d", "d.x/a.b|d.x/a|a.b|a|d|c.d|b.c.d|d.x"},
		{"/d/x", "/d/x|/d/x|x|x||||/d"},
		{"/x.y", "/x.y|/x.y|x.y|x.y|y|||"},
		{".a.b", ".a.b|.a.b|.a.b|.a.b|b|||"},
		{"a/b.c.d/", "a/b.c.d/|a/b.c.d/|b|b.c.d|d|c.d||a"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_text("{..}|{...}|{/..}|{/...}|{+.}|{+..}|{+...}|{+/}", rows[i][0], rows[i][1]);
	expect_text("{1..}-{1+/}", "a/b.c.d", "a/b-a");
}

static void test_commands(void **state)
{
	(void)state;
	expect_argv(NULL, (char *[]){"cmd", "{}", "-o", "{.}.out", "{/}{/}", NULL}, "d/f.x",
		    (const char *[]){"cmd", "d/f.x", "-o", "d/f.out", "f.xf.x", NULL});
	expect_argv(NULL, (char *[]){"cmd", "-v", NULL}, "-rf", (const char *[]){"cmd", "-v", "-rf", NULL});
	expect_argv(NULL, (char *[]){"cmd", NULL}, "a b", (const char *[]){"cmd", "a b", NULL});
	expect_argv(NULL, (char *[]){"cmd", "--n={#}", "{%}", NULL}, "f",
		    (const char *[]){"cmd", "--n=18446744073709551615", "12", NULL});
	expect_argv(NULL, (char *[]){"cmd", "", "", "{}", "", NULL}, "f",
		    (const char *[]){"cmd", "", "", "f", "", NULL});
	expect_argv(NULL, (char *[]){"{}", NULL}, "./prog", (const char *[]){"./prog", NULL});
	expect_argv("@", (char *[]){"cmd", "{}", "@@", "{/}", NULL}, "d/f",
		    (const char *[]){"cmd", "{}", "d/fd/f", "f", NULL});
	expect_argv("{/", (char *[]){"cmd", "{/", "{/}", NULL}, "d/f", (const char *[]){"cmd", "d/f", "f", NULL});
	expect_argv("{}{}", (char *[]){"cmd", "{}{}{}", NULL}, "f", (const char *[]){"cmd", "f{}", NULL});
	expect_argv("FILE", (char *[]){"cmd", "FI", NULL}, "f", (const char *[]){"cmd", "FI", "f", NULL});
}

static void test_program(void **state)
{
	struct js_template *t;

	(void)state;
	assert_int_equal(js_template_command(&t, (char *[]){"cmd", "{}"}, 2, NULL, NULL), 0);
	assert_string_equal(js_template_program(t), "cmd");
	js_template_free(t);
	assert_int_equal(js_template_command(&t, (char *[]){"./run-{%}", "x"}, 2, NULL, NULL), 0);
	assert_null(js_template_program(t));
	js_template_free(t);
	assert_int_equal(js_template_shell(&t, (char *[]){"cmd"}, 1, NULL, NULL), 0);
	assert_string_equal(js_template_program(t), "/bin/sh");
	js_template_free(t);
	assert_int_equal(js_template_string(&t, "out-{%}", NULL, NULL), 0);
	assert_int_equal(js_template_varies(t), 0);
	js_template_free(t);
	assert_int_equal(js_template_string(&t, "out-{#}", NULL, NULL), 0);
	assert_int_equal(js_template_varies(t), 1);
	js_template_free(t);
	js_template_free(NULL);
}

static void test_errors(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_template *t;

	(void)state;
	assert_int_equal(js_template_command(&t, NULL, 0, NULL, &error), JOBSTACK_EUSAGE);
	assert_null(t);
	assert_string_equal(error.text, "there is no command");
	assert_int_equal(js_template_command(&t, (char *[]){"", "{}"}, 2, NULL, NULL), JOBSTACK_EUSAGE);
	assert_int_equal(js_template_command(&t, (char *[]){"x"}, 1, &(struct js_template_syntax){.repl = ""}, NULL),
			 JOBSTACK_EUSAGE);
	assert_int_equal(js_template_shell(&t, NULL, 0, NULL, NULL), JOBSTACK_EUSAGE);
	assert_int_equal(js_template_shell(&t, (char *[]){" ", "\n"}, 2, NULL, NULL), JOBSTACK_EUSAGE);
	assert_int_equal(
		js_template_shell(&t, (char *[]){"x"}, 1, &(struct js_template_syntax){.shell = "/bin/fish"}, NULL),
		JOBSTACK_EUSAGE);
	assert_null(t);
	assert_int_equal(js_template_string(&t, "", NULL, NULL), JOBSTACK_EUSAGE);
	assert_null(t);
}

/* Names with every byte that a name can have, not terminated, and long ones. */
static void test_any_bytes(void **state)
{
	char name[JOBSTACK_DATAPATH_MAX + 1];
	struct js_template_values v;
	struct js_template *t;
	char *const *argv;

	(void)state;
	assert_int_equal(js_template_command(&t, (char *[]){"cmd", "<{}>", "{/}"}, 3, NULL, NULL), 0);
	for (int byte = 1; byte < 256; byte++) {
		memset(name, byte, sizeof(name)); /* the byte behind the name is no NUL, but the same byte */
		v = values_of(name, byte % 2 ? 1 : JOBSTACK_DATAPATH_MAX);
		argv = js_template_argv(t, &v);
		assert_int_equal(strlen(argv[1]), v.datapath_len + 2);
		assert_memory_equal(argv[1] + 1, name, v.datapath_len);
		assert_int_equal(strlen(argv[2]), byte == '/' ? 1 : v.datapath_len);
		assert_null(argv[3]);
	}
	js_template_free(t);
}

static void test_env(void **state)
{
	char *const base[] = {"A=1",
			      "JOBSTACK_ENTRY=9",
			      "JOBSTACK_ENTRYX=9",
			      "JOBSTACK_DATAPATH=old",
			      "JOBSTACK_STACK=old",
			      "JOBSTACK_PROCESS=old",
			      "SLURM_ARRAY_TASK_ID=3",
			      "B",
			      NULL};
	char process[80];
	static const char *const expected[] = {"A=1",
					       "JOBSTACK_ENTRYX=9",
					       "B",
					       "JOBSTACK_STACK=airs-2012",
					       "JOBSTACK_ENTRY=18446744073709551615",
					       "JOBSTACK_ATTEMPT=3",
					       "JOBSTACK_SLOT=12",
					       "JOBSTACK_WORKER=77",
					       "SLURM_ARRAY_TASK_ID=jobstack runs this: use {} or --as-array",
					       "JOBSTACK_DATAPATH=x\x01\xff=\n y"};
	struct js_template_values v = values_of("x\x01\xff=\n yz", 7);
	struct js_env *env;
	char *const *list;
	size_t i;

	(void)state;
	(void)snprintf(process, sizeof(process), "JOBSTACK_PROCESS=%ld %" PRId64 " %" PRIx64, (long)getpid(),
		       js_proc_start(getpid()), js_proc_cgroup(getpid()));
	assert_int_equal(js_env_new(&env, base, NULL), 0);
	for (int again = 0; again < 3; again++) {
		list = js_env_for(env, &v);
		for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
			assert_string_equal(list[i], expected[i]);
		assert_string_equal(list[i], process);
		assert_null(list[i + 1]);
	}
	js_env_free(env);
	assert_int_equal(js_env_new(&env, NULL, NULL), 0);
	assert_string_equal(js_env_for(env, &v)[5], expected[9]);
	js_env_as_array(env);
	assert_string_equal(js_env_for(env, &v)[5], "SLURM_ARRAY_TASK_ID=x\x01\xff=\n y");
	assert_string_equal(js_env_for(env, &v)[6], expected[9]);
	js_env_free(env);
	js_env_free(NULL);
}

/* -------------------------------------------------------------------------------------------------------- fields */

static void expect_fields(const char *colsep, const char *template, const char *name, const char *expected)
{
	const struct js_template_syntax syntax = {.colsep = colsep};
	struct js_template_values v = values_of(name, strlen(name));
	struct js_buf out = {0};
	struct js_template *t;

	assert_int_equal(js_template_string(&t, template, &syntax, NULL), 0);
	js_buf_str(&out, "");
	assert_int_equal(js_template_text(t, &v, &out), 0);
	assert_string_equal(out.data, expected);
	js_buf_free(&out);
	js_template_free(t);
}

static void test_fields(void **state)
{
	(void)state;
	expect_fields("\t", "{1}|{2}|{3}", "a b\tc\td", "a b|c|d");
	expect_fields(",", "{1}|{2}|{3}|{4}|{}", ",b,", "|b|||,b,");
	expect_fields(", ", "{2},{1}", "a,b, c", "c,a,b");
	expect_fields("aa", "[{1}][{2}][{3}]", "xaaaaay", "[x][][ay]");
	expect_fields(" ", "{1/} {1//} {1.} {1/.} {2/}", "d/e.f /x/y", "e.f d d/e e y");
	expect_fields(" ", "{1//}{1/}", " x", "."); /* an empty field is a name without a directory */
	expect_fields(",", "{12} {1}{2} {0} {01} {1 } {1234} {#}", "a,b,c,d,e,f,g,h,i,j,k,l",
		      "l ab {0} {01} {1 } {1234} 18446744073709551615");
	expect_fields(",", "${1} $${1} $ {1} ${}", "a,b", "${1} $${1} $ a $a,b"); /* a shell's own number stays */
	expect_fields("\xff", "{1}{2}",
		      "a\xff"
		      "b",
		      "ab");
	expect_text("{1} {1/} {1//} {1.} {1/.}", "d/f.x",
		    "d/f.x f.x d d/f f"); /* without a separator the first is the whole */
	expect_text("${2} {0} {1", "f", "${2} {0} {1");
	expect_argv("@", (char *[]){"cmd", "{1}{2}", "@", NULL}, "f", (const char *[]){"cmd", "{1}{2}", "f", NULL});
}

static void test_fields_of_commands(void **state)
{
	const struct js_template_syntax syntax = {.colsep = ","}, both = {.repl = "@", .colsep = ","};
	struct js_template_values v = values_of("a b,c", 5), less = values_of("x", 1);
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_template *t;
	char *const *argv;

	(void)state;
	assert_int_equal(js_template_command(&t, (char *[]){"cmd", "{2}x{1}"}, 2, &syntax, NULL), 0);
	argv = js_template_argv(t, &v);
	assert_string_equal(argv[1], "cxa b");
	assert_null(argv[2]); /* a field is a name: nothing is appended */
	assert_int_equal(js_template_last_field(t), 2);
	assert_true(js_template_fits(t, &v) && !js_template_fits(t, &less));
	assert_int_equal(js_template_varies(t), 1);
	js_template_free(t);
	assert_int_equal(js_template_command(&t, (char *[]){"cmd"}, 1, &syntax, NULL), 0);
	assert_string_equal(js_template_argv(t, &v)[1], "a b,c");
	assert_int_equal(js_template_last_field(t), 0);
	assert_true(js_template_fits(t, &less));
	js_template_free(t);
	assert_int_equal(js_template_command(&t, (char *[]){"cmd", "{2}", "@"}, 3, &both, NULL), 0);
	argv = js_template_argv(t, &v);
	assert_string_equal(argv[1], "c");
	assert_string_equal(argv[2], "a b,c");
	js_template_free(t);
	assert_int_equal(js_template_command(&t, (char *[]){"grep", "x{2}"}, 2, NULL, &error), JOBSTACK_EUSAGE);
	assert_null(t);
	assert_non_null(strstr(error.text, "{2} is the placeholder of a field"));
	assert_non_null(strstr(error.text, "--colsep"));
	assert_int_equal(js_template_string(&t, "{3/.}", NULL, NULL), JOBSTACK_EUSAGE);
	assert_int_equal(js_template_shell(&t, (char *[]){"echo {} '{2}'"}, 1, NULL, NULL), JOBSTACK_EUSAGE);
	assert_int_equal(js_template_persistent(&t, (char *[]){"cmd", "{1}"}, 2, 0, &syntax, NULL), JOBSTACK_EUSAGE);
	assert_int_equal(js_template_string(&t, "{1}", &(struct js_template_syntax){.colsep = ""}, NULL),
			 JOBSTACK_EUSAGE);
}

/* What GNU parallel replaces never passes as text, and what only looks like it does. */
static void test_foreign(void **state)
{
	static const char *const foreign[] = {"{....}", "{/./}", "{+}",	   "{##}",	   "{%%}",   "{-1}", "{-2/.}",
					      "{0#}",	"{00%}", "x{+#}y", "{= s/a/b/ =}", "{%.gz}", "{#.x}"};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_template *t;

	(void)state;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		char *words[] = {"echo", (char *)(uintptr_t)foreign[i], NULL};

		js_error_clear(&error);
		if (js_template_command(&t, words, 2, NULL, &error) != JOBSTACK_EUSAGE ||
		    strstr(error.text, "of GNU parallel") == NULL || js_template_shell(&t, words, 2, NULL, NULL) == 0 ||
		    js_template_string(&t, foreign[i], NULL, NULL) == 0 ||
		    js_template_persistent(&t, words, 2, 0, NULL, NULL) == 0)
			fail_msg("%s was taken: %s", foreign[i], error.text);
		words[1] = (char *)(uintptr_t)foreign[i];
		expect_argv("W", words, "f", (const char *[]){"echo", foreign[i], "f", NULL});
	}
	expect_text("{1..3} {a..z} {,3} {} {print $1} {\"a\":1} {=a} {-} {} ${....} $${##} {", "f",
		    "{1..3} {a..z} {,3} f {print $1} {\"a\":1} {=a} {-} f ${....} $${##} {");
}

static void test_colsep(void **state)
{
	static const char *const good[][2] = {
		{",", ","}, {"\\t", "\t"}, {"a\\n\\r\\\\b", "a\n\r\\b"}, {"\\x1F\\xff;", "\x1f\xff;"}, {" | ", " | "}};
	static const char *const bad[] = {"", "\\", "\\s+", "\\x0", "\\x00", "\\xg0", "a\\"};
	struct js_buf sep = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		js_buf_reset(&sep);
		assert_int_equal(js_template_colsep(good[i][0], &sep, NULL), 0);
		assert_string_equal(sep.data, good[i][1]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		js_buf_reset(&sep);
		assert_int_equal(js_template_colsep(bad[i], &sep, NULL), JOBSTACK_EUSAGE);
	}
	assert_int_equal(js_template_fields("", 0, ","), 1);
	assert_int_equal(js_template_fields("a,b,,", 5, ","), 4);
	assert_int_equal(js_template_fields("a,b,,", 3, ","), 2);
	js_buf_free(&sep);
}

static void test_separates(void **state)
{
	static const struct {
		const char *text, *repl, *colsep;
		int separates;
	} cases[] = {
		{"o/{}", NULL, NULL, 1},     {"{#}", NULL, NULL, 1},  {"{//}-{/}", NULL, NULL, 1},
		{"{1}", NULL, NULL, 1},	     {"{/}", NULL, NULL, 0},  {"{//}/{/.}", NULL, NULL, 0},
		{"{.}.nc", NULL, NULL, 0},   {"{%}", NULL, NULL, 0},  {"one", NULL, NULL, 0},
		{"{}", "@", NULL, 0},	     {"@", "@", NULL, 1},     {"{1}-{2}", NULL, ",", 0},
		{"{1//}{1/}", NULL, ",", 0}, {"{1}{}", NULL, ",", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct js_template_syntax syntax = {.repl = cases[i].repl, .colsep = cases[i].colsep};
		struct js_template *t;

		assert_int_equal(js_template_string(&t, cases[i].text, &syntax, NULL), 0);
		if (js_template_separates(t) != cases[i].separates)
			fail_msg("%s", cases[i].text);
		js_template_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_separates),  cmocka_unit_test(test_names),
		cmocka_unit_test(test_extensions), cmocka_unit_test(test_commands),
		cmocka_unit_test(test_program),	   cmocka_unit_test(test_errors),
		cmocka_unit_test(test_any_bytes),  cmocka_unit_test(test_env),
		cmocka_unit_test(test_fields),	   cmocka_unit_test(test_fields_of_commands),
		cmocka_unit_test(test_foreign),	   cmocka_unit_test(test_colsep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
