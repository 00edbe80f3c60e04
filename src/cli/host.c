/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the database is, as far as other hosts are concerned.
 */
#include "cli/host.h"

#include <stdio.h>
#include <string.h>

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
