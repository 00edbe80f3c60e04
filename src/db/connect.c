/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Making a connection.  Promises: the option file is read at each try, so a server that moved is found again; no
 * auto-reconnect; no server gets a local file; TLS whenever the server offers it, and no connection without it when it
 * has failed, or when the file asks for it (login.c decides who gets the password); several hosts are tried in turn,
 * and read-only ones are skipped; the first connection is tried once (but a crowd is waited for) unless the options say
 * more, a later one with jittered back-off.
 */
#include "db/connect.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "db/fault.h"
#include "db/login.h"
#include "db/option.h"
#include "db/session.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define DEFAULT_DATABASE "jobstack"
#define CONNECT_TIMEOUT_S 10
#define ROUND_S 20 /* several hosts share so much */
#define WAIT_FIRST_US (JS_SECOND_US / 20)
#define WAIT_MOST_US (2 * JS_SECOND_US)
#define CROWD_FIRST_US (JS_SECOND_US / 5) /* all connections are taken */
#define CROWD_MOST_US (4 * JS_SECOND_US)
#define SWAMPED_US (30 * JS_SECOND_US)
/* Longer than any of our statements takes (searches are split), and short enough to notice a host that lost power. */
#define READ_TIMEOUT_S 30

/* The two connectors ask for TLS in different words. */
static void set_tls(MYSQL *my, const struct js_option *o)
{
	int verify = o->tls >= JS_TLS_VERIFY_CA;

#if defined(MARIADB_BASE_VERSION) || defined(MARIADB_PACKAGE_VERSION)
	my_bool use = o->tls != JS_TLS_OFF, check = (my_bool)verify;

	if (use)
		(void)mysql_ssl_set(my, o->ssl_key, o->ssl_cert, o->ssl_ca, o->ssl_capath, NULL);
	/* "enforce" it is called, but without a certificate to verify it only means "if the server offers it": login.c
	 * asks */
	(void)mysql_optionsv(my, MYSQL_OPT_SSL_ENFORCE, &use);
	(void)mysql_optionsv(my, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &check);
#else
	static const enum mysql_ssl_mode mode[] = {SSL_MODE_PREFERRED, SSL_MODE_DISABLED, SSL_MODE_REQUIRED,
						   SSL_MODE_VERIFY_CA, SSL_MODE_VERIFY_IDENTITY};
	unsigned m = (unsigned)mode[o->tls];

	(void)verify;
	(void)mysql_options(my, MYSQL_OPT_SSL_KEY, o->ssl_key);
	(void)mysql_options(my, MYSQL_OPT_SSL_CERT, o->ssl_cert);
	(void)mysql_options(my, MYSQL_OPT_SSL_CA, o->ssl_ca);
	(void)mysql_options(my, MYSQL_OPT_SSL_CAPATH, o->ssl_capath);
	(void)mysql_options(my, MYSQL_OPT_SSL_MODE, &m);
#endif
}

/* Lays the handle's own options over what the file said. */
static int apply_own_options(const struct js_db *db, struct js_option *o, struct jobstack_error *error)
{
	const struct {
		const char *from;
		char **to;
	} text[] = {{db->socket, &o->socket},
		    {db->user, &o->user},
		    {db->password, &o->password},
		    {db->database, &o->database}};
	const char *why = db->host == NULL ? NULL : js_hosts_read(&o->hosts, db->host);

	if (why != NULL)
		return js_error_why(error, JOBSTACK_EUSAGE, JOBSTACK_WHY_OPTION, "the given host is invalid: %s", why);
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		if (text[i].from == NULL)
			continue;
		free(*text[i].to);
		*text[i].to = strdup(text[i].from);
		if (*text[i].to == NULL)
			return js_error_memory(error);
	}
	if (db->port == 0)
		return 0;
	o->port = db->port;
	for (unsigned i = 0; db->host == NULL && i < o->hosts.n; i++) /* it wins over what the file said */
		o->hosts.at[i].port = 0;
	return 0;
}

/* HOST as people know it: a socket's path, or a name and a port. */
static void name_host(const struct js_option *o, const struct js_host *host, char *text, size_t size)
{
	const char *name = host->name[0] != '\0' ? host->name : "localhost";
	unsigned port = host->port != 0 ? host->port : o->port != 0 ? o->port : 3306;
	int v6 = strchr(name, ':') != NULL;

	if (o->socket != NULL && host->port == 0 && strcmp(name, "localhost") == 0)
		(void)snprintf(text, size, "%s", o->socket);
	else
		(void)snprintf(text, size, "%s%.*s%s:%u", v6 ? "[" : "", (int)size - 16, name, v6 ? "]" : "", port);
}

/* Notes where we are connected; HOST NULL: nowhere, all were tried. */
static void note_where(struct js_db *db, const struct js_option *o, const struct js_host *host)
{
	char names[250] = "", one[150];
	size_t used = 0;

	for (unsigned i = 0; i < (host != NULL ? 1 : o->hosts.n) && used < sizeof(names); i++) {
		name_host(o, host != NULL ? host : &o->hosts.at[i], one, sizeof(one));
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? "," : "", one);
	}
	(void)snprintf(db->where, sizeof(db->where), "%.60s@%s/%.60s", o->user != NULL ? o->user : "(you)", names,
		       db->name);
}

/* The descriptor of the connection. */
static int socket_of(MYSQL *my)
{
#if defined(MARIADB_BASE_VERSION) || defined(MARIADB_PACKAGE_VERSION)
	return (int)mysql_get_socket(my);
#else
	return (int)my->net.fd;
#endif
}

/* How long one host may take to answer.  Several share the time, so that a round over all of them has an end, too. */
static unsigned connect_seconds(const struct js_option *o)
{
	unsigned share = o->hosts.n > 1 ? ROUND_S / o->hosts.n : CONNECT_TIMEOUT_S;

	if (o->connect_timeout != 0)
		return o->connect_timeout;
	return o->hosts.n <= 1 ? share : share > 5 ? 5 : share < 3 ? 3 : share;
}

/* The number of the error that kept MY from connecting, BY_CONNECTOR as it has it.  A server without a free connection
 * says so before TLS begins. MariaDB's connector turns that unencrypted message into error 2002, with the number in
 * its text. We trust it only as far as to wait. */
static unsigned clear_number(MYSQL *my, unsigned by_connector)
{
	static const char mark[] = "cannot be verified: ";
	const char *text = strstr(mysql_error(my), mark);
	unsigned long number = text != NULL ? strtoul(text + sizeof(mark) - 1, NULL, 10) : 0;

	return number > 0 && number < 10000 && js_fault_is_away((unsigned)number) ? (unsigned)number : by_connector;
}

/* Makes the kernel send probes, so that no firewall drops an idle connection, and we learn within two minutes that it
 * is dead: 60 s and four times 15 s. */
static void set_keepalive(int fd)
{
	static const int on = 1, idle_s = 60, every_s = 15, times = 4;

	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)); /* a local socket has none */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

/* One try.  *NUMBER is the error's number. */
static MYSQL *login_once(struct js_db *db, const struct js_option *o, const struct js_host *host, unsigned *number)
{
	unsigned connect_timeout = connect_seconds(o), read_timeout = READ_TIMEOUT_S, tcp = MYSQL_PROTOCOL_TCP;
	const struct js_login login = {.host = host->name[0] != '\0' ? host->name
					       : o->port != 0	     ? "127.0.0.1"
								     : NULL,
				       .user = o->user,
				       .password = o->password,
				       .database = db->no_database ? NULL : db->name,
				       .socket = o->socket,
				       .port = host->port != 0 ? host->port : o->port,
				       .flags = CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS,
				       .required = o->tls >= JS_TLS_REQUIRED,
				       .verifies = o->tls >= JS_TLS_VERIFY_CA &&
						   (o->ssl_ca != NULL || o->ssl_capath != NULL)};
	MYSQL *my = mysql_init(NULL);

	*number = 2008; /* no memory */
	(void)snprintf(db->last_error, sizeof(db->last_error), "no memory for a connection");
	if (my == NULL)
		return NULL;
	(void)mysql_options(my, MYSQL_OPT_CONNECT_TIMEOUT, &connect_timeout);
	(void)mysql_options(my, MYSQL_OPT_READ_TIMEOUT, &read_timeout);
	(void)mysql_options(my, MYSQL_OPT_WRITE_TIMEOUT, &read_timeout);
	(void)mysql_options(my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	js_infile_attach(my, &db->infile, db->loads);
	set_tls(my, o);
	/* the connector takes the file system socket for "localhost"; a port asks for TCP */
	if (host->port != 0)
		(void)mysql_options(my, MYSQL_OPT_PROTOCOL, &tcp);
	*number = js_login(my, &login);
	if (*number == 0) {
		(void)fcntl(socket_of(my), F_SETFD, FD_CLOEXEC); /* no command may inherit it */
		set_keepalive(socket_of(my));
		return my;
	}
	*number = clear_number(my, *number);
	(void)snprintf(db->last_error, sizeof(db->last_error), "%s", mysql_error(my));
	mysql_close(my);
	return NULL;
}

static int is_crowd(unsigned number)
{
	return js_fault_of(number) == JS_FAULT_CROWD;
}

/* One try with one host; empty: none was named.  NULL, with *NUMBER and db->last_error, if it fails, or if the server
 * is one that the session can't use (js_session_begin: a read-only one). */
static MYSQL *connect_to(struct js_db *db, const struct js_option *o, const struct js_host *host, unsigned *number)
{
	MYSQL *my = login_once(db, o, host, number);

	if (my != NULL && (*number = js_session_begin(db, my)) != 0) {
		mysql_close(my);
		my = NULL;
	}
	if (is_crowd(*number))
		db->crowded_us = js_clock_mono_us() + JS_SESSION_CROWDED_US;
	return my;
}

/* Of the errors of several hosts, the one with the highest weight is reported for all: an error that may go away
 * without a person comes first. */
static int error_weight(unsigned number)
{
	return is_crowd(number) ? 3 : js_fault_is_away(number) ? 2 : 1;
}

/* Tries the hosts in turn, from the one that worked last.  *NUMBER becomes the error that is reported for all, and
 * db->last_error the words of each. */
static MYSQL *connect_round(struct js_db *db, const struct js_option *o, unsigned *number)
{
	unsigned n = o->hosts.n, first = js_hosts_find(&o->hosts, &db->last), one;
	size_t each = n == 0 ? 0 : sizeof(db->last_error) / n - 4, used = 0;
	char all[sizeof(db->last_error)] = "", name[100];
	static const struct js_host none;
	MYSQL *my = NULL;

	*number = 0;
	for (unsigned i = 0; i < (n == 0 ? 1 : n); i++) {
		const struct js_host *host = n == 0 ? &none : &o->hosts.at[(first + i) % n];

		if (i > 0 && js_db_is_stopped(db))
			break;
		my = connect_to(db, o, host, &one);
		if (my != NULL) {
			*number = 0;
			db->last = *host;
			note_where(db, o, host);
			return my;
		}
		if (*number == 0 || error_weight(one) > error_weight(*number))
			*number = one;
		name_host(o, host, name, sizeof(name));
		if (n > 1) /* each host gets its share of the text, so that the last one is named too */
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%.*s: %.*s", i > 0 ? "; " : "",
						 (int)(each / 2), name, (int)(each / 2), db->last_error);
	}
	if (n > 1)
		memcpy(db->last_error, all, sizeof(all));
	note_where(db, o, n > 1 ? NULL : n == 0 ? &none : &o->hosts.at[0]);
	return NULL;
}

/* Reads the options and tries each host once. */
static int connect_once(struct js_db *db, unsigned *number, struct jobstack_error *error)
{
	struct js_option o = {0};
	int status = 0;

	*number = 0;
	if (db->defaults_file != NULL)
		status = js_option_read(db->defaults_file, &o, error);
	JS_THEN(status, apply_own_options(db, &o, error));
	if (status != 0)
		goto out;
	if (o.ssl_ca != NULL && !o.tls_said) /* a CA is named in order to be verified */
		o.tls = JS_TLS_VERIFY_CA;
	(void)snprintf(db->name, sizeof(db->name), "%s", o.database != NULL ? o.database : DEFAULT_DATABASE);
	db->my = connect_round(db, &o, number);
	if (db->my == NULL)
		status = js_fault_fill(*number, db->last_error, db->where, error);
out:
	js_option_free(&o);
	return status;
}

/* How long to wait before the next try: longer each time, and never in step with the others.  A crowd is given more
 * time to thin out. */
static int64_t next_wait(struct js_db *db, int crowd)
{
	int64_t first = crowd ? CROWD_FIRST_US : WAIT_FIRST_US, most = crowd ? CROWD_MOST_US : WAIT_MOST_US;

	db->wait_us = db->wait_us < first ? first : 2 * db->wait_us < most ? 2 * db->wait_us : most;
	return db->wait_us / 2 + (int64_t)js_num_jitter(&db->jitter, (uint64_t)db->wait_us);
}

/* Returns whether the failure can end by itself: the server is away or, if this handle was connected before, kills the
 * first statements of the session, or the option file is being replaced.  TLS that never worked is set up wrongly. */
static int can_mend_itself(const struct js_db *db, unsigned number, const struct jobstack_error *now)
{
	if (!db->ever)
		return js_fault_is_away(number) && now->server_errno != JOBSTACK_WHY_TLS;
	return js_fault_is_away(number) || js_fault_of(number) == JS_FAULT_KILLED || now->code == JOBSTACK_EFILE;
}

int js_connect(struct js_db *db, int64_t until, struct jobstack_error *error)
{
	struct jobstack_error now;
	int status, crowd;
	unsigned number;
	int64_t start = js_clock_mono_us(), left, wait;
	char most[64];

	for (;;) {
		js_error_clear(&now);
		status = connect_once(db, &number, &now);
		db->last_errno = number;
		if (status == 0)
			break;
		/* an overloaded server accepts a connection but sends no greeting; so does a program that is not a
		 * database */
		crowd = is_crowd(number) || (!db->ever && number == 2013 && js_clock_mono_us() - start < SWAMPED_US);
		left = (db->ever || crowd ? until : start + db->first_us) - js_clock_mono_us();
		if (left <= 0 || !(crowd || can_mend_itself(db, number, &now)))
			goto fail;
		js_num_duration_text(left, most, sizeof(most));
		if (!db->away) /* once an outage, however many calls it spans */
			js_log(&db->log, JOBSTACK_LOG_WARNING, "%s; trying again%s%s", now.text,
			       db->ever ? "" : " for up to ", db->ever ? "" : most);
		db->away = 1;
		wait = next_wait(db, crowd);
		js_db_sleep(db, wait < left ? wait : left);
		if (js_db_is_stopped(db)) {
			js_error_clear(&now);
			status = js_error_set(&now, JOBSTACK_ESTOPPED,
					      "stopped while the database %s could not be reached", db->where);
			goto fail;
		}
	}
	if (db->away)
		js_log(&db->log, JOBSTACK_LOG_WARNING, "the database %s is back", db->where);
	db->away = 0;
	db->ever = 1;
	db->number++;
	db->wait_us = 0;
	return 0;

fail:
	js_error_pass(error, &now);
	return status;
}

int js_connect_is_over(const struct js_db *db)
{
	struct pollfd fd = {.fd = socket_of(db->my), .events = POLLIN};

	return poll(&fd, 1, 0) > 0; /* a server says nothing unasked, except why it ends the connection */
}

void js_connect_back_off(struct js_db *db, unsigned tries, int64_t longest_us)
{
	int64_t us = 1000 << (tries < 14 ? tries : 14);

	if (us > longest_us)
		us = longest_us;
	js_db_sleep(db, us / 2 + (int64_t)js_num_jitter(&db->jitter, (uint64_t)(us / 2 + 1)));
}
