/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The spool: outcomes in a local file while the database is away, in the order in which they have to be delivered.
 *
 * It holds those of one worker, as text.  The first line has the version and the names of the columns.  Each other line
 * begins with a checksum (CRC-32, over the first line and all lines to this one, without their checksums and newlines).
 * Long lines are broken here, and some columns left out:
 *
 *   jobstack-spool 4 entry attempt verdict fatal later loss cause exit_code signo reason started ended user_us ...
 *   6cf73dea h =6169727332303132 17 =00112233445566778899aabbccddeeff 300000000
 *       stack, worker, token, lease in microseconds; a text is '-' for none, or '=' and hexadecimal
 *   a7f651d3 o 42 1 1 0 0 0 1 3 0 =657869742033 1795242011123456 1795242012000000 1200 ... =6f6f70730a
 *       an outcome
 *   95ba04fd d 1
 *       so many of the first outcomes have been delivered
 *   d7d69755 l
 *       the worker has left, and its commands with it; nothing follows
 *
 * Times are microseconds since 1970 by the clock of the host that wrote them: a moment means nothing after a boot. */
#pragma once

#include "jobstack/jobstack.h"

#include <stddef.h>
#include <stdint.h>

/* The worker whose outcomes they are. */
struct js_spool_head {
	char stack[JOBSTACK_STACK_MAX + 1];
	uint64_t worker;
	unsigned char token[16];
	int64_t lease_us;
};

/* ------------------------------------------------------------------------------------------------------- reading */

/* A spool that was read.  Free with js_spool_free. */
struct js_spool {
	struct js_spool_head head;
	struct jobstack_outcome *outcomes; /* all of them, in order; times since 1970 until js_spool_moments */
	size_t n, delivered;		   /* how many; how many of the first ones have been delivered */
	int left;			   /* the worker has left */
	int torn;   /* the last line is not whole (a writer that was killed): it does not count */
	char *text; /* where their texts lie */
};

/* Reads the LEN bytes DATA of the file NAME (for messages).  Touches nothing else.  Returns 0; or JOBSTACK_EFILE: it is
 * no spool, of another version, or damaged, and which line; or JOBSTACK_EBUG: no memory. */
int js_spool_read(const void *data, size_t len, const char *name, struct js_spool *spool, struct jobstack_error *error);
void js_spool_free(struct js_spool *spool);

/* Reads the file PATH, and makes its times moments of this host.  JOBSTACK_EFILE also if it belongs to another user. */
int js_spool_load(const char *path, struct js_spool *spool, struct jobstack_error *error);

/* Makes its times moments of this host, by WALL_US, the wall clock less the monotonic one. */
void js_spool_moments(struct js_spool *spool, int64_t wall_us);

/* ------------------------------------------------------------------------------------------------------- writing */

struct js_spool_file;

/* Makes the file PATH, which must be new, with mode 600, and the directories above it; its first line is on the disk
 * when this returns.  Close with js_spool_close.  Returns 0; JOBSTACK_EFILE, and then no file is left; or
 * JOBSTACK_EBUG: no memory. */
int js_spool_create(struct js_spool_file **made, const char *path, const struct js_spool_head *head,
		    struct jobstack_error *error);

/* Appends N outcomes, whose times are moments; WALL_US as in js_spool_moments.  They are on the disk when this returns.
 * Returns 0, or a negative code, and then none of them counts. */
int js_spool_append(struct js_spool_file *file, const struct jobstack_outcome *outcomes, size_t n, int64_t wall_us,
		    struct jobstack_error *error);

/* Notes that the first N outcomes of the file have been delivered.  This need not reach the disk: delivered again is
 * harmless. */
int js_spool_note_delivered(struct js_spool_file *file, uint64_t n, struct jobstack_error *error);

/* Notes that the worker has left.  It is on the disk when this returns. */
int js_spool_note_left(struct js_spool_file *file, struct jobstack_error *error);

const char *js_spool_path(const struct js_spool_file *file);

/* Closes it, and frees the memory; REMOVE: the file goes too. */
void js_spool_close(struct js_spool_file *file, int remove);
