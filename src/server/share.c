/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Accounts that may only read.  They are made by the server's administrator, through its socket: so on its host.
 */
#include "server/config.h"

#include "base/error.h"
#include "server/backup.h"

#include <stdio.h>
#include <string.h>

/* Runs SQL as the administrator of the server that runs here. */
static int run_as_admin(struct server *s, const struct js_buf *sql)
{
	const struct js_backup admin = {
		.option_file = s->layout.root, .database = "mysql", .program = s->owner.program};
	int64_t us;

	if (sql->failed)
		return js_error_memory(&s->cli.error);
	JS_TRY(server_look(s));
	if (!server_uptime(s, &us))
		return js_error_set(&s->cli.error, JOBSTACK_ECONFLICT,
				    "the server does not run on this host, and accounts can only be made there");
	return js_backup_sql(&admin, sql->data, &s->cli.error);
}

/* SELECT is enough to lock rows, for which workers would wait.  A session can change its own limits.  So an event of
 * the server looks for sessions of these accounts that hold locks, and ends them.  A client that only reads holds none.
 */
static const char watch[] =
	"SET GLOBAL event_scheduler=ON;\nDROP EVENT IF EXISTS jobstack_readers;\nDELIMITER //\n"
	"CREATE EVENT jobstack_readers ON SCHEDULE EVERY 2 SECOND DO BEGIN DECLARE reader BIGINT UNSIGNED DEFAULT 0; "
	"DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; REPEAT SET reader=(SELECT MIN(p.id) FROM "
	"information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id=t.trx_mysql_thread_id WHERE "
	"p.user LIKE 'read-%' AND t.trx_lock_structs>0 AND p.id>reader); IF reader IS NOT NULL THEN KILL reader; "
	"END IF; UNTIL reader IS NULL END REPEAT; END//\nDELIMITER ;\n";

/* Its option file is with somebody else; without the account it is of no use. */
static int remove_account(struct server *s, const char *name)
{
	struct js_buf sql = {0};
	int status;

	js_buf_printf(&sql, "DROP USER 'read-%s'@'%%';\n", name);
	status = run_as_admin(s, &sql);
	js_buf_free(&sql);
	if (status != 0)
		return server_fail(s);
	cli_say(&s->cli, "the account read-%s is gone", name);
	return CLI_YES;
}

/* Makes the account, or gives it a new password, and writes its option file PATH. */
static int make_account(struct server *s, const char *name, const char *path)
{
	char user[64], password[SERVER_PASSWORD];
	struct js_buf sql = {0};
	const char *owned;
	int status;

	JS_TRY(config_check_client(path, &s->cli.error));
	(void)config_server_of(path, &owned);
	if (owned != NULL)
		return js_error_set(&s->cli.error, JOBSTACK_ECONFLICT,
				    "%s is the option file of the server's owner: give another name", path);
	(void)snprintf(user, sizeof(user), "read-%s", name);
	config_make_password(password);
	js_buf_str(&sql, watch);
	config_add_account(&sql, user, password, " WITH MAX_USER_CONNECTIONS 20");
	js_buf_printf(&sql, "GRANT SELECT ON jobstack.* TO '%s'@'%%';\n", user);
	status = run_as_admin(s, &sql);
	js_buf_wipe(&sql);
	JS_THEN(status, config_write_client(s, path, user, password));
	explicit_bzero(password, sizeof(password));
	return status;
}

/* The name of the account is the name of the file, without .cnf. */
int verb_share(struct server *s)
{
	char name[300], path[JS_LAYOUT_PATH];
	size_t len;

	if ((s->read_only == NULL) == (s->removed == NULL))
		return cli_usage(&s->cli, "give one of --read-only FILE and --remove NAME");
	(void)snprintf(name, sizeof(name), "%s", s->removed != NULL ? s->removed : basename(s->read_only));
	len = strlen(name);
	if (s->removed == NULL && len > 4 && strcmp(name + len - 4, ".cnf") == 0)
		name[len -= 4] = '\0';
	if (len == 0 || len > 24 ||
	    name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] != '\0') {
		(void)js_error_set(&s->cli.error, JOBSTACK_EUSAGE,
				   "\"%s\" is no name for an account: at most 24 letters, digits, _ and -", name);
		return server_fail(s);
	}
	if (s->removed != NULL)
		return remove_account(s, name);
	if (js_layout_absolute(path, s->read_only, &s->cli.error) != 0 || make_account(s, name, path) != 0 ||
	    server_try_login(s, path) != 0)
		return server_fail(s);
	if (!s->cli.quiet)
		(void)printf(
			"the account read-%s may only read\nhand over both files, to be kept in one directory, mode "
			"600: %s and its certificate %.*s%s-ca.pem\n`jobstack server share --remove %s` ends it\n",
			name, s->read_only, (int)(basename(s->read_only) - s->read_only), s->read_only, name, name);
	return CLI_YES;
}
