/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the database is, as far as other hosts are concerned.
 */
#include "cli/host.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

void cli_host_of(const char *where, char host[CLI_HOST])
{
	const char *begin, *end = strstr(where, ", "), *colon = NULL;
	size_t len;

	host[0] = '\0';
	len = end == NULL ? strlen(where) : (size_t)(end - where);
	begin = memrchr(where, '@', len);
	begin = begin == NULL ? where : begin + 1;
	for (const char *p = begin; p < where + len && *p != '/'; p++)
		if (*p == ':')
			colon = p;
	if (colon == NULL || *begin == '/')
		return;
	if (*begin == '[' && colon > begin + 1) {
		begin++;
		colon--;
	}
	(void)snprintf(host, CLI_HOST, "%.*s", (int)(colon - begin), begin);
}

/* Is it an address of the host itself alone? */
static int is_loopback(const struct addrinfo *a)
{
	if (a->ai_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr.s_addr) >> 24 == 127;
	return a->ai_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a->ai_addr)->sin6_addr);
}

int cli_host_resolve(const char *host, char address[INET6_ADDRSTRLEN], int *loopback)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
	int rc = getaddrinfo(host, NULL, &hints, &all);
	const void *raw;

	*loopback = 0;
	(void)snprintf(address, INET6_ADDRSTRLEN, "?");
	if (rc != 0)
		return rc;
	raw = all->ai_family == AF_INET6
		      ? (const void *)&((const struct sockaddr_in6 *)(const void *)all->ai_addr)->sin6_addr
		      : (const void *)&((const struct sockaddr_in *)(const void *)all->ai_addr)->sin_addr;
	(void)inet_ntop(all->ai_family, raw, address, INET6_ADDRSTRLEN);
	*loopback = is_loopback(all);
	freeaddrinfo(all);
	return 0;
}
