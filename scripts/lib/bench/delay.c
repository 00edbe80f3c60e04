/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bench-delay TARGET-PORT MICROSECONDS
 *
 * A network's delay on the loopback: forwards connections to 127.0.0.1:TARGET-PORT, and holds each piece of what the
 * server says back for MICROSECONDS.  A request and its answer together are one trip, so a trip takes that much longer
 * than without (plus what the forwarding itself takes, for everybody alike).  Time in which many are held passes for
 * all of them at once: it is a delay, not a bottleneck of bandwidth.  Says its own port on stdout, and ends with its
 * input.
 *
 * One thread, epoll, a queue in the order of time (the delay is the same for all, so the first in is the first due).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PIECE 65536

/* One side of a connection; what comes in here goes out at the peer. */
struct end {
	struct end *peer;
	int fd, server;
	unsigned queued; /* pieces on their way to the peer */
	int over;	 /* no more comes from here */
};

struct piece {
	struct piece *next;
	struct end *to; /* the end that it goes out of */
	int64_t due;
	size_t len;
	char bytes[];
};

static struct piece *first, **last = &first;
static int64_t delay_ns;
static uint16_t target;
static int epoll_fd;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench-delay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct sockaddr_in loopback(uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

/* Writes all of it.  Both sides of a query protocol read what they are sent, so waiting for space can't be for ever. */
static void put(const struct end *to, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(to->fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return; /* its reader has gone: the epoll will say so */
		bytes += n;
		len -= (size_t)n;
	}
}

/* Both directions are over and nothing is on its way any more: the pair goes. */
static void settle(struct end *e)
{
	struct end *p = e->peer;

	if (!e->over || !p->over || e->queued > 0 || p->queued > 0)
		return;
	close(e->fd);
	close(p->fd);
	free(e);
	free(p);
}

static void pass(struct end *from)
{
	static char buffer[PIECE];
	ssize_t n = recv(from->fd, buffer, sizeof(buffer), 0);
	struct piece *p;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0 && !from->server) {
		put(from->peer, buffer, (size_t)n);
		return;
	}
	if (n <= 0) {
		from->over = 1;
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, from->fd, NULL);
		if (from->queued == 0)
			shutdown(from->peer->fd, SHUT_WR);
		settle(from);
		return;
	}
	p = malloc(sizeof(*p) + (size_t)n);
	must(p != NULL, "malloc");
	*p = (struct piece){NULL, from->peer, now_ns() + delay_ns, (size_t)n};
	memcpy(p->bytes, buffer, (size_t)n);
	from->queued++;
	*last = p;
	last = &p->next;
}

static void send_due(void)
{
	while (first != NULL && first->due <= now_ns()) {
		struct piece *p = first;
		struct end *to = p->to;

		first = p->next;
		if (first == NULL)
			last = &first;
		put(to, p->bytes, p->len);
		free(p);
		if (--to->peer->queued == 0 && to->peer->over) {
			shutdown(to->fd, SHUT_WR);
			settle(to);
		}
	}
}

static struct end *new_end(int fd, int server)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct end *e = calloc(1, sizeof(*e));
	int one = 1;

	must(e != NULL, "calloc");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	*e = (struct end){NULL, fd, server, 0, 0};
	event.data.ptr = e;
	must(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
	return e;
}

static void take_connection(int listener)
{
	struct sockaddr_in address = loopback(target);
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC), server;
	struct end *a, *b;

	if (client < 0)
		return;
	server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(server >= 0, "socket");
	if (connect(server, (struct sockaddr *)&address, sizeof(address)) != 0) {
		close(server);
		close(client);
		return;
	}
	a = new_end(client, 0);
	b = new_end(server, 1);
	a->peer = b;
	b->peer = a;
}

static int listen_here(void)
{
	struct sockaddr_in address = loopback(0);
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd >= 0, "socket");
	must(bind(fd, (struct sockaddr *)&address, len) == 0 && listen(fd, 1024) == 0, "listen");
	must(getsockname(fd, (struct sockaddr *)&address, &len) == 0, "getsockname");
	printf("%u\n", (unsigned)ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

int main(int argc, char **argv)
{
	struct epoll_event events[256], event = {.events = EPOLLIN};
	static char door, input; /* marks, told apart by their addresses */
	int listener;

	if (argc != 3) {
		fprintf(stderr, "usage: bench-delay TARGET-PORT MICROSECONDS\n");
		return 2;
	}
	target = (uint16_t)strtoul(argv[1], NULL, 10);
	delay_ns = strtoll(argv[2], NULL, 10) * 1000;
	must((epoll_fd = epoll_create1(EPOLL_CLOEXEC)) >= 0, "epoll_create1");
	listener = listen_here();
	event.data.ptr = &door;
	must(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event) == 0, "epoll_ctl");
	event.data.ptr = &input;
	must(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, 0, &event) == 0, "epoll_ctl: input (must be a pipe)");
	for (;;) {
		int64_t wait = first != NULL ? first->due - now_ns() : -1;
		struct timespec t = {wait > 0 ? wait / 1000000000 : 0, wait > 0 ? wait % 1000000000 : 0};
		int n = epoll_pwait2(epoll_fd, events, 256, first != NULL ? &t : NULL, NULL);

		must(n >= 0 || errno == EINTR, "epoll_pwait2");
		send_due();
		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr == &input)
				return 0;
			if (events[i].data.ptr == &door)
				take_connection(listener);
			else
				pass(events[i].data.ptr);
		}
	}
}
