/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SHA-256: the standard's own examples, and each length around a block's end.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *hex(const void *data, size_t len)
{
	static char text[2 * JS_SHA256 + 1];
	unsigned char hash[JS_SHA256];

	js_sha256(data, len, hash);
	for (int i = 0; i < JS_SHA256; i++)
		(void)snprintf(text + (ptrdiff_t)2 * i, 3, "%02x", hash[i]);
	return text;
}

static void examples(void **state)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char *million = malloc(1000000);

	(void)state;
	assert_string_equal(hex("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_string_equal(hex("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_string_equal(hex(two, 56), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	assert_non_null(million);
	memset(million, 'a', 1000000);
	assert_string_equal(hex(million, 1000000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}

/* The hash of the hashes of 0 to 300 bytes, each byte its place: made with sha256sum. */
static void lengths(void **state)
{
	unsigned char data[301], all[301 * JS_SHA256];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)i;
	for (size_t n = 0; n <= 300; n++)
		js_sha256(data, n, all + n * JS_SHA256);
	assert_string_equal(hex(all, sizeof(all)), "ddbdb189f5834c274dbe603d6d2874adf7234fd8a075c3d1bfbadc2107a75676");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(examples), cmocka_unit_test(lengths)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
