/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The printer.  Promise: output that can't be held is an error of the worker, and its entry runs again; what was held
 * before is printed in the end.
 */
#include "worker/printer.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "exec/capture.h"
#include "show/text.h"
#include "show/words.h"
#include "worker/speaker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOT_HELD SIZE_MAX
#define JOBLOG_HEAD "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"

/* The head of the --joblog file is written once, by whoever finds it empty. */
int printer_begin(struct printer *p, const struct config *config, struct mailbox *box, const char *dir,
		  const char *node, struct jobstack_error *error)
{
	struct stat st;

	*p = (struct printer){.config = config, .box = box, .dir = dir, .node = node, .file = -1, .log = -1};
	(void)pthread_mutex_init(&p->lock, NULL);
	if (config->joblog == NULL)
		return 0;
	p->log = open(config->joblog, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
	if (p->log < 0 || (!config->dry_run && fstat(p->log, &st) == 0 && st.st_size == 0 &&
			   js_file_write_all(p->log, JOBLOG_HEAD, strlen(JOBLOG_HEAD)) != 0))
		return js_error_file(error, "can't write to --joblog %s", config->joblog);
	return 0;
}

/* --------------------------------------------------------------------------------------------------------- tagging */

/* Lines on their way through --tag. */
struct tagging {
	struct js_buf name, out; /* what is put before each line; lines to be written */
	int fd;
	int64_t *at; /* where in FD, which is moved on; NULL: FD is a stream */
	int inside;  /* the last piece ended within a line */
};

/* Writes OUT, and empties it.  Returns 0, or -1 with errno. */
static int write_tagged(struct tagging *t)
{
	int status = t->out.failed ? -1 : js_file_write_at(t->fd, t->out.data, t->out.len, t->at);

	if (t->out.failed)
		errno = ENOMEM;
	js_buf_reset(&t->out);
	return status;
}

/* Takes LEN bytes of a stream, and writes them with the name before each line. */
static int add_tagged(void *ctx, const char *text, size_t len)
{
	struct tagging *t = ctx;

	while (len > 0) {
		const char *newline = memchr(text, '\n', len);
		size_t n = newline != NULL ? (size_t)(newline + 1 - text) : len;

		if (!t->inside)
			js_buf_add(&t->out, t->name.data, t->name.len);
		js_buf_add(&t->out, text, n);
		t->inside = newline == NULL;
		text += n;
		len -= n;
	}
	return write_tagged(t);
}

/* Writes what is kept of a stream of ENTRY to FD, as js_kept_copy does. */
static int put_stream(const struct printer *p, const struct jobstack_entry *entry, const struct js_kept *kept, int fd,
		      int64_t *at)
{
	struct tagging t = {.fd = fd, .at = at};
	int status;

	if (entry == NULL || !p->config->tag || js_kept_len(kept) == 0)
		return js_kept_copy(kept, fd, at) < 0 ? -1 : 0;
	show_safe(&t.name, entry->datapath, entry->datapath_len);
	js_buf_char(&t.name, '\t');
	status = js_kept_each(kept, add_tagged, &t) < 0 || (t.inside && add_tagged(&t, "\n", 1) != 0) ? -1 : 0;
	js_buf_free(&t.name);
	js_buf_free(&t.out);
	return status;
}

/* Prints both streams of ENTRY; NULL: they are tagged already.  Where the display is drawn below, a last line without a
 * newline gets one. */
static int print_both(const struct printer *p, const struct jobstack_entry *entry, const struct js_kept kept[2],
		      struct jobstack_error *error)
{
	char last;

	for (int i = 0; i < 2; i++) {
		int to = i == 0 ? STDOUT_FILENO : STDERR_FILENO,
		    below = js_kept_len(&kept[i]) > 0 && p->shown && isatty(to);

		if (put_stream(p, entry, &kept[i], to, NULL) != 0 ||
		    (below && js_kept_last(&kept[i], &last) == 0 && last != '\n' &&
		     js_file_write_all(to, "\n", 1) != 0))
			return js_error_file(error, "can't write to standard %s", i == 0 ? "output" : "error");
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------------- the order */

/* Returns the place of ENTRY in the order, or NOT_HELD.  With the mailbox's lock held. */
static size_t find_held(const struct printer *p, uint64_t entry)
{
	for (size_t i = p->n; i > p->first; i--) /* what ends was usually started not long ago */
		if (p->held[i - 1].entry == entry)
			return i - 1;
	return NOT_HELD;
}

/* An entry that is tried again keeps its first place in the order. */
void printer_start(struct printer *p, const struct jobstack_entry *entry)
{
	int known = p->n > p->first && p->held[p->n - 1].entry == entry->entry;

	if (!p->config->keep_order || known || (entry->attempt > 1 && find_held(p, entry->entry) != NOT_HELD) ||
	    js_array_grow(&p->held, &p->room, p->n + 1, sizeof(*p->held)) != 0)
		return; /* without a place in the order it is printed when it ends */
	p->held[p->n++] = (struct held_output){entry->entry, -1, 0, 0, 0};
}

void printer_skip(struct printer *p, const struct jobstack_entry *entry)
{
	size_t i = find_held(p, entry->entry);

	if (i != NOT_HELD)
		p->held[i].over = 1;
}

/* Holds what ENTRY has printed until its place in the order is reached.  What an earlier attempt has printed is
 * forgotten.  OVER: the entry will print nothing more.  If it can't be written, the file is cut back to what it was. */
static int hold_output(struct printer *p, size_t i, const struct jobstack_entry *entry, const struct js_kept kept[2],
		       int over, struct jobstack_error *error)
{
	int64_t at = p->end, out = 0;
	int status = 0;

	if (p->file < 0 && (p->file = js_capture_temporary(p->dir)) < 0)
		status = -1;
	for (int s = 0; s < 2 && status == 0; s++) {
		status = put_stream(p, entry, &kept[s], p->file, &p->end);
		out = s == 0 ? p->end - at : out;
	}
	if (status != 0) {
		(void)js_error_file(error, "can't hold output for --keep-order in %s", p->dir);
		if (p->file >= 0 && ftruncate(p->file, at) == 0)
			p->end = at;
		return JOBSTACK_EFILE;
	}
	(void)pthread_mutex_lock(&p->box->lock);
	p->held[i] = (struct held_output){entry->entry, at, out, p->end - at - out, over};
	(void)pthread_mutex_unlock(&p->box->lock);
	return 0;
}

/* Prints the held output T. */
static int print_held(const struct printer *p, const struct held_output *t, struct jobstack_error *error)
{
	const struct js_kept kept[2] = {{.fd = p->file, .head_at = t->at, .head = t->out},
					{.fd = p->file, .head_at = t->at + t->out, .head = t->err}};

	if (t->at < 0)
		return 0;
	JS_TRY(print_both(p, NULL, kept, error));
	/* frees the disk space, if the file system can */
	(void)fallocate(p->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)t->at, (off_t)(t->out + t->err));
	return 0;
}

/* Copies the first held output to *T.  Returns 0 if there is none.  If other workers are there, one of them may run the
 * entry's next attempt, for which this worker would wait in vain: so then what is there counts as all. */
static int first_held(const struct printer *p, struct held_output *t)
{
	int there;

	(void)pthread_mutex_lock(&p->box->lock);
	there = p->first < p->n;
	if (there)
		*t = p->held[p->first];
	if (there && t->at >= 0 && p->box->sight.idle.workers > 1) /* another one may have its next attempt */
		t->over = 1;
	(void)pthread_mutex_unlock(&p->box->lock);
	return there;
}

/* Removes the first place in the order.  The list is only moved together when half of it is free. */
static void drop_first_held(struct printer *p)
{
	(void)pthread_mutex_lock(&p->box->lock);
	p->first++;
	if (p->first > p->n / 2) {
		memmove(p->held, p->held + p->first, (p->n - p->first) * sizeof(*p->held));
		p->n -= p->first;
		p->first = 0;
	}
	(void)pthread_mutex_unlock(&p->box->lock);
}

/* Prints what is next in order, as far as it is there; ALL: everything. */
static int print_next(struct printer *p, int all, struct jobstack_error *error)
{
	struct held_output t;

	while (first_held(p, &t) && (t.over || all)) {
		JS_TRY(print_held(p, &t, error));
		drop_first_held(p);
	}
	return 0;
}

/* Prints what ENTRY has printed if it is the first in the order and will print nothing more, or if it has no place
 * there.  Otherwise holds it. */
static int print_in_order(struct printer *p, const struct jobstack_entry *entry, const struct js_kept kept[2],
			  const struct jobstack_outcome *o, struct jobstack_error *error)
{
	int is_first, over;
	size_t i;

	JS_TRY(print_next(p, 0, error)); /* what was skipped since, and what waited for that */
	(void)pthread_mutex_lock(&p->box->lock);
	i = find_held(p, entry->entry);
	is_first = i == p->first;
	over = o->verdict == JOBSTACK_DONE || mailbox_is_dead(p->box, entry, o);
	(void)pthread_mutex_unlock(&p->box->lock);
	if (i != NOT_HELD && !(is_first && over))
		return hold_output(p, i, entry, kept, over, error);
	JS_TRY(print_both(p, entry, kept, error));
	if (i == NOT_HELD)
		return 0;
	drop_first_held(p);
	return print_next(p, 0, error);
}

int printer_print(struct printer *p, const struct jobstack_entry *entry, const struct js_kept kept[2],
		  const struct jobstack_outcome *o, struct jobstack_error *error)
{
	int status;

	/* what prints nothing does not wait for another's output, which nobody may take */
	if (!p->config->keep_order && js_kept_len(&kept[0]) + js_kept_len(&kept[1]) == 0)
		return 0;
	(void)pthread_mutex_lock(&p->lock);
	p->shown = speaker_hide(1);
	status = p->config->keep_order ? print_in_order(p, entry, kept, o, error) : print_both(p, entry, kept, error);
	(void)speaker_hide(0);
	(void)pthread_mutex_unlock(&p->lock);
	return status;
}

/* The lock is only tried: a thread that hangs in a write to standard output has it, and must not stop the end of the
 * worker. */
void printer_end(struct printer *p)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	int waiting = p->n > p->first;

	if (pthread_mutex_trylock(&p->lock) != 0) { /* a thread hangs in it: nothing may be freed */
		if (waiting)
			speaker_say("the output of %zu command%s was not printed: standard output is blocked",
				    p->n - p->first, show_plural(p->n - p->first));
		return;
	}
	if (waiting)
		p->shown = speaker_hide(1);
	if (print_next(p, 1, &error) != 0)
		speaker_say("the output of %zu command%s was not printed: %s", p->n - p->first,
			    show_plural(p->n - p->first), error.text);
	if (waiting)
		(void)speaker_hide(0);
	(void)pthread_mutex_unlock(&p->lock);
	js_file_close(&p->file);
	js_file_close(&p->log);
	free(p->held);
}

/* -------------------------------------------------------------------------------------------------------- --joblog */

/* The columns are those of GNU parallel, so its users' scripts can read the file. */
void printer_log(struct printer *p, const struct jobstack_entry *entry, const struct jobstack_outcome *o,
		 int64_t wall_us, int64_t out, char *const *argv)
{
	struct js_buf line = {0};

	if (p->log < 0)
		return;
	js_buf_printf(&line, "%" PRIu64 "\t%s\t%.3f\t%10.3f\t0\t%" PRId64 "\t%d\t%d\t", entry->entry, p->node,
		      (double)(o->started_us + wall_us) / 1e6, (double)(o->ended_us - o->started_us) / 1e6, out,
		      o->signal != 0 ? 0 : o->exit_code, o->signal);
	for (size_t i = 0; argv != NULL && argv[i] != NULL; i++) {
		if (i > 0)
			js_buf_char(&line, ' ');
		show_quote_line(&line, argv[i], strlen(argv[i]));
	}
	if (p->config->persistent) {
		js_buf_char(&line, ' ');
		show_quote_line(&line, entry->datapath, entry->datapath_len);
	}
	js_buf_char(&line, '\n');
	if ((line.failed || js_file_write_all(p->log, line.data, line.len) != 0) && p->told++ == 0)
		speaker_say("can't write to --joblog %s: %s: lines are missing there; the work continues",
			    p->config->joblog, strerror(errno));
	js_buf_free(&line);
}
