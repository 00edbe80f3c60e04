/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The option-file reader.  Promises: no value reaches an error message; a password that others can read is refused; the
 * file is read whole before anything of it counts.
 *
 * It is our own because libmysqlclient's readers tell nothing: not which line is wrong, not that a password lies open,
 * and they pass over a file that is missing.
 */
#define _GNU_SOURCE
#include "db/option.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define DEPTH_MAX 5

/* One reading, of a file and what it includes. */
struct reading {
	struct js_option *option;
	struct jobstack_error *error;
	int group; /* the present group: -1 none yet, 0 not ours, 1 [client]..., 2 [jobstack] */
	int pass;  /* the group that this pass takes */
	int depth;
	int secret; /* the present file itself has a password in it */
};

static int read_file(struct reading *r, const char *path);

static int set_text(char **to, const char *value)
{
	char *copy = strdup(value);

	if (copy == NULL)
		return -1;
	free(*to);
	*to = copy;
	return 0;
}

/* Takes backslash escapes and quotes off VALUE in place. */
static void unquote(char *value)
{
	size_t len = strlen(value);
	char quote = len >= 2 && (value[0] == '"' || value[0] == '\'') && value[len - 1] == value[0] ? value[0] : '\0';
	char *from = value, *to = value;
	static const char escape[] = "btnrs\\\"'", meaning[] = "\b\t\n\r \\\"'";

	if (quote != '\0') {
		value[len - 1] = '\0';
		from++;
	}
	for (; *from != '\0'; from++) {
		const char *e = *from == '\\' && from[1] != '\0' ? strchr(escape, from[1]) : NULL;

		if (e != NULL)
			from++;
		*to++ = e != NULL ? meaning[e - escape] : *from;
	}
	*to = '\0';
}

static int is_true(const char *value)
{
	return value == NULL || strcasecmp(value, "1") == 0 || strcasecmp(value, "on") == 0 ||
	       strcasecmp(value, "true") == 0 || *value == '\0';
}

static int set_mode(struct js_option *o, const char *value)
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
static void set_switch(struct js_option *o, int verify, int on)
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

/* Takes one KEY (dashes as underscores; with its value, or NULL).  Returns 0, 1 for a value that makes no sense (*WHY
 * may say more), 2 for a key that is none of ours, -1 without memory. */
static int take(struct js_option *o, const char *key, const char *value, const char **why)
{
	struct {
		const char *key;
		char **to;
	} const texts[] = {{"socket", &o->socket},     {"user", &o->user},	{"password", &o->password},
			   {"database", &o->database}, {"ssl_ca", &o->ssl_ca},	{"ssl_capath", &o->ssl_capath},
			   {"ssl_cert", &o->ssl_cert}, {"ssl_key", &o->ssl_key}};
	uint64_t n;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(key, texts[i].key) == 0)
			return value == NULL ? 1 : set_text(texts[i].to, value);
	if (strcmp(key, "host") == 0) {
		*why = value == NULL ? "no host is named" : js_hosts_read(&o->hosts, value);
		return *why != NULL;
	}
	if (strcmp(key, "port") == 0) {
		if (js_num_u64(value, 1, 65535, &n) != 0)
			return 1;
		o->port = (unsigned)n;
	} else if (strcmp(key, "connect_timeout") == 0) {
		if (js_num_u64(value, 1, 3600, &n) != 0)
			return 1;
		o->connect_timeout = (unsigned)n;
	} else if (strcmp(key, "ssl_mode") == 0)
		return set_mode(o, value) == 0 ? 0 : 1;
	else if (strcmp(key, "ssl") == 0)
		set_switch(o, 0, is_true(value));
	else if (strcmp(key, "skip_ssl") == 0)
		set_switch(o, 0, 0);
	else if (strcmp(key, "ssl_verify_server_cert") == 0)
		set_switch(o, 1, is_true(value));
	else if (strcmp(key, "disable_ssl_verify_server_cert") == 0 || strcmp(key, "skip_ssl_verify_server_cert") == 0)
		set_switch(o, 1, 0);
	else
		return 2;
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
		return js_error_set(r->error, JOBSTACK_EFILE, "the directory %s of option files: %s", path,
				    strerror(errno));
	for (int i = 0; i < n; i++) {
		size_t len = strlen(list[i]->d_name);
		struct js_buf file = {0};

		js_buf_printf(&file, "%s/%s", path, list[i]->d_name);
		if (status == 0 && len > 4 && strcmp(list[i]->d_name + len - 4, ".cnf") == 0)
			status = file.failed ? js_error_memory(r->error) : read_file(r, file.data);
		js_buf_free(&file);
		free(list[i]);
	}
	free(list);
	return status;
}

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	for (len = strlen(text); len > 0 && strchr(" \t\r", text[len - 1]) != NULL; len--)
		text[len - 1] = '\0';
	return text;
}

/* Cuts a comment off the end of a value: a '#' outside quotes.  As in MySQL's own readers, a backslash means something
 * to this inside quotes only. */
static void cut_comment(char *value)
{
	char quote = '\0';
	int escaped = 0;

	for (; *value != '\0'; value++) {
		if ((*value == '"' || *value == '\'') && !escaped)
			quote = quote == '\0' ? *value : quote == *value ? '\0' : quote;
		if (quote == '\0' && *value == '#') {
			*value = '\0';
			return;
		}
		escaped = quote != '\0' && *value == '\\' && !escaped;
	}
}

static int read_line(struct reading *r, const char *path, unsigned number, char *line)
{
	const char *why = NULL;
	char *value, *end;
	int status, loose;

	line = trim(line);
	if (*line == '\0' || *line == '#' || *line == ';')
		return 0;
	if (strncmp(line, "!includedir", 11) == 0 && strchr(" \t", line[11]) != NULL)
		return read_dir(r, trim(line + 11));
	if (strncmp(line, "!include", 8) == 0 && strchr(" \t", line[8]) != NULL)
		return read_file(r, trim(line + 8));
	if (*line == '[') {
		end = strchr(line, ']');
		if (end == NULL)
			return js_error_set(r->error, JOBSTACK_EUSAGE, "%s, line %u: a group without its ]", path,
					    number);
		*end = '\0';
		r->group = group_of(trim(line + 1));
		return 0;
	}
	if (r->group < 0)
		return js_error_set(r->error, JOBSTACK_EUSAGE,
				    "%s, line %u: it stands in no group: [client] has to come before it", path, number);
	if (r->group != r->pass)
		return 0;
	value = strchr(line, '=');
	if (value != NULL) {
		*value++ = '\0';
		cut_comment(value);
		value = trim(value);
		unquote(value);
	}
	line = trim(line);
	loose = strncmp(line, "loose", 5) == 0 && (line[5] == '-' || line[5] == '_');
	if (loose)
		line += 6;
	for (char *p = line; *p != '\0'; p++)
		if (*p == '-')
			*p = '_';
	if (strcmp(line, "password") == 0 && value != NULL && *value != '\0')
		r->secret = 1;
	status = take(r->option, line, value, &why);
	if (status == 1)
		js_error_set(r->error, JOBSTACK_EUSAGE, "%s, line %u: the value of %s makes no sense%s%s", path, number,
			     line, why != NULL ? ": " : "", why != NULL ? why : "");
	if (status == 2 && r->group == 2 && !loose) /* its words are not repeated: they may be a password */
		return js_error_set(r->error, JOBSTACK_EUSAGE,
				    "%s, line %u: [jobstack] takes host, port, socket, user, password, database, "
				    "connect-timeout and the ssl-... keys alone",
				    path, number);
	return status == 1 ? JOBSTACK_EUSAGE : status < 0 ? js_error_memory(r->error) : 0;
}

/* A file with a password is for its owner alone (and root, who may keep one for a group of root's). */
static int check_mode(const char *path, struct jobstack_error *error)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 077) != 0)
		return js_error_set(error, JOBSTACK_EPERM,
				    "the option file %s holds a password and others may read it (mode %03o): "
				    "chmod 600 it",
				    path, (unsigned)(st.st_mode & 0777));
	return 0;
}

static int read_file(struct reading *r, const char *path)
{
	struct js_buf text = {0};
	char *line, *next;
	unsigned number = 0;
	int status = 0, group = r->group, secret = r->secret;

	if (++r->depth > DEPTH_MAX) {
		status =
			js_error_set(r->error, JOBSTACK_EUSAGE, "%s: option files include each other too deeply", path);
		goto out;
	}
	if (js_file_read(path, &text) != 0) {
		status = js_error_set(r->error, errno == EACCES || errno == EPERM ? JOBSTACK_EPERM : JOBSTACK_EFILE,
				      "the option file %s can't be read: %s", path, strerror(errno));
		goto out;
	}
	if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL) {
		status = js_error_set(r->error, JOBSTACK_EUSAGE, "%s is not an option file: it has NUL bytes", path);
		goto out;
	}
	r->group = -1;
	r->secret = 0;
	for (line = text.data; status == 0 && line != NULL && *line != '\0'; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		status = read_line(r, path, ++number, line);
	}
	if (status == 0 && r->secret)
		status = check_mode(path, r->error);
out:
	r->depth--;
	r->group = group;   /* the including file goes on in its own, */
	r->secret = secret; /* and answers for its own passwords only */
	if (text.data != NULL)
		explicit_bzero(text.data, text.len);
	js_buf_free(&text);
	return status;
}

int js_option_read(const char *path, struct js_option *option, struct jobstack_error *error)
{
	struct reading r = {.option = option, .error = error};
	int status = 0;

	/* two passes, so that [jobstack] wins wherever it stands */
	for (r.pass = 1; r.pass <= 2 && status == 0; r.pass++)
		status = read_file(&r, path);
	return status;
}

void js_option_free(struct js_option *option)
{
	int saved = errno;

	if (option->password != NULL)
		explicit_bzero(option->password, strlen(option->password));
	free(option->socket);
	free(option->user);
	free(option->password);
	free(option->database);
	free(option->ssl_ca);
	free(option->ssl_capath);
	free(option->ssl_cert);
	free(option->ssl_key);
	*option = (struct js_option){0};
	errno = saved;
}
