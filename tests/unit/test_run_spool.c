/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The spool: what is written is read again, to the last byte; cut short anywhere it gives no wrong outcome; changed
 * anywhere it is noticed.
 */
#define _GNU_SOURCE
#include "base/attempt.h"
#include "base/file.h"
#include "exec/spool.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define WALL_US INT64_C(1795242011000000)

static char dir[64], path[128];
static struct jobstack_error e;

static const struct js_spool_head head = {
	"airs-2012@x:y", UINT64_MAX, {0, 255, 10, 13, 32, 7, 8, 9, 1, 2, 3, 4, 5, 6, 0, 0}, 300000000};

static int set_up(void **state)
{
	(void)state;
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)snprintf(dir, sizeof(dir), "/tmp/js-spool.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/logs/stack/w.spool", dir);
	return 0;
}

static int take_down(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* Some outcomes with every field in use, and texts of all bytes. */
static size_t samples(struct jobstack_outcome *o)
{
	static char odd[256], long_log[PATH_MAX], tail[256];

	for (int i = 0; i < 255; i++)
		odd[i] = (char)(i + 1);
	for (int i = 0; i < 256; i++)
		tail[i] = (char)i;
	memset(long_log, '/', sizeof(long_log) - 1);
	for (size_t i = 0; i < 6; i++)
		o[i] = (struct jobstack_outcome)JOBSTACK_OUTCOME_INIT;
	o[0].entry = 1;
	o[0].attempt = 1;
	o[1] = (struct jobstack_outcome){.entry = UINT64_MAX,
					 .attempt = UINT32_MAX,
					 .verdict = JOBSTACK_FAILED,
					 .fatal = 1,
					 .exit_code = 255,
					 .signal = 9,
					 .reason = odd,
					 .started_us = 1,
					 .ended_us = 2,
					 .log = long_log,
					 .log_at = 8,
					 .log_out = 9,
					 .log_err = 10,
					 .err_log = odd,
					 .err_at = INT64_MAX,
					 .err_tail = {tail, sizeof(tail)}};
	o[2] = (struct jobstack_outcome){.entry = 7,
					 .attempt = 2,
					 .verdict = JOBSTACK_INTERRUPTED,
					 .later = 1,
					 .exit_code = -1,
					 .signal = 15,
					 .reason = "",
					 .started_us = 5000000,
					 .ended_us = 6000000,
					 .user_us = INT64_MAX,
					 .log = "",
					 .loss = 1,
					 .err_log = "",
					 .err_tail = {"\n", 1}};
#define NUMBERED(member, ...) o[1].member = 3 + JS_USAGE_##member;
	JS_ATTEMPT_USAGE(NUMBERED)
	o[3].verdict = JOBSTACK_UNSTARTED;
	o[3].entry = 8;
	o[3].attempt = 3;
	o[4].entry = 9;
	o[4].attempt = 1;
	o[4].exit_code = INT32_MIN;
	o[4].signal = INT32_MAX;
	o[4].started_us = -1; /* before the boot of the host that reads it */
	o[4].ended_us = -WALL_US + 1;
	o[5].entry = 10;
	o[5].attempt = 1;
	o[5].reason = "a\nb";
	return 6;
}

static void same_text(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		assert_ptr_equal(a, b);
	else
		assert_string_equal(a, b);
}

static void same(const struct jobstack_outcome *a, const struct jobstack_outcome *b)
{
	struct jobstack_outcome x = *a, y = *b;

	same_text(x.reason, y.reason);
	same_text(x.log, y.log);
	same_text(x.err_log, y.err_log);
	assert_true(x.err_at == y.err_at && x.err_tail.len == y.err_tail.len);
	assert_true(x.err_tail.len == 0 || memcmp(x.err_tail.data, y.err_tail.data, x.err_tail.len) == 0);
	x.reason = x.log = y.reason = y.log = NULL;
	assert_true(x.entry == y.entry && x.attempt == y.attempt && x.verdict == y.verdict && x.fatal == y.fatal &&
		    x.later == y.later && x.loss == y.loss);
	assert_true(x.exit_code == y.exit_code && x.signal == y.signal && x.started_us == y.started_us &&
		    x.ended_us == y.ended_us);
#define SAME_USAGE(member, ...) assert_true(x.member == y.member);
	JS_ATTEMPT_USAGE(SAME_USAGE)
	assert_true(x.log_at == y.log_at && x.log_out == y.log_out && x.log_err == y.log_err);
}

/* Writes all there can be in a spool. */
static void write_all(const struct jobstack_outcome *o, size_t n)
{
	struct js_spool_file *f;

	memset(&e, 0, sizeof(e));
	assert_int_equal(js_spool_create(&f, path, &head, &e), 0);
	assert_string_equal(js_spool_path(f), path);
	assert_int_equal(js_spool_append(f, o, 2, WALL_US, &e), 0);
	assert_int_equal(js_spool_append(f, o, 0, WALL_US, &e), 0);
	assert_int_equal(js_spool_note_delivered(f, 1, &e), 0);
	assert_int_equal(js_spool_append(f, o + 2, n - 2, WALL_US, &e), 0);
	assert_int_equal(js_spool_note_delivered(f, 2, &e), 0);
	assert_int_equal(js_spool_note_left(f, &e), 0);
	js_spool_close(f, 0);
}

static void slurp(struct js_buf *text)
{
	js_buf_reset(text);
	assert_int_equal(js_file_read(path, text), 0);
}

static int read_it(const char *data, size_t len, struct js_spool *s)
{
	/* in memory of just that size, so that a look beyond its end is noticed */
	char *copy = malloc(len > 0 ? len : 1);
	int status;

	assert_non_null(copy);
	memcpy(copy, data, len);
	memset(&e, 0, sizeof(e));
	status = js_spool_read(copy, len, "FILE", s, &e);
	free(copy);
	return status;
}

static void round_trip(void **state)
{
	struct jobstack_outcome o[8];
	size_t n = samples(o);
	struct js_buf text = {0};
	struct js_spool s;
	struct stat st;

	(void)state;
	write_all(o, n);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	slurp(&text);
	assert_int_equal(read_it(text.data, text.len, &s), 0);
	assert_string_equal(s.head.stack, head.stack);
	assert_true(s.head.worker == head.worker && s.head.lease_us == head.lease_us);
	assert_memory_equal(s.head.token, head.token, sizeof(head.token));
	assert_true(s.n == n && s.delivered == 2 && s.left == 1 && s.torn == 0);
	assert_true(s.outcomes[2].started_us == WALL_US + 5000000);
	js_spool_moments(&s, WALL_US);
	for (size_t i = 0; i < n; i++)
		same(&s.outcomes[i], &o[i]);
	js_spool_free(&s);
	js_buf_free(&text);
	assert_int_equal(unlink(path), 0);
}

/* Cut short after each byte: the first outcomes, or an error, and never an outcome that was not written. */
static void truncated(void **state)
{
	struct jobstack_outcome o[8];
	size_t n = samples(o), best = 0, head_end;
	struct js_buf text = {0};
	struct js_spool s;

	(void)state;
	write_all(o, n);
	slurp(&text);
	head_end = (size_t)(strchr(strchr(text.data, '\n') + 1, '\n') - text.data);
	for (size_t len = 0; len <= text.len; len++) {
		int status = read_it(text.data, len, &s);

		if (status != 0) {
			assert_int_equal(status, JOBSTACK_EFILE);
			assert_true(best == 0 && len <= head_end);
			continue;
		}
		assert_true(s.torn == (text.data[len - 1] != '\n'));
		assert_true(s.n >= best && s.n <= n);
		assert_true(s.left == (len == text.len));
		best = s.n;
		js_spool_moments(&s, WALL_US);
		for (size_t i = 0; i < s.n; i++)
			same(&s.outcomes[i], &o[i]);
		js_spool_free(&s);
	}
	assert_true(best == n);
	js_buf_free(&text);
	assert_int_equal(unlink(path), 0);
}

/* Each byte changed: an error that names the line; but for the last newline, without which that line does not count. */
static void flipped(void **state)
{
	struct jobstack_outcome o[8];
	struct js_buf text = {0};
	int bits = getenv("JOBSTACK_UNDER_VALGRIND") != NULL ? 1 : 8; /* it is forty times slower */
	unsigned line = 1;
	struct js_spool s;

	(void)state;
	write_all(o, samples(o));
	slurp(&text);
	for (size_t at = 0; at < text.len; at++) {
		char was = text.data[at], words[64];

		for (int bit = 0; bit < bits; bit++) {
			text.data[at] = (char)(was ^ (1 << bit));
			if (read_it(text.data, text.len, &s) == 0) {
				if (at + 1 != text.len || !s.torn || s.left)
					fail_msg("byte %zu, bit %d: not noticed", at, bit);
				js_spool_free(&s);
			} else if (line > 1) {
				(void)snprintf(words, sizeof(words), "the spool FILE is damaged in line %u", line);
				assert_string_equal(e.text, words);
			}
		}
		text.data[at] = was;
		line += was == '\n';
	}
	js_buf_free(&text);
	assert_int_equal(unlink(path), 0);
}

/* Lines that are whole, but missing, doubled or in another order. */
static void shuffled(void **state)
{
	struct jobstack_outcome o[8];
	struct js_buf text = {0}, other = {0};
	const char *line[16], *p;
	size_t lines = 0;
	struct js_spool s;

	(void)state;
	write_all(o, samples(o));
	slurp(&text);
	for (p = text.data; p < text.data + text.len; p = strchr(p, '\n') + 1)
		line[lines++] = p;
	line[lines] = p;
	for (size_t a = 1; a < lines; a++)
		for (size_t b = 0; b < lines; b++) { /* line A in the place of line B, before it, or left out */
			for (int how = 0; how < 3; how++) {
				js_buf_reset(&other);
				for (size_t i = 0; i < lines; i++) {
					if (i == b && how < 2)
						js_buf_add(&other, line[a], (size_t)(line[a + 1] - line[a]));
					if ((i == b && how == 0) || (i == a && how == 2))
						continue;
					js_buf_add(&other, line[i], (size_t)(line[i + 1] - line[i]));
				}
				if ((how == 0 && a == b) || (how == 2 && a == lines - 1))
					continue; /* that is no change; that is one cut short */
				assert_int_equal(read_it(other.data, other.len, &s), JOBSTACK_EFILE);
			}
		}
	js_buf_free(&other);
	js_buf_free(&text);
	assert_int_equal(unlink(path), 0);
}

/* Nobody writes behind the last word. */
static void after_the_end(void **state)
{
	struct jobstack_outcome o[8];
	struct js_buf text = {0};
	struct js_spool_file *f;
	struct js_spool s;

	(void)state;
	memset(&e, 0, sizeof(e));
	(void)samples(o);
	assert_int_equal(js_spool_create(&f, path, &head, &e), 0);
	assert_int_equal(js_spool_note_left(f, &e), 0);
	assert_int_equal(js_spool_append(f, o, 1, WALL_US, &e), 0);
	slurp(&text);
	assert_int_equal(read_it(text.data, text.len, &s), JOBSTACK_EFILE);
	assert_string_equal(e.text, "the spool FILE is damaged in line 4");
	js_buf_free(&text);
	js_spool_close(f, 1);
}

static void others(void **state)
{
	static const char *const bad[] = {"",
					  "\n",
					  "jobstack-spool",
					  "jobstack-spool \n",
					  "jobstack-spool 1\n",
					  "jobstack-spool 04 entry attempt\n",
					  "#!/bin/sh\n",
					  "jobstack-spool -1 0\n",
					  "jobstack-spool 4 entry attempt\n"};
	struct js_spool s;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(read_it(bad[i], strlen(bad[i]), &s), JOBSTACK_EFILE);
	assert_string_equal(e.text, "the spool FILE was written by another version of jobstack");
	assert_int_equal(read_it("jobstack-spool 5 whatever it has\n", 33, &s), JOBSTACK_EFILE);
	assert_string_equal(e.text, "the spool FILE was written by another version of jobstack");
}

/* Lines with a right checksum that say what can't be. */
static void wrong_lines(void **state)
{
	static const char *const wrong[] = {" o 1 1 0",	      " d 1", " d -1", " d x", " l 0",
					    " h =61 1 =00 1", " x",   " ",     " d",   " d 18446744073709551616"};
	struct js_spool_file *f;
	struct js_buf text = {0};
	struct js_spool s;

	(void)state;
	memset(&e, 0, sizeof(e));
	assert_int_equal(js_spool_create(&f, path, &head, &e), 0);
	js_spool_close(f, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *second;
		uLong crc;

		slurp(&text);
		second = strchr(text.data, '\n') + 1;
		crc = crc32(crc32(0, (const Bytef *)text.data, (uInt)(second - text.data)), (const Bytef *)second + 8,
			    (uInt)(text.data + text.len - second - 9));
		crc = crc32(crc, (const Bytef *)wrong[i], (uInt)strlen(wrong[i]));
		js_buf_printf(&text, "%08lx%s\n", crc, wrong[i]);
		assert_int_equal(read_it(text.data, text.len, &s), JOBSTACK_EFILE);
		assert_string_equal(e.text, "the spool FILE is damaged in line 3");
	}
	js_buf_free(&text);
	assert_int_equal(unlink(path), 0);
}

/* What can't be written whole does not count, and leaves the file as it was. */
static void no_room(void **state)
{
	struct rlimit was, small;
	struct jobstack_outcome o[8];
	struct js_spool_file *f, *again;
	struct js_buf text = {0};
	struct js_spool s;
	size_t n = samples(o);

	(void)state;
	memset(&e, 0, sizeof(e));
	assert_int_equal(js_spool_create(&f, path, &head, &e), 0);
	assert_int_equal(js_spool_append(f, o, 1, WALL_US, &e), 0);
	assert_int_equal(js_spool_create(&again, path, &head, &e), JOBSTACK_EFILE); /* it is there already */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = 1000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	memset(&e, 0, sizeof(e));
	assert_int_equal(js_spool_append(f, o, n, WALL_US, &e), JOBSTACK_EFILE);
	assert_non_null(strstr(e.text, path));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	slurp(&text);
	assert_int_equal(read_it(text.data, text.len, &s), 0);
	assert_true(s.n == 1 && !s.torn);
	js_spool_free(&s);
	memset(&e, 0, sizeof(e));
	assert_int_equal(js_spool_append(f, o + 2, 1, WALL_US, &e), 0);
	slurp(&text);
	assert_int_equal(read_it(text.data, text.len, &s), 0);
	assert_true(s.n == 2 && s.outcomes[1].entry == o[2].entry);
	js_spool_free(&s);
	js_spool_close(f, 1);
	assert_int_equal(access(path, F_OK), -1);
	small.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	memset(&e, 0, sizeof(e));
	assert_int_equal(js_spool_create(&f, path, &head, &e), JOBSTACK_EFILE);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(access(path, F_OK), -1); /* nothing is left of it */
	js_buf_free(&text);
}

/* Random bytes and random changes: whatever comes, an error or a spool. */
static void noise(void **state)
{
	struct jobstack_outcome o[8];
	struct js_buf text = {0};
	unsigned seed = 20261121;
	struct js_spool s;
	/* valgrind is forty times slower, and the fuzzer goes further anyway */
	int accepted = 0, rounds = getenv("JOBSTACK_UNDER_VALGRIND") != NULL ? 1000 : 20000;

	(void)state;
	write_all(o, samples(o));
	slurp(&text);
	for (int round = 0; round < rounds; round++) {
		size_t from = (size_t)rand_r(&seed) % text.len, len = (size_t)rand_r(&seed) % 40;
		char *copy = malloc(text.len);

		assert_non_null(copy);
		memcpy(copy, text.data, text.len);
		for (size_t i = from; i < text.len && i < from + len; i++)
			copy[i] = (char)(rand_r(&seed) % 3 == 0 ? '\n' : rand_r(&seed));
		if (js_spool_read(copy, (size_t)rand_r(&seed) % (text.len + 1), "FILE", &s, NULL) == 0) {
			accepted++;
			js_spool_free(&s);
		}
		free(copy);
	}
	assert_true(accepted > 0);
	js_buf_free(&text);
	assert_int_equal(unlink(path), 0);
}

/* A file of another user is not read; root reads all. */
static void not_ours(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_spool spool;
	uid_t me = geteuid();

	(void)state;
	if (me == 0)
		assert_int_equal(seteuid(4711), 0);
	assert_int_equal(js_spool_load("/proc/1/stat", &spool, &error), JOBSTACK_EFILE);
	assert_non_null(strstr(error.text, "the spool /proc/1/stat belongs to the user 0"));
	assert_int_equal(seteuid(me), 0);
	error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
	assert_int_equal(js_spool_load("/proc/self/stat", &spool, &error), JOBSTACK_EFILE);
	assert_non_null(strstr(error.text, "is not a spool of jobstack-worker"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip),    cmocka_unit_test(truncated),
					   cmocka_unit_test(flipped),	    cmocka_unit_test(shuffled),
					   cmocka_unit_test(after_the_end), cmocka_unit_test(others),
					   cmocka_unit_test(not_ours),	    cmocka_unit_test(no_room),
					   cmocka_unit_test(noise),	    cmocka_unit_test(wrong_lines)};

	return cmocka_run_group_tests(tests, set_up, take_down);
}
