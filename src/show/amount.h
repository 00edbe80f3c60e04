/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Amounts as people and programs read them: durations, moments, sizes, rates.  Each is returned as a text by value,
 * which is valid until the end of the expression.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <stdint.h>

struct show_amount {
	char text[96];
};

/* A duration: "0.4 s", "3 min 5 s".  show_took shows short ones with one to three digits: "12 ms", "1.52 s"; show_rough
 * all with two: "40 s", "12 min", "5 h", "3 d". */
struct show_amount show_duration(int64_t us);
struct show_amount show_rough(int64_t us);
struct show_amount show_took(double us);

/* A duration that is a whole number of some unit: "12 h", "1 d", "30 s". */
struct show_amount show_whole(int64_t us);

/* A moment in UTC, or "" if it is negative: 2026-11-21T06:20:11.123456Z; without the fraction, 2026-11-21T06:20:11Z. */
struct show_amount show_moment(int64_t wall_us);
struct show_amount show_second(int64_t wall_us);

/* "512 bytes", "1.5 GiB". */
struct show_amount show_size(double bytes);

/* The rate of starts as `jobstack set` takes it: "60/min", "1/1.5s"; MAX 0: "none". */
struct show_amount show_starts(int64_t max, int64_t per_us);

/* With " files" as OF "53 files/s", "4.0 files/min", "1.5 files/h", with "" "53/s"; "-": not known. */
struct show_amount show_rate(double rate, const char *of);

/* "12 min", or "10 min to 25 min" if the estimate is uncertain; "-": unknown, or nothing is left. */
struct show_amount show_eta(const struct jobstack_pace *pace);

/* A share, 0 to 1, as "99.9 %".  It is "100.0 %" only if the share is 1. */
struct show_amount show_percent(double share);

/* A wall time as sbatch reads it: "1:30:00", "2-00:00:00".  A size as sbatch reads it: "512M", "4G".  A duration as
 * jobstack's options read it: "90s", "15m", "2h". */
struct show_amount show_sbatch_time(int64_t us);
struct show_amount show_sbatch_size(uint64_t kib);
struct show_amount show_option_duration(int64_t us);
