/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Amounts as text.  Promise: no more digits than are known.
 */
#include "show/amount.h"

#include "base/clock.h"
#include "base/num.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SURE 1.4	   /* a range whose ends differ by at most this factor is shown as one number */
#define MIB UINT64_C(1024) /* in KiB */

__attribute__((format(printf, 1, 2))) static struct show_amount format_amount(const char *format, ...)
{
	struct show_amount a;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(a.text, sizeof(a.text), format, args);
	va_end(args);
	return a;
}

struct show_amount show_duration(int64_t us)
{
	struct show_amount a;

	js_num_duration_text(us, a.text, sizeof(a.text));
	return a;
}

/* Uses show_duration's words from 10 s on; below, three digits, and of less than a millisecond two. */
struct show_amount show_took(double us)
{
	if (us >= 1e7)
		return show_duration((int64_t)us);
	if (us >= 999500) /* else "%.3g" makes 1e+03 of it */
		return format_amount("%.3g s", us / 1e6);
	return format_amount(us < 1000 && us > 0 ? "%.2g ms" : "%.3g ms", us / 1e3);
}

/* Rounds to two digits. */
static int64_t round_to_two_digits(int64_t n)
{
	int64_t unit = 1;

	while (n / unit >= 100)
		unit *= 10;
	return (n + unit / 2) / unit * unit;
}

/* The unit is the first in which the number has two digits, about. */
struct show_amount show_rough(int64_t us)
{
	static const struct {
		int64_t seconds, until;
		const char *word;
	} unit[] = {{1, 90, "s"}, {60, 5400, "min"}, {3600, 48 * 3600, "h"}, {86400, INT64_MAX, "d"}};
	int64_t seconds = (us + JS_SECOND_US / 2) / JS_SECOND_US;
	size_t i = 0;

	while (seconds > unit[i].until)
		i++;
	return format_amount("%" PRId64 " %s", round_to_two_digits((seconds + unit[i].seconds / 2) / unit[i].seconds),
			     unit[i].word);
}

struct show_amount show_moment(int64_t wall_us)
{
	struct show_amount a;

	_Static_assert(sizeof(a.text) >= JS_CLOCK_ISO, "a moment fits");
	js_clock_iso(wall_us, a.text);
	return a;
}

struct show_amount show_second(int64_t wall_us)
{
	struct show_amount a = show_moment(wall_us);

	if (a.text[0] != '\0')
		memcpy(a.text + 19, "Z", 2);
	return a;
}

struct show_amount show_size(double bytes)
{
	static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	size_t u = 0;

	for (; bytes >= 1023.95 && u < 4; u++) /* what rounds to 1024.0 is shown in the next unit */
		bytes /= 1024;
	return format_amount(u == 0 ? "%.0f %s" : "%.1f %s", bytes, unit[u]);
}

/* Uses the largest unit of which it is a whole number; without one, it is as show_took. */
struct show_amount show_whole(int64_t us)
{
	static const struct {
		int64_t us;
		const char *name;
	} unit[] = {{86400 * JS_SECOND_US, "d"}, {3600 * JS_SECOND_US, "h"}, {60 * JS_SECOND_US, "min"}};

	for (size_t i = 0; i < 3; i++)
		if (us >= unit[i].us && us % unit[i].us == 0)
			return format_amount("%" PRId64 " %s", us / unit[i].us, unit[i].name);
	return show_took((double)us);
}

struct show_amount show_rate(double rate, const char *of)
{
	if (rate <= 0)
		return format_amount("-");
	if (rate < 1.0 / 60)
		return format_amount("%.1f%s/h", rate * 3600, of);
	if (rate < 1)
		return format_amount("%.1f%s/min", rate * 60, of);
	return format_amount(rate < 100 ? "%.1f%s/s" : "%.0f%s/s", rate, of);
}

/* A range whose ends are nearly the same, or would be written alike, is one number. */
struct show_amount show_eta(const struct jobstack_pace *p)
{
	struct show_amount low = show_rough(p->low_us), high = show_rough(p->high_us), eta = show_rough(p->eta_us);

	if (p->eta_us <= 0)
		return format_amount("-");
	if (p->high_us < 0 || p->low_us < 0)
		return format_amount("%.20s or more", eta.text);
	if ((double)p->high_us <= SURE * (double)p->low_us || strcmp(low.text, high.text) == 0)
		return eta;
	return format_amount("%.20s to %.20s", low.text, high.text);
}

/* Rounding must not make 100 % of what is not all: "99.9 %" is the most until then. */
struct show_amount show_percent(double share)
{
	return format_amount("%.1f %%", share >= 1 ? 100.0 : share > 0.999 ? 99.9 : 100 * share);
}

struct show_amount show_sbatch_time(int64_t us)
{
	int64_t s = us / JS_SECOND_US, days = s / 86400;

	if (days > 0)
		return format_amount("%" PRId64 "-%02d:%02d:00", days, (int)(s / 3600 % 24), (int)(s / 60 % 60));
	return format_amount("%d:%02d:00", (int)(s / 3600), (int)(s / 60 % 60));
}

struct show_amount show_sbatch_size(uint64_t kib)
{
	if (kib % (1024 * MIB) == 0)
		return format_amount("%" PRIu64 "G", kib / 1024 / MIB);
	return format_amount("%" PRIu64 "M", (kib + MIB - 1) / MIB);
}

struct show_amount show_option_duration(int64_t us)
{
	int64_t s = us / JS_SECOND_US;

	if (s % 3600 == 0)
		return format_amount("%" PRId64 "h", s / 3600);
	return s % 60 == 0 ? format_amount("%" PRId64 "m", s / 60) : format_amount("%" PRId64 "s", s);
}

struct show_amount show_starts(int64_t max, int64_t per_us)
{
	if (max <= 0)
		return format_amount("none");
	if (per_us == JS_SECOND_US || per_us == 60 * JS_SECOND_US || per_us == 3600 * JS_SECOND_US)
		return format_amount("%" PRId64 "/%s", max,
				     per_us == JS_SECOND_US	   ? "s"
				     : per_us == 60 * JS_SECOND_US ? "min"
								   : "h");
	return format_amount("%" PRId64 "/%.15gs", max, (double)per_us / 1e6);
}
