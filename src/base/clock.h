/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Time.  Whatever is measured or waited for goes by the monotonic clock; the wall clock is only for telling people.
 */
#ifndef JS_BASE_CLOCK_H
#define JS_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define JS_SECOND_US INT64_C(1000000)
#define JS_CLOCK_ISO 96 /* room for what js_clock_iso writes, as the compiler counts it */

/* CLOCK_MONOTONIC and CLOCK_REALTIME (since 1970), in microseconds. */
int64_t js_clock_mono_us(void);
int64_t js_clock_wall_us(void);

/* Sleeps for US microseconds, but returns at a signal, and at once if *STOP (may be NULL) is not 0. */
void js_clock_nap(int64_t us, const volatile int *stop);

/* Writes UTC microseconds since 1970 as 2026-11-21T06:20:11.123456Z, or "" if there is none. */
void js_clock_iso(int64_t wall_us, char text[JS_CLOCK_ISO]);

/* Reads the server's "2026-11-21 06:20:11.123456" (the fraction may be missing); -1 if it is not one. */
int64_t js_clock_parse(const char *text);

/* Reads a time as people write it, in UTC: 2026-11-21, 2026-11-21T06:20, 2026-11-21 06:20:11.5, with or without a Z at its end; -1
 * if it is not one. */
int64_t js_clock_read(const char *text);

#endif
