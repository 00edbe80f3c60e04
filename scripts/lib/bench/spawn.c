/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bench-spawn RUNNING PROGRAM <NAMES
 *
 * The floor under any dispatcher: PROGRAM NAME for each line of the input, RUNNING at a time, started with posix_spawn
 * and reaped with waitpid, and nothing else: no output kept, no outcome written down.  It only knows that each exited
 * with 0; else it ends with 1.  Its standard streams are the children's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int failed;

static void reap(void)
{
	int status;

	while (waitpid(-1, &status, 0) < 0)
		if (errno != EINTR) {
			perror("bench-spawn: waitpid");
			exit(1);
		}
	if (status != 0)
		failed = 1;
}

int main(int argc, char **argv)
{
	long most = argc == 3 ? strtol(argv[1], NULL, 10) : 0, running = 0;
	char *line = NULL;
	size_t capacity = 0;
	ssize_t n;

	if (most <= 0) {
		fprintf(stderr, "usage: bench-spawn RUNNING PROGRAM <NAMES\n");
		return 2;
	}
	while ((n = getline(&line, &capacity, stdin)) > 0) {
		char *child[3] = {argv[2], line, NULL};
		pid_t pid;

		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		if (running == most) {
			reap();
			running--;
		}
		if ((errno = posix_spawn(&pid, argv[2], NULL, NULL, child, environ)) != 0) {
			fprintf(stderr, "bench-spawn: %s: %s\n", argv[2], strerror(errno));
			return 1;
		}
		running++;
	}
	while (running-- > 0)
		reap();
	free(line);
	return failed;
}
