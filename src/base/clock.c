/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Time.  Promise: nothing here depends on the time zone or the locale.
 */
#define _GNU_SOURCE
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec t;

	if (clock_gettime(id, &t) != 0)
		return 0;
	return (int64_t)t.tv_sec * JS_SECOND_US + t.tv_nsec / 1000;
}

int64_t js_clock_mono_us(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t js_clock_wall_us(void)
{
	return read_clock(CLOCK_REALTIME);
}

void js_clock_nap(int64_t us, const volatile int *stop)
{
	struct timespec t = {.tv_sec = us / JS_SECOND_US, .tv_nsec = us % JS_SECOND_US * 1000};

	if (us > 0 && (stop == NULL || *stop == 0))
		(void)nanosleep(&t, NULL);
}

void js_clock_iso(int64_t wall_us, char text[JS_CLOCK_ISO])
{
	time_t seconds = (time_t)(wall_us / JS_SECOND_US);
	struct tm tm;

	if (wall_us < 0 || gmtime_r(&seconds, &tm) == NULL || tm.tm_year > 8099) {
		text[0] = '\0';
		return;
	}
	(void)snprintf(text, JS_CLOCK_ISO, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", (tm.tm_year + 1900) % 10000, tm.tm_mon + 1,
		       tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(wall_us % JS_SECOND_US));
}

int64_t js_clock_parse(const char *text)
{
	struct tm tm;
	const char *rest;
	int64_t fraction = 0, unit = 100000;

	if (text == NULL)
		return -1;
	memset(&tm, 0, sizeof(tm));
	rest = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
	if (rest == NULL)
		return -1;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9' && unit > 0; rest++, unit /= 10)
			fraction += (*rest - '0') * unit;
	return (int64_t)timegm(&tm) * JS_SECOND_US + fraction;
}
