/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The packed log, and the limits of what it keeps: real processes, real files, a disk that is really full.
 */
#define _GNU_SOURCE
#include "run_commands.h"

#include <sys/mount.h>
#include <sys/resource.h>

#define HEADER(how, out, err)                                                                                          \
	"==> entry 17 attempt 2 " how " 2026-11-21T06:20:11.123456Z out " out " err " err " path "                     \
	"data/a\\x0ab\\x5c.n\n"
#define WALL INT64_C(1795242011123456)

static int append(struct js_packlog *log, const struct js_reaped *r, struct js_packlog_place *place,
		  struct jobstack_error *error)
{
	struct js_template_values v = values;

	v.datapath_len = 11; /* it need not end with a NUL */
	return js_packlog_append(log, capture, &v, r, WALL, place, error);
}

static void test_packlog(void **state)
{
	struct js_packlog_place place;
	struct js_packlog *log;
	struct js_buf text = {0};
	struct js_reaped r;

	(void)state;
	assert_int_equal(js_packlog_new(&log, "logs/st", "w", 0, NULL), 0);
	assert_string_equal(js_packlog_path(log), "logs/st/w.log");
	r = run("true");
	assert_int_equal(append(log, &r, &place, NULL), 0);
	assert_int_equal(place.at, -1);
	assert_int_equal(place.out, 0);
	assert_int_equal(place.err, 0);
	assert_int_not_equal(access("logs", F_OK), 0); /* nothing to write, nothing there */

	r = run("echo out; printf err >&2; exit 3");
	assert_int_equal(append(log, &r, &place, NULL), 0);
	assert_int_equal(place.at, strlen(HEADER("exit 3", "4", "3")));
	assert_int_equal(place.out, 4);
	assert_int_equal(place.err, 3);
	r = run("echo err >&2; kill -9 $$");
	assert_int_equal(append(log, &r, &place, NULL), 0);
	assert_int_equal(place.out, 0);
	assert_int_equal(place.err, 4);
	r = run("printf 'no newline'");
	assert_int_equal(append(log, &r, &place, NULL), 0);
	assert_int_equal(js_file_read("logs/st/w.log", &text), 0);
	assert_string_equal(text.data,
			    HEADER("exit 3", "4", "3") "out\nerr\n" HEADER("signal 9", "0", "4") "err\n" HEADER(
				    "exit 0", "10", "0") "no newline\n");
	assert_memory_equal(text.data + place.at, "no newline", 10);
	js_packlog_free(log);

	/* another log never takes a file that is there */
	assert_int_equal(js_packlog_new(&log, "logs/st", "w", 0, NULL), 0);
	assert_int_equal(append(log, &r, &place, NULL), JOBSTACK_EFILE);
	js_packlog_free(log);
	js_buf_free(&text);
}

/* Output that is copied within the kernel comes out the same, and knows its newline. */
static void test_packlog_large(void **state)
{
	static const char *const scripts[] = {"seq 1 200000", "seq 1 200000 >&2; printf x >&2",
					      "head -c 300000 /dev/urandom; head -c 300001 /dev/urandom >&2"};
	struct js_buf text = {0}, out = {0}, err = {0};
	struct js_packlog_place place;
	struct js_packlog *log;
	struct js_reaped r;
	int fd[2];

	(void)state;
	assert_int_equal(js_packlog_new(&log, "logs", "large", 0, NULL), 0);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		r = run(scripts[i]);
		assert_int_equal(append(log, &r, &place, NULL), 0);
		js_capture_files(capture, &fd[0], &fd[1]);
		content(fd[0], &out);
		content(fd[1], &err);
		js_buf_reset(&text);
		assert_int_equal(js_file_read("logs/large.log", &text), 0);
		assert_int_equal(place.out, out.len);
		assert_int_equal(place.err, err.len);
		assert_true(out.len + err.len > 64 * 1024);
		assert_memory_equal(text.data + place.at, out.data, out.len);
		assert_memory_equal(text.data + place.at + place.out, err.data, err.len);
		assert_int_equal(text.data[text.len - 1], '\n');
		assert_int_equal(text.len, (size_t)(place.at + place.out + place.err) + (i == 0 ? 0 : 1) -
						   (i == 2 && err.data[err.len - 1] == '\n'));
	}
	js_packlog_free(log);
	js_buf_free(&text);
	js_buf_free(&out);
	js_buf_free(&err);
}

/* A log that can't grow is cut back to its last whole entry, says why, and goes on when it can grow again. */
static void fill_up(const char *log_dir, const char *script, void (*relieve)(void), const char *why)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_packlog_place place;
	struct js_packlog *log;
	struct js_reaped r;
	struct stat st;
	off_t whole;

	assert_int_equal(js_packlog_new(&log, log_dir, "full", 0, NULL), 0);
	r = run("echo first");
	assert_int_equal(append(log, &r, &place, NULL), 0);
	assert_int_equal(stat(js_packlog_path(log), &st), 0);
	whole = st.st_size;
	r = run(script);
	assert_int_equal(append(log, &r, &place, &error), JOBSTACK_EFILE);
	assert_non_null(strstr(error.text, js_packlog_path(log)));
	assert_non_null(strstr(error.text, why));
	assert_int_equal(place.at, -1);
	assert_int_equal(stat(js_packlog_path(log), &st), 0);
	assert_int_equal(st.st_size, whole);
	relieve();
	assert_int_equal(append(log, &r, &place, NULL), 0);
	assert_true(place.at > whole);
	assert_int_equal(stat(js_packlog_path(log), &st), 0);
	assert_true(st.st_size > whole + place.out);
	js_packlog_free(log);
}

static void no_limit(void)
{
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit now;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &now), 0);
	now.rlim_cur = none.rlim_cur < now.rlim_max ? none.rlim_cur : now.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit now;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &now), 0);
	now.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
}

static void test_packlog_full(void **state)
{
	(void)state;
	/* each output fits under the limit, the log with both and a header does not */
	limit_files(5000);
	fill_up("small", "head -c 4000 /dev/zero; head -c 4000 /dev/zero >&2", no_limit, "File too large");
	limit_files(200000);
	fill_up("large", "head -c 150000 /dev/zero; head -c 150000 /dev/zero >&2", no_limit, "File too large");
}

static void grow_tmpfs(void)
{
	assert_int_equal(mount("none", "tiny", "tmpfs", MS_REMOUNT, "size=8m"), 0);
}

static int unmount(void **state)
{
	(void)state;
	(void)umount("tiny");
	return 0;
}

/* A disk that is really full.  Only root can mount one; the test says so if it can't. */
static void test_packlog_disk_full(void **state)
{
	static const char *const outputs[] = {"head -c 60000 /dev/zero", "head -c 900000 /dev/zero; echo e >&2"};

	(void)state;
	assert_int_equal(js_file_mkdirs("tiny", 0777), 0);
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		if (mount("none", "tiny", "tmpfs", 0, "size=32k") != 0) {
			print_message("not root: no small disk can be mounted (%s)\n", strerror(errno));
			skip();
		}
		fill_up("tiny/logs", outputs[i], grow_tmpfs, "No space left");
		assert_int_equal(umount("tiny"), 0);
	}
}

static void test_packlog_no_dir(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_packlog_place place;
	struct js_packlog *log;
	struct js_reaped r = run("echo x");

	(void)state;
	write_file("afile", "", 0644);
	assert_int_equal(js_packlog_new(&log, "afile/logs", "w", 0, NULL), 0);
	assert_int_equal(append(log, &r, &place, &error), JOBSTACK_EFILE);
	assert_non_null(strstr(error.text, "afile/logs"));
	js_packlog_free(log);
}

/* -------------------------------------------------------------------------------------------------------- limits */

/* What the log holds at PLACE, as a string. */
static void text_at(const char *path, const struct js_packlog_place *place, struct js_buf *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *to;

	assert_true(fd >= 0);
	js_buf_reset(text);
	to = js_buf_room(text, (size_t)(place->out + place->err));
	assert_non_null(to);
	assert_int_equal(pread(fd, to, (size_t)(place->out + place->err), place->at), place->out + place->err);
	text->len = (size_t)(place->out + place->err);
	to[text->len] = '\0';
	(void)close(fd);
}

static void test_limit(void **state)
{
	struct js_packlog_place place;
	struct js_packlog *log;
	struct js_buf text = {0}, expected = {0};
	struct js_reaped r;
	char tail[JS_KEPT_TAIL];

	(void)state;
	assert_int_equal(js_packlog_new(&log, "logs", "limit", 0, NULL), 0);
	js_capture_limit(capture, 1024, 2000);
	/* lines: the first and the last part are whole lines */
	r = run("seq 1000 9999 | sed 's/^/12345/'; echo short >&2");
	assert_int_equal(append(log, &r, &place, NULL), 0);
	text_at(js_packlog_path(log), &place, &text);
	for (int i = 1000; i < 1051; i++)
		js_buf_printf(&expected, "12345%d\n", i);
	js_buf_printf(&expected, "[jobstack: %d bytes left out]\n", 10 * (9000 - 51 - 51));
	for (int i = 9949; i < 10000; i++)
		js_buf_printf(&expected, "12345%d\n", i);
	js_buf_str(&expected, "short\n");
	assert_string_equal(text.data, expected.data);
	assert_int_equal(place.err, 6);
	/* no lines: just as many bytes, and the line in between stands by itself */
	r = run("head -c 5000 /dev/zero | tr '\\0' x >&2");
	assert_int_equal(append(log, &r, &place, NULL), 0);
	text_at(js_packlog_path(log), &place, &text);
	assert_int_equal(place.out, 0);
	assert_int_equal(text.len, 1000 + strlen("\n[jobstack: 3000 bytes left out]\n") + 1000);
	assert_memory_equal(text.data + 999, "x\n[jobstack: 3000 bytes left out]\nx", 34);
	assert_int_equal(js_capture_tail(capture, 1, tail), 1000);
	/* just as much as may be is whole */
	r = run("head -c 1024 /dev/zero; head -c 2000 /dev/zero >&2");
	assert_int_equal(append(log, &r, &place, NULL), 0);
	assert_int_equal(place.out, 1024);
	assert_int_equal(place.err, 2000);
	js_capture_limit(capture, 0, 0);
	js_packlog_free(log);
	js_buf_free(&text);
	js_buf_free(&expected);
}

/* A command that prints for ever takes no more disk space than its limit plus what it prints between two checks; what
 * is kept is its beginning and its end. */
static void test_trim(void **state)
{
	struct js_packlog_place place;
	struct js_packlog *log;
	struct js_buf text = {0};
	struct js_reaped r;
	struct stat st;
	int64_t most = 0, until = js_clock_mono_us() + BOUND_US;
	int out, err;
	pid_t pid;

	(void)state;
	assert_int_equal(js_packlog_new(&log, "logs", "trim", 0, NULL), 0);
	js_capture_limit(capture, 1 << 20, 1 << 20);
	/* it waits for the trimming, so as not to run far ahead of it, however busy the machine is */
	pid = start("echo begin; while [ ! -e enough ]; do head -c 4000000 /dev/zero; "
		    "until [ $(stat -L -c %b /proc/$$/fd/1) -lt 40000 ]; do sleep 0.01; done; done; echo; echo end");
	js_capture_files(capture, &out, &err);
	do { /* it goes on and on, and is trimmed until it has ended: it may be waiting when it has printed enough */
		js_capture_trim(capture);
		assert_int_equal(fstat(out, &st), 0);
		most = st.st_blocks * 512 > most ? st.st_blocks * 512 : most;
		if (st.st_size >= 100 << 20 && access("enough", F_OK) != 0)
			write_file("enough", "", 0644);
		assert_true(js_clock_mono_us() < until);
		js_clock_nap(500, NULL);
	} while (js_reap_next(&r) != 0);
	assert_int_equal(r.pid, pid);
	js_capture_trim(capture);
	assert_int_equal(fstat(out, &st), 0);
	assert_true(st.st_blocks * 512 < 4 << 20);
	assert_true(most < 40 << 20); /* as a rule two megabytes */
	assert_int_equal(append(log, &r, &place, NULL), 0);
	assert_true(place.out > 1 << 19 && place.out < (1 << 20) + 100);
	text_at(js_packlog_path(log), &place, &text);
	assert_memory_equal(text.data, "begin\n", 6);
	assert_memory_equal(text.data + text.len - 5, "\nend\n", 5);
	assert_non_null(memmem(text.data, text.len, " bytes left out]\n", 17));
	js_capture_limit(capture, 0, 0);
	js_packlog_free(log);
	js_buf_free(&text);
}

/* The command cuts its own file while it is being trimmed: no zeros for what is not there any more. */
static void test_trim_cut(void **state)
{
	struct js_packlog_place place;
	struct js_packlog *log;
	struct js_buf text = {0};
	struct js_reaped r;
	pid_t pid;

	(void)state;
	assert_int_equal(js_packlog_new(&log, "logs", "cut", 0, NULL), 0);
	js_capture_limit(capture, 2000, 2000);
	pid = start("head -c 9000000 /dev/zero | tr '\\0' a; echo x >half; while [ ! -e cut-it ]; do sleep 0.01; done; "
		    "truncate -s 5000000 /dev/fd/1; echo; echo end");
	wait_for(access("half", F_OK) == 0);
	js_capture_trim(capture);
	write_file("cut-it", "", 0644);
	r = collect(pid);
	assert_int_equal(append(log, &r, &place, NULL), 0);
	text_at(js_packlog_path(log), &place, &text);
	assert_null(memchr(text.data, '\0', text.len));
	assert_true(text.len < 2100); /* where it wrote on from can't be told, so that does not count as kept */
	assert_memory_equal(text.data + text.len - 17, " bytes left out]\n", 17);
	js_capture_limit(capture, 0, 0);
	js_packlog_free(log);
	js_buf_free(&text);
}

/* A new file when the old one is long enough; each entry is in one, and none is written over. */
static void test_rotate(void **state)
{
	struct js_packlog_place place;
	struct js_packlog *log;
	struct js_buf text = {0};
	struct js_reaped r = run("head -c 30000 /dev/zero | tr '\\0' y");
	static const char *const files[] = {"logs/r.log",   "logs/r.log",   "logs/r.log",  "logs/r.2.log",
					    "logs/r.2.log", "logs/r.2.log", "logs/r.3.log"};
	struct stat st;

	(void)state;
	assert_int_equal(js_packlog_new(&log, "logs", "r", 100000, NULL), 0);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(append(log, &r, &place, NULL), 0);
		assert_string_equal(js_packlog_path(log), files[i]);
		assert_int_equal(place.number, 1 + i / 3);
		text_at(files[i], &place, &text);
		assert_int_equal(strspn(text.data, "y"), 30000);
		assert_int_equal(stat(files[i], &st), 0);
		assert_true(st.st_size <= 100000 && place.at + 30001 == st.st_size);
	}
	/* one that is longer has a file of its own; nothing printed begins none */
	r = run("head -c 300000 /dev/zero");
	assert_int_equal(append(log, &r, &place, NULL), 0);
	assert_string_equal(js_packlog_path(log), "logs/r.4.log");
	r = run("true");
	assert_int_equal(append(log, &r, &place, NULL), 0);
	assert_string_equal(js_packlog_path(log), "logs/r.4.log");
	write_file("logs/r.5.log", "somebody's", 0644);
	r = run("echo x");
	assert_int_equal(append(log, &r, &place, NULL), JOBSTACK_EFILE);
	assert_int_equal(unlink("logs/r.5.log"), 0);
	assert_int_equal(append(log, &r, &place, NULL), 0);
	assert_int_equal(place.number, 5);
	js_packlog_free(log);
	js_buf_free(&text);
}

static void test_no_leaks(void **state)
{
	size_t files = open_files();
	struct js_packlog_place place;
	struct js_packlog *log;
	struct js_reaped r;

	(void)state;
	assert_int_equal(js_packlog_new(&log, "logs", "leak", 0, NULL), 0);
	for (int i = 0; i < 50; i++) {
		r = run(i % 2 ? "echo x; echo y >&2" : "true");
		assert_int_equal(append(log, &r, &place, NULL), 0);
	}
	js_packlog_free(log);
	assert_int_equal(open_files(), files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packlog),	       cmocka_unit_test(test_packlog_large),
		cmocka_unit_test(test_packlog_full),   cmocka_unit_test_teardown(test_packlog_disk_full, unmount),
		cmocka_unit_test(test_packlog_no_dir), cmocka_unit_test(test_limit),
		cmocka_unit_test(test_trim),	       cmocka_unit_test(test_trim_cut),
		cmocka_unit_test(test_rotate),	       cmocka_unit_test(test_no_leaks),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
