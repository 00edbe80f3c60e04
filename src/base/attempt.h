/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The columns of the table `attempt` that tell how an attempt went: a row for each, and each is described only here.
 * The SQL that writes and reads them, the spool, what is measured when a command ends, the fields of list, export and
 * JSON, and the line "used" of show are made of these rows by the preprocessor.  docs/WORKING.md says how to add one.
 *
 * A row is X(MEMBER, COLUMN, FIELD, KIND, FOUND), of usage X(MEMBER, COLUMN, FIELD, KIND, FOUND, SHOWN):
 *   MEMBER  in struct jobstack_outcome and in struct jobstack_item
 *   COLUMN  in the database (NULL: not known), and in a spool
 *   FIELD   in `list -o`, export and JSON
 *   KIND    its type and unit, see enum js_kind
 *   FOUND   OUTCOME: whoever makes the outcome finds it; else where src/exec/reap.c reads it when the command has
 * ended: of struct rusage RUSAGE a number, RUSAGE_US a time; IO: behind this word in /proc/PID/io; SAMPLED: by
 *           src/exec/sample.c, while the command runs; GIVEN: by the worker
 *   SHOWN   in show's line "used": how it is separated from the figure before (two bytes), then the words, with % for
 *           the figure; NULL: it is not there
 *
 * Usage is int64_t, and -1 where it is not known.
 */
#pragma once

/* clang-format off */
#define JS_ATTEMPT_END(X)                                                                                              \
	X(cause,        "cause",        "cause",          CAUSE,  OUTCOME)                                             \
	X(exit_code,    "exit_code",    "exit_code",      CODE,   OUTCOME)                                             \
	X(signal,       "signo",        "signal",         SIGNAL, OUTCOME)                                             \
	X(reason,       "reason",       "reason",         TEXT,   OUTCOME)

#define JS_ATTEMPT_TIMES(X)                                                                                            \
	X(started_us,   "started",      "started",        MOMENT, OUTCOME)                                             \
	X(ended_us,     "ended",        "ended",          MOMENT, OUTCOME)

#define JS_ATTEMPT_USAGE(X)                                                                                            \
	X(user_us,      "user_us",      "user_seconds",   CPU,    RUSAGE_US(ru_utime), "; CPU % user")                 \
	X(system_us,    "system_us",    "system_seconds", CPU,    RUSAGE_US(ru_stime), ", % system")                   \
	X(maxrss_kib,   "maxrss_kib",   "maxrss_kib",     KIB,    RUSAGE(ru_maxrss),   "; largest process %")          \
	X(read_bytes,   "read_bytes",   "read_bytes",     SIZE,   IO("rchar"),         "; read %")                     \
	X(write_bytes,  "write_bytes",  "write_bytes",    SIZE,   IO("wchar"),         ", wrote %")                    \
	X(major_faults, "major_faults", "major_faults",   COUNT,  RUSAGE(ru_majflt),   "; major page faults %")        \
	X(storage_read_bytes,  "storage_read_bytes",  "storage_read_bytes",  SIZE, IO("read_bytes"),  "; storage read %")    \
	X(storage_write_bytes, "storage_write_bytes", "storage_write_bytes", SIZE, IO("write_bytes"), ", written %")         \
	X(peak_kib,     "peak_kib",     "peak_kib",       KIB,    SAMPLED,             "; memory of all processes %")  \
	X(io_wait_us,   "io_wait_us",   "io_wait_seconds", CPU,   SAMPLED,             "; waited for storage %")      \
	X(program,      "program",      "program",        FACT,   GIVEN,               NULL)                           \
	X(mount,        "mount",        "mount",          FACT,   GIVEN,               NULL)                           \
	X(packages,     "packages",     "packages",       FACT,   GIVEN,               NULL)

#define JS_ATTEMPT_OUTPUT(X)                                                                                           \
	X(log,          "log",          "log",            TEXT,   OUTCOME)                                             \
	X(log_at,       "log_at",       "log_at",         SIZE,   OUTCOME)                                             \
	X(log_out,      "log_out",      "log_out",        SIZE,   OUTCOME)                                             \
	X(log_err,      "log_err",      "log_err",        SIZE,   OUTCOME)                                             \
	X(err_log,      "err_log",      "err_log",        TEXT,   OUTCOME)                                             \
	X(err_at,       "err_at",       "err_at",         SIZE,   OUTCOME)
/* clang-format on */

/* All of them.  (Beside these an attempt has its key, its worker, its verdict, and err_tail, which is read only on
 * request.) */
#define JS_ATTEMPT(X) JS_ATTEMPT_END(X) JS_ATTEMPT_TIMES(X) JS_ATTEMPT_USAGE(X) JS_ATTEMPT_OUTPUT(X)

enum js_kind {
	JS_KIND_CAUSE,	/* enum jobstack_cause, 0: none */
	JS_KIND_CODE,	/* int32_t, -1: none */
	JS_KIND_SIGNAL, /* int32_t, 0: none */
	JS_KIND_TEXT,	/* const char *, NULL: none */
	JS_KIND_MOMENT, /* int64_t microseconds: in an item since 1970, and -1: none */
	JS_KIND_CPU,	/* int64_t microseconds, -1: not known */
	JS_KIND_KIB,	/* int64_t, -1: not known, as of those that follow */
	JS_KIND_SIZE,	/* bytes */
	JS_KIND_COUNT,
	JS_KIND_FACT, /* the number of a fact, written as 16 hexadecimal digits */
	JS_KINDS
};

/* The columns of usage, numbered: JS_USAGE_user_us is 0. */
#define JS_USAGE_NUMBER(member, ...) JS_USAGE_##member,
enum { JS_ATTEMPT_USAGE(JS_USAGE_NUMBER) JS_USAGE_N };
