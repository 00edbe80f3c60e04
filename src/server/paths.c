/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's directory and the client's option file, as they were given or by default.
 */
#include "server/config.h"

#include "base/home.h"

#include <stdlib.h>
#include <unistd.h>

static const char *default_data_directory(void)
{
	static char path[JS_LAYOUT_PATH];

	if (geteuid() == 0)
		return SERVER_ROOT_DATA;
	js_home_xdg(js_home_getenv, "XDG_DATA_HOME", ".local/share/jobstack/server", path, sizeof(path));
	return path[0] == '/' ? path : NULL;
}

/* Finds which server is meant: that of --data; else the one that the client's option file names; else the default
 * directory's.  If that file names a directory which this host does not have, the user is told which one is used
 * instead. */
int server_paths(struct server *s)
{
	static char client_file[JS_LAYOUT_PATH];
	const char *file = getenv("JOBSTACK_DEFAULTS_FILE"), *data;
	struct cli *cli = &s->cli;

	if (s->client_file == NULL) /* the one that the other commands use, if it is one of ours */
		s->client_file = s->data == NULL && file != NULL && js_home_is_servers(file) ? file : cli_server_file();
	if (s->data == NULL && config_server_of(s->client_file, &data) > 0)
		s->data = data;
	else if (s->data == NULL) {
		s->data = default_data_directory();
		if (data != NULL && s->data != NULL)
			cli_say(cli, "the server of %s is in %s, which this host does not have: using %s",
				s->client_file, data, s->data);
	}
	if (s->data == NULL || *s->client_file == '\0')
		return cli_usage(cli, "there is no home directory: give --data and --client-file");
	if (js_layout_set(&s->layout, s->data, &cli->error) != 0 ||
	    js_layout_absolute(client_file, s->client_file, &cli->error) != 0)
		return cli_fail(cli);
	s->client_file = client_file;
	return 0;
}
