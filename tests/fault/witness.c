/* SPDX-License-Identifier: BSD-2-Clause
 *
 * witness DATAPATH [script]: the command that the fault campaign has run.  It says in the file $FAULT_WITNESS what it
 * saw, one line a write: "STACK ENTRY ATTEMPT WORKER PID NANOSECONDS WHAT CODE", where WHAT is start, alive, end,
 * overlap or child.  Promises: while it (or a child it leaves behind) runs it holds the entry's lock in the directory
 * $FAULT_LOCKS, so a second run of one entry notices, whatever became of the first; it is linked statically, so that
 * no preloaded library touches it.  As "script" it takes no lock: nobody can stop a script that outlives its lease.
 *
 * The datapath says what to do: /e/NUMBER/WHAT/MILLISECONDS, where WHAT is ok, fail (always), fail1 (the first
 * attempt), temp1 (exit 75 the first time), deaf (ignores TERM) or leave (leaves a child in a session of its own,
 * which goes on for 3 s).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ALIVE_MS 250
#define CHILD_MS 3000

static int log_fd;

static const char *get(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : "-";
}

static void tell(const char *what, int code)
{
	struct timespec t;
	char line[512];
	int len;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	len = snprintf(line, sizeof(line), "%s %s %s %s %ld %lld %s %d\n", get("JOBSTACK_STACK"), get("JOBSTACK_ENTRY"),
		       get("JOBSTACK_ATTEMPT"), get("JOBSTACK_WORKER"), (long)getpid(),
		       (long long)t.tv_sec * 1000000000 + t.tv_nsec, what, code);
	if (write(log_fd, line, (size_t)len) != len)
		_exit(99); /* a witness that can't speak is no witness: the campaign looks for this code */
}

static void nap(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) != 0)
		;
}

/* Sleeps, with a sign of life now and then. */
static void work(long ms, const char *sign)
{
	for (; ms > ALIVE_MS; ms -= ALIVE_MS) {
		nap(ALIVE_MS);
		tell(sign, 0);
	}
	nap(ms);
}

static void take_lock(void)
{
	char name[4096];
	int fd;

	(void)umask(0); /* the next run may be another user's */
	(void)snprintf(name, sizeof(name), "%s/%s.%s", get("FAULT_LOCKS"), get("JOBSTACK_STACK"),
		       get("JOBSTACK_ENTRY"));
	fd = open(name, O_RDWR | O_CREAT, 0666); /* stays open to the end, and in a child that is left behind */
	if (fd < 0)
		_exit(99);
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		tell("overlap", 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? strchr(argv[1] + (strncmp(argv[1], "/e/", 3) == 0 ? 3 : 0), '/') : NULL, *ms;
	size_t len;
	int first = strcmp(get("JOBSTACK_ATTEMPT"), "1") == 0, code = 0;

	log_fd = open(get("FAULT_WITNESS"), O_WRONLY | O_APPEND | O_CLOEXEC);
	if (log_fd < 0 || what == NULL || (ms = strchr(++what, '/')) == NULL)
		return 99;
	len = (size_t)(ms++ - what);
#define IS(word) (len == sizeof(word) - 1 && memcmp(what, word, len) == 0)
	if (IS("deaf"))
		(void)signal(SIGTERM, SIG_IGN);
	if (argc < 3)
		take_lock();
	tell("start", 0);
	(void)printf("entry %s, attempt %s: %s\n", get("JOBSTACK_ENTRY"), get("JOBSTACK_ATTEMPT"), argv[1]);
	(void)fflush(stdout);
	if (IS("leave") && fork() == 0) {
		(void)setsid();
		work(CHILD_MS, "child");
		_exit(0);
	}
	work(strtol(ms, NULL, 10), "alive");
	if (IS("fail") || (IS("fail1") && first))
		code = 3;
	if (IS("temp1") && first)
		code = 75;
	tell("end", code);
	return code;
}
