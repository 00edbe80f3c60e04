/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Making a connection.  Promises: the option file is read anew each time, so a server that moved is found again; no
 * auto-reconnect; TLS whenever the server offers it, and no connection without it, or with a wrong certificate, when the
 * file asks for that; the first connection is tried once, a later one with jittered back-off.
 */
#define _GNU_SOURCE
#include "db/connect.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "db/option.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DATABASE "jobstack"
#define CONNECT_TIMEOUT_S 10
#define READ_TIMEOUT_S 30 /* no statement of ours takes so long; a host that lost power is noticed */

/* What every session is set to.  READ COMMITTED: no gap locks, and no conflict with MariaDB's snapshot isolation.  The group
 * length serves lists of entries.  TIME_ZONE so that nothing depends on the server's. */
static const char session[] =
	"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
	"SET SESSION autocommit=1,completion_type=0,innodb_lock_wait_timeout=3,wait_timeout=600,time_zone='+00:00',"
	"group_concat_max_len=1000000,sql_mode='STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';"
	"SELECT UTC_TIMESTAMP(6)";

uint64_t js_db_jitter(struct js_db *db)
{
	db->jitter ^= db->jitter << 13;
	db->jitter ^= db->jitter >> 7;
	db->jitter ^= db->jitter << 17;
	return db->jitter;
}

/* The two connectors ask for TLS in different words. */
static void set_tls(MYSQL *my, const struct js_option *o, enum js_tls tls)
{
	int verify = tls >= JS_TLS_VERIFY_CA;

#if defined(MARIADB_BASE_VERSION) || defined(MARIADB_PACKAGE_VERSION)
	my_bool use = tls != JS_TLS_OFF, check = (my_bool)verify;

	if (use)
		(void)mysql_ssl_set(my, o->ssl_key, o->ssl_cert, o->ssl_ca, o->ssl_capath, NULL);
	/* "enforce" it is called, but without a certificate to verify it only means "if the server offers it" */
	(void)mysql_optionsv(my, MYSQL_OPT_SSL_ENFORCE, &use);
	(void)mysql_optionsv(my, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &check);
#else
	static const enum mysql_ssl_mode mode[] = {SSL_MODE_PREFERRED, SSL_MODE_DISABLED, SSL_MODE_REQUIRED,
						   SSL_MODE_VERIFY_CA, SSL_MODE_VERIFY_IDENTITY};
	unsigned m = (unsigned)mode[tls];

	(void)verify;
	(void)mysql_options(my, MYSQL_OPT_SSL_KEY, o->ssl_key);
	(void)mysql_options(my, MYSQL_OPT_SSL_CERT, o->ssl_cert);
	(void)mysql_options(my, MYSQL_OPT_SSL_CA, o->ssl_ca);
	(void)mysql_options(my, MYSQL_OPT_SSL_CAPATH, o->ssl_capath);
	(void)mysql_options(my, MYSQL_OPT_SSL_MODE, &m);
#endif
}

/* Lays the handle's own options over what the file said. */
static int overlay(const struct js_db *db, struct js_option *o, struct jobstack_error *error)
{
	const struct {
		const char *from;
		char **to;
	} text[] = {{db->host, &o->host}, {db->socket, &o->socket}, {db->user, &o->user},
		    {db->password, &o->password}, {db->database, &o->database}};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		if (text[i].from == NULL)
			continue;
		free(*text[i].to);
		*text[i].to = strdup(text[i].from);
		if (*text[i].to == NULL)
			return js_error_memory(error);
	}
	if (db->port != 0)
		o->port = db->port;
	return 0;
}

static void note_where(struct js_db *db, const struct js_option *o)
{
	const char *database = o->database != NULL ? o->database : DEFAULT_DATABASE;
	const char *user = o->user != NULL ? o->user : "(you)";

	(void)snprintf(db->name, sizeof(db->name), "%s", database);
	if (o->socket != NULL && (o->host == NULL || strcmp(o->host, "localhost") == 0))
		(void)snprintf(db->where, sizeof(db->where), "%.60s@%.150s/%.60s", user, o->socket, database);
	else
		(void)snprintf(db->where, sizeof(db->where), "%.60s@%.150s:%u/%.60s", user,
			       o->host != NULL ? o->host : "localhost", o->port != 0 ? o->port : 3306, database);
}

static int socket_of(MYSQL *my)
{
#if defined(MARIADB_BASE_VERSION) || defined(MARIADB_PACKAGE_VERSION)
	return (int)mysql_get_socket(my);
#else
	return (int)my->net.fd;
#endif
}

/* One try.  *NUMBER is the error's number. */
static MYSQL *attempt(struct js_db *db, const struct js_option *o, enum js_tls tls, unsigned *number)
{
	unsigned connect_timeout = o->connect_timeout != 0 ? o->connect_timeout : CONNECT_TIMEOUT_S;
	unsigned read_timeout = READ_TIMEOUT_S;
	unsigned long flags = CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS;
	MYSQL *my = mysql_init(NULL);

	*number = 0;
	if (my == NULL)
		return NULL;
	(void)mysql_options(my, MYSQL_OPT_CONNECT_TIMEOUT, &connect_timeout);
	(void)mysql_options(my, MYSQL_OPT_READ_TIMEOUT, &read_timeout);
	(void)mysql_options(my, MYSQL_OPT_WRITE_TIMEOUT, &read_timeout);
	(void)mysql_options(my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	set_tls(my, o, tls);
	/* the connector takes the file system socket for "localhost"; a port asks for TCP */
	if (mysql_real_connect(my, o->host == NULL && o->port != 0 ? "127.0.0.1" : o->host, o->user, o->password,
			       db->no_database ? NULL : db->name, o->port, o->socket, flags) != NULL) {
		(void)fcntl(socket_of(my), F_SETFD, FD_CLOEXEC); /* no command may inherit it */
		if (tls < JS_TLS_REQUIRED || mysql_get_ssl_cipher(my) != NULL)
			return my;
		*number = 2026;
		(void)snprintf(db->last_error, sizeof(db->last_error), "TLS is required, but the server does not offer it");
	} else {
		*number = mysql_errno(my);
		(void)snprintf(db->last_error, sizeof(db->last_error), "%s", mysql_error(my));
	}
	mysql_close(my);
	return NULL;
}

/* Sets the session up and reads the server's clock. */
static unsigned set_up(struct js_db *db, MYSQL *my)
{
	MYSQL_RES *result;
	MYSQL_ROW row;
	int64_t sent = js_clock_mono_us();
	int more = 0;

	if (mysql_real_query(my, session, sizeof(session) - 1) != 0)
		return mysql_errno(my);
	do {
		result = mysql_store_result(my);
		if (result == NULL) {
			if (mysql_errno(my) != 0)
				return mysql_errno(my);
			continue;
		}
		row = mysql_fetch_row(result);
		if (row != NULL && row[0] != NULL) {
			db->wall_us = js_clock_parse(row[0]);
			db->mono_us = sent + (js_clock_mono_us() - sent) / 2;
		}
		mysql_free_result(result);
	} while ((more = mysql_next_result(my)) == 0);
	return more > 0 ? mysql_errno(my) : 0;
}

/* Reads the options and tries once. */
static int connect_once(struct js_db *db, unsigned *number, struct jobstack_error *error)
{
	struct js_option o = {0};
	MYSQL *my;
	int status = 0;

	*number = 0;
	if (db->defaults_file != NULL)
		status = js_option_read(db->defaults_file, &o, error);
	if (status == 0)
		status = overlay(db, &o, error);
	if (status != 0)
		goto out;
	if (o.ssl_ca != NULL && !o.tls_said) /* who names a CA wants it looked at */
		o.tls = JS_TLS_VERIFY_CA;
	note_where(db, &o);
	my = attempt(db, &o, o.tls, number);
	if (my == NULL && o.tls == JS_TLS_PREFERRED && *number == 2026) /* the server offers none */
		my = attempt(db, &o, JS_TLS_OFF, number);
	if (my != NULL && (*number = set_up(db, my)) != 0) {
		(void)snprintf(db->last_error, sizeof(db->last_error), "%s", mysql_error(my));
		mysql_close(my);
		my = NULL;
	}
	db->my = my;
	if (my == NULL)
		status = js_db_failure(*number, db->last_error, db->where, error);
out:
	js_option_free(&o);
	return status;
}

int js_db_connect(struct js_db *db, int64_t until, struct jobstack_error *error)
{
	int64_t wait_us = 50000, left;
	struct jobstack_error now;
	unsigned number;
	int status, told = 0;

	for (;;) {
		js_error_clear(&now);
		status = connect_once(db, &number, &now);
		db->last_errno = number;
		if (status == 0)
			break;
		left = until - js_clock_mono_us();
		/* a file that is being replaced, a server that is away: only these may mend themselves */
		if (!db->ever || left <= 0 || !(js_db_is_gone(number) || now.code == JOBSTACK_EFILE))
			goto fail;
		if (!told++)
			js_log(&db->log, JOBSTACK_LOG_WARNING, "%s; trying again for %lld s", now.text,
			       (long long)(left / JS_SECOND_US));
		js_clock_nap(wait_us / 2 + (int64_t)(js_db_jitter(db) % (uint64_t)wait_us), db->stop);
		if (db->stop != NULL && *db->stop != 0) {
			js_error_clear(&now);
			status = js_error_set(&now, JOBSTACK_ESTOPPED, "stopped while the database %s was away",
					      db->where);
			goto fail;
		}
		if (wait_us < 2 * JS_SECOND_US)
			wait_us *= 2;
	}
	if (told)
		js_log(&db->log, JOBSTACK_LOG_WARNING, "the database %s is back", db->where);
	db->ever = 1;
	return 0;

fail:
	if (error != NULL && error->code == 0)
		*error = now;
	return status;
}

static int copy_text(char **to, const char *from)
{
	*to = from == NULL ? NULL : strdup(from);
	return from != NULL && *to == NULL ? -1 : 0;
}

/* The connector's own start is not safe in two threads at once. */
static void start_connector(void)
{
	(void)mysql_library_init(0, NULL, NULL);
}

int js_db_open(struct js_db **out, const struct jobstack_options *options, struct jobstack_error *error)
{
	static const struct jobstack_options none = JOBSTACK_OPTIONS_INIT;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct js_db *db = calloc(1, sizeof(*db));
	int status;

	*out = NULL;
	(void)pthread_once(&once, start_connector);
	if (options == NULL)
		options = &none;
	if (db == NULL)
		return js_error_memory(error);
	if (options->size != sizeof(*options)) {
		status = js_error_set(error, JOBSTACK_EUSAGE, "jobstack_options.size is not that of this library");
		goto fail;
	}
	db->log = (struct js_log){options->log, options->log_ctx};
	db->patience_us = options->patience_us;
	db->stop = options->stop;
	db->port = options->port;
	js_file_random(&db->jitter, sizeof(db->jitter));
	db->jitter |= 1;
	if (copy_text(&db->defaults_file, options->defaults_file) != 0 || copy_text(&db->host, options->host) != 0 ||
	    copy_text(&db->socket, options->socket) != 0 || copy_text(&db->user, options->user) != 0 ||
	    copy_text(&db->password, options->password) != 0 || copy_text(&db->database, options->database) != 0) {
		status = js_error_memory(error);
		goto fail;
	}
	status = js_db_connect(db, 0, error);
	if (status == JOBSTACK_ESCHEMA && db->last_errno == 1049) {
		/* the database itself is missing: `init` creates it, everything else will say so */
		js_error_clear(error);
		db->no_database = 1;
		status = js_db_connect(db, 0, error);
	}
	if (status != 0)
		goto fail;
	*out = db;
	return 0;

fail:
	js_db_free(db);
	return status;
}

void js_db_rest(struct js_db *db)
{
	if (db->my != NULL)
		mysql_close(db->my);
	db->my = NULL;
}

void js_db_free(struct js_db *db)
{
	int saved = errno;

	if (db == NULL)
		return;
	js_db_rest(db);
	if (db->password != NULL)
		explicit_bzero(db->password, strlen(db->password));
	free(db->defaults_file);
	free(db->host);
	free(db->socket);
	free(db->user);
	free(db->password);
	free(db->database);
	free(db);
	errno = saved;
}

void js_db_describe(struct js_db *db, char *text, size_t size)
{
	const char *cipher = db->my == NULL ? NULL : mysql_get_ssl_cipher(db->my);

	(void)snprintf(text, size, "%s, %s%s", db->where, cipher != NULL ? "TLS " : "no TLS", cipher != NULL ? cipher : "");
}

int js_db_create(struct js_db *db, int *created, struct jobstack_error *error)
{
	char statement[600], *p = statement;
	int status;

	*created = 0;
	if (!db->no_database)
		return 0;
	/* a name can't be a hex literal; as an identifier in backticks only a backtick means anything */
	p += sprintf(p, "CREATE DATABASE IF NOT EXISTS `");
	for (const char *c = db->name; *c != '\0'; c++) {
		if (*c == '`')
			*p++ = '`';
		*p++ = *c;
	}
	*p++ = '`';
	*p = '\0';
	status = js_db_schema(db, statement, strlen(statement), error);
	if (status != 0)
		return status;
	*created = 1;
	db->no_database = 0;
	js_db_rest(db);
	return js_db_connect(db, 0, error);
}
