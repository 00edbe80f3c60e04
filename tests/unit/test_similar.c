/* SPDX-License-Identifier: BSD-2-Clause
 *
 * core without a server: messages made alike.
 */
#include "history/similar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_last(const char *text, const char *line)
{
	const char *found = NULL;
	size_t n = js_similar_last(text, strlen(text), &found);

	assert_int_equal(n, strlen(line));
	assert_memory_equal(found, line, n);
}

static void last_lines(void **state)
{
	(void)state;
	expect_last("", "");
	expect_last(" \n\r\n", "");
	expect_last("one", "one");
	expect_last("one\ntwo\n", "two");
	expect_last("one\n  two words\t\r\n\n \n", "two words");
	expect_last("10 %\r20 %\r", "20 %");
}

static void expect_alike(const char *line, const char *datapath, const char *alike)
{
	char out[160];

	js_similar(line, strlen(line), datapath, datapath == NULL ? 0 : strlen(datapath), out, sizeof(out));
	assert_string_equal(out, alike);
}

static void alike(void **state)
{
	(void)state;
	expect_alike("error 404 at line 12", NULL, "error # at line #");
	expect_alike("address 0xdeadBEEF, hash 0a1b2c3d4e", NULL, "address #, hash #");
	expect_alike("the facade decade of beef", NULL, "the facade decade of beef");
	expect_alike("can't open /data/a/x.hdf: no such file", "/data/a/x.hdf", "can't open {}: no such file");
	expect_alike("can't open x.hdf (in /data/a)", "/data/a/x.hdf", "can't open {} (in .../a)");
	expect_alike("/usr/lib/tool7: bad \"/scratch/u1/part-3.tmp\"", "/data/q", ".../tool#: bad \".../part-#.tmp\"");
	expect_alike("either/or, 3/4, a / b", NULL, "either/or, #/#, a / b");
	expect_alike("tab\there\x01\x7f  end", NULL, "tab here end");
	expect_alike("\xff\xfe byte \xc3\xa4", NULL, "\xff\xfe byte \xc3\xa4");
	expect_alike("", "/x", "");
}

/* Cut at a whole character, and never beyond the end. */
static void cut(void **state)
{
	char out[8];

	(void)state;
	js_similar("abcdef\xc3\xa4xyz", 11, NULL, 0, out, sizeof(out));
	assert_string_equal(out, "abcdef");
	for (size_t n = 1; n <= sizeof(out); n++) {
		memset(out, 'z', sizeof(out));
		js_similar("/a/b/c 12 long enough", 21, "/a/b/c", 6, out, n);
		assert_true(strlen(out) < n);
		for (size_t i = n; i < sizeof(out); i++)
			assert_int_equal(out[i], 'z');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(last_lines), cmocka_unit_test(alike),
					   cmocka_unit_test(cut)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
