/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The option-file reader.  Promises: no value reaches an error message; a password that others can read is refused; the
 * file is read whole before anything of it counts.
 *
 * It is our own because libmysqlclient's readers report neither which line is wrong nor that others can read a
 * password, and they skip a missing file.
 */
#include "db/option.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "base/setting.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 5

/* The reading of one file. */
struct reading {
	struct js_option *option;
	struct jobstack_error *error;
	const char *path;
	unsigned line;
	int group; /* the present group: -1 none yet, 0 not ours, 1 [client]..., 2 [jobstack] */
	int pass;  /* the group that this pass takes */
	int depth;
	int secret; /* this file itself has a password in it */
};

enum { BAD_VALUE = 1, UNKNOWN_KEY };

static int read_option_file(struct reading *r, const char *path);

static int set_text_option(char **to, const char *value)
{
	char *copy = strdup(value);

	if (copy == NULL)
		return -1;
	free(*to);
	*to = copy;
	return 0;
}

static int is_true(const char *value)
{
	return value == NULL || strcasecmp(value, "1") == 0 || strcasecmp(value, "on") == 0 ||
	       strcasecmp(value, "true") == 0 || *value == '\0';
}

static int set_ssl_mode(struct js_option *o, const char *value)
{
	static const char *const word[] = {"PREFERRED", "DISABLED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"};

	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		if (value != NULL && strcasecmp(value, word[i]) == 0) {
			o->tls = (enum js_tls)i;
			o->tls_said = 1;
			return 0;
		}
	return -1;
}

/* The switches of MariaDB's and old MySQL's clients. */
static void set_ssl_switch(struct js_option *o, int verify, int on)
{
	if (verify && on)
		o->tls = JS_TLS_VERIFY_IDENTITY;
	else if (verify) /* no verification was asked for: at most required */
		o->tls = o->tls_said && o->tls >= JS_TLS_VERIFY_CA ? JS_TLS_REQUIRED : o->tls;
	else if (!on)
		o->tls = JS_TLS_OFF;
	else if (o->tls < JS_TLS_REQUIRED)
		o->tls = JS_TLS_REQUIRED;
	o->tls_said = 1;
}

static int set_number_option(unsigned *to, const char *value, uint64_t most)
{
	uint64_t n;

	if (js_num_u64(value, 1, most, &n) != 0)
		return BAD_VALUE;
	*to = (unsigned)n;
	return 0;
}

/* The keys with a text, and where it goes. */
static const struct {
	const char *key;
	size_t at;
} texts[] = {{"socket", offsetof(struct js_option, socket)},	 {"user", offsetof(struct js_option, user)},
	     {"password", offsetof(struct js_option, password)}, {"database", offsetof(struct js_option, database)},
	     {"ssl_ca", offsetof(struct js_option, ssl_ca)},	 {"ssl_capath", offsetof(struct js_option, ssl_capath)},
	     {"ssl_cert", offsetof(struct js_option, ssl_cert)}, {"ssl_key", offsetof(struct js_option, ssl_key)}};
#define TEXTS (sizeof(texts) / sizeof(texts[0]))

static char **text_of(struct js_option *o, size_t i)
{
	return (char **)(void *)((char *)o + texts[i].at);
}

/* Takes one KEY (dashes as underscores; with its value, or NULL).  Returns 0, BAD_VALUE (*WHY may say more),
 * UNKNOWN_KEY, or -1 without memory. */
static int set_named_option(struct js_option *o, const char *key, const char *value, const char **why)
{
	for (size_t i = 0; i < TEXTS; i++)
		if (strcmp(key, texts[i].key) == 0)
			return value == NULL ? BAD_VALUE : set_text_option(text_of(o, i), value);
	if (strcmp(key, "host") == 0) {
		*why = value == NULL ? "no host is named" : js_hosts_read(&o->hosts, value);
		return *why != NULL ? BAD_VALUE : 0;
	}
	if (strcmp(key, "port") == 0)
		return set_number_option(&o->port, value, 65535);
	if (strcmp(key, "connect_timeout") == 0)
		return set_number_option(&o->connect_timeout, value, 3600);
	if (strcmp(key, "ssl_mode") == 0)
		return set_ssl_mode(o, value) == 0 ? 0 : BAD_VALUE;
	if (strcmp(key, "ssl") == 0)
		set_ssl_switch(o, 0, is_true(value));
	else if (strcmp(key, "skip_ssl") == 0)
		set_ssl_switch(o, 0, 0);
	else if (strcmp(key, "ssl_verify_server_cert") == 0)
		set_ssl_switch(o, 1, is_true(value));
	else if (strcmp(key, "disable_ssl_verify_server_cert") == 0 || strcmp(key, "skip_ssl_verify_server_cert") == 0)
		set_ssl_switch(o, 1, 0);
	else
		return UNKNOWN_KEY;
	return 0;
}

static int group_of(const char *name)
{
	if (strcmp(name, "client") == 0 || strcmp(name, "client-server") == 0 || strcmp(name, "client-mariadb") == 0)
		return 1;
	return strcmp(name, "jobstack") == 0 ? 2 : 0;
}

/* Reads every *.cnf of a directory, as !includedir says. */
static int read_dir(struct reading *r, const char *path)
{
	struct dirent **list = NULL;
	int n = scandir(path, &list, NULL, alphasort), status = 0;

	if (n < 0)
		return js_error_set(r->error, JOBSTACK_EFILE, "the directory %s of option files can't be read: %s",
				    path, strerror(errno));
	for (int i = 0; i < n; i++) {
		size_t len = strlen(list[i]->d_name);
		struct js_buf file = {0};

		js_buf_printf(&file, "%s/%s", path, list[i]->d_name);
		if (status == 0 && len > 4 && strcmp(list[i]->d_name + len - 4, ".cnf") == 0)
			status = file.failed ? js_error_memory(r->error) : read_option_file(r, file.data);
		js_buf_free(&file);
		free(list[i]);
	}
	free(list);
	return status;
}

/* A fault of the present line. */
static int refuse_line(struct reading *r, const char *words)
{
	return js_error_set(r->error, JOBSTACK_EUSAGE, "%s, line %u: %s", r->path, r->line, words);
}

static int read_group(struct reading *r, char *line)
{
	char *end = strchr(line, ']');

	if (end == NULL)
		return refuse_line(r, "the group has no closing ]");
	*end = '\0';
	r->group = group_of(js_setting_trim(line + 1));
	return 0;
}

/* A line of the group that this pass takes. */
static int read_option(struct reading *r, char *line)
{
	char *value, *key = js_setting_split(line, &value);
	int loose = strncmp(key, "loose_", 6) == 0;
	const char *why = NULL;

	if (loose)
		key += 6;
	if (strcmp(key, "password") == 0 && value != NULL && *value != '\0')
		r->secret = 1;
	switch (set_named_option(r->option, key, value, &why)) {
	case 0: return 0;
	case BAD_VALUE:
		return js_error_set(r->error, JOBSTACK_EUSAGE, "%s, line %u: the value of %s is invalid%s%s", r->path,
				    r->line, key, why != NULL ? ": " : "", why != NULL ? why : "");
	case UNKNOWN_KEY:
		if (r->group != 2 || loose)
			return 0;
		/* its words are not repeated: they may be a password */
		return refuse_line(r, "the group [jobstack] takes only host, port, socket, user, password, database, "
				      "connect-timeout and the ssl-... keys");
	default: return js_error_memory(r->error);
	}
}

static int read_option_line(struct reading *r, char *line)
{
	line = js_setting_trim(line);
	if (*line == '\0' || *line == '#' || *line == ';')
		return 0;
	if (strncmp(line, "!includedir", 11) == 0 && strchr(" \t", line[11]) != NULL)
		return read_dir(r, js_setting_trim(line + 11));
	if (strncmp(line, "!include", 8) == 0 && strchr(" \t", line[8]) != NULL)
		return read_option_file(r, js_setting_trim(line + 8));
	if (*line == '[')
		return read_group(r, line);
	if (r->group < 0)
		return refuse_line(r, "it is in no group: write [client] above it");
	return r->group == r->pass ? read_option(r, line) : 0;
}

/* A file with a password is for its owner alone. */
static int check_mode(const char *path, struct jobstack_error *error)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 077) != 0)
		return js_error_set(
			error, JOBSTACK_EPERM,
			"the option file %s holds a password, and others can read it (mode %03o): run `chmod 600 %s`",
			path, (unsigned)(st.st_mode & 0777), path);
	return 0;
}

static int read_lines(struct reading *r, char *text)
{
	int status = 0;

	for (char *line = text, *next; status == 0 && line != NULL && *line != '\0'; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		r->line++;
		status = read_option_line(r, line);
	}
	return status == 0 && r->secret ? check_mode(r->path, r->error) : status;
}

static int read_option_file(struct reading *r, const char *path)
{
	struct reading file = {.option = r->option, .error = r->error, .path = path, .group = -1, .pass = r->pass};
	struct js_buf text = {0};
	int status;

	file.depth = r->depth + 1;
	if (file.depth > DEPTH_MAX)
		return js_error_set(r->error, JOBSTACK_EUSAGE, "%s: option files include each other more than 5 deep",
				    path);
	if (js_file_read(path, &text) != 0)
		status = js_error_set(r->error, errno == EACCES || errno == EPERM ? JOBSTACK_EPERM : JOBSTACK_EFILE,
				      "the option file %s can't be read: %s", path, strerror(errno));
	else if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL)
		status = js_error_set(r->error, JOBSTACK_EUSAGE, "%s is not an option file: it has NUL bytes", path);
	else
		status = read_lines(&file, text.data);
	js_buf_wipe(&text);
	return status;
}

/* A file without a directory in its name that is beside the option file: so that both can be copied together. */
static void find_beside(const char *path, char **file)
{
	const char *slash = strrchr(path, '/');
	char *beside;

	if (slash == NULL || *file == NULL || strchr(*file, '/') != NULL ||
	    asprintf(&beside, "%.*s/%s", (int)(slash - path), path, *file) < 0)
		return;
	if (access(beside, R_OK) == 0) {
		free(*file);
		*file = beside;
	} else
		free(beside);
}

int js_option_read(const char *path, struct js_option *option, struct jobstack_error *error)
{
	struct reading r = {.option = option, .error = error};
	int status = 0;

	/* two passes, so that [jobstack] wins wherever it is in the file */
	for (r.pass = 1; r.pass <= 2 && status == 0; r.pass++)
		status = read_option_file(&r, path);
	if (status == 0)
		find_beside(path, &option->ssl_ca);
	return status;
}

void js_option_free(struct js_option *option)
{
	int saved = errno;

	if (option->password != NULL)
		explicit_bzero(option->password, strlen(option->password));
	for (size_t i = 0; i < TEXTS; i++)
		free(*text_of(option, i));
	*option = (struct js_option){0};
	errno = saved;
}
