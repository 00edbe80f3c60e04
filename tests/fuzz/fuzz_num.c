/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers, durations and sizes, beside what the C library makes of them: what is taken has the value
 * that it says, lies in the range, and comes back from its own decimal text; what is refused changes
 * nothing.
 */
#define _GNU_SOURCE
#include "base/num.h"
#include "fuzz/fuzz.h"

#include <inttypes.h>
#include <math.h>

#define DAY INT64_C(86400000000)

static int all_in(const char *text, const char *set)
{
	return *text != '\0' && strspn(text, set) == strlen(text);
}

/* Whole numbers: taken if and only if strtoull and the range agree. */
static void whole(const char *text, uint64_t low, uint64_t high)
{
	uint64_t value = 7, there;
	int taken = js_num_u64(text, low, high, &value) == 0;

	errno = 0;
	there = all_in(text, "0123456789") ? strtoull(text, NULL, 10) : 0;
	need(taken == (all_in(text, "0123456789") && errno == 0 && there >= low && there <= high));
	need(value == (taken ? there : 7));
}

static void with_sign(const char *text, int64_t low, int64_t high)
{
	const char *number = *text == '-' ? text + 1 : text;
	int64_t value = 7, there;
	int taken = js_num_i64(text, low, high, &value) == 0;

	errno = 0;
	there = all_in(number, "0123456789") ? strtoll(text, NULL, 10) : 0;
	need(taken == (all_in(number, "0123456789") && errno == 0 && there >= low && there <= high));
	need(value == (taken ? there : 7));
}

/* [D-]A[:B[:C]] in seconds. */
static long double clock_seconds(const char *text)
{
	const char *dash = strchr(text, '-'), *p = dash == NULL ? text : dash + 1;
	long double part[3] = {0, 0, 0};
	char *end;
	int n = 0;

	for (end = NULL; n < 3; p = end + 1) {
		part[n++] = strtold(p, &end);
		if (*end != ':')
			break;
	}
	need(*end == '\0');
	if (dash != NULL)
		return strtold(text, NULL) * 86400 + part[0] * 3600 + part[1] * 60 + part[2];
	return n == 3 ? part[0] * 3600 + part[1] * 60 + part[2] : part[0] * 60 + part[1];
}

/* Microseconds of one of its units. */
static long double unit_us(const char *unit)
{
	switch (*unit) {
	case 'm': return unit[1] == 's' ? 1e3L : 60e6L;
	case 'h': return 3600e6L;
	case 'd': return 86400e6L;
	default: return 1e6L;
	}
}

static void duration(const char *text)
{
	char again[64], people[40];
	int64_t us = -7, same = -7;
	long double unit, there;

	if (js_num_duration(text, &us) != 0) {
		need(us == -7);
		return;
	}
	need(us >= 0 && us <= 366 * DAY);
	need(all_in(text, "0123456789.:-smhdin"));
	if (strchr(text, ':') != NULL || strchr(text, '-') != NULL)
		need((long double)us == clock_seconds(text) * 1e6L);
	else { /* of a fraction, six digits count */
		unit = unit_us(text + strspn(text, "0123456789."));
		there = strtold(text, NULL) * unit;
		need(fabsl(there - (long double)us) <= unit / 1e6L + 1);
	}
	(void)snprintf(again, sizeof(again), "%" PRId64 ".%06" PRId64 "s", us / 1000000, us % 1000000);
	need(js_num_duration(again, &same) == 0 && same == us);
	memset(people, 'x', sizeof(people));
	js_num_duration_text(us, people, sizeof(people));
	need(memchr(people, '\0', sizeof(people)) != NULL && people[0] >= '0' && people[0] <= '9');
}

static void size_in_bytes(const char *text)
{
	uint64_t bytes = 7, same = 8, number;
	const char *unit;
	char again[32];

	if (js_num_size(text, &bytes) != 0) {
		need(bytes == 7);
		return;
	}
	number = strtoull(text, NULL, 10);
	unit = text + strspn(text, "0123456789");
	need(unit > text && strlen(unit) <= 1);
	for (const char *u = "kmgt"; *unit != '\0'; u++) {
		need(*u != '\0');
		number *= 1024;
		if ((*unit | 0x20) == *u)
			break;
	}
	need(number == bytes);
	(void)snprintf(again, sizeof(again), "%" PRIu64, bytes);
	need(js_num_size(again, &same) == 0 && same == bytes);
#ifdef FUZZ_PLANT /* the fuzzers' own test: this must be found */
	need(bytes != UINT64_C(7) << 30);
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);

	whole(text, 0, UINT64_MAX);
	whole(text, 1, 65535);
	with_sign(text, INT64_MIN, INT64_MAX);
	with_sign(text, -10, 10);
	duration(text);
	size_in_bytes(text);
	free(text);
	return 0;
}
