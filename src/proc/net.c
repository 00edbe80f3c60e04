/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses and ports.  Promise: nothing here waits longer than its limit, except for the resolver.
 */
#include "proc/net.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Below the range of ports that Linux uses for outgoing connections, so that the port is still free at the next start.
 */
#define PORT_LOW 13306
#define PORT_HIGH 29999

/* Opens a socket that listens as the server will.  Returns it, or -1 with errno.  The server sets SO_REUSEADDR, too, so
 * a port whose last connections are just ending counts as free. */
static int open_listener(union js_net_address addr, unsigned port)
{
	int fd = socket(addr.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, off = 0;

	if (fd < 0)
		return -1;
	_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port), "one port");
	addr.v4.sin_port = htons((uint16_t)port);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (addr.any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, &addr.any, addr.any.sa_family == AF_INET6 ? sizeof(addr.v6) : sizeof(addr.v4)) != 0 ||
	    listen(fd, 1) != 0)
		js_file_close(&fd);
	return fd;
}

/* Has the server listen on all addresses: of IPv6 and IPv4, if this machine has IPv6. */
static void listen_on_all(struct js_net *net)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(net->addr, 0, sizeof(net->addr));
	net->addr->any.sa_family = fd >= 0 ? AF_INET6 : AF_INET;
	net->n = 1;
	(void)snprintf(net->listen, sizeof(net->listen), "*");
	js_file_close(&fd);
}

/* Adds a name's address, once, if it is this host's.  Returns 0, or errno if it is not. */
static int add_address(struct js_net *net, const struct addrinfo *a, const char *text)
{
	size_t i = 0, len = strlen(net->listen);
	int fd;

	memset(&net->addr[net->n], 0, sizeof(*net->addr));
	memcpy(&net->addr[net->n], a->ai_addr, a->ai_addrlen);
	while (memcmp(&net->addr[i], &net->addr[net->n], sizeof(*net->addr)) != 0)
		i++;
	fd = i == net->n ? open_listener(net->addr[i], 0) : -1;
	if (fd < 0)
		return i == net->n ? errno : 0;
	(void)close(fd);
	(void)snprintf(net->listen + len, sizeof(net->listen) - len, "%s%s", net->n++ > 0 ? "," : "", text);
	return 0;
}

/* Chooses those of a name's addresses that are this host's.  If all of them are loopback addresses (Debian's /etc/hosts
 * has 127.0.1.1), the name means others to other hosts: then the server listens on all addresses. */
static int choose_addresses(const struct addrinfo *list, struct js_net *net, struct jobstack_error *error)
{
	char text[64] = "";
	int bad, why = 0;

	net->odd = !net->is_address;
	for (const struct addrinfo *a = list; net->n < JS_NET_ADDRESSES && a != NULL; a = a->ai_next) {
		(void)getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
		if (strcmp(text, "0.0.0.0") == 0 || strcmp(text, "::") == 0)
			return js_error_set(error, JOBSTACK_EUSAGE,
					    "clients can't connect to %s: give the name or address at which the "
					    "compute nodes reach this host",
					    net->host);
		bad = add_address(net, a, text);
		if (bad != 0)
			why = bad;
		else if (!js_net_loopback(text))
			net->odd = 0;
	}
	if (net->n == 0)
		return js_error_set(error, JOBSTACK_EUSAGE, "%s (%s) is not this host: %s", net->host, text,
				    strerror(why));
	if (net->odd)
		listen_on_all(net);
	return 0;
}

/* The name goes into option files and addresses, so it may only have characters that need no quotes there. */
int js_net_resolve(const char *host, struct js_net *net, struct jobstack_error *error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	struct in6_addr address;
	int status;

	memset(net, 0, sizeof(*net));
	/* a MySQL client connects to "localhost" through a socket file */
	if (strcmp(host, "localhost") == 0)
		host = "127.0.0.1";
	if (*host == '\0' || strlen(host) >= sizeof(net->host) ||
	    host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:")] != '\0')
		return js_error_set(error, JOBSTACK_EUSAGE, "%s is neither a host name nor an address", host);
	memcpy(net->host, host, strlen(host) + 1);
	net->is_address = inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
	status = getaddrinfo(host, NULL, &hints, &list);
	if (status != 0)
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "can't look up the host %s (%s): give the name by which others reach this host, "
				    "such as what `hostname` prints",
				    host, gai_strerror(status));
	status = choose_addresses(list, net, error);
	freeaddrinfo(list);
	return status;
}

int js_net_port_free(const struct js_net *net, unsigned port)
{
	for (size_t i = 0; i < net->n; i++) {
		int fd = open_listener(net->addr[i], port);

		if (fd < 0)
			return 0;
		(void)close(fd);
	}
	return 1;
}

/* Ports are tried at random, so that two servers that start at once hardly choose the same one. */
int js_net_port_choose(const struct js_net *net, unsigned *port, struct jobstack_error *error)
{
	uint32_t random;

	for (int i = 0; i < 200; i++) {
		js_file_random(&random, sizeof(random));
		*port = PORT_LOW + random % (PORT_HIGH - PORT_LOW + 1);
		if (js_net_port_free(net, *port))
			return 0;
	}
	return js_error_set(error, JOBSTACK_ECONFLICT, "no free port was found on %s", net->host);
}

int js_net_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

/* Waits until FD is ready for EVENTS, whatever signals come: 0, or -1 at UNTIL_US. */
static int wait_ready(int fd, short events, int64_t until_us)
{
	struct pollfd ready = {.fd = fd, .events = events};
	int64_t left;
	int n = -1;

	while (n < 0 && (left = until_us - js_clock_mono_us()) > 0)
		n = poll(&ready, 1, (int)(left / 1000) + 1);
	return n > 0 ? 0 : -1;
}

/* Parses the greeting: a header, length (3) and sequence (1), and then 10, the version and a NUL; or 255 and an error.
 * Returns 0 with the VERSION ("" for an error), 1 if more must be read, or -1: it is no greeting. */
static int parse_greeting(const char *p, size_t len, char version[JS_NET_VERSION])
{
	const char *end;

	if (len < 6)
		return 1;
	version[0] = '\0';
	if (p[4] != 10)
		return (unsigned char)p[4] == 0xff ? 0 : -1;
	end = memchr(p + 5, '\0', len - 5);
	if (end == NULL)
		return 1;
	if (end - (p + 5) >= JS_NET_VERSION)
		return -1;
	/* MariaDB before 11 adds this prefix for old replicas */
	p += strncmp(p + 5, "5.5.5-", 6) == 0 ? 11 : 5;
	memcpy(version, p, (size_t)(end - p) + 1);
	return 0;
}

/* Reads the greeting.  Returns 0 with the VERSION, or -1. */
static int read_greeting(int fd, int64_t until_us, char version[JS_NET_VERSION])
{
	char text[1024];
	size_t len = 0;
	ssize_t n = 1;
	int status = 1;

	while (status == 1 && n > 0 && len < sizeof(text) && wait_ready(fd, POLLIN, until_us) == 0) {
		n = read(fd, text + len, sizeof(text) - len);
		len += n > 0 ? (size_t)n : 0;
		status = parse_greeting(text, len, version);
	}
	return status == 0 ? 0 : -1;
}

/* Connects FD, which does not block, until UNTIL_US at the latest.  Returns 0 or -1. */
static int connect_until(int fd, const struct addrinfo *a, int64_t until_us)
{
	int failure = 0;
	socklen_t len = sizeof(failure);

	if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
		return 0;
	return errno == EINPROGRESS && wait_ready(fd, POLLOUT, until_us) == 0 &&
			       getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &len) == 0 && failure == 0
		       ? 0
		       : -1;
}

/* The resolver may wait longer than LIMIT_US; all else does not. */
int js_net_greet(const char *host, unsigned port, int64_t limit_us, char version[JS_NET_VERSION])
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list;
	int64_t until = js_clock_mono_us() + limit_us;
	char service[16];
	int status = -1;

	(void)snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host, service, &hints, &list) != 0)
		return -1;
	for (const struct addrinfo *a = list; a != NULL && status != 0; a = a->ai_next) {
		int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (connect_until(fd, a, until) == 0)
			status = read_greeting(fd, until, version);
		js_file_close(&fd);
	}
	freeaddrinfo(list);
	return status;
}
