/* SPDX-License-Identifier: BSD-2-Clause
 *
 * base: globs: what is one, what it matches, against fnmatch on whatever chance makes; and that LIKE's pattern never
 * matches less.
 */
#include "base/glob.h"

#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int match(const char *glob, const char *text)
{
	assert_null(js_glob_fault(glob, strlen(glob)));
	return js_glob_match(glob, text);
}

static void matches(void **state)
{
	(void)state;
	assert_true(match("*", "/a/b"));
	assert_true(match("/a/*.nc", "/a/b/c.nc"));
	assert_true(match("**", "/a"));
	assert_true(match("/a**/*b", "/a/b"));
	assert_false(match("/a/*.nc", "/a/b.nc4"));
	assert_false(match("a", "/a"));
	assert_true(match("/?", "/x"));
	assert_false(match("/?", "/\xc3\xa4")); /* bytes, not letters */
	assert_true(match("/??", "/\xc3\xa4"));
	assert_true(match("[a-c][!a-c][^x]", "bdy"));
	assert_false(match("[a-c][!a-c]", "bb"));
	assert_true(match("[]-]x[a-]", "]x-"));
	assert_true(match("[\xc0-\xff]*", "\xc3\xa4"));
	assert_true(match("\\*\\[x[\\]]", "*[x]"));
	assert_false(match("\\*", "x"));
	assert_true(match("50%_|x", "50%_|x"));
}

static void faults(void **state)
{
	static const char *const bad[] = {"", "[", "a[b", "[]", "[!]", "[z-a]", "[[:digit:]]", "x\\", "[a\\", "[a-"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(js_glob_fault(bad[i], strlen(bad[i])));
	assert_null(js_glob_fault("]", 1));
	assert_null(js_glob_fault("a-b]", 4));
}

/* LIKE, as a server does it. */
static int like(const char *p, const char *t)
{
	for (; *p != '\0'; p++, t++) {
		if (*p == '%') {
			do
				if (like(p + 1, t))
					return 1;
			while (*t++ != '\0');
			return 0;
		}
		if (*t == '\0' || (*p != '_' && *(p += *p == '|') != *t))
			return 0;
	}
	return *t == '\0';
}

static void by_chance(void **state)
{
	static const char in_glob[] = "ab***??[[]]!-\\%_|/", in_text[] = "aaabb/%_|[]!-";
	unsigned tried = 0, matched = 0;
	char glob[12], text[12];

	(void)state;
	srand(5);
	while (tried < 20000) {
		struct js_buf pattern = {0};
		size_t g = (size_t)rand() % 6 + 1, t = (size_t)rand() % 5;
		int here;

		for (size_t i = 0; i < g; i++)
			glob[i] = in_glob[(size_t)rand() % (sizeof(in_glob) - 1)];
		for (size_t i = 0; i < t; i++)
			text[i] = in_text[(size_t)rand() % (sizeof(in_text) - 1)];
		glob[g] = text[t] = '\0';
		if (js_glob_fault(glob, g) != NULL)
			continue;
		tried++;
		here = js_glob_match(glob, text);
		if (here != (fnmatch(glob, text, 0) == 0))
			fail_msg("glob %s, text %s: %d here", glob, text, here);
		js_glob_like(&pattern, glob, g);
		js_buf_char(&pattern, '\0');
		if (like(pattern.data, text) != here && (strchr(glob, '[') == NULL || here))
			fail_msg("glob %s, text %s: %d here, LIKE %s says otherwise", glob, text, here, pattern.data);
		matched += (unsigned)here;
		js_buf_free(&pattern);
	}
	assert_true(matched > 1000);
}

/* Many stars and a text that nearly fits: not a matter of hours. */
static void many_stars(void **state)
{
	char glob[200] = "", text[4097];

	(void)state;
	for (int i = 0; i < 60; i++)
		strcat(glob, "*a");
	strcat(glob, "*b");
	memset(text, 'a', 4096);
	text[4096] = '\0';
	assert_false(match(glob, text));
	text[4095] = 'b';
	assert_true(match(glob, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(matches), cmocka_unit_test(faults),
					   cmocka_unit_test(by_chance), cmocka_unit_test(many_stars)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
