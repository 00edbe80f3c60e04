/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The spool.  Promises: what an append reported as written is on the disk, whole and in order; a reader takes no line
 * whose checksum does not fit it and everything before it, so that a lost, doubled, swapped or changed line is noticed;
 * only the last line may be cut short.
 */
#include "exec/spool.h"

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
#define CRC_WIDTH 8
#define LAST_US INT64_C(253402300799999999) /* the end of the year 9999 */
#define OUTCOME_MIN 50			    /* no line with an outcome is shorter */

/* The columns of an outcome's line, a row for each: those that lead to the attempt and say what follows from it, those
 * of base/attempt.h, and the end of stderr.  Rows are as those there; FIELD and FOUND are not used here. */
/* clang-format off */
#define COLUMNS_OF_OUTCOME(X)                                                                                          \
	X(entry, "entry", NULL, COUNT, OUTCOME) X(attempt, "attempt", NULL, COUNT, OUTCOME)                            \
	X(verdict, "verdict", NULL, COUNT, OUTCOME) X(fatal, "fatal", NULL, COUNT, OUTCOME)                            \
	X(later, "later", NULL, COUNT, OUTCOME) X(loss, "loss", NULL, COUNT, OUTCOME)                                  \
	JS_ATTEMPT(X) X(err_tail, "err_tail", NULL, TEXT, OUTCOME)
/* clang-format on */

#define COLUMN(member, column, field, kind, ...)                                                                       \
	{offsetof(struct jobstack_outcome, member), sizeof(((struct jobstack_outcome *)0)->member), JS_KIND_##kind},
static const struct column {
	size_t at, size; /* in struct jobstack_outcome */
	enum js_kind kind;
} columns[] = {COLUMNS_OF_OUTCOME(COLUMN)};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* The first line.  A writer with other columns has another first line, so its spool is never misread. */
#define COLUMN_NAME(member, column, ...) " " column
static const char first_line[] = MAGIC "4" COLUMNS_OF_OUTCOME(COLUMN_NAME) "\n";

/* ------------------------------------------------------------------------------------------------------- reading */

/* The text between two places, and how far it was read.  At END is the line's newline. */
struct cursor {
	const char *at, *end;
	char *text;  /* where the next text goes */
	size_t room; /* how many outcomes there can be */
};

/* Reads a blank and a number.  Overflow is an error: a damaged number must not become another one. */
static int read_number(struct cursor *c, int64_t *value)
{
	uint64_t n = 0;
	const char *from;
	int minus;

	if (c->at == c->end || *c->at++ != ' ')
		return -1;
	minus = c->at < c->end && *c->at == '-';
	from = c->at += minus;
	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*c->at - '0'), &n))
			return -1;
	if (c->at == from || n > (uint64_t)INT64_MAX + (uint64_t)minus)
		return -1;
	*value = minus ? (int64_t)(0 - n) : (int64_t)n;
	return 0;
}

static int read_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads a field of any bytes.  They become NULL, or lie in the cursor's text with a NUL after them. */
static int read_bytes_field(struct cursor *c, struct jobstack_bytes *field)
{
	char *to = c->text;

	*field = (struct jobstack_bytes){NULL, 0};
	if (c->end - c->at < 2 || c->at[0] != ' ' || (c->at[1] != '-' && c->at[1] != '='))
		return -1;
	c->at += 2;
	if (c->at[-1] == '-')
		return 0;
	for (; c->at < c->end && *c->at != ' '; c->at += 2) {
		int high = read_hex_digit(c->at[0]), low = read_hex_digit(c->at[1]); /* a newline is no digit */

		if (high < 0 || low < 0)
			return -1;
		*to++ = (char)(high << 4 | low);
	}
	*field = (struct jobstack_bytes){c->text, (size_t)(to - c->text)};
	*to++ = '\0';
	c->text = to;
	return 0;
}

/* Reads one column into O.  Texts of O are pointers into the spool's text, either with a length or without a NUL in
 * them. */
static int read_column(struct cursor *c, const struct column *column, struct jobstack_outcome *o)
{
	void *to = (char *)o + column->at;
	struct jobstack_bytes field;
	int64_t value;
	int32_t small;

	if (column->kind != JS_KIND_TEXT) {
		JS_TRY(read_number(c, &value));
		small = (int32_t)value;
		memcpy(to, column->size == sizeof(small) ? (const void *)&small : &value, column->size);
		return 0;
	}
	JS_TRY(read_bytes_field(c, &field));
	if (column->size == sizeof(field))
		memcpy(to, &field, sizeof(field));
	else if (field.len == 0 || memchr(field.data, '\0', field.len) == NULL)
		memcpy(to, &field.data, sizeof(field.data));
	else
		return -1;
	return 0;
}

/* Returns whether O has what the rest of the program relies on.  Damage is found by the checksum before; this is for
 * spools that somebody has written. */
static int is_valid_outcome(const struct jobstack_outcome *o)
{
	return o->entry > 0 && o->attempt > 0 && o->verdict <= JOBSTACK_UNSTARTED && o->verdict != JOBSTACK_LOST &&
	       o->cause < JOBSTACK_CAUSES && o->started_us >= 0 && o->started_us <= LAST_US && o->ended_us >= 0 &&
	       o->ended_us <= LAST_US && o->err_tail.len <= JOBSTACK_ERR_TAIL_MAX;
}

static int read_outcome(struct cursor *c, struct jobstack_outcome *o)
{
	*o = (struct jobstack_outcome)JOBSTACK_OUTCOME_INIT;
	for (size_t i = 0; i < COLUMNS; i++)
		JS_TRY(read_column(c, &columns[i], o));
	return is_valid_outcome(o) ? 0 : -1;
}

/* Reads the second line: whose outcomes these are. */
static int read_head(struct cursor *c, struct js_spool_head *head)
{
	struct jobstack_bytes stack, token;
	int64_t worker;

	if (read_bytes_field(c, &stack) != 0 || stack.len == 0 || stack.len > JOBSTACK_STACK_MAX ||
	    memchr(stack.data, '\0', stack.len) != NULL || read_number(c, &worker) != 0 || worker == 0 ||
	    read_bytes_field(c, &token) != 0 || token.len != sizeof(head->token) ||
	    read_number(c, &head->lease_us) != 0 || head->lease_us < 1)
		return -1;
	memcpy(head->stack, stack.data, stack.len + 1);
	memcpy(head->token, token.data, token.len);
	head->worker = (uint64_t)worker;
	return 0;
}

/* Reads what line number LINE has after its checksum.  Returns 0, or -1 if it is damaged. */
static int read_spool_record(struct js_spool *s, struct cursor *c, size_t line)
{
	char letter = c->at < c->end ? *c->at++ : '\0';
	int64_t n;

	if (s->left || (letter == 'h') != (line == 2)) /* nothing may follow "left" */
		return -1;
	switch (letter) {
	case 'h': JS_TRY(read_head(c, &s->head)); break;
	case 'o':
		if (s->n == c->room || read_outcome(c, &s->outcomes[s->n]) != 0)
			return -1;
		s->n++;
		break;
	case 'd':
		if (read_number(c, &n) != 0 || n < (int64_t)s->delivered || n > (int64_t)s->n)
			return -1;
		s->delivered = (size_t)n;
		break;
	case 'l': s->left = 1; break;
	default: return -1;
	}
	return c->at == c->end ? 0 : -1;
}

/* Checks the checksum at the beginning of a line, and moves *CRC on over the rest of it. */
static int check_spool_line(struct cursor *c, uLong *crc)
{
	char sum[CRC_WIDTH + 2];

	if (c->end - c->at <= CRC_WIDTH)
		return -1;
	*crc = crc32_z(*crc, (const Bytef *)c->at + CRC_WIDTH, (size_t)(c->end - c->at) - CRC_WIDTH);
	(void)snprintf(sum, sizeof(sum), "%08lx ", *crc);
	if (memcmp(c->at, sum, CRC_WIDTH + 1) != 0)
		return -1;
	c->at += CRC_WIDTH + 1;
	return 0;
}

/* Says whether it is a spool of another version, or no spool. */
static int refuse_first_line(const char *data, size_t len, const char *name, struct jobstack_error *error)
{
	int ours = len > strlen(MAGIC) && memcmp(data, MAGIC, strlen(MAGIC)) == 0 && memchr(data, '\n', len) != NULL;

	return js_error_set(error, JOBSTACK_EFILE,
			    ours ? "the spool %s was written by another version of jobstack"
				 : "%s is not a spool of jobstack-worker, or was cut short in its first lines",
			    name);
}

/* Only what stands before the last newline counts.  What follows it was cut short: its writer was killed, and had not
 * reported it as written. */
int js_spool_read(const void *data, size_t len, const char *name, struct js_spool *spool, struct jobstack_error *error)
{
	const char *at = data, *end = at + len, *newline;
	struct cursor c = {.room = len / OUTCOME_MIN + 1};
	uLong crc = crc32_z(0, (const Bytef *)first_line, strlen(first_line));
	size_t line = 2;
	int status = 0;

	memset(spool, 0, sizeof(*spool));
	if (len < strlen(first_line) || memcmp(at, first_line, strlen(first_line)) != 0)
		return refuse_first_line(data, len, name, error);
	at += strlen(first_line);
	spool->outcomes = calloc(c.room, sizeof(*spool->outcomes));
	/* there can't be more outcomes than ROOM, nor more text than the file is long: hexadecimal takes two bytes for
	 * one */
	c.text = spool->text = malloc(len);
	if (spool->outcomes == NULL || spool->text == NULL)
		status = js_error_memory(error);
	for (; status == 0 && (newline = memchr(at, '\n', (size_t)(end - at))) != NULL; line++, at = newline + 1) {
		c.at = at;
		c.end = newline;
		if (check_spool_line(&c, &crc) != 0 || read_spool_record(spool, &c, line) != 0)
			status = js_error_set(error, JOBSTACK_EFILE, "the spool %s is damaged in line %zu", name, line);
	}
	if (status == 0 && line == 2)
		status = refuse_first_line("", 0, name, error);
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

/* These turn times since 1970 into moments, and back.  0 means that there is no time, in a moment as in a spool, so no
 * other time may become 0 by chance. */
static int64_t moment_of(int64_t us, int64_t wall_us)
{
	return us == 0 ? 0 : us == wall_us ? 1 : us - wall_us;
}

static int64_t to_wall_us(int64_t us, int64_t wall_us)
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

/* Only the user's own spools are trusted: somebody else could have given any entry any outcome. */
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

/* A spool that is being written.  LINE is the line that is being made, without its checksum; TEXT has the lines that
 * are to be written next. */
struct js_spool_file {
	struct js_buf path, text, line;
	int fd;
	uLong crc;   /* of all whole lines so far */
	int64_t end; /* where these end */
};

/* Appends a field of any bytes: " -" for NULL, else " =" and hexadecimal digits. */
static void add_bytes_field(struct js_buf *line, const void *data, size_t len)
{
	js_buf_str(line, data == NULL ? " -" : " =");
	if (data != NULL)
		js_buf_hex(line, "0123456789abcdef", data, len);
}

/* Numbers are written as signed ones: what is too large for that is negative, and is read as what it was. */
static void add_column(struct js_buf *line, const struct column *column, const struct jobstack_outcome *o,
		       int64_t wall_us)
{
	const void *from = (const char *)o + column->at;
	const struct jobstack_bytes *bytes = from;
	const char *const *text = from;
	int32_t small;
	int64_t value;

	if (column->kind == JS_KIND_TEXT && column->size == sizeof(*bytes))
		add_bytes_field(line, bytes->len > 0 ? bytes->data : NULL, bytes->len);
	else if (column->kind == JS_KIND_TEXT)
		add_bytes_field(line, *text, *text == NULL ? 0 : strlen(*text));
	else {
		memcpy(column->size == sizeof(small) ? (void *)&small : &value, from, column->size);
		value = column->size == sizeof(small) ? small : value;
		js_buf_char(line, ' ');
		js_buf_i64(line, column->kind == JS_KIND_MOMENT ? to_wall_us(value, wall_us) : value);
	}
}

/* Appends file->line to file->text, as a whole line. */
static void add_spool_line(struct js_spool_file *file, uLong *crc)
{
	file->text.failed |= file->line.failed;
	if (!file->line.failed)
		*crc = crc32_z(*crc, (const Bytef *)file->line.data, file->line.len);
	js_buf_printf(&file->text, "%08lx", *crc);
	js_buf_add(&file->text, file->line.data, file->line.len);
	js_buf_char(&file->text, '\n');
	js_buf_reset(&file->line);
}

/* Appends file->text to the file, after which CRC counts.  SYNC: waits until it is on the disk.  What can't be written
 * whole is cut off. */
static int write_text(struct js_spool_file *file, uLong crc, int sync, struct jobstack_error *error)
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

/* Writes the directory of the file to the disk, and the two above it, which may be as new (jobstack-logs/STACK): else
 * the file could be gone after a crash of the machine.  Directories that can't be opened are passed over. */
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

/* Makes the file with its first two lines.  O_EXCL and O_NOFOLLOW: in /tmp another user may have put something there.
 */
static int create_file(struct js_spool_file *file, const struct js_spool_head *head, struct jobstack_error *error)
{
	uLong crc = crc32_z(0, (const Bytef *)first_line, strlen(first_line));
	char *path = strdup(file->path.data);
	int status;

	if (path == NULL)
		return js_error_memory(error);
	if (js_file_make_parent(path, 0777) == 0)
		file->fd = open(file->path.data, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file->fd < 0) {
		status = js_error_file(error, "can't make the spool %s", file->path.data);
		goto out;
	}
	js_buf_str(&file->text, first_line);
	js_buf_str(&file->line, " h");
	add_bytes_field(&file->line, head->stack, strlen(head->stack));
	js_buf_printf(&file->line, " %" PRId64, (int64_t)head->worker);
	add_bytes_field(&file->line, head->token, sizeof(head->token));
	js_buf_printf(&file->line, " %" PRId64, head->lease_us);
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

/* The lines of all outcomes are made first and written at once; the checksum goes on only if they are on the disk. */
int js_spool_append(struct js_spool_file *file, const struct jobstack_outcome *outcomes, size_t n, int64_t wall_us,
		    struct jobstack_error *error)
{
	uLong crc = file->crc;

	for (size_t i = 0; i < n; i++) {
		js_buf_str(&file->line, " o");
		for (size_t k = 0; k < COLUMNS; k++)
			add_column(&file->line, &columns[k], &outcomes[i], wall_us);
		add_spool_line(file, &crc);
	}
	return n == 0 ? 0 : write_text(file, crc, 1, error);
}

int js_spool_note_delivered(struct js_spool_file *file, uint64_t n, struct jobstack_error *error)
{
	uLong crc = file->crc;

	js_buf_printf(&file->line, " d %" PRIu64, n);
	add_spool_line(file, &crc);
	return write_text(file, crc, 0, error);
}

int js_spool_note_left(struct js_spool_file *file, struct jobstack_error *error)
{
	uLong crc = file->crc;

	js_buf_str(&file->line, " l");
	add_spool_line(file, &crc);
	return write_text(file, crc, 1, error);
}

const char *js_spool_path(const struct js_spool_file *file)
{
	return file->path.data;
}

/* FILE may be one that could not be completed. */
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
