/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads packed logs.  Promise: output is passed over by its length and never looked at, so nothing that a command
 * prints is taken for a header.
 */
#include "exec/logread.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the header line LINE, which ends without its newline.  Returns 0, or -1 if it is no header. */
static int parse_header(char *line, struct js_logged *logged, int64_t *len)
{
	char how[8], ended[sizeof(logged->ended)];
	int64_t out, err;
	int number, end = -1;

	if (sscanf(line,
		   "==> entry %" SCNu64 " attempt %" SCNu32 " %7s %d %31s out %" SCNd64 " err %" SCNd64 " path %n",
		   &logged->entry, &logged->attempt, how, &number, ended, &out, &err, &end) != 7 ||
	    end < 0 || out < 0 || err < 0 || out > INT64_MAX - err ||
	    (strcmp(how, "exit") != 0 && strcmp(how, "signal") != 0))
		return -1;
	logged->exit_code = how[0] == 'e' ? number : -1;
	logged->signal = how[0] == 's' ? number : 0;
	memcpy(logged->ended, ended, sizeof(ended));
	logged->datapath = line + end;
	*len = out + err;
	return 0;
}

/* Passes over LEN bytes of output, and over the newline that follows it unless it ends with one.  Returns 1 if the file
 * ends before. */
static int skip_output(FILE *file, int64_t len)
{
	int last, next;

	if (len > 0 && fseeko(file, (off_t)len - 1, SEEK_CUR) != 0)
		return 1;
	last = len > 0 ? getc(file) : 0;
	next = last == '\n' ? '\n' : getc(file);
	return last == EOF || next != '\n';
}

/* Only headers are read; where an entry's output ends is known by its lengths. */
int js_log_read(const char *path, js_logged_fn *fn, void *ctx, struct jobstack_error *error)
{
	struct js_logged logged = {.entry = 0};
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int64_t len;
	ssize_t n;
	int status = 0;

	if (file == NULL)
		return js_error_file(error, "can't read %s", path);
	for (int64_t from = 0; status == 0 && (n = getline(&line, &room, file)) > 0 && line[n - 1] == '\n';
	     from = ftello(file)) {
		line[n - 1] = '\0';
		if (parse_header(line, &logged, &len) != 0) {
			status = js_error_set(error, JOBSTACK_EFILE,
					      "%s is damaged, or is not a worker's log (byte %" PRId64 ")", path, from);
			break;
		}
		logged.at = ftello(file);
		if (skip_output(file, len) != 0)
			break;
		if (fn(ctx, &logged) != 0)
			status = js_error_set(error, JOBSTACK_ESTOPPED, "stopped");
	}
	if (status == 0 && ferror(file))
		status = js_error_file(error, "can't read %s", path);
	free(line);
	(void)fclose(file);
	return status;
}
