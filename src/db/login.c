/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Logging in.  Promises: the connector does not have the password before the server has said how it wants it, TLS is
 * up if it is required, and the server may have it in that way; the same with both connectors.
 *
 * In order: the connector connects; the server names itself and what it can do; our plugin is called
 * (authenticate_first); its read sends, after TLS has begun, the user's name and an empty answer, and gets the server's
 * packet: "you are in", or "use this plugin".  Then the password is put in place, or the login is refused.
 *
 * Neither connector has options for this.  MariaDB's takes "required" for "if it is offered", and can restrict the
 * authentication plugins, but not say whether TLS was verified; Oracle's can't restrict them at all.  Both let us
 * register a plugin of our own.  The connector is given a stand-in for the password and begins every login with our
 * plugin, which sends nothing but the user's name, sees in the answer which plugin the server wants next, and only
 * then puts the password in place.
 */
#include "db/login.h"

#include <errmsg.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(MARIADB_BASE_VERSION) || defined(MARIADB_PACKAGE_VERSION)
#include <mysql/plugin_auth.h>
/* As in <mysql/client_plugin.h>, which can't be included where the package lacks what that includes (Debian 12). */
#define MYSQL_CLIENT_AUTHENTICATION_PLUGIN 2
#define MYSQL_CLIENT_AUTHENTICATION_PLUGIN_INTERFACE_VERSION 0x0100
struct st_mysql_client_plugin;
struct st_mysql_client_plugin *STDCALL mysql_client_register_plugin(MYSQL *my, struct st_mysql_client_plugin *plugin);
struct st_mysql_client_plugin *STDCALL mysql_client_find_plugin(MYSQL *my, const char *name, int type);
typedef struct {
	int type;
	unsigned interface_version;
	const char *name, *author, *desc;
	unsigned version[3];
	const char *license;
	void *mysql_api;
	int (*init)(char *, size_t, int, va_list);
	int (*deinit)(void);
	int (*options)(const char *, const void *);
	int (*authenticate_user)(MYSQL_PLUGIN_VIO *, MYSQL *);
	void *later[4]; /* newer connectors have more members; none is set */
} auth_plugin;
#if MARIADB_PACKAGE_VERSION_ID >= 30300
#define CAN_RESTRICT
#define ANSWERS_CHALLENGES 1
#else
#define ANSWERS_CHALLENGES 0
#endif
#define ORACLES 0
#else
#define ANSWERS_CHALLENGES 1
#define ORACLES 1
typedef struct MYSQL_PLUGIN_VIO_INFO MYSQL_PLUGIN_VIO_INFO;
typedef struct auth_plugin_t auth_plugin;
#endif

#define PLUGIN_NAME "jobstack_login"
#define STAND_IN 64	   /* its length is a multiple of this, so that it does not reveal the password's */
#define SWITCH_PACKET 0xfe /* the server names a plugin */
#define ERROR_PACKET 0xff
#define CLIENT_ERROR_NOT_ALLOWED 5010 /* MariaDB's connector: a plugin that the restriction does not name */

/* The plugins that answer a challenge and never send the password. */
static const char challenge_plugins[] = ",mysql_native_password,client_ed25519,parsec,auth_gssapi_client,";

/* The login that this thread is at; a plugin gets no context. */
static _Thread_local struct {
	const struct js_login *login;
	int passed;  /* our plugin has run and let it through */
	int trusted; /* because the server may have all */
} present;

/* Restricts the plugins to LIST; NULL: all.  Oracle's connector needs none: it follows one switch, which our plugin
 * looks at. MariaDB's follows any number; before 3.3 nothing holds it back, and so no challenge is answered with it
 * (is_challenge). */
static void restrict_plugins(MYSQL *my, const char *list)
{
#ifdef CAN_RESTRICT
	(void)mysql_optionsv(my, MARIADB_OPT_RESTRICTED_AUTH, list);
#else
	(void)my;
	(void)list;
#endif
}

/* Leaves an error in MY, as if the connector had found it. */
static int refuse_login(MYSQL *my, unsigned number, const char *text)
{
	my->net.last_errno = number;
	(void)snprintf(my->net.last_error, sizeof(my->net.last_error), "%s", text);
	(void)snprintf(my->net.sqlstate, sizeof(my->net.sqlstate), "HY000");
	return CR_ERROR;
}

static int refuse_plain(MYSQL *my)
{
	return refuse_login(my, JS_LOGIN_NO_TLS, "TLS is required, but the server does not offer it");
}

/* Returns whether TLS is required, and the server has said that it has none. */
static int lacks_tls(const struct js_login *login, const MYSQL *my)
{
	return login->required && (my->server_capabilities & CLIENT_SSL) == 0;
}

static int refuse_plugin(MYSQL *my, const char *name)
{
	char text[400];

	(void)snprintf(text, sizeof(text),
		       "its login method (%.60s) would reveal the password, which is sent only through a local socket, "
		       "or through TLS verified with ssl-ca",
		       *name == '\0' ? "an old one" : name);
	for (char *p = text; *p != '\0'; p++) /* the name is the server's */
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
	return refuse_login(my, JS_LOGIN_REFUSED, text);
}

/* Returns whether the server is the right one, which may have what it asks for: it was verified by its certificate, or
 * it is at the other end of a local socket. */
static int is_trusted(MYSQL_PLUGIN_VIO *vio, MYSQL *my)
{
	MYSQL_PLUGIN_VIO_INFO info;

	if (present.login->verifies && mysql_get_ssl_cipher(my) != NULL)
		return 1;
	vio->info(vio, &info);
	return info.protocol == MYSQL_VIO_SOCKET;
}

/* caching_sha2_password answers a challenge first, but sends the password when the server says that it does not
 * remember it: through any TLS, and with MariaDB's connector also without, encrypted with a key that the server
 * sends. */
static int is_challenge(MYSQL *my, const char *name)
{
	char word[80];

	if (ORACLES && strcmp(name, "caching_sha2_password") == 0)
		return mysql_get_ssl_cipher(my) == NULL;
	(void)snprintf(word, sizeof(word), ",%.70s,", name);
	return ANSWERS_CHALLENGES && strchr(name, ',') == NULL && strstr(challenge_plugins, word) != NULL;
}

/* Loads the plugin that the connector will look for next.  When two threads load it at once, MariaDB's connector
 * refuses the login of the later one, because "it is already loaded". */
static void load_plugin(MYSQL *my, const char *name)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

	(void)pthread_mutex_lock(&one_at_a_time);
	(void)mysql_client_find_plugin(my, name, MYSQL_CLIENT_AUTHENTICATION_PLUGIN);
	(void)pthread_mutex_unlock(&one_at_a_time);
}

/* Our plugin.  Nothing was sent yet when it is called. */
static int authenticate_first(MYSQL_PLUGIN_VIO *vio, MYSQL *my)
{
	unsigned char *packet = NULL;
	const char *name;
	int length;

	if (present.login == NULL)
		return CR_ERROR;
	if (lacks_tls(present.login, my))
		return refuse_plain(my);
	length = vio->read_packet(vio, &packet); /* this begins TLS, sends the user's name, and an empty answer */
	if (my->net.buff == NULL || (length < 0 && my->net.read_pos[0] != SWITCH_PACKET))
		return CR_ERROR; /* the connector has said why */
	if (present.login->required && mysql_get_ssl_cipher(my) == NULL) {
		my->net.read_pos[0] = ERROR_PACKET;
		return refuse_plain(my);
	}
	if (length > 0 && packet == my->net.read_pos && *packet == 0) { /* it wants no password */
		present.passed = 1;
		return CR_OK_HANDSHAKE_COMPLETE;
	}
	if (length >= 0)
		return CR_SERVER_HANDSHAKE_ERR;
	my->net.last_errno = 0; /* MariaDB's 3.4 leaves one there for a certificate that it was told not to verify */
	name = (const char *)my->net.read_pos + 1; /* the connectors put a NUL behind each packet */
	present.trusted = is_trusted(vio, my);
	if (present.trusted) {
		restrict_plugins(my, NULL);
	} else if (is_challenge(my, name)) {
		restrict_plugins(my, challenge_plugins);
	} else {
		my->net.read_pos[0] =
			ERROR_PACKET; /* else the connector would continue with the plugin that is named */
		return refuse_plugin(my, name);
	}
	load_plugin(my, name);
	if (present.login->password != NULL)
		strcpy(my->passwd, present.login->password); /* the stand-in is longer */
	present.passed = 1;
	return CR_ERROR; /* "not by me": both connectors continue with the plugin that the server named */
}

void js_login_start(void)
{
	static auth_plugin plugin = {
		.type = MYSQL_CLIENT_AUTHENTICATION_PLUGIN,
		.interface_version = MYSQL_CLIENT_AUTHENTICATION_PLUGIN_INTERFACE_VERSION,
		.name = PLUGIN_NAME,
		.author = "jobstack",
		.desc = "checks which server asks for the password",
		.version = {1, 0, 0},
		.license = "BSD",
		.authenticate_user = authenticate_first,
	};
	MYSQL *my = mysql_init(NULL);

	if (my == NULL)
		return; /* then no login passes */
	(void)mysql_client_register_plugin(my, (struct st_mysql_client_plugin *)&plugin);
	mysql_close(my);
}

/* A placeholder for PASSWORD that is at least as long.  NULL: no memory. */
static char *make_stand_in(const char *password)
{
	size_t len = password == NULL ? 0 : strlen(password);
	size_t size = len == 0 ? 1 : (len / STAND_IN + 1) * STAND_IN + 1; /* no password stays none */
	char *text = malloc(size);

	if (text != NULL) {
		memset(text, '-', size - 1);
		text[size - 1] = '\0';
	}
	return text;
}

unsigned js_login(MYSQL *my, const struct js_login *login)
{
	char *stand_in = make_stand_in(login->password);
	MYSQL *done;

	if (stand_in == NULL)
		return 2008;
	(void)mysql_options(my, MYSQL_DEFAULT_AUTH, PLUGIN_NAME);
	restrict_plugins(my, PLUGIN_NAME);
	present.login = login;
	present.passed = present.trusted = 0;
	done = mysql_real_connect(my, login->host, login->user, stand_in, login->database, login->port, login->socket,
				  login->flags);
	present.login = NULL;
	free(stand_in);
	if (done != NULL && present.passed)
		return 0;
	if (done == NULL && mysql_errno(my) == JS_LOGIN_REFUSED && present.passed && !present.trusted)
		(void)refuse_plugin(my, "caching_sha2_password"); /* its own words are of a "secure connection" */
	if (done == NULL && mysql_errno(my) != CLIENT_ERROR_NOT_ALLOWED)
		return mysql_errno(my) != 0 ? mysql_errno(my) : JS_LOGIN_REFUSED;
	if (lacks_tls(login, my)) /* and our plugin was not reached: the server knows no plugins */
		(void)refuse_plain(my);
	else
		(void)refuse_plugin(my, present.passed ? "a second plugin" : "an old protocol");
	return mysql_errno(my);
}
