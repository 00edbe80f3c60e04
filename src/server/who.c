/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Users, and what a child does to become one of them.
 */
#include "server/who.h"

#include "base/error.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_who(struct js_who *who, uid_t uid, gid_t gid, const char *name)
{
	who->change = uid != geteuid();
	who->uid = uid;
	who->gid = gid;
	(void)snprintf(who->name, sizeof(who->name), "%s", name);
}

void js_who_self(struct js_who *who)
{
	struct passwd *pw = getpwuid(geteuid());

	set_who(who, geteuid(), getegid(), pw != NULL ? pw->pw_name : "");
}

int js_who_named(const char *name, struct js_who *who, struct jobstack_error *error)
{
	struct passwd *pw = getpwnam(name);

	if (pw == NULL)
		return js_error_set(error, JOBSTACK_EUSAGE, "there is no user %s", name);
	if (pw->pw_uid == 0)
		return js_error_set(error, JOBSTACK_EUSAGE, "the server must not run as root");
	set_who(who, pw->pw_uid, pw->pw_gid, pw->pw_name);
	return 0;
}

int js_who_numbered(uid_t uid, struct js_who *who, struct jobstack_error *error)
{
	struct passwd *pw = getpwuid(uid);

	if (pw == NULL)
		return js_error_set(error, JOBSTACK_EUSAGE, "there is no user with the number %lu", (unsigned long)uid);
	set_who(who, pw->pw_uid, pw->pw_gid, pw->pw_name);
	return 0;
}

/* Called in the child: changes to WHO for ever. */
static int become_user(const struct js_who *who)
{
	if (!who->change)
		return 0;
	if (initgroups(who->name, who->gid) != 0 || setgid(who->gid) != 0 || setuid(who->uid) != 0)
		return -1;
	return setuid(0) == 0 ? -1 : 0; /* it must not be possible to become root again */
}

/* What js_who_call does in its process. */
struct call {
	const struct js_who *who;
	int (*fn)(const void *arg);
	const void *arg;
};

static const char *enter_call(const void *arg)
{
	const struct call *call = arg;

	_exit(become_user(call->who) == 0 ? call->fn(call->arg) : 255);
}

int js_who_call(const struct js_who *who, int (*fn)(const void *arg), const void *arg)
{
	const struct call call = {who, fn, arg};
	const struct js_child child = {.group = JS_CHILD_SESSION, .enter = enter_call, .arg = &call};
	pid_t pid = js_child_start(&child, NULL);
	int status = pid < 0 ? -1 : js_child_wait(pid);

	return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Removes the variables of MySQL's and MariaDB's programs, which could change options or hold secrets, and those that
 * name this user's directories, or a service manager's sockets. */
static void clean_environment(void)
{
	extern char **environ;
	static const char *const drop[] = {
		"MYSQL",	 "MARIADB", "NOTIFY_SOCKET=", "LISTEN_FDS=", "LISTEN_PID=", "USER=",
		"OPENSSL_CONF=", "TMPDIR=", "TMP=",	      "TEMP=" /* the server's user may have no access to our directory */};
	char **to = environ;

	for (char **from = environ; from != NULL && *from != NULL; from++) {
		int keep = 1;

		for (size_t d = 0; d < sizeof(drop) / sizeof(drop[0]); d++)
			keep = keep && strncmp(*from, drop[d], strlen(drop[d])) != 0;
		if (keep)
			*to++ = *from;
	}
	if (to != NULL)
		*to = NULL;
}

const char *js_who_enter(const struct js_who *who, const char *dir)
{
	(void)umask(077);
	clean_environment();
	if (become_user(who) != 0)
		return "becoming another user";
	return chdir(dir != NULL ? dir : "/") == 0 ? NULL : "changing to its working directory";
}
