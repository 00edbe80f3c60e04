/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The protocol of persistent commands: requests, answers, and streams that come in any pieces; then real processes.
 */
#define _GNU_SOURCE
#include "exec/persist.h"
#include "run_commands.h"
#include "proc/proc.h"

/* ------------------------------------------------------------------------------------------------------ requests */

static void test_encode(void **state)
{
	static const struct {
		const char *name, *line;
		size_t len;
	} rows[] = {{"/a b", "7 2 /a b\n", 4},
		    {"a\nb\rc\\d", "7 2 a\\nb\\rc\\\\d\n", 7},
		    {"\\n", "7 2 \\\\n\n", 2},
		    {"\xff\xfe\t\x01", "7 2 \xff\xfe\t\x01\n", 4},
		    {"", "7 2 \n", 0}};
	char to[JS_PERSIST_REQUEST + 1], name[JOBSTACK_DATAPATH_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = js_persist_encode(to, 7, 2, rows[i].name, rows[i].len);

		to[n] = '\0';
		assert_string_equal(to, rows[i].line);
	}
	memset(name, '\n', sizeof(name)); /* the longest there is fills the space exactly */
	assert_int_equal(js_persist_encode(to, UINT64_MAX, UINT32_MAX, name, JOBSTACK_DATAPATH_MAX),
			 JS_PERSIST_REQUEST);
	assert_memory_equal(to, "18446744073709551615 4294967295 \\n", 34);
	assert_int_equal(js_persist_encode(to, 1, 1, name, JOBSTACK_DATAPATH_MAX + 1), 0);
}

/* ------------------------------------------------------------------------------------------------------- answers */

static void test_parse(void **state)
{
	static const struct {
		const char *line;
		int answer, code;
		const char *message;
	} rows[] = {
		{"done", 1, 0, ""},
		{"done ", 0, 0, NULL},
		{" done", 0, 0, NULL},
		{"Done", 0, 0, NULL},
		{"done\r", 0, 0, NULL},
		{"done 1", 0, 0, NULL},
		{"", 0, 0, NULL},
		{"failed 3", 1, 3, ""},
		{"failed 3 ", 1, 3, ""},
		{"failed 255 no such file: x", 1, 255, "no such file: x"},
		{"failed 1  two blanks", 1, 1, " two blanks"},
		{"failed 007 x", 1, 7, "x"},
		{"failed 75 later", 1, 75, "later"},
		{"failed 1 tab\there \x1b[1m \x7f", 1, 1, "tab here ?[1m ?"},
		{"failed 1 \xc3\xa4 \xff \xc3 \xed\xa0\x80 \xc2\x85", 1, 1, "\xc3\xa4 ? ? ??? ?"},
		{"failed", 1, 1, "it answered \"failed\" without a code from 1 to 255"},
		{"failed ", 1, 1, "it answered \"failed\" without a code from 1 to 255"},
		{"failed 0", 1, 1, "it answered \"failed\" with a code that is not 1 to 255"},
		{"failed 0 why", 1, 1, "it answered \"failed\" with a code that is not 1 to 255: why"},
		{"failed 256 x", 1, 1, "it answered \"failed\" with a code that is not 1 to 255: x"},
		{"failed 99999999999999999999 x", 1, 1, "it answered \"failed\" with a code that is not 1 to 255: x"},
		{"failed to open a file", 0, 0, NULL},
		{"failed -1 x", 0, 0, NULL},
		{"failed 1x", 0, 0, NULL},
		{"failed  1", 0, 0, NULL},
		{"failed1", 0, 0, NULL},
		{"failedly", 0, 0, NULL}};
	struct js_persist_answer a;
	char line[2000];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		a = (struct js_persist_answer){-1, "before"};
		assert_int_equal(js_persist_parse(rows[i].line, strlen(rows[i].line), &a), rows[i].answer);
		assert_int_equal(a.code, rows[i].answer ? rows[i].code : -1);
		assert_string_equal(a.message, rows[i].answer ? rows[i].message : "before");
	}
	/* a long message is cut, and not within a character */
	memcpy(line, "failed 9 ", 9);
	for (size_t i = 9; i + 1 < sizeof(line); i += 2)
		memcpy(line + i, "\xc3\xa4", 2);
	assert_int_equal(js_persist_parse(line, 1501, &a), 1);
	assert_int_equal(strlen(a.message), JS_PERSIST_MESSAGE - 2);
	memcpy(line, "failed 0 ", 9);
	assert_int_equal(js_persist_parse(line, 1501, &a), 1);
	assert_true(strlen(a.message) >= JS_PERSIST_MESSAGE - 2 &&
		    strlen(a.message) < JS_PERSIST_MESSAGE); /* (newer cmocka has no one range for all) */
}

/* Feeds TEXT in pieces of STEP bytes, and writes what comes out: output as it is, answers as <CODE:MESSAGE>. */
static void feed(const char *text, size_t len, size_t step, struct js_buf *out)
{
	static struct js_persist_reader r;
	enum js_persist_piece piece;
	const char *piece_text;
	size_t space, n, at = 0;

	memset(&r, 0, sizeof(r));
	js_buf_reset(out);
	js_buf_str(out, "");
	for (int at_end = 0; !at_end;) {
		char *to = js_persist_room(&r, &space);

		assert_true(space > 0);
		n = step < space ? step : space;
		n = n < len - at ? n : len - at;
		memcpy(to, text + at, n);
		r.end += n;
		at += n;
		at_end = at == len;
		while ((piece = js_persist_next(&r, at_end, &piece_text, &n)) != JS_PERSIST_MORE)
			if (piece == JS_PERSIST_OUTPUT)
				js_buf_add(out, piece_text, n);
			else
				js_buf_printf(out, "<%d:%.20s>", r.answer.code, r.answer.message);
	}
}

static void test_reader(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {{"done\n", "<0:>"},		  {"a\ndone\nb\nfailed 3 x\n", "a\n<0:>b\n<3:x>"},
		    {"done\ndone\n", "<0:><0:>"}, {"50%done\n", "50%done\n"},
		    {"no end", "no end"},	  {"done", "done"}, /* not a line */
		    {"\n\ndone\n", "\n\n<0:>"},	  {"done\r\n", "done\r\n"}};
	static const size_t steps[] = {1, 2, 3, 7, 1000, 1023, 1024, 1025, 16384, 1 << 20};
	struct js_buf out = {0}, text = {0}, expected = {0};

	(void)state;
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			feed(rows[i].text, strlen(rows[i].text), steps[s], &out);
			assert_string_equal(out.data, rows[i].expected);
		}
		/* lines around the length at which it is decided what they are, and far beyond all buffers */
		for (size_t len = JS_PERSIST_LINE - 2; len < 100000; len += len < JS_PERSIST_LINE + 2 ? 1 : 33331) {
			js_buf_reset(&text);
			js_buf_reset(&expected);
			while (text.len < len)
				js_buf_char(&text, 'x');
			js_buf_str(&text, "\ndone\nfailed 5 ");
			js_buf_add(&expected, text.data, len + 1);
			js_buf_str(&expected, "<0:><5:yyyyyyyyyyyyyyyyyyyy>z\n");
			for (size_t i = 0; i < len - 9; i++)
				js_buf_char(&text, 'y');
			js_buf_str(&text, "\nz\n");
			feed(text.data, text.len, steps[s], &out);
			assert_string_equal(out.data, expected.data);
		}
	}
	js_buf_free(&out);
	js_buf_free(&text);
	js_buf_free(&expected);
}

/* ----------------------------------------------------------------------------------------------------- processes */

static struct js_persist *begin(const char *script)
{
	char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)script, NULL};
	struct js_persist *p = js_persist_new();
	int out, err;

	assert_non_null(p);
	assert_int_equal(js_capture_begin(capture, &out, &err, NULL), 0);
	assert_true(js_persist_start(p, spawn, "/bin/sh", argv, environ, out, err) > 0);
	return p;
}

static enum js_persist_event next_event(struct js_persist *p)
{
	int64_t until = js_clock_mono_us() + BOUND_US;
	enum js_persist_event event;

	while ((event = js_persist_take(p, 1)) == JS_PERSIST_NOTHING) {
		assert_true(js_clock_mono_us() < until);
		js_clock_nap(200, NULL);
	}
	return event;
}

static void end(struct js_persist *p)
{
	(void)collect(p->pid);
	js_persist_ended(p);
	js_persist_free(p);
}

static void test_process(void **state)
{
	struct js_persist *p = begin("echo up; while read -r e a n; do printf 'got %s %s %s\\n' $e $a \"$n\"; echo err "
				     ">&2; echo done; done; echo bye");
	char name[JOBSTACK_DATAPATH_MAX];
	struct js_buf expected = {0};
	struct js_reaped r;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(js_persist_ask(p, i, 1, "x\\y\nz", 5), 0);
		assert_int_equal(next_event(p), JS_PERSIST_ANSWERED);
		assert_int_equal(p->reader.answer.code, 0);
		assert_int_equal(p->answers, i);
	}
	memset(name, 'n', sizeof(name));
	assert_int_equal(js_persist_ask(p, 4, 1, name, sizeof(name)), 0);
	assert_int_equal(next_event(p), JS_PERSIST_ANSWERED);
	js_file_close(&p->in);
	assert_int_equal(next_event(p), JS_PERSIST_CLOSED);
	r = collect(p->pid);
	assert_int_equal(r.exit_code, 0);
	js_persist_ended(p);
	js_persist_free(p);
	js_buf_printf(&expected, "up\ngot 1 1 x\\\\y\\nz\ngot 2 1 x\\\\y\\nz\ngot 3 1 x\\\\y\\nz\ngot 4 1 %.*s\nbye\n",
		      (int)sizeof(name), name);
	expect_captured(expected.data, "err\nerr\nerr\nerr\n");
	js_buf_free(&expected);
}

/* Lets a process go on that reads from this FIFO. */
static void release(const char *fifo)
{
	int writer;

	wait_for((writer = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0);
	assert_int_equal(write(writer, "go\n", 3), 3);
	assert_int_equal(close(writer), 0);
}

static void test_unasked(void **state)
{
	struct js_persist *p = begin("echo done; read -r line; echo done; echo done; read -r line");

	(void)state;
	assert_int_equal(mkfifo("go", 0600), 0);
	assert_int_equal(next_event(p), JS_PERSIST_UNASKED); /* nobody had asked */
	assert_int_equal(js_persist_ask(p, 1, 1, "x", 1), 0);
	assert_int_equal(next_event(p), JS_PERSIST_ANSWERED);
	assert_int_equal(next_event(p), JS_PERSIST_UNASKED); /* twice */
	end((js_file_close(&p->in), p));
	p = begin("echo done; read -r go <go; read -r line; echo done"); /* it answers before it has read */
	assert_int_equal(js_persist_ask(p, 1, 1, "x", 1), 0);
	assert_true(js_persist_is_unread(p, 1));
	assert_int_equal(next_event(p), JS_PERSIST_UNASKED);
	assert_true(p->asked);
	release("go");
	assert_int_equal(next_event(p), JS_PERSIST_ANSWERED);
	assert_false(p->asked);
	end(p);
}

/* A process that does not read takes part of a request only; one that is gone, none. */
static void test_pipe(void **state)
{
	char name[JOBSTACK_DATAPATH_MAX];
	struct js_persist *p;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	p = begin("read -r go <fifo; while read -r e a n; do echo \"failed 3 $e\"; done");
	memset(name, '\\', sizeof(name));
	assert_int_equal(fcntl(p->in, F_SETPIPE_SZ, 4096), 4096);
	assert_int_equal(js_persist_ask(p, 17, 1, name, sizeof(name)), 0);
	assert_true(p->sent > 0 && p->sent < p->request_len);
	assert_true(js_persist_is_unread(p, 0) && js_persist_is_unread(p, 1));
	assert_int_equal(js_persist_take(p, 1), JS_PERSIST_NOTHING);
	release("fifo");
	wait_for(js_persist_send(p) == 0 && p->sent == p->request_len);
	assert_int_equal(next_event(p), JS_PERSIST_ANSWERED);
	assert_int_equal(p->reader.answer.code, 3);
	assert_string_equal(p->reader.answer.message, "17");
	assert_false(js_persist_is_unread(p, 0));
	(void)js_spawn_kill(p->pid, SIGKILL);
	wait_for(js_persist_ask(p, 18, 1, "x", 1) != 0);
	assert_int_equal(errno, EPIPE);
	assert_false(p->asked);
	end(p);
}

/* A line without an end takes no memory, and arrives whole. */
static void test_endless(void **state)
{
	struct js_persist *p = begin("head -c 3000000 /dev/zero; echo; read -r line; echo done");
	struct stat st;
	int fd[2];

	(void)state;
	assert_int_equal(js_persist_ask(p, 1, 1, "x", 1), 0);
	assert_int_equal(next_event(p), JS_PERSIST_ANSWERED);
	js_capture_files(capture, &fd[0], &fd[1]);
	assert_int_equal(fstat(fd[0], &st), 0);
	assert_int_equal(st.st_size, 3000001);
	end(p);
}

static void test_usage(void **state)
{
	struct js_proc proc;
	struct js_persist *p = begin("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done; read -r line");

	(void)state;
	assert_int_equal(next_event(p), JS_PERSIST_UNASKED);
	assert_int_equal(js_proc_read(p->pid, &proc), 0);
	assert_true(proc.user_us + proc.system_us >= 1 && proc.user_us + proc.system_us <= BOUND_US);
	(void)js_spawn_kill(p->pid, SIGKILL);
	end(p);
	assert_int_equal(js_proc_read(-1, &proc), -1);
	js_persist_free(NULL);
}

/* What was kept is not kept again, while the command goes on writing into the same files. */
static void test_capture_next(void **state)
{
	struct js_packlog_place place;
	struct js_packlog *log;
	struct js_buf text = {0};
	struct js_reaped r = {.exit_code = 0};
	int out, err, file;

	(void)state;
	assert_int_equal(js_packlog_new(&log, dir, "next", 0, NULL), 0);
	assert_int_equal(js_capture_begin(capture, &out, &err, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(write(out, "out\n", 4), 4);
		assert_int_equal(write(err, "e\n", 2), 2);
		assert_int_equal(js_packlog_append(log, capture, &values, &r, 0, &place, NULL), 0);
		assert_int_equal(place.out, 4);
		assert_int_equal(place.err, 2);
		js_capture_next(capture);
		assert_int_equal(js_packlog_append(log, capture, &values, &r, 0, &place, NULL), 0);
		assert_int_equal(place.at, -1);
	}
	/* more than fits into one write, and more than is worth giving back */
	for (int i = 0; i < 300; i++) {
		char block[8192];

		memset(block, 'a' + i % 26, sizeof(block));
		assert_int_equal(write(out, block, sizeof(block)), sizeof(block));
	}
	assert_int_equal(js_packlog_append(log, capture, &values, &r, 0, &place, NULL), 0);
	assert_int_equal(place.out, 300 * 8192);
	js_capture_next(capture);
	assert_int_equal(write(out, "o2\n", 3), 3);
	assert_int_equal(write(err, "e2\n", 3), 3);
	file = open("own", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(js_capture_move(capture, 0, file, NULL), 0);
	content(file, &text);
	assert_string_equal(text.data, "o2\n");
	assert_int_equal(js_packlog_append(log, capture, &values, &r, 0, &place, NULL), 0);
	assert_int_equal(place.out, 0);
	assert_int_equal(place.err, 3);
	(void)close(file);
	js_buf_free(&text);
	js_packlog_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encode),	cmocka_unit_test(test_parse),	cmocka_unit_test(test_reader),
		cmocka_unit_test(test_process), cmocka_unit_test(test_unasked), cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_endless), cmocka_unit_test(test_usage),	cmocka_unit_test(test_capture_next)};

	return cmocka_run_group_tests(tests, setup, teardown);
}
