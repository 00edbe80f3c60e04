/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Time.  Measuring and waiting use the monotonic clock that also counts the time for which a machine is suspended. The
 * wall clock is for people to read; its leaps show that this machine may have been paused.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define JS_SECOND_US INT64_C(1000000)
#define JS_CLOCK_ISO 96 /* size for js_clock_iso, as the compiler estimates it */

/* CLOCK_BOOTTIME (a moment) and CLOCK_REALTIME (since 1970), in microseconds. */
int64_t js_clock_mono_us(void);
int64_t js_clock_wall_us(void);

/* The moment UNTIL_US for a condition variable that counts by CLOCK_MONOTONIC, since they refuse CLOCK_BOOTTIME.  Such
 * a wait lasts too long if the machine is suspended meanwhile, so a thread in a long wait must be woken at a leap. */
struct timespec js_clock_deadline(int64_t until_us);

/* Makes such a condition variable.  0, or an errno. */
int js_clock_cond_init(pthread_cond_t *cond);

/* A descriptor for poll, which can be read whenever the wall clock has leapt against CLOCK_MONOTONIC: it was set, by a
 * person, a time daemon or the host of a virtual machine; or this machine was suspended.  -1 if there can be none.  The
 * caller closes it. */
int js_clock_leap_open(void);

/* Whether there was such a leap since the last call. */
int js_clock_leap_read(int fd);

/* By how much the wall clock is ahead of js_clock_mono_us, which is read into *NOW_US.  On a busy machine this thread
 * may have to wait between two readings, which would look like a leap: such a pair is read again. */
int64_t js_clock_ahead_us(int64_t *now_us);

/* What two results of js_clock_ahead_us, one after the other, may differ by without a leap. */
#define JS_CLOCK_LEAP_US (JS_SECOND_US / 10)

/* Until when something may be begun: before a moment, and while the wall clock less js_clock_mono_us is what it was. If
 * a virtual machine was paused, a leap of its wall clock is the only sign. */
struct js_clock_bound {
	_Atomic int64_t until_us, wall_us; /* a thread that hangs in a start reads what another has written since */
};

/* Whether it may.  Safe in a child of vfork. */
int js_clock_holds(const struct js_clock_bound *bound);

/* Sleeps for US microseconds, but returns at a signal, and at once if *STOP (may be NULL) is not 0. */
void js_clock_nap(int64_t us, const volatile int *stop);

/* Writes UTC microseconds since 1970 as 2026-11-21T06:20:11.123456Z, or "" if there is none. */
void js_clock_iso(int64_t wall_us, char text[JS_CLOCK_ISO]);

/* Reads the server's "2026-11-21 06:20:11.123456" (the fraction may be missing); -1 if it is not one. */
int64_t js_clock_parse(const char *text);

/* Reads a time as people write it, in UTC: 2026-11-21, 2026-11-21T06:20, 2026-11-21 06:20:11.5, with or without a Z at
 * its end; -1 if it is not one. */
int64_t js_clock_read(const char *text);
