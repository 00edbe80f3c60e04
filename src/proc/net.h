/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses, ports, and the greeting that a server sends to each client.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#define JS_NET_ADDRESSES 8 /* the server listens on at most so many of a name's addresses */
#define JS_NET_VERSION 128
#define JS_NET_LISTEN (JS_NET_ADDRESSES * 64)

union js_net_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct js_net {
	char host[256];		    /* what clients connect to: the name or address as given ("localhost": 127.0.0.1) */
	int is_address;		    /* it is an address, not a name */
	char listen[JS_NET_LISTEN]; /* what the server binds to: addresses with commas between them, or "*" */
	union js_net_address addr[JS_NET_ADDRESSES];
	size_t n;
	int odd; /* on this machine the name means loopback addresses, elsewhere perhaps not: the server listens on "*"
		  */
};

/* Finds out on which addresses to listen for clients that connect to HOST.  EUSAGE: it is not this host. */
int js_net_resolve(const char *host, struct js_net *net, struct jobstack_error *error);

/* Returns whether a server could listen on this port now. */
int js_net_port_free(const struct js_net *net, unsigned port);

/* Finds a free port outside of the range for outgoing connections. */
int js_net_port_choose(const struct js_net *net, unsigned *port, struct jobstack_error *error);

/* Connects to HOST and waits at most LIMIT_US for the greeting of a MySQL or MariaDB server.  Returns 0 and its
 * VERSION, which is "" if it refused the connection with an error (it has too many); or -1. */
int js_net_greet(const char *host, unsigned port, int64_t limit_us, char version[JS_NET_VERSION]);

/* Returns whether HOST is a loopback address or localhost. */
int js_net_loopback(const char *host);
