/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers, durations and sizes as people type them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The order of two uint64_t, for qsort and bsearch. */
int js_num_order(const void *a, const void *b);

/* Writes the decimal digits of NUMBER, without a NUL; returns how many. */
size_t js_num_text(uint64_t number, char text[20]);

/* FNV-1a: continues HASH, which starts as JS_NUM_HASH, with LEN bytes. */
#define JS_NUM_HASH UINT64_C(14695981039346656037)
uint64_t js_num_hash(uint64_t hash, const void *data, size_t len);

/* Numbers that only have to differ from those of others (xorshift): the next one below BELOW.  *STATE is not 0. */
uint64_t js_num_jitter(uint64_t *state, uint64_t below);

/* Reads a whole decimal number from LOW to HIGH: digits only, no sign, no blanks.  Returns 0, or -1. */
int js_num_u64(const char *text, uint64_t low, uint64_t high, uint64_t *value);

/* The same with an optional '-'. */
int js_num_i64(const char *text, int64_t low, int64_t high, int64_t *value);

/* Reads 90, 90s, 1.5s, 15m, 2h, 7d, 100ms, 1:30 (minutes), 1:30:00, 2-00:00:00 (days) into microseconds; at most 366
 * days.  Returns 0, or -1. */
int js_num_duration(const char *text, int64_t *us);

/* Reads 4096, 512K, 512M, 2G, 1T (powers of 1024) into bytes.  Returns 0, or -1. */
int js_num_size(const char *text, uint64_t *bytes);

/* Writes a duration for people: "0.4 s", "12 s", "3 min 5 s", "2 h 10 min", "3 d 4 h". */
void js_num_duration_text(int64_t us, char *text, size_t size);
