/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Accounts that may only read.  They are made by the server's administrator, through its socket: so on its host.
 */
#include "base/buf.h"
#include "base/error.h"
#include "server/backup.h"
#include "server/config.h"
#include "server/internal.h"

#include <stdio.h>
#include <string.h>

/* Runs SQL as the administrator of the server that runs here. */
static int run_as_admin(const struct js_server_options *o, struct js_server_info *info, const char *sql,
			struct jobstack_error *error)
{
	struct js_layout layout;
	struct js_backup admin = {.database = "mysql", .search_path = o->search_path, .stop = o->stop};

	JS_TRY(js_layout_set(&layout, o->data, error));
	JS_TRY(js_server_status(o, info, error));
	if (info->uptime_us < 0)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "the server does not run on this host, and accounts can only be made there");
	admin.option_file = layout.root;
	admin.program = info->owner.program;
	return js_backup_sql(&admin, sql, error);
}

/* SELECT is enough to lock rows, for which workers would wait.  A session can change its own limits.  So an event of
 * the server looks for sessions of these accounts that hold locks, and ends them.  A client that only reads holds none.
 */
#define WATCH                                                                                                          \
	"SET GLOBAL event_scheduler=ON;\nDROP EVENT IF EXISTS jobstack_readers;\nDELIMITER //\n"                       \
	"CREATE EVENT jobstack_readers ON SCHEDULE EVERY 2 SECOND DO BEGIN DECLARE reader BIGINT UNSIGNED DEFAULT 0; " \
	"DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; REPEAT SET reader=(SELECT MIN(p.id) FROM "               \
	"information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id=t.trx_mysql_thread_id WHERE "   \
	"p.user LIKE 'read-%%' AND t.trx_lock_structs>0 AND p.id>reader); IF reader IS NOT NULL THEN KILL reader; "    \
	"END IF; UNTIL reader IS NULL END REPEAT; END//\nDELIMITER ;\n"

/* An account may use so many of the server's connections. */
#define LIMIT "WITH MAX_USER_CONNECTIONS 20"

int js_server_share(const struct js_server_options *o, const char *name, const char *file, struct js_server_info *info,
		    struct jobstack_error *error)
{
	char user[64], password[JS_CONFIG_PASSWORD], path[JS_LAYOUT_PATH];
	struct js_config_address address = {.user = user, .password = password};
	struct js_layout layout;
	struct js_buf sql = {0};
	const char *owned;
	int status;

	if (*name == '\0' || strlen(name) > 24 ||
	    name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] != '\0')
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "\"%s\" is no name for an account: at most 24 letters, digits, _ and -", name);
	(void)snprintf(user, sizeof(user), "read-%s", name);
	if (file == NULL) {
		js_buf_printf(&sql, "DROP USER '%s'@'%%';\n", user);
		status = sql.failed ? js_error_memory(error) : run_as_admin(o, info, sql.data, error);
		js_buf_free(&sql);
		return status;
	}
	JS_TRY(js_layout_absolute(path, file, error));
	JS_TRY(js_config_client_check(path, error));
	(void)js_server_of_client(path, &owned);
	if (owned != NULL)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "%s is the option file of the server's owner: give another name", path);
	JS_TRY(js_layout_set(&layout, o->data, error));
	js_config_make_password(password);
	js_buf_printf(&sql,
		      WATCH "CREATE USER IF NOT EXISTS '%s'@'%%' IDENTIFIED BY '%s' REQUIRE SSL " LIMIT ";\n"
			    "ALTER USER '%s'@'%%' IDENTIFIED BY '%s' REQUIRE SSL " LIMIT
			    ";\nGRANT SELECT ON jobstack.* TO '%s'@'%%';\n",
		      user, password, user, password, user);
	status = sql.failed ? js_error_memory(error) : run_as_admin(o, info, sql.data, error);
	js_buf_wipe(&sql);
	address.host = info->owner.bind;
	address.port = info->owner.port;
	address.mysql = strstr(info->owner.version, "MariaDB") == NULL;
	JS_THEN(status, js_config_client(path, &layout, &address, error));
	explicit_bzero(password, sizeof(password));
	return status;
}
