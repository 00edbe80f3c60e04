/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Time.  Promise: nothing here depends on the time zone or the locale.
 */
#include "base/clock.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NEVER_S INT64_C(9000000000) /* in the year 2255 */

/* Microseconds of a clock; 0 if it can't be read, which no kernel that we run on says of these. */
static int64_t read_clock(clockid_t id)
{
	struct timespec t;

	if (clock_gettime(id, &t) != 0)
		return 0;
	return (int64_t)t.tv_sec * JS_SECOND_US + t.tv_nsec / 1000;
}

/* CLOCK_BOOTTIME, since it counts the time of a suspend, in which a lease goes on. */
int64_t js_clock_mono_us(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

int64_t js_clock_wall_us(void)
{
	return read_clock(CLOCK_REALTIME);
}

/* A condition variable can wait by CLOCK_MONOTONIC, but not by CLOCK_BOOTTIME. */
struct timespec js_clock_deadline(int64_t until_us)
{
	int64_t us = until_us - js_clock_mono_us() + read_clock(CLOCK_MONOTONIC);

	us = us > 0 ? us : 0;
	return (struct timespec){.tv_sec = us / JS_SECOND_US, .tv_nsec = us % JS_SECOND_US * 1000};
}

int js_clock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int err = pthread_condattr_init(&attr);

	if (err != 0)
		return err;
	err = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (err == 0)
		err = pthread_cond_init(cond, &attr);
	(void)pthread_condattr_destroy(&attr);
	return err;
}

int js_clock_leap_open(void)
{
	const struct itimerspec never = {.it_value = {.tv_sec = NEVER_S}};
	int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	/* the kernel cancels such a timer when the distance of the two clocks changes */
	if (fd >= 0 && timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) != 0) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

int js_clock_leap_read(int fd)
{
	uint64_t count;

	return fd >= 0 && (read(fd, &count, sizeof(count)) > 0 || errno == ECANCELED);
}

int64_t js_clock_ahead_us(int64_t *now_us)
{
	int64_t wall, tries = 10;

	do {
		*now_us = js_clock_mono_us();
		wall = js_clock_wall_us();
	} while (js_clock_mono_us() - *now_us > JS_CLOCK_LEAP_US / 10 && --tries > 0);
	return wall - *now_us;
}

int js_clock_holds(const struct js_clock_bound *bound)
{
	int64_t now, leap = js_clock_ahead_us(&now) - bound->wall_us;

	return now < bound->until_us && leap < JS_CLOCK_LEAP_US && leap > -JS_CLOCK_LEAP_US;
}

void js_clock_nap(int64_t us, const volatile int *stop)
{
	struct timespec t = {.tv_sec = us / JS_SECOND_US, .tv_nsec = us % JS_SECOND_US * 1000};

	if (us > 0 && (stop == NULL || *stop == 0) && clock_nanosleep(CLOCK_BOOTTIME, 0, &t, NULL) == EINVAL)
		(void)nanosleep(&t, NULL); /* not every kernel below us is Linux */
}

/* Writes N as WIDTH digits. */
static char *write_digits(char *to, int64_t n, int width)
{
	for (int i = width - 1; i >= 0; i--, n /= 10)
		to[i] = (char)('0' + n % 10);
	return to + width;
}

/* By hand, with the civil calendar from March on, since an export writes two of these a row: gmtime_r and snprintf take
 * ten times as long. */
void js_clock_iso(int64_t wall_us, char text[JS_CLOCK_ISO])
{
	int64_t seconds = wall_us / JS_SECOND_US, day = seconds / 86400 + 719468, era, year, in_era, in_year, month;
	char *p = text;

	if (wall_us < 0 || day >= 3652365) { /* from the year 10000 on */
		text[0] = '\0';
		return;
	}
	seconds %= 86400;
	era = day / 146097;
	in_era = day % 146097;
	year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	in_year = in_era - (365 * year + year / 4 - year / 100);
	month = (5 * in_year + 2) / 153;
	day = in_year - (153 * month + 2) / 5 + 1;
	month += month < 10 ? 3 : -9;
	year += era * 400 + (month <= 2);
	p = write_digits(p, year, 4);
	*p++ = '-';
	p = write_digits(p, month, 2);
	*p++ = '-';
	p = write_digits(p, day, 2);
	*p++ = 'T';
	p = write_digits(p, seconds / 3600, 2);
	*p++ = ':';
	p = write_digits(p, seconds / 60 % 60, 2);
	*p++ = ':';
	p = write_digits(p, seconds % 60, 2);
	*p++ = '.';
	p = write_digits(p, wall_us % JS_SECOND_US, 6);
	*p++ = 'Z';
	*p = '\0';
}

/* The number of the WIDTH digits at TEXT; -1 if they are not all digits. */
static int parse_digits(const char *text, int width)
{
	int n = 0;

	for (int i = 0; i < width; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		n = 10 * n + (text[i] - '0');
	}
	return n;
}

/* Seconds since 1970 of a day of the civil calendar at midnight. */
static int64_t seconds_at_midnight(int64_t year, int month, int day)
{
	int64_t y = year - (month <= 2), era = y / 400, in_era = y % 400;
	int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return (era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468) * 86400;
}

int64_t js_clock_parse(const char *text)
{
	int64_t fraction = 0, unit = 100000;
	int year, month, day, hour, minute, second;

	if (text == NULL || (year = parse_digits(text, 4)) < 1 || text[4] != '-' ||
	    (month = parse_digits(text + 5, 2)) < 1 || month > 12 || text[7] != '-' ||
	    (day = parse_digits(text + 8, 2)) < 1 || day > 31 || text[10] != ' ' ||
	    (hour = parse_digits(text + 11, 2)) < 0 || hour > 23 || text[13] != ':' ||
	    (minute = parse_digits(text + 14, 2)) < 0 || minute > 59 || text[16] != ':' ||
	    (second = parse_digits(text + 17, 2)) < 0 || second > 60)
		return -1;
	text += 19;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9' && unit > 0; text++, unit /= 10)
			fraction += (*text - '0') * unit;
	return (seconds_at_midnight(year, month, day) + hour * 3600 + minute * 60 + second) * JS_SECOND_US + fraction;
}

int64_t js_clock_read(const char *text)
{
	static const char pattern[] = "dddd-dd-ddTdd:dd:dd";
	char full[] = "0000-00-00 00:00:00.000000";
	size_t n = 0;
	int64_t us;

	while (pattern[n] != '\0' && (pattern[n] == 'd'	  ? text[n] >= '0' && text[n] <= '9'
				      : pattern[n] == 'T' ? text[n] == 'T' || text[n] == ' '
							  : text[n] == pattern[n])) {
		full[n] = pattern[n] == 'T' ? ' ' : text[n];
		n++;
	}
	if (n != 10 && n != 16 && n != 19)
		return -1;
	text += n;
	if (n == 19 && *text == '.')
		for (text++, n++; *text >= '0' && *text <= '9' && n < sizeof(full) - 1; text++, n++)
			full[n] = *text;
	text += *text == 'Z';
	us = js_clock_parse(full);
	return *text == '\0' && us >= 0 ? us : -1;
}
