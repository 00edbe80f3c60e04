/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a server gets that asks for a "local file", for this layer's files only: bytes from our memory, or nothing.
 *
 * In MySQL's protocol it is the server that names the file, in an answer to any statement, and a client that is
 * obliging hands it whatever the user can read.  So every connection has these handlers, and they never look at the
 * name.
 */
#pragma once

#include <mysql.h>
#include <stddef.h>

struct js_infile {
	const char *data; /* NULL: nothing is offered */
	size_t len, at;
	int given; /* it was asked for */
};

#define JS_INFILE_REFUSED 2068 /* the error's number for the caller: the connectors' own for such a refusal */

/* Before MY is connected: makes INFILE, which must live as long as MY, the answer to every request for a file.  Unless
 * ALLOWED, the connection also tells the server that it serves none. */
void js_infile_attach(MYSQL *my, struct js_infile *infile, int allowed);

/* Offers LEN bytes, to be fetched once; DATA NULL: withdraws them.  They are not copied. */
void js_infile_offer(struct js_infile *infile, const char *data, size_t len);
