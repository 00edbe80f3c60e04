/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How a stack gets on, in words: as rough as it is known.
 */
#ifndef JS_VIEW_PACE_H
#define JS_VIEW_PACE_H

#include "jobstack/jobstack.h"

#include <stddef.h>

#define VIEW_PACE_TEXT 80

/* "53/s", "4.0/min", "1.5/h"; "-": not known. */
void view_pace_rate(double rate, char text[VIEW_PACE_TEXT]);

/* "12 min", or "10 min to 25 min" where it is not known better; "-": not known, or nothing is left. */
void view_pace_eta(const struct jobstack_pace *pace, char text[VIEW_PACE_TEXT]);

/* A duration to two digits: "40 s", "12 min", "5 h", "3 d". */
void view_pace_rough(int64_t us, char text[VIEW_PACE_TEXT]);

/* How much is done, 0 to 1: "99.9 %", which is 100 only when all is. */
void view_pace_percent(double share, char text[VIEW_PACE_TEXT]);

#endif
