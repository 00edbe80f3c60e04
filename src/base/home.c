/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where a user's files lie.  Promise: the tools agree, because they all ask here.
 */
#include "base/home.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

void js_home_file(js_home_get *get, const char *name, char *path, size_t size)
{
	const char *home = get("HOME");
	const struct passwd *me = home == NULL || *home == '\0' ? getpwuid(geteuid()) : NULL;

	if (me != NULL)
		home = me->pw_dir;
	if (home == NULL || *home == '\0' || snprintf(path, size, "%s/%s", home, name) >= (int)size)
		path[0] = '\0';
}

void js_home_server_file(js_home_get *get, char *path, size_t size)
{
	const char *config = get("XDG_CONFIG_HOME");

	if (config == NULL || *config != '/')
		js_home_file(get, ".config/jobstack/client.cnf", path, size);
	else if (snprintf(path, size, "%s/jobstack/client.cnf", config) >= (int)size)
		path[0] = '\0';
}

const char *js_home_option_file(const char *given, js_home_get *get, char *path, size_t size)
{
	if (given == NULL || *given == '\0')
		given = get("JOBSTACK_DEFAULTS_FILE");
	if (given != NULL && *given != '\0') {
		(void)snprintf(path, size, "%s", given);
		return path;
	}
	js_home_server_file(get, path, size);
	if (path[0] != '\0' && access(path, F_OK) == 0)
		return path;
	js_home_file(get, ".my.cnf", path, size);
	return path[0] != '\0' && access(path, F_OK) == 0 ? path : NULL;
}
