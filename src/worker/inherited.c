/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inherited children.  Promises: none of them is signalled, waited for, or adopted from; should this process be killed,
 * the keeper is killed too, which ends the worker in good order.
 */
#define _GNU_SOURCE
#include "worker/inherited.h"

#include "base/error.h"
#include "worker/keeper.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether there are such children, or there may be: a process that asked for orphans keeps getting them after exec. */
static int has_children(void)
{
	int adopts = 0;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
		;
	(void)prctl(PR_GET_CHILD_SUBREAPER, &adopts, 0, 0, 0);
	return pid == 0 || adopts;
}

/* Waits for the end of KEEPER, and gives the exit status.  Of the other children only those that end are collected. */
static int forward_until_exit(pid_t keeper, const sigset_t *set)
{
	int status, number;
	pid_t pid;

	for (;;) {
		while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
			if (pid == keeper)
				return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		if (sigwait(set, &number) == 0 && number != SIGCHLD)
			(void)kill(keeper, number);
	}
}

int inherited_part(int *status, struct jobstack_error *error)
{
	pid_t parent = getpid(), keeper;
	sigset_t set, normal;

	(void)signal(SIGCHLD, SIG_DFL);
	if (!has_children())
		return 0;
	keeper_signals(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, &normal);
	keeper = fork();
	if (keeper == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* it died before it could be said */
			_exit(128 + SIGKILL);
		(void)setsid(); /* a terminal's signals come through the parent */
	}
	if (keeper <= 0)
		(void)sigprocmask(SIG_SETMASK, &normal, NULL);
	if (keeper < 0)
		return js_error_set(error, JOBSTACK_EBUG, "can't start a process for the worker's keeper: %s",
				    strerror(errno));
	if (keeper == 0)
		return 0;
	*status = forward_until_exit(keeper, &set);
	return 1;
}
