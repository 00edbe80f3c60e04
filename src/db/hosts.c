/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The list of hosts.  Promises: a text that is not clearly a host is refused, with the reason; nothing is guessed or
 * cut short.
 */
#include "db/hosts.h"

#include "base/num.h"

#include <arpa/inet.h>
#include <string.h>

#define BLANK " \t\r"

/* Returns whether TEXT, of LEN bytes, is a name or an address.  Letters beyond ASCII are left to the name server. */
static int is_host(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80 ||
		      strchr(".-_:%", c) != NULL))
			return 0;
	}
	return 1;
}

/* Returns whether TEXT, of LEN bytes, is an IPv6 address, perhaps with a zone (%eth0). */
static int is_v6(const char *text, size_t len)
{
	const char *zone = memchr(text, '%', len);
	char address[INET6_ADDRSTRLEN];
	struct in6_addr there;

	if (zone != NULL)
		len = (size_t)(zone - text);
	if (len >= sizeof(address))
		return 0;
	memcpy(address, text, len);
	address[len] = '\0';
	return inet_pton(AF_INET6, address, &there) == 1;
}

/* Returns NULL, or why it is no port. */
static const char *read_port(const char *text, unsigned *port)
{
	uint64_t n;

	if (js_num_u64(text, 1, 65535, &n) != 0)
		return "a port is a number from 1 to 65535";
	*port = (unsigned)n;
	return NULL;
}

/* Reads ITEM, which has no blanks around it.  One colon separates a port; an address with more of them is IPv6, which
 * needs brackets only if a port follows. */
static const char *read_one(struct js_host *host, const char *item)
{
	const char *name = item, *colon = strchr(item, ':'), *port = NULL;
	size_t len = strlen(item);

	if (*item == '\0')
		return "a host is missing next to a comma";
	if (*item == '[') {
		const char *end = strchr(item, ']');

		if (end == NULL || (end[1] != '\0' && end[1] != ':'))
			return "an address in brackets is written [address] or [address]:port";
		name = item + 1;
		len = (size_t)(end - name);
		if (!is_v6(name, len))
			return "only an IPv6 address can stand in brackets";
		port = end[1] == ':' ? end + 2 : NULL;
	} else if (colon != NULL && strchr(colon + 1, ':') == NULL) {
		len = (size_t)(colon - item);
		port = colon + 1;
	} else if (colon != NULL && !is_v6(item, len))
		return "a host has more than one colon, but is not an IPv6 address"; /* which may stand without brackets
										      */
	if (len == 0)
		return "a port stands without a host name";
	if (len >= sizeof(host->name))
		return "a host is longer than 255 bytes";
	if (!is_host(name, len))
		return "a host has an invalid character";
	memcpy(host->name, name, len);
	host->name[len] = '\0';
	host->port = 0;
	return port == NULL ? NULL : read_port(port, &host->port);
}

const char *js_hosts_read(struct js_hosts *hosts, const char *list)
{
	struct js_hosts read = {0};
	char item[JS_HOST_NAME + 16];
	const char *why, *end;
	size_t len;

	for (list += strspn(list, BLANK); read.n > 0 || *list != '\0'; list = end + 1) {
		list += strspn(list, BLANK);
		end = list + strcspn(list, ",");
		for (len = (size_t)(end - list); len > 0 && strchr(BLANK, list[len - 1]) != NULL; len--)
			;
		if (len >= sizeof(item))
			return "a host is longer than 255 bytes";
		if (read.n == JS_HOSTS_MAX)
			return "it names more than 8 hosts";
		memcpy(item, list, len);
		item[len] = '\0';
		why = read_one(&read.at[read.n++], item);
		if (why != NULL)
			return why;
		if (*end == '\0')
			break;
	}
	*hosts = read;
	return NULL;
}

unsigned js_hosts_find(const struct js_hosts *hosts, const struct js_host *host)
{
	for (unsigned i = 0; i < hosts->n; i++)
		if (strcmp(hosts->at[i].name, host->name) == 0 && hosts->at[i].port == host->port)
			return i;
	return 0;
}
