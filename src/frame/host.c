/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the database is, as far as other hosts are concerned.
 */
#include "frame/host.h"

#include <stdio.h>
#include <string.h>

void cli_host_of(const char *where, char host[CLI_HOST])
{
	const char *end = strstr(where, ", ");
	const char *at = memrchr(where, '@', end != NULL ? (size_t)(end - where) : strlen(where));
	const char *begin = at != NULL ? at + 1 : where, *behind = *begin == '[' ? "]" : ":/";

	begin += *begin == '[';
	(void)snprintf(host, CLI_HOST, "%.*s", (int)strcspn(begin, behind), begin);
}
