/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Loads: a server that asks for a file never gets one.  Against a real server, which is told to ask at the wrong moment
 * or too often, and against one made for the purpose, which asks whatever it was asked.
 */
#define _GNU_SOURCE
#include "integration/says.h"

#include "db/db.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static struct js_db *db;

#define LOAD                                                                                                           \
	"LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE line CHARACTER SET binary FIELDS TERMINATED BY x'00' "        \
	"ESCAPED BY '' "                                                                                               \
	"LINES TERMINATED BY x'00' (n,text)"

static const char two[] = "1\0one\0"
			  "2\0two\0"; /* two rows; the last NUL is the string's own */
#define TWO_LEN (sizeof(two) - 1)

static void take_first(void *ctx, const struct js_row *row)
{
	*(uint64_t *)ctx = row == NULL ? 0 : js_row_u64(row, 0);
}

static uint64_t number(const char *statement)
{
	struct js_sql sql = {0};
	uint64_t n;

	js_sql_stmt(&sql, statement);
	OK(js_db_query(db, &sql, take_first, &n, &e));
	js_sql_free(&sql);
	return n;
}

static int query(const char *statement)
{
	struct js_sql sql = {0};
	int status;

	js_sql_stmt(&sql, statement);
	status = js_db_query(db, &sql, NULL, NULL, &e);
	js_sql_free(&sql);
	return status;
}

/* LOAD as often as TIMES says, in one packet, and ROWS that each must bring. */
static int load(unsigned times, uint64_t rows, int *lost)
{
	struct js_sql sql = {0};
	int status;

	for (unsigned i = 0; i < times; i++) {
		js_sql_stmt(&sql, LOAD);
		js_sql_guard(&sql, rows);
	}
	status = js_db_load(db, &sql, two, TWO_LEN, lost, &e);
	js_sql_free(&sql);
	return status;
}

static int begin(void **state)
{
	struct jobstack_options options = test_options();

	(void)state;
	OK(js_db_open(&db, &options, &e));
	OK(query("CREATE TABLE IF NOT EXISTS line(n INT NOT NULL PRIMARY KEY,text VARBINARY(4096)) ENGINE=InnoDB"));
	OK(query("DELETE FROM line"));
	return 0;
}

static int end(void **state)
{
	(void)state;
	js_db_free(db);
	return 0;
}

/* A connection that is not for loads. */
static void not_asked_for(void **state)
{
	int lost;

	(void)state;
	assert_true(query(LOAD) < 0);
	GIVES(JS_DB_NO_LOAD, load(1, 0, &lost)); /* not even what is meant for it */
	assert_int_equal(number("SELECT COUNT(*) FROM line"), 0);
}

/* One that is gives what is offered, once, and nothing when nothing is. */
static void once(void **state)
{
	int lost;

	(void)state;
	OK(js_db_loads_begin(db, &e));
	assert_true(query(LOAD) < 0);
	OK(load(1, 2, &lost));
	assert_int_equal(lost, 0);
	assert_int_equal(number("SELECT SUM(n=1 AND text='one' OR n=2 AND text='two') FROM line"), 2);
	assert_true(query(LOAD) < 0);
	OK(query("DELETE FROM line"));
	GIVES(JS_DB_NO_LOAD, load(2, 2, &lost));
	assert_int_equal(number("SELECT COUNT(*) FROM line"), 0);
	OK(load(1, 2, &lost)); /* nothing was broken by that */
	js_db_loads_end(db);
	assert_true(query(LOAD) < 0);
}

/* A LOAD from a client makes warnings of its errors: too few rows stop the packet. */
static void fewer(void **state)
{
	int lost;

	(void)state;
	OK(query("INSERT INTO line VALUES(2,'there')"));
	OK(js_db_loads_begin(db, &e));
	GIVES(JS_DB_GUARD, load(1, 2, &lost));
	assert_int_equal(lost, 0);
	assert_int_equal(number("SELECT COUNT(*) FROM line"), 1);
	js_db_loads_end(db);
}

/* --------------------------------------------------------------------------------------- a server that means ill */

static struct {
	int listener;
	pthread_t thread;
	char got[4096]; /* what it was given when it asked for the file */
	size_t got_n;
	unsigned asked, given; /* how often it asked, and got something */
} ill;

static int read_all(int fd, unsigned char *to, size_t n)
{
	while (n > 0) {
		ssize_t some = recv(fd, to, n, 0);

		if (some <= 0)
			return -1;
		to += some;
		n -= (size_t)some;
	}
	return 0;
}

/* One packet; its length, or -1 at the end. */
static ssize_t get(int fd, unsigned char *seq, char *to, size_t space)
{
	unsigned char head[4];
	size_t n;

	if (read_all(fd, head, 4) != 0)
		return -1;
	n = (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
	*seq = (unsigned char)(head[3] + 1);
	if (n >= space || read_all(fd, (unsigned char *)to, n) != 0)
		return -1;
	to[n] = '\0';
	return (ssize_t)n;
}

static void put(int fd, unsigned char *seq, const void *data, size_t n)
{
	unsigned char packet[600] = {(unsigned char)n, (unsigned char)(n >> 8), 0, (*seq)++};

	assert_true(n < sizeof(packet) - 4);
	memcpy(packet + 4, data, n);
	(void)send(fd, packet, n + 4, MSG_NOSIGNAL);
}

static void put_ok(int fd, unsigned char *seq, unsigned char more)
{
	const unsigned char ok[] = {0, 0, 0, (unsigned char)(2 | more), 0, 0, 0};

	put(fd, seq, ok, sizeof(ok));
}

/* The answer to the question whether it takes loads: yes. */
static void put_yes(int fd, unsigned char *seq)
{
	static const unsigned char column[] = "\3def\0\0\0\1x\1x\14\77\0\1\0\0\0\3\0\0\0\0\0",
				   eof[] = {0xfe, 0, 0, 2, 0};

	put(fd, seq, "\1", 1);
	put(fd, seq, column, sizeof(column) - 1);
	put(fd, seq, eof, sizeof(eof));
	put(fd, seq,
	    "\1"
	    "1",
	    2);
	put(fd, seq, eof, sizeof(eof));
}

static void ask_for_file(int fd, unsigned char *seq)
{
	static const char request[] = "\xfb/etc/passwd";
	char data[4096];
	ssize_t n;
	size_t before = ill.got_n;

	ill.asked++;
	put(fd, seq, request, sizeof(request) - 1);
	/* a packet that begins a new count is a command: its farewell */
	while ((n = get(fd, seq, data, sizeof(data))) > 0 && *seq != 1 && ill.got_n + (size_t)n < sizeof(ill.got)) {
		memcpy(ill.got + ill.got_n, data, (size_t)n);
		ill.got_n += (size_t)n;
	}
	ill.given += ill.got_n != before;
}

static void serve(int fd)
{
	static const char greeting[] = "\12"
				       "8.0.0-ill\0"
				       "\1\0\0\0"
				       "abcdefgh\0"
				       "\xff\xf7\x21\2\0\xff\x80\x15\0\0\0\0\0\0\0\0\0\0"
				       "ijklmnopqrst\0mysql_native_password";
	static char text[65536];
	unsigned char seq = 0;

	put(fd, &seq, greeting, sizeof(greeting));
	if (get(fd, &seq, text, sizeof(text)) < 0)
		return;
	put_ok(fd, &seq, 0);
	while (get(fd, &seq, text, sizeof(text)) > 0 && text[0] == 3) {
		if (strstr(text, "SET NAMES") != NULL)
			put_ok(fd, &seq, 0);
		else if (strstr(text, "@@global.local_infile") != NULL)
			put_yes(fd, &seq);
		else {
			ask_for_file(fd, &seq);
			put_ok(fd, &seq, 8);
			ask_for_file(fd, &seq);
			put_ok(fd, &seq, 0);
		}
	}
}

static void *ill_main(void *ctx)
{
	int fd;

	(void)ctx;
	while ((fd = accept4(ill.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		serve(fd);
		(void)close(fd);
	}
	return NULL;
}

static void ill_begin(char *cnf, size_t size)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	FILE *f;

	ill.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(ill.listener, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(ill.listener, 20), 0);
	assert_int_equal(getsockname(ill.listener, (struct sockaddr *)&at, &len), 0);
	(void)snprintf(cnf, size, "ill.%ld.cnf", (long)getpid());
	f = fopen(cnf, "we");
	assert_non_null(f);
	(void)fprintf(f, "[jobstack]\nhost=127.0.0.1\nport=%u\nuser=x\ndatabase=x\nssl-mode=DISABLED\n",
		      (unsigned)ntohs(at.sin_port));
	assert_int_equal(fclose(f), 0);
	assert_int_equal(pthread_create(&ill.thread, NULL, ill_main, NULL), 0);
}

static void ill_end(void)
{
	(void)shutdown(ill.listener, SHUT_RDWR);
	(void)pthread_join(ill.thread, NULL);
	(void)close(ill.listener);
}

static void means_ill(void **state)
{
	struct jobstack_options options = test_options();
	struct js_db *real = db;
	char cnf[100];
	int lost;

	(void)state;
	ill_begin(cnf, sizeof(cnf));
	options.defaults_file = cnf;
	options.patience_us = 0;
	OK(js_db_open(&db, &options, &e));
	assert_true(query("SELECT 1") < 0);
	OK(js_db_loads_begin(db, &e));
	assert_true(query("SELECT 1") < 0);
	assert_true(ill.asked >= 2 && ill.given == 0);
	GIVES(JS_DB_NO_LOAD, load(1, 2, &lost)); /* it gets the rows, and then nothing more */
	assert_int_equal(lost, 1);
	assert_true(query("SELECT 1") < 0);
	js_db_loads_end(db);
	assert_true(query("SELECT 1") < 0);
	js_db_free(db);
	ill_end();
	assert_true(ill.asked >= 5 && ill.given == 1);
	assert_int_equal(ill.got_n, TWO_LEN);
	assert_memory_equal(ill.got, two, TWO_LEN);
	db = real;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(not_asked_for, begin, end),
					   cmocka_unit_test_setup_teardown(once, begin, end),
					   cmocka_unit_test_setup_teardown(fewer, begin, end),
					   cmocka_unit_test(means_ill)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
