/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker's identity as JSON: any bytes come back, as MariaDB (as written) and MySQL (members sorted, with blanks)
 * give them; what somebody else has written does no harm.
 */
#include "base/num.h"
#include "queue/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void there_and_back(void **state)
{
	static const char *const texts[] = {
		"", "plain", "a \"quoted\" \\ back", "line\nand\ttab\x01", "gr\xc3\xbc\xc3\x9f", "\xff\xfe", "x\xc3"};
	static const char argv[] = "worker\0-s\0gr\xc3\xbc\xc3\x9f\0", odd[] = "worker\0\xff\0";

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct jobstack_worker_options o = JOBSTACK_WORKER_OPTIONS_INIT;
		struct js_buf json = {0};
		struct js_identity id;

		o.host = o.log = texts[i];
		o.cwd = "/work";
		o.pid = 7;
		o.platform = INT64_MAX;
		o.argv = i % 2 == 0 ? (struct jobstack_bytes){argv, sizeof(argv) - 1}
				    : (struct jobstack_bytes){odd, sizeof(odd) - 1};
		js_identity_write(&o, &json);
		js_identity_read(json.data, &id);
		assert_string_equal(id.host, texts[i]);
		assert_string_equal(id.log, texts[i]);
		assert_string_equal(id.cwd, "/work");
		assert_null(id.boot);
		assert_int_equal(id.pid, 7);
		assert_int_equal(id.nodes, -1);
		assert_true(id.platform == INT64_MAX);
		assert_int_equal(id.argv.len, o.argv.len);
		assert_memory_equal(id.argv.data, o.argv.data, o.argv.len);
		js_buf_free(&json);
	}
}

static void of_mysql(void **state)
{
	char json[] = "{\"cwd\": {\"hex\": \"ff0A\"}, \"job\": \"5\", \"pid\": 12, \"new\": [1, \"x\"], \"argv\": "
		      "\"a\\u0000b\\n\\u0000\", \"more\": null, "
		      "\"step\": \"0\"}";
	struct js_identity id;

	(void)state;
	js_identity_read(json, &id);
	assert_string_equal(id.cwd, "\xff\n");
	assert_string_equal(id.job, "5");
	assert_int_equal(id.pid, 12);
	assert_int_equal(id.argv.len, 5);
	assert_memory_equal(id.argv.data, "a\0b\n", 5);
	js_identity_read(NULL, &id);
	assert_null(id.cwd);
	assert_int_equal(id.pid, -1);
}

/* Pieces of JSON in any order: under valgrind and the sanitizers, nothing is read or written beyond the text. */
static void any(void **state)
{
	static const char *const piece[] = {"{",       "\"", "hex", "\\", "\\u00", ":",	  "{\"hex\":\"",
					    "argv\":", "0f", "12",  "}",  ",",	   "cwd", "\xff"};
	uint64_t dice = 5;

	(void)state;
	for (unsigned n = 0; n < 20000; n++) {
		char text[256] = "", *copy;
		struct js_identity id;

		for (uint64_t left = js_num_jitter(&dice, 20); left > 0; left--)
			(void)strcat(text, piece[js_num_jitter(&dice, sizeof(piece) / sizeof(piece[0]))]);
		copy = strdup(text);
		assert_non_null(copy);
		js_identity_read(copy, &id);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(of_mysql),
					   cmocka_unit_test(any)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
