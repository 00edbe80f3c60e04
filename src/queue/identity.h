/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who a worker is, as one JSON object: what is written once, at its birth, and what no query looks for.  This is the
 * one place that writes and reads it.  A member that is not known is left out.  Texts are bytes: one that is not UTF-8
 * is written as {"hex": "..."}.
 */
#pragma once

#include "jobstack/jobstack.h"

#include "base/buf.h"

/* The members, which are called the same in struct jobstack_worker_options; and argv. */
#define JS_IDENTITY_TEXTS(X)                                                                                           \
	X(host) X(boot) X(cluster) X(job) X(array_job) X(array_task) X(step) X(qos) X(partition) X(cwd) X(log)
#define JS_IDENTITY_NUMBERS(X) X(pid) X(pid_start) X(job_start_us) X(memory_mib) X(nodes) X(platform)

#define JS_IDENTITY_TEXT(member) const char *member;
#define JS_IDENTITY_NUMBER(member) int64_t member;
struct js_identity {
	JS_IDENTITY_TEXTS(JS_IDENTITY_TEXT)	/* NULL: not known */
	JS_IDENTITY_NUMBERS(JS_IDENTITY_NUMBER) /* -1: not known */
	struct jobstack_bytes argv;
};

/* Appends the object. */
void js_identity_write(const struct jobstack_worker_options *options, struct js_buf *json);

/* Reads it from JSON (NULL: nothing is known).  Texts are decoded in place, so it can be read only once, and point into
 * it.  Members that this version does not know are skipped. */
void js_identity_read(char *json, struct js_identity *identity);
