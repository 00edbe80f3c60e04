/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spools.  The first byte chooses: the rest is a file as it is ('r'); or, since no fuzzer guesses a checksum, the
 * texts of the lines behind the first one, which get theirs here (anything else).
 *
 * What is taken holds only numbers in their range and texts that end; written out again it reads the
 * same; and with any one byte of it changed, but for the last newline, it is refused.
 */
#define _GNU_SOURCE
#include "base/attempt.h"
#include "fuzz/fuzz.h"
#include "exec/spool.h"

#include <inttypes.h>
#include <zlib.h>

#define LAST_US INT64_C(253402300799999999)

static char dir[4096], path[4200];

static void remove_dir(void)
{
	(void)unlink(path);
	(void)rmdir(dir);
}

static void make_dir(void)
{
	const char *base = getenv("TMPDIR");

	(void)snprintf(dir, sizeof(dir), "%s/jobstack-fuzz-XXXXXX", base != NULL ? base : "/tmp");
	need(mkdtemp(dir) != NULL);
	(void)snprintf(path, sizeof(path), "%s/spool", dir);
	(void)atexit(remove_dir);
}

/* The first line that the writer writes. */
static const char *first_line(void)
{
	static const struct js_spool_head head = {"s", 1, {0}, 1};
	static char text[4096];
	struct js_spool_file *file;
	int fd;

	if (text[0] != '\0')
		return text;
	need(js_spool_create(&file, path, &head, NULL) == 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	need(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && close(fd) == 0);
	js_spool_close(file, 1);
	*(strchr(text, '\n') + 1) = '\0';
	return text;
}

/* The first line, and those of TEXT, each with its checksum; what stands behind the last newline stays torn. */
static char *with_sums(const char *text, size_t len, size_t *made)
{
	const char *p = text, *newline, *first = first_line();
	char *out = malloc(strlen(first) + len * 11 + 64);
	uLong crc = crc32(0, (const Bytef *)first, (uInt)strlen(first));
	size_t at;

	need(out != NULL);
	at = (size_t)sprintf(out, "%s", first);
	for (; (newline = memchr(p, '\n', (size_t)(text + len - p))) != NULL; p = newline + 1) {
		size_t n = (size_t)(newline - p);

		crc = crc32(crc32(crc, (const Bytef *)" ", 1), (const Bytef *)p, (uInt)n);
		at += (size_t)sprintf(out + at, "%08lx ", crc);
		memcpy(out + at, p, n + 1);
		at += n + 1;
	}
	memcpy(out + at, p, (size_t)(text + len - p));
	*made = at + (size_t)(text + len - p);
	return out;
}

static int same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void check_outcome(const struct jobstack_outcome *o)
{
	need(o->entry >= 1 && o->attempt >= 1 && o->verdict != JOBSTACK_LOST && o->verdict <= JOBSTACK_UNSTARTED);
	need(o->started_us >= 0 && o->started_us <= LAST_US && o->ended_us >= 0 && o->ended_us <= LAST_US);
	need(o->reason == NULL || strlen(o->reason) < SIZE_MAX);
	need(o->log == NULL || strlen(o->log) < SIZE_MAX);
	need(o->err_log == NULL || strlen(o->err_log) < SIZE_MAX);
	need(o->err_tail.len <= JOBSTACK_ERR_TAIL_MAX && (o->err_tail.len == 0 || o->err_tail.data != NULL));
}

static void compare(const struct jobstack_outcome *a, const struct jobstack_outcome *b)
{
	need(a->entry == b->entry && a->attempt == b->attempt && a->verdict == b->verdict && a->fatal == b->fatal);
	need(a->later == b->later && a->loss == b->loss && a->exit_code == b->exit_code && a->signal == b->signal);
#define NEED_SAME_USAGE(member, ...) need(a->member == b->member);
	JS_ATTEMPT_USAGE(NEED_SAME_USAGE)
	need(a->started_us == b->started_us && a->ended_us == b->ended_us);
	need(a->log_at == b->log_at && a->log_out == b->log_out);
	need(a->log_err == b->log_err && same_text(a->reason, b->reason) && same_text(a->log, b->log));
	need(a->err_at == b->err_at && same_text(a->err_log, b->err_log) && a->err_tail.len == b->err_tail.len);
	need(a->err_tail.len == 0 || memcmp(a->err_tail.data, b->err_tail.data, a->err_tail.len) == 0);
}

/* Writes what was read, with the writer of the worker, and reads that. */
static void write_again(const struct js_spool *s)
{
	struct js_spool_file *file;
	struct js_spool again;
	static char text[1 << 20];
	ssize_t len;
	int fd;

	(void)unlink(path);
	need(js_spool_create(&file, path, &s->head, NULL) == 0);
	need(js_spool_append(file, s->outcomes, s->n, 0, NULL) == 0);
	need(js_spool_note_delivered(file, s->delivered, NULL) == 0);
	need(!s->left || js_spool_note_left(file, NULL) == 0);
	js_spool_close(file, 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	need(fd >= 0);
	len = read(fd, text, sizeof(text));
	need(len > 0 && close(fd) == 0);
	if ((size_t)len == sizeof(text))
		return;
	need(js_spool_read(text, (size_t)len, "again", &again, NULL) == 0);
	need(again.n == s->n && again.delivered == s->delivered && again.left == s->left && again.torn == 0);
	need(strcmp(again.head.stack, s->head.stack) == 0 && again.head.worker == s->head.worker &&
	     memcmp(again.head.token, s->head.token, sizeof(s->head.token)) == 0 &&
	     again.head.lease_us == s->head.lease_us);
	for (size_t i = 0; i < s->n; i++)
		compare(&s->outcomes[i], &again.outcomes[i]);
	js_spool_free(&again);
}

/* One byte of a good file becomes another: it must be noticed. */
static void damage(char *text, size_t len, uint8_t choice)
{
	size_t at = len == 0 ? 0 : (size_t)choice * 2654435761u % len;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_spool spool;
	char was;

	if (len == 0 || at == len - 1)
		return;
	was = text[at];
	text[at] = (char)(was ^ (1 + choice % 127));
	need(js_spool_read(text, len, "damaged", &spool, &error) == JOBSTACK_EFILE && error.text[0] != '\0');
	text[at] = was;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_spool spool;
	char *text;
	size_t len;

	if (dir[0] == '\0')
		make_dir();
	if (size == 0)
		return 0;
	len = size - 1;
	text = *data == 'r' ? malloc(len + (len == 0)) : with_sums((const char *)data + 1, len, &len);
	need(text != NULL);
	if (*data == 'r')
		memcpy(text, data + 1, len);
	else
		text = realloc(text, len + (len == 0)); /* just its size */
	need(text != NULL);
	if (js_spool_read(text, len, "input", &spool, &error) == 0) {
		need(spool.delivered <= spool.n && (spool.n == 0 || spool.outcomes != NULL));
		need(spool.head.worker >= 1 && spool.head.lease_us >= 1 && spool.head.stack[0] != '\0');
		need(memchr(spool.head.stack, '\0', sizeof(spool.head.stack)) != NULL);
		for (size_t i = 0; i < spool.n; i++)
			check_outcome(&spool.outcomes[i]);
		write_again(&spool);
		if (!spool.torn)
			damage(text, len, data[size - 1]);
		js_spool_free(&spool);
	} else
		need(error.code == JOBSTACK_EFILE && error.text[0] != '\0');
	free(text);
	return 0;
}
