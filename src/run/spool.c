/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The spool.  Promises: what an append reported as written is on the disk, whole and in order; a reader takes no line
 * whose checksum does not fit it and everything before it, so that a lost, doubled, swapped or changed line is noticed;
 * only the last line may be cut short.
 */
#include "run/spool.h"

#include "base/attempt.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MAGIC "jobstack-spool "
#define VERSION 4
#define CRC_WIDTH 8
#define LAST_US INT64_C(253402300799999999) /* the end of the year 9999 */
#define OUTCOME_MIN 50			    /* no line with an outcome is shorter */

/* The columns of usage that an outcome's line has are named in the first line. */
#define NAME_USAGE(member, column, ...) " " column
static const char usage_names[] = JS_ATTEMPT_USAGE(NAME_USAGE);

static uint32_t add_checksum(uint32_t before, const void *data, size_t len)
{
	uLong crc = before;

	for (const Bytef *p = data; len > 0;) {
		uInt part = len > 1u << 20 ? 1u << 20 : (uInt)len;

		crc = crc32(crc, p, part);
		p += part;
		len -= part;
	}
	return (uint32_t)crc;
}

/* ------------------------------------------------------------------------------------------------------- reading */

/* The text between two places, and how far it was read. */
struct cursor {
	const char *at, *end;
	char *text;  /* where the next text goes */
	size_t room; /* how many outcomes there can be */
};

/* A decimal number as we write it: no sign but '-', no zeros before it. */
static int read_decimal(struct cursor *c, int64_t low, uint64_t high, uint64_t *value)
{
	int minus = c->at < c->end && *c->at == '-' && low < 0;
	const char *first = c->at + minus, *p = first;
	uint64_t v = 0;

	for (; p < c->end && *p >= '0' && *p <= '9'; p++) {
		if (v > (UINT64_MAX - (uint64_t)(*p - '0')) / 10)
			return -1;
		v = v * 10 + (uint64_t)(*p - '0');
	}
	if (p == first || (*first == '0' && (p - first > 1 || minus)))
		return -1;
	if (minus ? v > (uint64_t) - (low + 1) + 1 : v > high || (low > 0 && v < (uint64_t)low))
		return -1;
	*value = minus ? 0 - v : v;
	c->at = p;
	return 0;
}

static int read_field(struct cursor *c, int64_t low, uint64_t high, uint64_t *value)
{
	if (c->at == c->end || *c->at != ' ')
		return -1;
	c->at++;
	return read_decimal(c, low, high, value);
}

static int read_field_i64(struct cursor *c, int64_t low, int64_t high, int64_t *value)
{
	uint64_t v;

	if (read_field(c, low, (uint64_t)high, &v) != 0)
		return -1;
	memcpy(value, &v, sizeof(v)); /* two's complement, as both are */
	return 0;
}

static int read_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes hexadecimal bytes up to a blank or the end into TO, at most MOST of them.  Returns how many, or -1. */
static int read_hex(struct cursor *c, void *to, size_t most)
{
	unsigned char *out = to;
	size_t n = 0;

	for (; c->at < c->end && *c->at != ' '; c->at += 2) {
		int high = read_hex_digit(c->at[0]), low = c->end - c->at < 2 ? -1 : read_hex_digit(c->at[1]);

		if (n == most || high < 0 || low < 0)
			return -1;
		out[n++] = (unsigned char)(high << 4 | low);
	}
	return (int)n;
}

/* A field of any bytes: NULL, or in the cursor's text with a NUL after it. */
static int read_bytes_field(struct cursor *c, struct jobstack_bytes *field)
{
	int n;

	if (c->end - c->at < 2 || c->at[0] != ' ' || (c->at[1] != '-' && c->at[1] != '='))
		return -1;
	c->at += 2;
	*field = (struct jobstack_bytes){NULL, 0};
	if (c->at[-1] == '-')
		return 0;
	n = read_hex(c, c->text, (size_t)(c->end - c->at));
	if (n < 0)
		return -1;
	*field = (struct jobstack_bytes){c->text, (size_t)n};
	c->text[n] = '\0';
	c->text += n + 1;
	return 0;
}

/* A text: the same without a NUL in it. */
static int read_text_field(struct cursor *c, const char **text)
{
	struct jobstack_bytes field;

	if (read_bytes_field(c, &field) != 0 || (field.len > 0 && memchr(field.data, '\0', field.len) != NULL))
		return -1;
	*text = field.data;
	return 0;
}

static int read_usage(struct cursor *c, struct jobstack_outcome *o)
{
#define READ_USAGE(member, ...)                                                                                        \
	if (read_field_i64(c, -1, INT64_MAX, &o->member) != 0)                                                         \
		return -1;
	JS_ATTEMPT_USAGE(READ_USAGE)
	return 0;
}

static int read_err(struct cursor *c, struct jobstack_outcome *o)
{
	return read_field_i64(c, -1, INT64_MAX, &o->err_at) != 0 || read_text_field(c, &o->err_log) != 0 ||
			       read_bytes_field(c, &o->err_tail) != 0 || o->err_tail.len > JOBSTACK_ERR_TAIL_MAX
		       ? -1
		       : 0;
}

static int read_outcome(struct cursor *c, struct jobstack_outcome *o)
{
	uint64_t attempt, verdict, cause, fatal, later, loss;
	int64_t exit_code, signal;

	*o = (struct jobstack_outcome)JOBSTACK_OUTCOME_INIT;
	if (read_field(c, 1, UINT64_MAX, &o->entry) != 0 || read_field(c, 1, UINT32_MAX, &attempt) != 0 ||
	    read_field(c, 0, JOBSTACK_UNSTARTED, &verdict) != 0 || verdict == JOBSTACK_LOST ||
	    read_field(c, 0, JOBSTACK_CAUSES - 1, &cause) != 0 || read_field(c, 0, 1, &fatal) != 0 ||
	    read_field(c, 0, 2, &later) != 0 || read_field(c, 0, 1, &loss) != 0 ||
	    read_field_i64(c, INT32_MIN, INT32_MAX, &exit_code) != 0 ||
	    read_field_i64(c, INT32_MIN, INT32_MAX, &signal) != 0 ||
	    read_field_i64(c, 0, LAST_US, &o->started_us) != 0 || read_field_i64(c, 0, LAST_US, &o->ended_us) != 0 ||
	    read_usage(c, o) != 0 || read_field_i64(c, -1, INT64_MAX, &o->log_at) != 0 ||
	    read_field_i64(c, -1, INT64_MAX, &o->log_out) != 0 || read_field_i64(c, -1, INT64_MAX, &o->log_err) != 0 ||
	    read_text_field(c, &o->reason) != 0 || read_text_field(c, &o->log) != 0 || read_err(c, o) != 0)
		return -1;
	o->attempt = (uint32_t)attempt;
	o->verdict = (enum jobstack_verdict)verdict;
	o->cause = (enum jobstack_cause)cause;
	o->fatal = (int)fatal;
	o->later = (int)later;
	o->loss = (int)loss;
	o->exit_code = (int32_t)exit_code;
	o->signal = (int32_t)signal;
	return 0;
}

/* What a line says, after its length. */
static int read_spool_record(struct js_spool *s, struct cursor *c)
{
	char letter = c->at < c->end ? *c->at++ : '\0';
	uint64_t n;

	if (s->left) /* nothing may follow "left" */
		return -1;
	if (letter == 'o') {
		if (s->n == c->room || read_outcome(c, &s->outcomes[s->n]) != 0)
			return -1;
		s->n++;
	} else if (letter == 'd') {
		if (read_field(c, 0, s->n, &n) != 0 || n < s->delivered)
			return -1;
		s->delivered = (size_t)n;
	} else if (letter == 'l') {
		if (read_field(c, 0, 0, &n) != 0)
			return -1;
		s->left = 1;
	} else
		return -1;
	return c->at == c->end ? 0 : -1;
}

/* Checks the checksum and the length at the beginning of a line, whose newline is at C->end, and moves *CRC on over it.
 */
static int check_spool_line(struct cursor *c, uint32_t *crc)
{
	uint32_t said = 0;
	uint64_t len;

	if (c->end - c->at < CRC_WIDTH + 1 || c->at[CRC_WIDTH] != ' ')
		return -1;
	for (const char *p = c->at; p < c->at + CRC_WIDTH; p++) {
		int digit = read_hex_digit(*p);

		if (digit < 0)
			return -1;
		said = said << 4 | (uint32_t)digit;
	}
	c->at += CRC_WIDTH;
	*crc = add_checksum(*crc, c->at, (size_t)(c->end - c->at));
	if (said != *crc || read_field(c, 0, UINT32_MAX, &len) != 0 || c->at == c->end || *c->at != ' ')
		return -1;
	c->at++;
	return len == (uint64_t)(c->end - c->at) ? 0 : -1;
}

/* The first line. */
static int read_head(struct js_spool *s, struct cursor *c, const char *name, uint32_t *crc,
		     struct jobstack_error *error)
{
	struct js_spool_head *h = &s->head;
	uint64_t version;
	int n;

	if ((size_t)(c->end - c->at) < strlen(MAGIC) || memcmp(c->at, MAGIC, strlen(MAGIC)) != 0)
		return js_error_set(error, JOBSTACK_EFILE, "%s is not a spool of jobstack-worker", name);
	c->at += strlen(MAGIC);
	*crc = add_checksum(0, c->at - strlen(MAGIC), strlen(MAGIC));
	if (read_decimal(c, 0, UINT32_MAX, &version) != 0 || c->at == c->end || *c->at++ != ' ')
		goto damaged;
	if (version != VERSION)
		return js_error_set(error, JOBSTACK_EFILE,
				    "%s is a spool of version %" PRIu64 ", and this program reads %d", name, version,
				    VERSION);
	*crc = add_checksum(*crc, c->at - 2, 1);
	if (check_spool_line(c, crc) != 0)
		goto damaged;
	n = read_hex(c, h->stack, JOBSTACK_STACK_MAX);
	if (n <= 0 || memchr(h->stack, '\0', (size_t)n) != NULL || read_field(c, 1, UINT64_MAX, &h->worker) != 0 ||
	    c->at == c->end || *c->at++ != ' ' || read_hex(c, h->token, sizeof(h->token)) != (int)sizeof(h->token) ||
	    read_field_i64(c, 1, INT64_MAX, &h->lease_us) != 0)
		goto damaged;
	h->stack[n] = '\0';
	if ((size_t)(c->end - c->at) == strlen(usage_names) && memcmp(c->at, usage_names, strlen(usage_names)) == 0)
		return 0;
	return js_error_set(error, JOBSTACK_EFILE,
			    "the spool %s was written by another version of jobstack: its columns are%.*s", name,
			    (int)(c->end - c->at < 500 ? c->end - c->at : 500), c->at);

damaged:
	return js_error_set(error, JOBSTACK_EFILE, "the spool %s is damaged in line 1", name);
}

int js_spool_read(const void *data, size_t len, const char *name, struct js_spool *spool, struct jobstack_error *error)
{
	const char *at = data, *end = at + len, *newline;
	struct cursor c = {.room = len / OUTCOME_MIN + 1};
	size_t lines = 0;
	uint32_t crc = 0;
	int status = 0;

	memset(spool, 0, sizeof(*spool));
	for (const char *p = at; len > 0 && (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
		lines++;
	if (lines == 0)
		return js_error_set(error, JOBSTACK_EFILE,
				    "%s is not a spool of jobstack-worker, or was cut short in its first line", name);
	spool->outcomes = calloc(c.room, sizeof(*spool->outcomes));
	c.text = spool->text = malloc(len); /* hexadecimal is twice as long */
	if (spool->outcomes == NULL || spool->text == NULL)
		status = js_error_memory(error);
	for (size_t line = 1; status == 0 && line <= lines; line++, at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		c.at = at;
		c.end = newline;
		if (line == 1)
			status = read_head(spool, &c, name, &crc, error);
		else if (check_spool_line(&c, &crc) != 0 || read_spool_record(spool, &c) != 0)
			status = js_error_set(error, JOBSTACK_EFILE, "the spool %s is damaged in line %zu", name, line);
	}
	spool->torn = status == 0 && at < end;
	if (status != 0)
		js_spool_free(spool);
	return status;
}

void js_spool_free(struct js_spool *spool)
{
	int saved = errno;

	free(spool->outcomes);
	free(spool->text);
	memset(spool, 0, sizeof(*spool));
	errno = saved;
}

/* A time of 0 means that there is none, in a moment as in a spool; no other time becomes 0 by chance. */
static int64_t moment_of(int64_t us, int64_t wall_us)
{
	return us == 0 ? 0 : us == wall_us ? 1 : us - wall_us;
}

static int64_t wall_of(int64_t us, int64_t wall_us)
{
	int64_t wall;

	if (us == 0 || __builtin_add_overflow(us, wall_us, &wall) || wall < 1)
		return 0;
	return wall > LAST_US ? LAST_US : wall;
}

void js_spool_moments(struct js_spool *spool, int64_t wall_us)
{
	for (size_t i = 0; i < spool->n; i++) {
		spool->outcomes[i].started_us = moment_of(spool->outcomes[i].started_us, wall_us);
		spool->outcomes[i].ended_us = moment_of(spool->outcomes[i].ended_us, wall_us);
	}
}

int js_spool_load(const char *path, struct js_spool *spool, struct jobstack_error *error)
{
	struct js_buf text = {0};
	int status = 0;

	struct stat st;

	memset(spool, 0, sizeof(*spool));
	if (stat(path, &st) == 0 && st.st_uid != geteuid() && geteuid() != 0)
		return js_error_set(
			error, JOBSTACK_EFILE,
			"the spool %s belongs to the user %lu, who could have written anything into it: if you "
			"trust them, copy it and give the copy",
			path, (unsigned long)st.st_uid);
	if (js_file_read(path, &text) != 0)
		status = js_error_file(error, "can't read %s", path);
	JS_THEN(status, js_spool_read(text.data, text.len, path, spool, error));
	js_spool_moments(spool, js_clock_wall_us() - js_clock_mono_us());
	js_buf_free(&text);
	return status;
}

/* ------------------------------------------------------------------------------------------------------- writing */

struct js_spool_file {
	struct js_buf path, text, line;
	int fd;
	uint32_t crc; /* of all that counts */
	int64_t end;  /* where that ends */
};

static void add_hex_bytes(struct js_buf *buf, const void *data, size_t len)
{
	js_buf_hex(buf, "0123456789abcdef", data, len);
}

static void add_text_field(struct js_buf *buf, const char *text)
{
	js_buf_str(buf, text == NULL ? " -" : " =");
	if (text != NULL)
		add_hex_bytes(buf, text, strlen(text));
}

/* Appends file->line to file->text, as a whole line. */
static void add_spool_line(struct js_spool_file *file, uint32_t *crc)
{
	struct js_buf behind = {0};

	js_buf_printf(&behind, " %zu ", file->line.len);
	js_buf_add(&behind, file->line.data, file->line.len);
	if (!behind.failed)
		*crc = add_checksum(*crc, behind.data, behind.len);
	js_buf_printf(&file->text, "%08" PRIx32, *crc);
	js_buf_add(&file->text, behind.data, behind.len);
	js_buf_char(&file->text, '\n');
	file->text.failed |= behind.failed | file->line.failed;
	js_buf_free(&behind);
	js_buf_reset(&file->line);
}

/* Appends file->text to the file, after which CRC counts.  SYNC: waits until it is on the disk.  What can't be written
 * whole is cut off. */
static int write_text(struct js_spool_file *file, uint32_t crc, int sync, struct jobstack_error *error)
{
	int failed = file->text.failed, status = 0;

	if (failed)
		status = js_error_memory(error);
	else if (js_file_write_all(file->fd, file->text.data, file->text.len) != 0 || (sync && fsync(file->fd) != 0))
		status = js_error_file(error, "can't write the spool %s", file->path.data);
	if (status != 0 && ftruncate(file->fd, (off_t)file->end) != 0) { /* nothing may follow half a line */
		(void)close(file->fd);
		file->fd = -1;
	} else if (status == 0) {
		file->end += (int64_t)file->text.len;
		file->crc = crc;
	}
	if (failed) { /* a buffer can't be used after a failure */
		js_buf_free(&file->text);
		js_buf_free(&file->line);
	}
	js_buf_reset(&file->text);
	return status;
}

/* Makes the file's name last: the directory goes to the disk, and the two above it, which may be as new
 * (jobstack-logs/STACK). What can't be opened is left. */
static int sync_dirs(char *path)
{
	char *slash;

	for (int level = 0; level < 3 && (slash = strrchr(path, '/')) != NULL && slash != path; level++) {
		*slash = '\0';
		if (js_file_sync_dir(path) < 0)
			return -1;
	}
	return 0;
}

static int create_file(struct js_spool_file *file, const struct js_spool_head *head, struct jobstack_error *error)
{
	char *path = strdup(file->path.data);
	uint32_t crc;
	int status;

	if (path == NULL)
		return js_error_memory(error);
	if (js_file_make_parent(path, 0777) == 0)
		file->fd = open(file->path.data, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file->fd < 0) {
		status = js_error_file(error, "can't make the spool %s", file->path.data);
		goto out;
	}
	js_buf_printf(&file->text, MAGIC "%d ", VERSION);
	crc = add_checksum(0, file->text.data, file->text.failed ? 0 : file->text.len - 1);
	add_hex_bytes(&file->line, head->stack, strlen(head->stack));
	js_buf_printf(&file->line, " %" PRIu64 " ", head->worker);
	add_hex_bytes(&file->line, head->token, sizeof(head->token));
	js_buf_printf(&file->line, " %" PRId64 "%s", head->lease_us, usage_names);
	add_spool_line(file, &crc);
	status = write_text(file, crc, 1, error);
	if (status == 0 && sync_dirs(path) != 0)
		status = js_error_file(error, "can't write the spool %s", file->path.data);
out:
	free(path);
	return status;
}

int js_spool_create(struct js_spool_file **made, const char *path, const struct js_spool_head *head,
		    struct jobstack_error *error)
{
	struct js_spool_file *file = calloc(1, sizeof(*file));
	int status;

	*made = NULL;
	if (file == NULL)
		return js_error_memory(error);
	file->fd = -1;
	js_buf_str(&file->path, path);
	status = file->path.failed ? js_error_memory(error) : create_file(file, head, error);
	if (status != 0) {
		js_spool_close(file, file->fd >= 0);
		return status;
	}
	*made = file;
	return 0;
}

int js_spool_append(struct js_spool_file *file, const struct jobstack_outcome *outcomes, size_t n, int64_t wall_us,
		    struct jobstack_error *error)
{
	uint32_t crc = file->crc;

	for (size_t i = 0; i < n; i++) {
		const struct jobstack_outcome *o = &outcomes[i];

		js_buf_printf(&file->line,
			      "o %" PRIu64 " %" PRIu32 " %d %d %d %d %d %" PRId32 " %" PRId32 " %" PRId64 " %" PRId64,
			      o->entry, o->attempt, (int)o->verdict, (int)o->cause, o->fatal != 0, o->later,
			      o->loss != 0, o->exit_code, o->signal, wall_of(o->started_us, wall_us),
			      wall_of(o->ended_us, wall_us));
#define WRITE_USAGE(member, ...) " %" PRId64
#define VALUE_OF_USAGE(member, ...) o->member,
		js_buf_printf(&file->line, JS_ATTEMPT_USAGE(WRITE_USAGE) " %" PRId64 " %" PRId64 " %" PRId64,
			      JS_ATTEMPT_USAGE(VALUE_OF_USAGE) o->log_at, o->log_out, o->log_err);
		add_text_field(&file->line, o->reason);
		add_text_field(&file->line, o->log);
		js_buf_printf(&file->line, " %" PRId64, o->err_at);
		add_text_field(&file->line, o->err_log);
		js_buf_str(&file->line, o->err_tail.len == 0 ? " -" : " =");
		add_hex_bytes(&file->line, o->err_tail.data, o->err_tail.len);
		add_spool_line(file, &crc);
	}
	return n == 0 ? 0 : write_text(file, crc, 1, error);
}

static int append_note(struct js_spool_file *file, char letter, uint64_t n, int sync, struct jobstack_error *error)
{
	uint32_t crc = file->crc;

	js_buf_printf(&file->line, "%c %" PRIu64, letter, n);
	add_spool_line(file, &crc);
	return write_text(file, crc, sync, error);
}

int js_spool_note_delivered(struct js_spool_file *file, uint64_t n, struct jobstack_error *error)
{
	return append_note(file, 'd', n, 0, error);
}

int js_spool_note_left(struct js_spool_file *file, struct jobstack_error *error)
{
	return append_note(file, 'l', 0, 1, error);
}

const char *js_spool_path(const struct js_spool_file *file)
{
	return file->path.data;
}

void js_spool_close(struct js_spool_file *file, int remove)
{
	int saved = errno;

	if (file == NULL)
		return;
	if (file->fd >= 0)
		(void)close(file->fd);
	if (remove)
		(void)unlink(file->path.data);
	js_buf_free(&file->path);
	js_buf_free(&file->text);
	js_buf_free(&file->line);
	free(file);
	errno = saved;
}
