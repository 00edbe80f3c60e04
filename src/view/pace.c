/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How a stack gets on, in words.  Promise: no more digits than are known.
 */
#include "view/pace.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SURE 1.4 /* ends of a range no farther apart than this are told as one number */

void view_pace_rate(double rate, char text[VIEW_PACE_TEXT])
{
	if (rate <= 0)
		(void)snprintf(text, VIEW_PACE_TEXT, "-");
	else if (rate < 1.0 / 60)
		(void)snprintf(text, VIEW_PACE_TEXT, "%.1f/h", rate * 3600);
	else if (rate < 1)
		(void)snprintf(text, VIEW_PACE_TEXT, "%.1f/min", rate * 60);
	else
		(void)snprintf(text, VIEW_PACE_TEXT, rate < 100 ? "%.1f/s" : "%.0f/s", rate);
}

/* To two digits. */
static int64_t rounded(int64_t n)
{
	int64_t unit = 1;

	while (n / unit >= 100)
		unit *= 10;
	return (n + unit / 2) / unit * unit;
}

void view_pace_rough(int64_t us, char text[VIEW_PACE_TEXT])
{
	static const struct {
		int64_t seconds, until;
		const char *word;
	} unit[] = {{1, 90, "s"}, {60, 5400, "min"}, {3600, 48 * 3600, "h"}, {86400, INT64_MAX, "d"}};
	int64_t seconds = (us + JS_SECOND_US / 2) / JS_SECOND_US;
	size_t i = 0;

	while (seconds > unit[i].until)
		i++;
	(void)snprintf(text, VIEW_PACE_TEXT, "%" PRId64 " %s",
		       rounded((seconds + unit[i].seconds / 2) / unit[i].seconds), unit[i].word);
}

void view_pace_eta(const struct jobstack_pace *p, char text[VIEW_PACE_TEXT])
{
	char low[VIEW_PACE_TEXT], high[VIEW_PACE_TEXT];

	(void)snprintf(text, VIEW_PACE_TEXT, "-");
	if (p->eta_us <= 0)
		return;
	if (p->high_us < 0 || p->low_us < 0) {
		view_pace_rough(p->eta_us, low);
		(void)snprintf(text, VIEW_PACE_TEXT, "%.20s or more", low);
		return;
	}
	view_pace_rough(p->low_us, low);
	view_pace_rough(p->high_us, high);
	if ((double)p->high_us <= SURE * (double)p->low_us || strcmp(low, high) == 0)
		view_pace_rough(p->eta_us, text);
	else
		(void)snprintf(text, VIEW_PACE_TEXT, "%.20s to %.20s", low, high);
}

void view_pace_percent(double share, char text[VIEW_PACE_TEXT])
{
	(void)snprintf(text, VIEW_PACE_TEXT, "%.1f %%", share >= 1 ? 100.0 : share > 0.999 ? 99.9 : 100 * share);
}
