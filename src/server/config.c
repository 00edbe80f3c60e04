/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The files that server and clients read.  Promises: no secret is in a file that others can read; a path is always one
 * value, whatever characters it contains.
 */
#include "server/config.h"

#include "base/error.h"
#include "base/file.h"
#include "base/home.h"
#include "base/num.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIGN JS_HOME_SERVER_SIGN
#define DATA "# data" /* the line of a client's file that names the server's directory */
/* the lines of my.cnf with the options that are kept */
#define BIND "# bind"
#define MEMORY "# memory"
#define PORT "# port"

/* Appends NAME="VALUE" as MySQL's readers of option files take it. */
static void add_option_line(struct js_buf *t, const char *name, const char *text)
{
	js_buf_printf(t, "%s=\"", name);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			js_buf_char(t, '\\');
		js_buf_char(t, *text);
	}
	js_buf_str(t, "\"\n");
}

/* Replaces the file PATH by the text; wipes and frees the text. */
static int replace_and_wipe(const char *path, mode_t mode, struct js_buf *t, struct jobstack_error *error)
{
	int status = 0;

	if (t->failed)
		status = js_error_memory(error);
	else if (js_file_replace(path, mode, t->data, t->len) != 0)
		status = js_error_access(error, "%s can't be written", path);
	js_buf_wipe(t);
	return status;
}

/* A password is 192 random bits in hexadecimal: no character of it means anything in SQL or in an option file. */
void config_make_password(char password[SERVER_PASSWORD])
{
	js_file_random_hex(password, SERVER_PASSWORD - 1);
}

/* A file that can't be read is not replaced: the server and clients may have its password.  One that was cut short is.
 */
int config_password(struct server *s)
{
	struct js_buf t = {0};
	int there = js_file_read(s->layout.password, &t) == 0;
	size_t len = t.data != NULL ? strcspn(t.data, "\n") : 0;

	if (!there && errno != ENOENT)
		return js_error_access(&s->cli.error, "%s can't be read", s->layout.password);
	if (len == SERVER_PASSWORD - 1 && strspn(t.data, "0123456789abcdef") == len) {
		(void)snprintf(s->password, sizeof(s->password), "%.*s", (int)len, t.data);
		js_buf_wipe(&t);
		return 0;
	}
	js_buf_reset(&t);
	config_make_password(s->password);
	js_buf_printf(&t, "%s\n", s->password);
	return replace_and_wipe(s->layout.password, 0600, &t, &s->cli.error);
}

/* Settings for which the compiled-in default or the distribution may differ.  Those that only one of the two servers
 * knows are "loose". */
static const char fixed[] = "skip-name-resolve\n"
			    "skip-log-bin\n"
			    "# large pushes use LOAD DATA LOCAL; jobstack's clients send only their own names, never a "
			    "file that the server asks for\n"
			    "local-infile=1\n"
			    "default-storage-engine=InnoDB\n"
			    "character-set-server=utf8mb4\n"
			    "collation-server=utf8mb4_bin\n"
			    "require_secure_transport=ON\n"
			    "tls_version=TLSv1.2,TLSv1.3\n"
			    "loose_mysqlx=0\n"
			    "loose_event_scheduler=ON\n" /* share.c */
			    "loose_log_warnings=1\n"
			    "# every commit is on disk before it is answered\n"
			    "innodb_flush_log_at_trx_commit=1\n"
			    "innodb_doublewrite=ON\n"
			    "loose_innodb_file_per_table=1\n"
			    "loose_innodb_flush_method=O_DIRECT\n"
			    "# small, except for what a queue needs\n"
			    "performance_schema=OFF\n"
			    "key_buffer_size=1M\n"
			    "loose_aria_pagecache_buffer_size=8M\n"
			    "max_allowed_packet=64M\n"
			    "max_connect_errors=1000000000\n"
			    "connect_timeout=30\n"
			    "table_open_cache=2000\n"
			    "table_open_cache_instances=4\n";

/* The options that later starts use again stand in comments above the first group, where servers don't look. */
int config_write(struct server *s, const struct server_kept *kept)
{
	const struct js_layout *layout = &s->layout;
	char pid_file[JS_LAYOUT_PATH];
	struct js_buf t = {0};

	js_layout_join(pid_file, layout->run, "pid");
	js_buf_str(&t, SIGN " at each start; changes here are lost.\n");
	if (kept->bind[0] != '\0')
		js_buf_printf(&t, BIND "=%s\n", kept->bind);
	if (kept->memory != 0)
		js_buf_printf(&t, MEMORY "=%" PRId64 "\n", kept->memory);
	js_buf_printf(&t, PORT "=%" PRIu64 "\n[mysqld]\n", kept->port);
	if (s->program.basedir[0] != '\0')
		add_option_line(&t, "basedir", s->program.basedir);
	add_option_line(&t, "datadir", layout->data);
	add_option_line(&t, "socket", s->owner.socket);
	add_option_line(&t, "pid-file", pid_file);
	/* In /tmp any other server of this user that starts would delete our temporary tables.  But the option takes a
	 * list of directories, with colons between them. */
	if (strchr(layout->run, ':') == NULL)
		add_option_line(&t, "tmpdir", layout->run);
	add_option_line(&t, "init-file", layout->init);
	add_option_line(&t, "ssl-ca", layout->ca);
	add_option_line(&t, "ssl-cert", layout->cert);
	add_option_line(&t, "ssl-key", layout->key);
	/* nobody may use SELECT ... INTO OUTFILE; MariaDB has no setting for that, but can limit it to a directory */
	if (s->program.mysql)
		js_buf_str(&t, "secure-file-priv=NULL\n");
	else
		add_option_line(&t, "secure-file-priv", layout->run);
	js_buf_printf(&t, "bind-address=%s\nport=%u\n", s->net.listen, s->owner.port);
	js_buf_printf(&t, "max_connections=%d\nback_log=%d\n", CONFIG_CONNECTIONS, CONFIG_CONNECTIONS);
	js_buf_printf(&t, "innodb_buffer_pool_size=%" PRId64 "\n", s->memory);
	js_buf_str(&t, fixed);
	/* it contains no secret, and the server's user must read it */
	return replace_and_wipe(layout->config, 0644, &t, &s->cli.error);
}

/* Returns the number in the line KEY, if it is from LEAST to MOST; else 0. */
static uint64_t read_number(const char *text, const char *key, uint64_t least, uint64_t most)
{
	uint64_t number = 0;
	char value[32];

	if (js_owner_value(text, key, value, sizeof(value)) == 0)
		(void)js_num_u64(value, least, most, &number);
	return number;
}

void config_read_kept(const struct js_layout *layout, struct server_kept *kept)
{
	struct js_buf t = {0};

	*kept = (struct server_kept){0};
	if (js_file_read(layout->config, &t) == 0 && t.len > 0) {
		if (js_owner_value(t.data, BIND, kept->bind, sizeof(kept->bind)) != 0)
			kept->bind[0] = '\0';
		kept->memory = (int64_t)read_number(t.data, MEMORY, SERVER_MEMORY_MIN, INT64_MAX);
		kept->port = read_number(t.data, PORT, 1, 65535);
	}
	js_buf_free(&t);
}

void config_add_account(struct js_buf *t, const char *user, const char *password, const char *limit)
{
	js_buf_printf(t, "CREATE USER IF NOT EXISTS '%s'@'%%' IDENTIFIED BY '%s' REQUIRE SSL%s;\n", user, password,
		      limit);
	js_buf_printf(t, "ALTER USER '%s'@'%%' IDENTIFIED BY '%s' REQUIRE SSL%s;\n", user, password, limit);
}

/* MySQL's root gets a new password at each start, and MariaDB's logs in by the socket: so nothing but root.cnf, which
 * only the server's owner can read, opens that account. */
int config_write_init(struct server *s)
{
	char root[SERVER_PASSWORD];
	struct js_buf t = {0};
	int status;

	config_make_password(root);
	/* one statement per line: the server reads an init file by lines */
	js_buf_str(&t, "CREATE DATABASE IF NOT EXISTS jobstack CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;\n");
	config_add_account(&t, "jobstack", s->password, "");
	js_buf_str(&t, "GRANT ALL ON jobstack.* TO 'jobstack'@'%';\n");
	if (s->program.mysql) /* MariaDB's root is the system's root or the server's user, by the socket */
		js_buf_printf(&t, "ALTER USER 'root'@'localhost' IDENTIFIED BY '%s';\n", root);
	status = replace_and_wipe(s->layout.init, 0600, &t, &s->cli.error);
	if (status == 0 && s->who.change && lchown(s->layout.init, s->who.uid, s->who.gid) != 0)
		status = js_error_file(&s->cli.error, "%s", s->layout.init);
	js_buf_str(&t, SIGN ": login of the server's administrator, on the server's host.\n[client]\n");
	add_option_line(&t, "user", s->program.mysql || geteuid() == 0 ? "root" : s->who.name);
	add_option_line(&t, "socket", s->owner.socket);
	if (s->program.mysql)
		add_option_line(&t, "password", root);
	JS_THEN(status, replace_and_wipe(s->layout.root, 0600, &t, &s->cli.error));
	js_buf_wipe(&t);
	explicit_bzero(root, sizeof(root));
	return status;
}

/* Makes the path of the CA's certificate: ca.pem beside client.cnf, NAME-ca.pem beside NAME.cnf. */
static void make_ca_path(const char *client_file, char out[JS_LAYOUT_PATH])
{
	const char *slash = strrchr(client_file, '/'), *base = slash == NULL ? client_file : slash + 1;
	size_t len = strlen(client_file),
	       suffix = strlen(base) > 4 && strcmp(client_file + len - 4, ".cnf") == 0 ? 4 : 0;

	if (strcmp(base, "client.cnf") == 0)
		(void)snprintf(out, JS_LAYOUT_PATH, "%.*sca.pem", (int)(base - client_file), client_file);
	else
		(void)snprintf(out, JS_LAYOUT_PATH, "%.*s-ca.pem", (int)(len - suffix), client_file);
}

/* An empty file may be replaced: it can't be anybody's configuration. */
int config_check_client(const char *path, struct jobstack_error *error)
{
	char copy[JS_LAYOUT_PATH], *dir;
	struct stat st;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	dir = dirname(copy);
	if (js_file_mkdirs(dir, 0700) != 0 || access(dir, W_OK | X_OK) != 0)
		return js_error_access(error, "the directory %s for the client's option file can't be used", dir);
	if (access(path, R_OK) != 0)
		return errno == ENOENT ? 0 : js_error_access(error, "%s can't be read", path);
	if (stat(path, &st) != 0 || st.st_size == 0 || js_home_is_servers(path))
		return 0;
	return js_error_set(
		error, JOBSTACK_ECONFLICT,
		"%s exists and was not written by jobstack server: move it away, or give another --client-file", path);
}

/* Several hosts may see the client's file, but only one the directory; so that it is named there does not mean that it
 * exists here. */
int config_server_of(const char *client_file, const char **data)
{
	static struct js_layout layout;
	char dir[JS_LAYOUT_PATH];
	struct js_buf t = {0};
	int status = js_home_is_servers(client_file) ? 0 : -1;

	*data = NULL;
	if (status == 0 && js_file_read(client_file, &t) == 0 && t.len > 0 &&
	    js_owner_value(t.data, DATA, dir, sizeof(dir)) == 0 && js_layout_set(&layout, dir, NULL) == 0) {
		*data = layout.dir;
		status = js_layout_exists(&layout) != 0;
	}
	js_buf_wipe(&t);
	return status;
}

/* The password tells servers apart: each directory has its own. */
int config_names_other(const struct server *s, char *where, size_t size)
{
	char had[SERVER_PASSWORD] = "", host[256] = "", port[16] = "";
	struct js_buf t = {0};
	int other = 0;

	if (js_file_read(s->client_file, &t) == 0 && t.len > 0 &&
	    js_owner_value(t.data, "password", had, sizeof(had)) == 0) {
		other = strcmp(had, s->password) != 0;
		(void)js_owner_value(t.data, "host", host, sizeof(host));
		(void)js_owner_value(t.data, "port", port, sizeof(port));
		(void)snprintf(where, size, "%s:%s", host, port);
	}
	explicit_bzero(had, sizeof(had));
	js_buf_wipe(&t);
	return other;
}

/* Replaces PATH unless it has this content and mode already, so that a reader on another host does not see it change.
 * Frees TEXT. */
static int refresh_file(const char *path, mode_t mode, struct js_buf *text, struct jobstack_error *error)
{
	struct js_buf had = {0};
	struct stat st;
	int same;

	same = !text->failed && js_file_read(path, &had) == 0 && had.len == text->len && had.len > 0 &&
	       memcmp(had.data, text->data, had.len) == 0 && stat(path, &st) == 0 && (st.st_mode & 07777) == mode;
	js_buf_wipe(&had);
	if (!same)
		return replace_and_wipe(path, mode, text, error);
	js_buf_wipe(text);
	return 0;
}

/* The certificate is written first, so that the option file never names one that is not there. */
int config_write_client(struct server *s, const char *path, const char *user, const char *password)
{
	int owns = strcmp(user, "jobstack") == 0;
	struct jobstack_error *error = &s->cli.error;
	char ca[JS_LAYOUT_PATH];
	struct js_buf t = {0};

	make_ca_path(path, ca);
	if (js_file_read(s->layout.ca, &t) != 0) {
		js_buf_free(&t);
		return js_error_file(error, "%s can't be read", s->layout.ca);
	}
	JS_TRY(refresh_file(ca, 0644, &t, error));
	if (owns)
		js_buf_printf(&t, SIGN " start; it is replaced when the server's address changes.\n" DATA "=%s\n",
			      s->layout.dir);
	else
		js_buf_printf(&t, SIGN " share: keep %s beside this file.\n", basename(ca));
	js_buf_printf(&t, "[client]\nhost=%s\nport=%u\nuser=%s\npassword=%s\n", s->owner.bind, s->owner.port, user,
		      password);
	add_option_line(&t, "ssl-ca", owns ? ca : basename(ca));
	/* MySQL's programs have another option for TLS than MariaDB's.  "=1", because MariaDB Connector/C ignores the
	 * bare word. */
	js_buf_str(&t, strstr(s->owner.version, "MariaDB") == NULL ? "ssl-mode=VERIFY_IDENTITY\n"
								   : "ssl-verify-server-cert=1\n");
	js_buf_str(&t, "[jobstack]\ndatabase=jobstack\n");
	return refresh_file(path, 0600, &t, error);
}
