/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Users, and programs that run as them.  Promise: the server inherits no descriptor from us or our caller, such as a
 * lock, or a pipe whose reader waits for its end.
 */
#include "server/who.h"

#include "base/error.h"

#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
	if (who == NULL || !who->change)
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

char **js_task_env(char *const *env, const char *extra)
{
	static const char *const drop[] = {
		"MYSQL",	 "MARIADB", "NOTIFY_SOCKET=", "LISTEN_FDS=", "LISTEN_PID=", "USER=",
		"OPENSSL_CONF=", "TMPDIR=", "TMP=",	      "TEMP=" /* the server's user may have no access to our directory */};
	size_t n = 0, k = 0;
	char **copy;

	while (env != NULL && env[n] != NULL)
		n++;
	copy = calloc(n + 2, sizeof(*copy));
	if (copy == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		int keep = 1;

		for (size_t d = 0; d < sizeof(drop) / sizeof(drop[0]); d++)
			keep = keep && strncmp(env[i], drop[d], strlen(drop[d])) != 0;
		if (keep)
			copy[k++] = env[i];
	}
	copy[k] = (char *)(uintptr_t)extra; /* execve does not change it */
	return copy;
}

static void raise_files(rlim_t want)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return;
	if (r.rlim_max < want && geteuid() == 0) {
		struct rlimit more = {.rlim_cur = want, .rlim_max = want};

		if (setrlimit(RLIMIT_NOFILE, &more) == 0)
			return;
	}
	if (r.rlim_cur < want) {
		r.rlim_cur = r.rlim_max < want ? r.rlim_max : want;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
	if (getrlimit(RLIMIT_NPROC, &r) == 0 && r.rlim_cur < r.rlim_max) { /* one thread per connection */
		r.rlim_cur = r.rlim_max;
		(void)setrlimit(RLIMIT_NPROC, &r);
	}
}

/* What a task does before its program. */
static const char *enter_task(const void *arg)
{
	const struct js_task *task = arg;

	(void)umask(077);
	if (task->before != NULL && task->before(task->arg) != 0)
		return "writing the file `owner`";
	if (task->raise_files > 0)
		raise_files((rlim_t)task->raise_files);
	if (become_user(task->who) != 0)
		return "becoming another user";
	return chdir(task->dir != NULL ? task->dir : "/") == 0 ? NULL : "changing to its working directory";
}

static struct js_child make_task_child(const struct js_task *task)
{
	return (struct js_child){
		.argv = task->argv,
		.env = task->env,
		.shut_others = 1,
		.death_signal = task->die_with_us ? SIGTERM : 0,
		.group = JS_CHILD_SESSION,
		.ignored = JS_CHILD_IGNORED_NONE, /* the server must not inherit what our caller ignores */
		.enter = enter_task,
		.arg = task};
}

int js_task_run(const struct js_task *task, int64_t limit_us, const volatile int *stop, struct js_buf *output,
		int *status, struct jobstack_error *error)
{
	struct js_child child = make_task_child(task);

	child.stop = stop;
	return js_child_run(&child, output, output, limit_us, status, error);
}

pid_t js_task_start(const struct js_task *task, int out, struct jobstack_error *error)
{
	struct js_child child = make_task_child(task);

	child.out = child.err = out;
	return js_child_start(&child, error);
}
