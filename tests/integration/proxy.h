/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A TCP proxy inside the test, between a handle of the library and the server: a thread that passes bytes on, until it
 * is armed. Then it catches the next packet of a client that holds a transaction (";COMMIT"), and
 *
 *   PROXY_KEEP     keeps it: the server has not seen it.  proxy_drop_client ends the client's connection, so that the
 * client tries again; proxy_deliver lets the packet arrive late; proxy_forget never. PROXY_SWALLOW  passes it on, and
 * swallows the reply; the client waits until proxy_drop_client. PROXY_FREEZE   passes it on and reads nothing any more
 * from the server: as a client that was frozen.
 *
 * It reads MySQL's packets, so there is no TLS between (proxy_options says so).
 */
#ifndef TESTS_INTEGRATION_PROXY_H
#define TESTS_INTEGRATION_PROXY_H

#define _GNU_SOURCE
#include "integration/schedule.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROXY_PAIRS 16
#define PROXY_COMMIT ";COMMIT"

enum proxy_catch { PROXY_PASS, PROXY_KEEP, PROXY_SWALLOW, PROXY_FREEZE };

struct proxy_pair {
	int client, server; /* -1: closed */
	unsigned char *in;  /* what came from the client, and is no whole packet yet, or is kept */
	size_t in_n, in_room;
	enum proxy_catch caught;
	int ended; /* a caught one: the server's side has ended */
};

struct proxy {
	int listener, wake[2];
	unsigned port;
	char cnf[300];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum proxy_catch armed;
	const char *sign; /* what a packet to be caught has in it */
	unsigned skip;	  /* so many of them pass first */
	struct proxy_pair pair[PROXY_PAIRS];
	struct proxy_pair *caught;
	int over;
};

static inline void proxy_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static inline void proxy_pair_end(struct proxy_pair *p)
{
	proxy_close(&p->client);
	proxy_close(&p->server);
	free(p->in);
	*p = (struct proxy_pair){.client = -1, .server = -1};
}

static inline int proxy_send(int fd, const unsigned char *data, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		data += sent;
		n -= (size_t)sent;
	}
	return 0;
}

static inline int proxy_connect(const char *host, unsigned port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)inet_pton(AF_INET, host, &to.sin_addr);
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0)
		proxy_close(&fd);
	return fd;
}

/* A line KEY=VALUE of the test's option file. */
static inline unsigned proxy_server_port(void)
{
	FILE *cnf = fopen(getenv("JOBSTACK_TEST_CNF"), "r");
	char line[300];
	unsigned port = 0;

	while (cnf != NULL && fgets(line, sizeof(line), cnf) != NULL)
		if (strncmp(line, "port=", 5) == 0)
			port = (unsigned)strtoul(line + 5, NULL, 10);
	if (cnf != NULL)
		(void)fclose(cnf);
	return port;
}

static inline void proxy_accept(struct proxy *x)
{
	int client = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC);

	for (size_t i = 0; client >= 0 && i < PROXY_PAIRS; i++)
		if (x->pair[i].client < 0 && x->pair[i].server < 0 && x->pair[i].caught == PROXY_PASS) {
			x->pair[i].client = client;
			x->pair[i].server = proxy_connect("127.0.0.1", proxy_server_port());
			if (x->pair[i].server < 0)
				proxy_pair_end(&x->pair[i]);
			return;
		}
	proxy_close(&client);
}

/* A block that was prepared has a name instead of its text; the packet that prepares it commits nothing. */
static inline int proxy_has_sign(const struct proxy *x, const void *packet, size_t len)
{
	static const char prepared[] = "EXECUTE js_commit", prepares[] = "PREPARE js_";

	if (strcmp(x->sign, PROXY_COMMIT) == 0 && memmem(packet, len, prepared, strlen(prepared)) != NULL)
		return 1;
	return memmem(packet, len, x->sign, strlen(x->sign)) != NULL &&
	       memmem(packet, len, prepares, strlen(prepares)) == NULL;
}

/* Passes whole packets on, up to the one that is to be caught. */
static inline void proxy_pass(struct proxy *x, struct proxy_pair *p)
{
	while (p->caught == PROXY_PASS && p->in_n >= 4) {
		size_t len = 4 + ((size_t)p->in[0] | (size_t)p->in[1] << 8 | (size_t)p->in[2] << 16);

		if (p->in_n < len)
			return;
		if (x->armed != PROXY_PASS && proxy_has_sign(x, p->in, len) && x->skip-- == 0) {
			p->caught = x->armed;
			x->armed = PROXY_PASS;
			x->caught = p;
		}
		if (p->caught != PROXY_KEEP) {
			if (proxy_send(p->server, p->in, len) != 0)
				p->ended = 1;
			memmove(p->in, p->in + len, p->in_n - len);
			p->in_n -= len;
		}
		(void)pthread_cond_broadcast(&x->changed);
	}
}

static inline void proxy_from_client(struct proxy *x, struct proxy_pair *p)
{
	ssize_t n;

	if (p->in_room < p->in_n + 65536) {
		p->in_room = 2 * p->in_room + 65536;
		p->in = realloc(p->in, p->in_room);
		if (p->in == NULL)
			abort();
	}
	n = recv(p->client, p->in + p->in_n, p->in_room - p->in_n, 0);
	if (n > 0) {
		p->in_n += (size_t)n;
		proxy_pass(x, p);
	} else if (p->caught !=
		   PROXY_PASS) /* its server's side lives on, as one whose client nobody knows to be gone */
		proxy_close(&p->client);
	else
		proxy_pair_end(p);
}

static inline void proxy_from_server(struct proxy *x, struct proxy_pair *p)
{
	unsigned char data[65536];
	ssize_t n = recv(p->server, data, sizeof(data), 0);

	if (n <= 0 && p->caught != PROXY_PASS) {
		p->ended = 1;
		proxy_close(&p->server);
		(void)pthread_cond_broadcast(&x->changed);
	} else if (n <= 0 || (p->caught == PROXY_PASS && proxy_send(p->client, data, (size_t)n) != 0))
		proxy_pair_end(p);
}

static inline void *proxy_main(void *ctx)
{
	struct proxy *x = ctx;

	for (;;) {
		struct pollfd fd[2 + 2 * PROXY_PAIRS];
		char byte;

		(void)pthread_mutex_lock(&x->lock);
		if (x->over)
			break;
		fd[0] = (struct pollfd){x->wake[0], POLLIN, 0};
		fd[1] = (struct pollfd){x->listener, POLLIN, 0};
		for (size_t i = 0; i < PROXY_PAIRS; i++) {
			const struct proxy_pair *p = &x->pair[i];

			fd[2 + 2 * i] = (struct pollfd){p->client, POLLIN, 0};
			fd[3 + 2 * i] = (struct pollfd){p->caught == PROXY_FREEZE ? -1 : p->server, POLLIN, 0};
		}
		(void)pthread_mutex_unlock(&x->lock);
		(void)poll(fd, 2 + 2 * PROXY_PAIRS, -1);
		(void)pthread_mutex_lock(&x->lock);
		if (fd[0].revents != 0)
			(void)!read(x->wake[0], &byte, 1);
		if (fd[1].revents != 0)
			proxy_accept(x);
		for (size_t i = 0; i < PROXY_PAIRS; i++) {
			struct proxy_pair *p = &x->pair[i];

			if (fd[2 + 2 * i].revents != 0 && fd[2 + 2 * i].fd == p->client && p->client >= 0)
				proxy_from_client(x, p);
			if (fd[3 + 2 * i].revents != 0 && fd[3 + 2 * i].fd == p->server && p->server >= 0)
				proxy_from_server(x, p);
		}
		(void)pthread_mutex_unlock(&x->lock);
	}
	(void)pthread_mutex_unlock(&x->lock);
	return NULL;
}

static inline void proxy_wake(struct proxy *x)
{
	(void)!write(x->wake[1], "", 1);
}

/* Writes an option file without TLS, and starts to listen. */
static inline void proxy_begin(struct proxy *x)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	FILE *from = fopen(getenv("JOBSTACK_TEST_CNF"), "r"), *to;
	int c, fd;

	memset(x, 0, sizeof(*x));
	for (size_t i = 0; i < PROXY_PAIRS; i++)
		x->pair[i].client = x->pair[i].server = -1;
	(void)snprintf(x->cnf, sizeof(x->cnf), "proxy.%ld.cnf", (long)getpid());
	fd = open(x->cnf, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	to = fdopen(fd, "w");
	assert_true(from != NULL && to != NULL);
	while ((c = fgetc(from)) != EOF)
		(void)fputc(c, to);
	(void)fputs("\n[jobstack]\nssl-mode=DISABLED\n", to);
	(void)fclose(from);
	assert_int_equal(fclose(to), 0);
	x->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(x->listener, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(x->listener, 20), 0);
	assert_int_equal(getsockname(x->listener, (struct sockaddr *)&at, &len), 0);
	x->port = ntohs(at.sin_port);
	assert_int_equal(pipe(x->wake), 0);
	(void)pthread_mutex_init(&x->lock, NULL);
	(void)pthread_cond_init(&x->changed, NULL);
	assert_int_equal(pthread_create(&x->thread, NULL, proxy_main, x), 0);
}

static inline void proxy_end(struct proxy *x)
{
	(void)pthread_mutex_lock(&x->lock);
	x->over = 1;
	(void)pthread_mutex_unlock(&x->lock);
	proxy_wake(x);
	(void)pthread_join(x->thread, NULL);
	for (size_t i = 0; i < PROXY_PAIRS; i++)
		proxy_pair_end(&x->pair[i]);
	proxy_close(&x->listener);
	proxy_close(&x->wake[0]);
	proxy_close(&x->wake[1]);
}

/* A handle whose way leads through the proxy. */
static inline struct jobstack *proxy_handle(struct proxy *x)
{
	struct jobstack_options o = JOBSTACK_OPTIONS_INIT;
	struct jobstack *one = NULL;

	o.defaults_file = x->cnf;
	o.host = "127.0.0.1";
	o.port = x->port;
	o.patience_us = BOUND_US;
	OK(jobstack_open(&one, &o, &e));
	return one;
}

/* A rival behind the proxy. */
static inline struct rival distant(struct proxy *x, const char *stack)
{
	struct rival r = rival(stack);

	jobstack_free(r.handle);
	r.handle = proxy_handle(x);
	return r;
}

/* The next transaction but SKIP of any client is caught. */
static inline void proxy_arm(struct proxy *x, enum proxy_catch what, unsigned skip)
{
	(void)pthread_mutex_lock(&x->lock);
	x->sign = PROXY_COMMIT;
	x->caught = NULL;
	x->armed = what;
	x->skip = skip;
	(void)pthread_mutex_unlock(&x->lock);
}

/* The next packet with SIGN in it is kept. */
static inline void proxy_arm_for(struct proxy *x, const char *sign)
{
	proxy_arm(x, PROXY_KEEP, 0);
	(void)pthread_mutex_lock(&x->lock);
	x->sign = sign;
	(void)pthread_mutex_unlock(&x->lock);
}

/* Waits until the server's side of the caught connection has ended (ENDED), or until there is a caught one. */
static inline void proxy_until(struct proxy *x, int ended)
{
	struct timespec until;
	int late = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += BOUND_US / 1000000;
	(void)pthread_mutex_lock(&x->lock);
	while (late == 0 && (x->caught == NULL || (ended && !x->caught->ended)))
		late = pthread_cond_timedwait(&x->changed, &x->lock, &until);
	(void)pthread_mutex_unlock(&x->lock);
	if (late != 0)
		fail_msg("%s", ended ? "the server does not end the connection" : "the proxy has caught nothing");
}

static inline void proxy_caught(struct proxy *x)
{
	proxy_until(x, 0);
}

/* Waits until the empty packet that ends the names of a LOAD is kept as well. */
static inline void proxy_until_names_end(struct proxy *x)
{
	int64_t until = jobstack_now_us() + BOUND_US;

	for (int ends = 0; !ends; nap(5)) {
		const struct proxy_pair *p = x->caught;

		(void)pthread_mutex_lock(&x->lock);
		ends = p->in_n > 4 && memcmp(p->in + p->in_n - 4, "\0\0", 3) == 0;
		(void)pthread_mutex_unlock(&x->lock);
		if (!ends && jobstack_now_us() > until)
			fail_msg("the proxy has not seen the end of the names");
	}
}

static inline void proxy_drop_client(struct proxy *x)
{
	(void)pthread_mutex_lock(&x->lock);
	if (x->caught->client >= 0)
		(void)shutdown(x->caught->client, SHUT_RDWR);
	(void)pthread_mutex_unlock(&x->lock);
	proxy_wake(x);
}

/* The kept packet arrives at the server. */
static inline void proxy_forward(struct proxy *x)
{
	(void)pthread_mutex_lock(&x->lock);
	assert_int_equal(proxy_send(x->caught->server, x->caught->in, x->caught->in_n), 0);
	(void)pthread_mutex_unlock(&x->lock);
}

/* Half of it does: a client that freezes in the middle of sending. */
static inline void proxy_forward_half(struct proxy *x)
{
	size_t half = x->caught->in_n / 2;

	(void)pthread_mutex_lock(&x->lock);
	assert_int_equal(proxy_send(x->caught->server, x->caught->in, half), 0);
	memmove(x->caught->in, x->caught->in + half, x->caught->in_n - half);
	x->caught->in_n -= half;
	(void)pthread_mutex_unlock(&x->lock);
}

/* It arrives after all, and so will the reply: it was only slow.  In one go, or the reply might come while it is still
 * kept back. */
static inline void proxy_resume(struct proxy *x)
{
	(void)pthread_mutex_lock(&x->lock);
	assert_int_equal(proxy_send(x->caught->server, x->caught->in, x->caught->in_n), 0);
	x->caught->in_n = 0;
	x->caught->caught = PROXY_PASS;
	x->caught = NULL;
	(void)pthread_mutex_unlock(&x->lock);
	proxy_wake(x);
}

/* Waits until the server has done all that it got on this connection, and has ended it; the client still waits. */
static inline void proxy_settle(struct proxy *x)
{
	(void)pthread_mutex_lock(&x->lock);
	if (x->caught->caught == PROXY_FREEZE)
		x->caught->caught = PROXY_SWALLOW;
	if (x->caught->server >= 0)
		(void)shutdown(x->caught->server, SHUT_WR);
	(void)pthread_mutex_unlock(&x->lock);
	proxy_wake(x);
	proxy_until(x, 1);
}

/* The same, and the connection is forgotten. */
static inline void proxy_finish(struct proxy *x)
{
	proxy_settle(x);
	(void)pthread_mutex_lock(&x->lock);
	proxy_pair_end(x->caught);
	x->caught = NULL;
	(void)pthread_mutex_unlock(&x->lock);
}

static inline void proxy_deliver(struct proxy *x)
{
	proxy_forward(x);
	proxy_finish(x);
}

/* The proxy of a test program, beside what the others have. */
static struct proxy between;

static inline int lost_setup(void **state)
{
	(void)schedule_setup(state);
	proxy_begin(&between);
	return 0;
}

static inline int lost_teardown(void **state)
{
	proxy_end(&between);
	return schedule_teardown(state);
}

#endif
