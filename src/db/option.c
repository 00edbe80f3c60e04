/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What option files say of the connection.  Promises: no value reaches an error message; a password that others can
 * read is refused.
 *
 * The reader is our own because the client library's would give the password to the connector (see db/login.h), and
 * reports neither which line is wrong nor that others can read a password, nor that the file is missing.
 */
#include "db/option.h"

#include "base/buf.h"
#include "base/error.h"
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
	int pass; /* the group that this pass takes: 1 [client]..., 2 [jobstack] */
	int depth;
	int secret; /* this file itself has a password in it */
};

enum { BAD_VALUE = 1, UNKNOWN_KEY };

static int read_option_file(const struct reading *r, const char *path, struct jobstack_error *error);

/* A later value replaces an earlier one, as in the client library. */
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

/* Sets one KEY (dashes as underscores; with its value, or NULL).  Returns 0, BAD_VALUE (*WHY may say more),
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

/* The pass that takes a group; 0: none. */
static int group_of(const char *name)
{
	if (strcmp(name, "client") == 0 || strcmp(name, "client-server") == 0 || strcmp(name, "client-mariadb") == 0)
		return 1;
	return strcmp(name, "jobstack") == 0 ? 2 : 0;
}

/* Reads every *.cnf of a directory, as !includedir says. */
static int read_dir(const struct reading *r, const char *path, struct jobstack_error *error)
{
	struct dirent **list = NULL;
	int n = scandir(path, &list, NULL, alphasort), status = 0;

	if (n < 0)
		return js_error_file(error, "the directory %s of option files can't be read", path);
	for (int i = 0; i < n; i++) {
		size_t len = strlen(list[i]->d_name);
		struct js_buf file = {0};

		js_buf_printf(&file, "%s/%s", path, list[i]->d_name);
		if (status == 0 && len > 4 && strcmp(list[i]->d_name + len - 4, ".cnf") == 0)
			status = file.failed ? js_error_memory(error) : read_option_file(r, file.data, error);
		js_buf_free(&file);
		free(list[i]);
	}
	free(list);
	return status;
}

/* A js_setting_fn. */
static int take_option(void *ctx, const struct js_setting *s, struct jobstack_error *error)
{
	struct reading *r = ctx;
	const char *key = s->key, *why = NULL;
	int loose = strncmp(key, "loose_", 6) == 0;

	if (strncmp(key, "!includedir", 11) == 0 && strchr(" \t", key[11]) != NULL)
		return read_dir(r, js_setting_trim(s->key + 11), error);
	if (strncmp(key, "!include", 8) == 0 && strchr(" \t", key[8]) != NULL)
		return read_option_file(r, js_setting_trim(s->key + 8), error);
	if (s->group == NULL || group_of(s->group) != r->pass)
		return 0;
	if (loose)
		key += 6;
	if (strcmp(key, "password") == 0 && s->value != NULL && *s->value != '\0')
		r->secret = 1;
	switch (set_named_option(r->option, key, s->value, &why)) {
	case 0: return 0;
	case BAD_VALUE:
		return js_error_set(error, JOBSTACK_EUSAGE, "%s, line %u: the value of %s is invalid%s%s", s->path,
				    s->line, key, why != NULL ? ": " : "", why != NULL ? why : "");
	case UNKNOWN_KEY:
		if (r->pass != 2 || loose)
			return 0;
		/* its words are not repeated: they may be a password */
		return js_setting_refuse(s, error,
					 "the group [jobstack] takes only host, port, socket, user, password, "
					 "database, connect-timeout and the ssl-... keys");
	default: return js_error_memory(error);
	}
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

/* An included file has its own mode: what matters is whether a password is in that very file. */
static int read_option_file(const struct reading *r, const char *path, struct jobstack_error *error)
{
	struct reading file = {.option = r->option, .pass = r->pass, .depth = r->depth + 1};

	if (file.depth > DEPTH_MAX)
		return js_error_set(error, JOBSTACK_EUSAGE, "%s: option files include each other more than 5 deep",
				    path);
	JS_TRY(error == NULL ? 0 : error->code); /* after an error nothing more is included */
	JS_TRY(js_setting_read(path, "client", take_option, &file, error));
	return file.secret ? check_mode(path, error) : 0;
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
	struct reading r = {.option = option};
	int status = 0;

	/* two passes, so that [jobstack] wins wherever it is in the file */
	for (r.pass = 1; r.pass <= 2 && status == 0; r.pass++)
		status = read_option_file(&r, path, error);
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
