/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Serving LOAD DATA LOCAL INFILE.  Promises: no file is opened, whatever name the server asks for; the offered bytes
 * are sent once, and only during the packet that they belong to; every other request is refused.
 */
#include "db/infile.h"

#include <stdio.h>
#include <string.h>

/* What the connectors call when the server asks for a file: serve_begin, where 1 refuses it; serve_some, until it gives
 * no more bytes; serve_error, only if it was refused; serve_end. */
static int serve_begin(void **where, const char *name, void *ctx)
{
	struct js_infile *infile = ctx;

	(void)name;
	*where = infile;
	if (infile->data == NULL || infile->given)
		return 1;
	infile->given = 1;
	return 0;
}

static int serve_some(void *where, char *to, unsigned size)
{
	struct js_infile *infile = where;
	size_t left = infile->len - infile->at, n = left < size ? left : size;

	memcpy(to, infile->data + infile->at, n);
	infile->at += n;
	return (int)n;
}

static void serve_end(void *where)
{
	(void)where;
}

static int serve_error(void *where, char *text, unsigned size)
{
	(void)where;
	(void)snprintf(text, size, "the server asked for a local file, which jobstack never sends");
	return JS_INFILE_REFUSED;
}

void js_infile_attach(MYSQL *my, struct js_infile *infile, int allowed)
{
	unsigned local = allowed != 0;

	(void)mysql_options(my, MYSQL_OPT_LOCAL_INFILE,
			    &local); /* said also when it is not: a connector may be built to serve */
	mysql_set_local_infile_handler(my, serve_begin, serve_some, serve_end, serve_error, infile);
}

void js_infile_offer(struct js_infile *infile, const char *data, size_t len)
{
	*infile = (struct js_infile){.data = len > 0 ? data : NULL, .len = len};
}
