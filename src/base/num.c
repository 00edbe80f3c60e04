/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers, durations and sizes.  Promise: a text that is not as a whole a number in its range is refused.
 */
#include "base/num.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DURATION_MAX_US (INT64_C(366) * 86400 * JS_SECOND_US)

int js_num_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Reads digits at *P and moves *P behind them.  Returns 0, or -1 if there are none or too many. */
static int read_digits(const char **p, uint64_t *value)
{
	const char *start = *p;

	*value = 0;
	for (; **p >= '0' && **p <= '9'; (*p)++) {
		unsigned digit = (unsigned)(**p - '0');

		if (*value > (UINT64_MAX - digit) / 10)
			return -1;
		*value = *value * 10 + digit;
	}
	return *p == start ? -1 : 0;
}

/* Two digits at a time: an export writes some twenty numbers per row. */
size_t js_num_text(uint64_t number, char text[20])
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
				    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";
	char digits[20];
	size_t at = sizeof(digits);

	for (; number >= 100; number /= 100)
		memcpy(digits + (at -= 2), pairs + 2 * (number % 100), 2);
	if (number >= 10)
		memcpy(digits + (at -= 2), pairs + 2 * number, 2);
	else
		digits[--at] = (char)('0' + number);
	memcpy(text, digits + at, sizeof(digits) - at);
	return sizeof(digits) - at;
}

uint64_t js_num_hash(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * UINT64_C(1099511628211);
	return hash;
}

uint64_t js_num_jitter(uint64_t *state, uint64_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return below == 0 ? 0 : *state % below;
}

int js_num_u64(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	uint64_t v;

	if (text == NULL || read_digits(&text, &v) != 0 || *text != '\0' || v < low || v > high)
		return -1;
	*value = v;
	return 0;
}

int js_num_i64(const char *text, int64_t low, int64_t high, int64_t *value)
{
	int negative;
	uint64_t v;
	int64_t n;

	if (text == NULL)
		return -1;
	negative = *text == '-';
	if (js_num_u64(text + negative, 0, (uint64_t)INT64_MAX + (uint64_t)negative, &v) != 0)
		return -1;
	n = negative && v > 0 ? -(int64_t)(v - 1) - 1 : (int64_t)v; /* the lowest has no positive of its size */
	if (n < low || n > high)
		return -1;
	*value = n;
	return 0;
}

/* Reads one of the clock forms [D-][[H:]M:]S, which are recognised by their colons and dash. */
static int read_clock_form(const char *text, int64_t *us)
{
	uint64_t part[4], days = 0, seconds;
	int n = 0;
	const char *p = text;

	if (strchr(p, '-') != NULL) {
		if (read_digits(&p, &days) != 0 || *p++ != '-')
			return -1;
		if (days > 366)
			return -1;
	}
	do {
		if (n == 3 || read_digits(&p, &part[n]) != 0 || part[n] > 366 * 24 * 60)
			return -1;
		n++;
	} while (*p == ':' && p++ != NULL);
	if (*p != '\0' || (p != text && n == 0))
		return -1;
	if (strchr(text, '-') != NULL) /* days-hours[:minutes[:seconds]], as Slurm reads it */
		seconds = days * 86400 + part[0] * 3600 + (n > 1 ? part[1] * 60 : 0) + (n > 2 ? part[2] : 0);
	else if (n == 3)
		seconds = part[0] * 3600 + part[1] * 60 + part[2];
	else
		seconds = part[0] * 60 + part[1];
	if (seconds > (uint64_t)(DURATION_MAX_US / JS_SECOND_US))
		return -1;
	*us = (int64_t)seconds * JS_SECOND_US;
	return 0;
}

/* A colon, or a dash that is not first, makes it one of the clock forms. */
int js_num_duration(const char *text, int64_t *us)
{
	static const struct {
		const char *word;
		int64_t us;
	} unit[] = {{"", JS_SECOND_US},		{"s", JS_SECOND_US},	    {"ms", 1000},
		    {"m", 60 * JS_SECOND_US},	{"min", 60 * JS_SECOND_US}, {"h", 3600 * JS_SECOND_US},
		    {"d", 86400 * JS_SECOND_US}};
	const char *p = text;
	uint64_t whole;
	int64_t millionths = 0, place = 100000, value;

	if (text == NULL)
		return -1;
	if (strchr(text, ':') != NULL || (strchr(text, '-') != NULL && *text != '-'))
		return read_clock_form(text, us);
	if (read_digits(&p, &whole) != 0)
		return -1;
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++, place /= 10)
			millionths += (*p - '0') * place;
	for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
		if (strcmp(p, unit[i].word) != 0)
			continue;
		if (whole > (uint64_t)(DURATION_MAX_US / unit[i].us))
			return -1;
		value = (int64_t)whole * unit[i].us + millionths * (unit[i].us / 1000) / 1000;
		if (value > DURATION_MAX_US)
			return -1;
		*us = value;
		return 0;
	}
	return -1;
}

int js_num_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	const char *p = text, *u;
	uint64_t n;
	unsigned shift = 0;

	if (text == NULL || read_digits(&p, &n) != 0)
		return -1;
	if (*p != '\0') {
		u = strchr(units, *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
		if (u == NULL || p[1] != '\0')
			return -1;
		shift = 10 * (unsigned)(u - units + 1);
	}
	if (shift > 0 && n > (UINT64_MAX >> shift))
		return -1;
	*bytes = n << shift;
	return 0;
}

void js_num_duration_text(int64_t us, char *text, size_t size)
{
	/* each is rounded to the smallest unit that is shown; what rounds up to the next limit is shown as that */
	const int64_t s = (us + JS_SECOND_US / 2) / JS_SECOND_US, min = (s + 30) / 60, h = (s + 1800) / 3600;

	if (us < 0)
		(void)snprintf(text, size, "?");
	else if (us < 10 * JS_SECOND_US - JS_SECOND_US / 20)
		(void)snprintf(text, size, "%.1f s", (double)us / 1e6);
	else if (s < 120)
		(void)snprintf(text, size, "%" PRId64 " s", s);
	else if (s < 7200)
		(void)snprintf(text, size, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
	else if (min < 2 * 1440)
		(void)snprintf(text, size, "%" PRId64 " h %" PRId64 " min", min / 60, min % 60);
	else
		(void)snprintf(text, size, "%" PRId64 " d %" PRId64 " h", h / 24, h % 24);
}
