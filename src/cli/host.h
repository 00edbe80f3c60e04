/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the database is, as far as other hosts are concerned.
 */
#pragma once

#include <netinet/in.h>

#define CLI_HOST 256

/* The host in "user@host:port/database, ..." (jobstack_describe), or "" (a socket). */
void cli_host_of(const char *where, char host[CLI_HOST]);

/* Resolves HOST: 0, or getaddrinfo's error.  ADDRESS is its first address, *LOOPBACK whether that reaches this host
 * alone. */
int cli_host_resolve(const char *host, char address[INET6_ADDRSTRLEN], int *loopback);
