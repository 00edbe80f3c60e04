/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Command templates: what each placeholder gives, names of any bytes, and scripts that real shells run.
 */
#define _GNU_SOURCE
#include "base/file.h"
#include "exec/env.h"
#include "base/error.h"
#include "exec/template.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static void test_commands(void **state)
{
	(void)state;
	expect_argv(NULL, (char *[]){"cmd", "{}", "-o", "{.}.out", "{/}{/}", NULL}, "d/f.x",
		    (const char *[]){"cmd", "d/f.x", "-o", "d/f.out", "f.xf.x", NULL});
	expect_argv(NULL, (char *[]){"cmd", "-v", NULL}, "-rf", (const char *[]){"cmd", "-v", "-rf", NULL});
	expect_argv(NULL, (char *[]){"cmd", NULL}, "a b", (const char *[]){"cmd", "a b", NULL});
	expect_argv(NULL, (char *[]){"cmd", "--n={#}", "{%}", NULL}, "f",
		    (const char *[]){"cmd", "--n=18446744073709551615", "12", "f", NULL});
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

/* ------------------------------------------------------------------------------------------------- shell scripts */

/* Runs ARGV by SHELL and gives what it printed; the test fails if it does not end with 0. */
static void run(const char *shell, char *const argv[], struct js_buf *out)
{
	posix_spawn_file_actions_t actions;
	int fd[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&actions, fd[1], 1), 0);
	assert_int_equal(posix_spawn(&pid, shell, &actions, NULL, argv, environ), 0);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(fd[1]);
	js_buf_reset(out);
	do {
		assert_non_null(js_buf_room(out, 4096));
		n = read(fd[0], out->data + out->len, 4096);
		if (n > 0)
			out->len += (size_t)n;
	} while (n > 0);
	out->data[out->len] = '\0';
	(void)close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("%s -c '%s' ended with status %#x", shell, argv[2], (unsigned)status);
}

/* A script, and what it must print; in that the placeholders stand for what a string template makes of them. */
static const struct {
	const char *script, *prints;
} scripts[] = {
	{"printf '[%s]' {}", "[{}]"},
	{"printf '[%s]'", "[{}]"},
	{"printf '[%s]'  \n", "[{}]"},
	{"printf '[%s]' \"{}\"", "[{}]"},
	{"printf '[%s]' '{}'", "[{}]"},
	{"printf '[%s]' {} {/} {//} {.} {/.} {#} {%}", "[{}][{/}][{//}][{.}][{/.}][{#}][{%}]"},
	{"printf '[%s]' \"{} {/} {//}\" '{.} {/.}'{#}", "[{} {/} {//}][{.} {/.}{#}]"},
	{"printf '[%s]' a{}b \"c {} d\" 'e {} f' {}{}", "[a{}b][c {} d][e {} f][{}{}]"},
	{"printf '[%s]' \"it's {}\" 'say \"{}\"' \\\"{}\\'", "[it's {}][say \"{}\"][\"{}']"},
	{"printf '[%s]' \"a\\\"{}\\\"\" \"\\$x{}\" \"\\\\{}\"", "[a\"{}\"][$x{}][\\{}]"},
	{"printf '[%s]' \"\\\\{}\" \\\\{} \"\\${}\" \\${}", "[\\{}][\\{}][${}][${}]"},
	{"x=$(printf '%s' {}; case x in x) echo .;; esac); printf '[%s]' \"$x\"", "[{}.]"},
	{"x=$(printf '%s' \"{}\" '{}'; (echo .) # isn't {}\n); printf '[%s]' \"$x\" {}", "[{}{}.][{}]"},
	{"f={}; printf '[%s]' \"${x:-$f}\" ${x:-\"$f\"} \"$(printf '%s' \"$f\"; (echo \".\"))-$f\"",
	 "[{}][{}][{}.-{}]"},
	{"f={}; x=`printf '%s' \"$f\"; echo '.'`; printf '[%s]' \"$x\" \"`printf '%s' \"$f\"; echo .`\" {}",
	 "[{}.][{}.][{}]"},
	{"f={}; cat <<E\nit's \"$f\nE\nprintf '[%s]' \"$f\"", "it's \"{}\n[{}]"},
	{"f={%}; printf '[%s]' {} $((1 + $f)) $(( (f) * 2 ))", "[{}][13][24]"},
	{"printf '[%s]' \"$(echo .) {}\" \"`echo \".\"` {}\" $((1 << 2)) {}", "[. {}][. {}][4][{}]"},
	{"x={}; printf '[%s]' \"$x\" \"${x}y\" \"$x{}\" ${y%%.*} \"${y##*/}\" {}", "[{}][{}y][{}{}][][{}]"},
	{"printf '[%s]' \"${x:-y}{}\" \"${#}\" \"$?{}\" \"$#{}\"", "[y{}][1][0{}][1{}]"},
	{"printf '[%s]' {}; x=`echo \\`echo .\\``; printf '[%s]' \"$x\"", "[{}][.]"},
	{"# it's a \"comment\" {}\nprintf '[%s]' {} # and 'one {}", "[{}]"},
	{"printf '[%s]' a#'{}' #'", "[a#{}]"},
	{"printf '[%s]' \\ #{} \"\\\"#{}\" # don't {}\nprintf '[%s]' {}", "[ #{}][\"#{}][{}]"},
	{"( printf '[%s]' {}; ( printf '[%s]' \"{}\" ) )", "[{}][{}]"},
	{"case {} in *) printf '[%s]' {};; esac; printf '[%s]' '{}'", "[{}][{}]"},
	{"for x in {} {/}; do printf '[%s]' \"$x\"; done", "[{}][{/}]"},
	{"f() { printf '[%s]' \"$1\"; }; f {}", "[{}]"},
	{"n=$(printf %s {} | wc -c); printf '[%s]' $((n * 0)) {}", "[0][{}]"},
	{"printf '%s' {} | { printf '['; cat; printf ']'; }", "[{}]"},
	{"test {} = \"{}\" && test {} = '{}' && printf '[%s]' {}", "[{}]"},
	{"printf '[%s]' {} \\\n\t{}", "[{}][{}]"},
	{"printf '[%s]' \"$0\" \"$1\" {}", "[jobstack][{}][{}]"},
	{"set -- {}; eval 'printf \"[%s]\" \"$1\"'", "[{}]"},
	{"sh -c 'printf \"[%s]\" \"$1\"' x {}", "[{}]"},
};

static void expand(const char *text, const struct js_template_values *v, struct js_buf *out)
{
	struct js_template *t;

	assert_int_equal(js_template_string(&t, text, NULL, NULL), 0);
	js_buf_reset(out);
	assert_int_equal(js_template_text(t, v, out), 0);
	js_template_free(t);
}

/* Runs each script with this name in each shell that is here, and compares every byte. */
static void run_scripts(const char *name, size_t len)
{
	static const char *const shells[] = {"/bin/sh", "/bin/dash", "/bin/bash", "/bin/ksh", "/bin/zsh"};
	struct stat sh, st;
	struct js_template_values v = values_of(name, len);
	struct js_buf out = {0}, expected = {0};
	struct js_template *t;

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		struct jobstack_error error = JOBSTACK_ERROR_INIT;
		char *words[] = {(char *)(uintptr_t)scripts[i].script};

		if (js_template_shell(&t, words, 1, NULL, &error) != 0)
			fail_msg("%s: %s", words[0], error.text);
		expand(scripts[i].prints, &v, &expected);
		for (size_t s = 0; s < sizeof(shells) / sizeof(shells[0]); s++) {
			if (stat(shells[s], s == 0 ? &sh : &st) != 0 ||
			    (s > 0 && st.st_ino == sh.st_ino && st.st_dev == sh.st_dev))
				continue; /* is not there, or is /bin/sh */
			run(shells[s], js_template_argv(t, &v), &out);
			if (out.len != expected.len || memcmp(out.data, expected.data, out.len) != 0)
				fail_msg("%s -c '%s' printed '%s', not '%s'", shells[s], words[0], out.data,
					 expected.data);
		}
		js_template_free(t);
	}
	js_buf_free(&out);
	js_buf_free(&expected);
}

static void test_shell(void **state)
{
	static const char *const names[] = {"dir/plain.nc",
					    "-n",
					    "--",
					    "with  two blanks ",
					    "it's \"quoted\"/`touch PWNED`.x",
					    "$(touch PWNED)$HOME${1}",
					    "a;touch PWNED;#",
					    "*",
					    "?[a-z]*.{a,b}",
					    "back\\slash\\",
					    "new\nline\n",
					    "\n",
					    "%s%n",
					    "~root",
					    "{}",
					    "'",
					    "\"",
					    "!!",
					    "a=b",
					    "\xff\xfe\x80 not utf-8",
					    "&|<>()"};
	char all[256];

	(void)state;
	/* under valgrind each of two thousand shells takes 0.06 s to start, and it looks at our memory, not at their
	 * output */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i += getenv("JOBSTACK_UNDER_VALGRIND") != NULL ? 7 : 1)
		run_scripts(names[i], strlen(names[i]));
	for (int i = 0; i < 255; i++)
		all[i] = (char)(i + 1);
	run_scripts(all, 255);
	assert_int_not_equal(access("PWNED", F_OK), 0);
}

/* The exit status of SCRIPT in bash. */
static int end_of_script(const char *script, int no_pipefail)
{
	const struct js_template_syntax syntax = {.shell = "bash", .no_pipefail = no_pipefail};
	struct js_template_values v = values_of("a b", 3);
	struct js_template *t;
	posix_spawn_file_actions_t quiet;
	char *const *argv;
	int status;
	pid_t pid;

	assert_int_equal(js_template_shell(&t, (char *[]){(char *)(uintptr_t) ": {};", (char *)(uintptr_t)script}, 2,
					   &syntax, NULL),
			 0);
	argv = js_template_argv(t, &v);
	assert_int_equal(posix_spawn_file_actions_init(&quiet), 0);
	for (int fd = 1; fd < 3; fd++)
		assert_int_equal(posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_WRONLY, 0), 0);
	assert_int_equal(posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ), 0);
	(void)posix_spawn_file_actions_destroy(&quiet);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	js_template_free(t);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What a pipeline hides, and what it does not: never a failure, nor a part of the script that was skipped. */
static void test_shell_pipes(void **state)
{
	static const struct {
		const char *script;
		int status, no_pipefail;
	} cases[] = {{"cat nofile | cat", 1, 0},
		     {"yes | head -1", 0, 0},
		     {"cd / && yes | head -1", 0, 0},
		     {"for i in 1 2; do yes | cat | head -1; done", 0, 0},
		     {"yes | head -1; true", 0, 0},
		     {"IFS=:; yes | head -1", 0, 0},
		     {"seq 3 | while read -r x; do echo $x; done", 0, 0},
		     {"! false | cat", 1, 0},
		     {"echo 'a | b && c'", 0, 0},
		     {"false | yes | head -1", 141, 0},
		     {"yes | sh -c 'exit 141'", 141, 0},
		     {"sh -c 'exit 141'", 141, 0},
		     {"yes | head -1; exit 141", 141, 0},
		     {"yes | head -1; exit", 0, 0},
		     {"awk '{if ($1 || $2) print}' nofile | cat", 2, 0},
		     {"echo \"it's\"; cat nofile | sed 's/a|b//'", 1, 0},
		     {"false | true; (exit 3)", 3, 0},
		     {"cat nofile | cat && exit 7", 1, 0},
		     {"if cat nofile | cat; then exit 8; fi", 8, 0},
		     {"cat nofile | cat || exit 7", 0, 0},
		     {"set -e; yes | head -1; exit 7", 141, 0},
		     {"yes | head -1 && true", 141, 0},
		     {"n=$(yes | head -1) && true", 141, 0},
		     {"yes | head -1 || exit 7", 0, 0},
		     {"if yes|grep -q y; then exit 7; fi; true", 7, 0},
		     {"if true; then cat nofile | cat; fi", 1, 0},
		     {"while yes | head -1; do exit 7; done", 7, 0},
		     {"if true; then while ! yes | grep -q y; do exit 7; done; fi", 0, 0},
		     {"cat nofile | while read -r x; do echo $x; done", 1, 0},
		     {"cat nofile | cat", 0, 1},
		     {"if yes | grep -q y; then exit 7; fi", 7, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (end_of_script(cases[i].script, cases[i].no_pipefail) != cases[i].status)
			fail_msg("%s: ended with %d", cases[i].script,
				 end_of_script(cases[i].script, cases[i].no_pipefail));
}

/* Words are joined with blanks; -I stands for {} here as well. */
static void test_shell_words(void **state)
{
	struct js_template_values v = values_of("a b", 3);
	struct js_buf out = {0};
	struct js_template *t;
	char *const words[] = {"printf", "'[%s]'", "@", "'{}'", "\"@\"", "{/}"};

	(void)state;
	assert_int_equal(js_template_shell(&t, words, 6, &(struct js_template_syntax){.repl = "@"}, NULL), 0);
	run("/bin/sh", js_template_argv(t, &v), &out);
	assert_string_equal(out.data, "[a b][{}][a b][a b]");
	js_template_free(t);
	assert_int_equal(js_template_shell(&t, (char *[]){"printf '[%s]' \\{}"}, 1, NULL, NULL), 0);
	run("/bin/sh", js_template_argv(t, &v), &out);
	assert_string_equal(out.data, "[{}][a b]");
	js_template_free(t);
	js_buf_free(&out);
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"echo '{}",
		"echo \"{}",
		"echo `{}",
		"echo ${x:-{}",
		"echo $((1 + 2",
		"echo 'a",
		"cat <<E\n{}\nE",
		"cat <<'E'\n{}\nE",
		"cat <<E\nx\nE\n",
		"cat {} <<E\nx\nE\necho {}",
		"echo \"$(basename {})\"",
		"echo \"$(basename '{}')\"",
		"echo \"$(echo \"x\")\" {}",
		"echo \"$(case x in x) echo;; esac)\" {}",
		"echo \"$(echo x # )'\n)\" {}",
		"echo `basename {}`",
		"echo ${x:-{}}",
		"echo ${x%'\"'} {}",
		"echo ${x:-$(echo y)} {}",
		"echo \"${ echo }; }\" {}",
		"echo \"\\{}\"",
		"echo \"$\\\n(date)\" {}",
		"cat <\\\n<E\n'\nE\necho {}",
		"echo \\\n# it's\necho {}",
		"echo $(echo x)#' {}",
		"echo $((1 + {%}))",
		"echo $(( {} ))",
		"echo $(( ${x:-{}} ))",
		"(( {} ))",
		"echo $((1)) $(( {/} ))",
		"echo $[ {} ]",
		"echo $'a {}'",
		"echo $'it\\'s' {}",
		"echo \"${x:-{}}\"",
		"echo \"${x#'a'}\" {}",
		"echo ${}",
		"echo $({} ${/})",
		"echo \"$(case x in a) echo;; esac; echo {})\"",
		"echo `echo \\`basename {}\\``",
		"echo \"`echo \\\"{}\\\"`\"",
		"echo;",
		"echo &",
		"echo \\;",
		"echo # {}",
		"echo \\\\\n# comment",
		"",
		" \t\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct jobstack_error error = JOBSTACK_ERROR_INIT;
		char *words[] = {(char *)(uintptr_t)bad[i]};
		struct js_template *t;

		if (js_template_shell(&t, words, 1, NULL, &error) != JOBSTACK_EUSAGE)
			fail_msg("the script '%s' was taken, as '%s'", bad[i], js_template_program(t));
		assert_null(t);
		assert_int_equal(error.code, JOBSTACK_EUSAGE);
		assert_true(strlen(error.text) > 10);
	}
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
	static const char *const foreign[] = {"{..}",	"{...}", "{/..}", "{/...}", "{+/}",	   "{+.}",   "{+..}",
					      "{+...}", "{+}",	 "{##}",  "{%%}",   "{-1}",	   "{-2/.}", "{1..}",
					      "{2+/}",	"{0#}",	 "{00%}", "x{..}y", "{= s/a/b/ =}"};
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
	expect_text("{1..3} {a..z} {,3} {} {print $1} {\"a\":1} {=a} {-} {} ${..} $${##} {", "f",
		    "{1..3} {a..z} {,3} f {print $1} {\"a\":1} {=a} {-} f ${..} $${##} {");
}

static void test_fields_of_scripts(void **state)
{
	static const char script[] = "f() { printf '[%s]' \"${1}\" \"$2\"; }; f {2} \"{1}\"; printf '[%s]' '{3} {1/.}' "
				     "{} \"${#}\"; x=$(printf %s {2}); printf '[%s]' \"$x\"";
	const struct js_template_syntax syntax = {.colsep = "\t"};
	static const char name[] = "d/it's $(touch PWNED).x\t`touch PWNED`\"\t;touch PWNED #";
	struct js_template_values v = values_of(name, strlen(name));
	struct js_buf out = {0}, many = {0};
	struct js_template *t;

	(void)state;
	assert_int_equal(js_template_shell(&t, (char *[]){(char *)(uintptr_t)script}, 1, &syntax, NULL), 0);
	assert_int_equal(js_template_last_field(t), 3);
	run("/bin/sh", js_template_argv(t, &v), &out);
	assert_string_equal(out.data, "[`touch PWNED`\"][d/it's $(touch PWNED).x][;touch PWNED # it's $(touch PWNED)]"
				      "[d/it's $(touch PWNED).x\t`touch PWNED`\"\t;touch PWNED #][5][`touch PWNED`\"]");
	assert_int_not_equal(access("PWNED", F_OK), 0);
	js_template_free(t);
	js_buf_str(&many, "echo");
	for (int i = 1; i <= 99; i++)
		js_buf_printf(&many, " {%d}", i);
	assert_int_equal(js_template_shell(&t, (char *[]){many.data}, 1, &syntax, NULL), JOBSTACK_EUSAGE);
	many.data[many.len - 5] = '\0';
	assert_int_equal(js_template_shell(&t, (char *[]){many.data}, 1, &syntax, NULL), 0);
	js_template_free(t);
	js_buf_free(&many);
	js_buf_free(&out);
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
		cmocka_unit_test(test_separates),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_env),
		cmocka_unit_test(test_shell),
		cmocka_unit_test(test_shell_words),
		cmocka_unit_test(test_shell_pipes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_fields_of_commands),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_fields_of_scripts),
		cmocka_unit_test(test_colsep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
