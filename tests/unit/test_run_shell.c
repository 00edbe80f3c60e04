/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Command templates that are shell scripts: real shells run them, with names of any bytes.
 */
#define _GNU_SOURCE
#include "exec/template.h"

#include <fcntl.h>
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

#define NAMES 22    /* with which each script runs */
#define VALUES_AT 4 /* in an argv: after the shell, -c, the script and "jobstack" */

static struct js_template_values values_of(const char *name, size_t len)
{
	struct js_template_values v = {name, len, UINT64_MAX, 3, 12, "airs-2012", 77};

	return v;
}

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

/* Writes into EACH what a shell has to do to run the script of T, its first parameter, once for each of NAMES, with a
 * NUL after each run.  EXPECTED gets what it must print.  The values are in environment variables: in subshells the
 * scripts would be apart, but a fork for each run would take most of the time.  The words before the values must be the
 * same for each name: no byte of a name is in the script. */
static void make_runs(struct js_template *t, const char *prints, const char *const names[NAMES], struct js_buf *each,
		      struct js_buf *expected)
{
	char *first[VALUES_AT] = {NULL}, variable[32];
	struct js_buf text = {0};

	js_buf_str(each, "script=$1");
	for (size_t k = 0; k < NAMES; k++) {
		struct js_template_values v = values_of(names[k], strlen(names[k]));
		char *const *words = js_template_argv(t, &v);

		js_buf_str(each, "; unset x y f n; set --");
		for (size_t i = 0; words[i] != NULL; i++)
			if (i >= VALUES_AT) {
				(void)snprintf(variable, sizeof(variable), "v%zu_%zu", k, i);
				assert_int_equal(setenv(variable, words[i], 1), 0);
				js_buf_printf(each, " \"$%s\"", variable);
			} else if (k == 0)
				first[i] = strdup(words[i]);
			else
				assert_string_equal(words[i], first[i]);
		js_buf_str(each, "; eval \"$script\" || exit; printf '\\0'");
		expand(prints, &v, &text);
		js_buf_add(expected, text.data, text.len);
		js_buf_char(expected, '\0');
	}
	for (size_t i = 0; i < VALUES_AT; i++)
		free(first[i]);
	js_buf_free(&text);
}

static void expect_printed(const char *shell, char *const argv[], const char *script, const struct js_buf *expected)
{
	struct js_buf out = {0};
	size_t at = 0;

	run(shell, argv, &out);
	for (size_t i = 0; i < out.len && i < expected->len && out.data[i] == expected->data[i]; i++)
		at = out.data[i] == '\0' ? i + 1 : at; /* where the run begins that differs */
	if (out.len != expected->len || memcmp(out.data, expected->data, out.len) != 0)
		fail_msg("%s -c '%s' printed '%s', not '%s'", shell, script, out.data + at, expected->data + at);
	js_buf_free(&out);
}

/* Runs the script number I in each shell that is here, and compares every byte: once as a worker runs it, with the last
 * of NAMES, and then with all of them by a single process, since starting one is what takes time. */
static void run_script(size_t i, const char *const names[NAMES])
{
	static const char *const shells[] = {"/bin/sh", "/bin/dash", "/bin/bash", "/bin/ksh", "/bin/zsh"};
	struct js_template_values last = values_of(names[NAMES - 1], strlen(names[NAMES - 1]));
	char *words[] = {(char *)(uintptr_t)scripts[i].script}, *const * one_argv;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_buf one = {0}, all = {0}, each = {0};
	struct js_template *t;
	struct stat sh, st;

	if (js_template_shell(&t, words, 1, NULL, &error) != 0)
		fail_msg("%s: %s", words[0], error.text);
	make_runs(t, scripts[i].prints, names, &each, &all);
	expand(scripts[i].prints, &last, &one);
	one_argv = js_template_argv(t, &last);
	for (size_t s = 0; s < sizeof(shells) / sizeof(shells[0]); s++) {
		if (stat(shells[s], s == 0 ? &sh : &st) != 0 ||
		    (s > 0 && st.st_ino == sh.st_ino && st.st_dev == sh.st_dev))
			continue; /* is not there, or is /bin/sh */
		expect_printed(shells[s], one_argv, words[0], &one);
		expect_printed(shells[s],
			       (char *[]){one_argv[0], one_argv[1], each.data, one_argv[3], one_argv[2], NULL},
			       words[0], &all);
	}
	js_template_free(t);
	js_buf_free(&one);
	js_buf_free(&all);
	js_buf_free(&each);
}

static void test_shell(void **state)
{
	char any_byte[256];
	const char *const names[NAMES] = {"dir/plain.nc",
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
					  "&|<>()",
					  any_byte};

	(void)state;
	for (int i = 0; i < 256; i++)
		any_byte[i] = (char)(i + 1); /* the last is the NUL */
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		run_script(i, names);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shell),
		cmocka_unit_test(test_shell_words),
		cmocka_unit_test(test_shell_pipes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_fields_of_scripts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
