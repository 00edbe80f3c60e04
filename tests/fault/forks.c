/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A library to preload: a machine that gives no process, and no thread.
 *
 * $FAULT_FORK=N: the Nth of fork, vfork, posix_spawn and pthread_create fails, in each process; N+: that one and all
 * after it; N-M: those.  $FAULT_FORK_ERRNO says how (11: EAGAIN, 12: ENOMEM).  Where $FAULT_FORK_IN is set, processes
 * of other names are passed over.  What a fork made goes on counting where its parent was.  Each that fails adds a byte
 * to the file $FAULT_FIRED.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static long from, to;
static atomic_long calls;
static const char *name_wanted;
static int fired = -1, error_number;

__attribute__((constructor)) static void begin(void)
{
	const char *n = getenv("FAULT_FORK"), *number = getenv("FAULT_FORK_ERRNO"), *file = getenv("FAULT_FIRED");
	const char *end = n == NULL ? NULL : strchr(n, '-');

	if (n == NULL)
		return;
	fired = file == NULL ? -1 : open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
	name_wanted = getenv("FAULT_FORK_IN");
	error_number = number == NULL ? EAGAIN : atoi(number);
	from = atol(n);
	to = strchr(n, '+') != NULL ? LONG_MAX : atol(end == NULL ? n : end + 1);
}

/* Is this one to fail?  Sets errno. */
static int fails(void)
{
	char name[16] = "";
	long n;

	if (from == 0 || (name_wanted != NULL && (prctl(PR_GET_NAME, name) != 0 || strcmp(name, name_wanted) != 0)))
		return 0;
	n = atomic_fetch_add(&calls, 1) + 1;
	if (n < from || n > to)
		return 0;
	if (write(fired, "x", 1) != 1)
		fired = -1;
	errno = error_number;
	return 1;
}

static uintptr_t next_of(const char *name)
{
	return (uintptr_t)dlsym(RTLD_NEXT, name);
}

pid_t fork(void)
{
	return fails() ? -1 : ((pid_t(*)(void))next_of("fork"))();
}

/* The child of a vfork must not return through a frame of ours, which its parent still needs: this call has to be a
 * jump, as gcc and clang make it with -O2. */
pid_t vfork(void)
{
	pid_t (*next)(void) = (pid_t(*)(void))next_of("vfork");

	if (fails())
		return -1;
	return next();
}

typedef int spawn_fn(pid_t *restrict, const char *restrict, const posix_spawn_file_actions_t *restrict,
		     const posix_spawnattr_t *restrict, char *const *restrict, char *const *restrict);

int posix_spawn(pid_t *restrict pid, const char *restrict path, const posix_spawn_file_actions_t *restrict actions,
		const posix_spawnattr_t *restrict attributes, char *const *restrict argv, char *const *restrict envp)
{
	return fails() ? error_number
		       : ((spawn_fn *)next_of("posix_spawn"))(pid, path, actions, attributes, argv, envp);
}

int posix_spawnp(pid_t *restrict pid, const char *restrict file, const posix_spawn_file_actions_t *restrict actions,
		 const posix_spawnattr_t *restrict attributes, char *const *restrict argv, char *const *restrict envp)
{
	return fails() ? error_number
		       : ((spawn_fn *)next_of("posix_spawnp"))(pid, file, actions, attributes, argv, envp);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*start)(void *),
		   void *restrict arg)
{
	typedef int create_fn(pthread_t *restrict, const pthread_attr_t *restrict, void *(*)(void *), void *restrict);

	return fails() ? error_number : ((create_fn *)next_of("pthread_create"))(thread, attributes, start, arg);
}
