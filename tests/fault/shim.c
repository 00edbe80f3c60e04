/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A library to preload: a clock that jumps, memory that runs out, a machine that gives no process.
 *
 * $FAULT_CLOCK names a file with one int64_t, nanoseconds: so far off is the wall clock of this process, from the
 * moment that the file says so (it is mapped).  The monotonic clock is left alone, as a real jump leaves it.
 * $FAULT_MALLOC=N: the Nth allocation of each process fails; N+: that one and all after it.  $FAULT_FORK=N, N+ or N-M: the
 * same for processes and threads that are started (fork, vfork, posix_spawn, pthread_create), with $FAULT_FORK_ERRNO (11:
 * EAGAIN, 12: ENOMEM); where $FAULT_FORK_IN is set, only in processes of that name.  What a fork made goes on counting where its
 * parent was.  Each that fails adds a byte to the file $FAULT_FIRED, so that one knows.
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS INT64_C(1000000000)
#define EPOCH_S 500000000 /* a deadline beyond is by the wall clock; no host has been up for so long */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static _Atomic(const volatile int64_t *) offset;
static atomic_long calls, fail_at, fail_on, forks, fork_at, fork_to;
static int fired = -1, fork_errno;
static const char *fork_in;

__attribute__((constructor)) static void begin(void)
{
	const char *clock_file = getenv("FAULT_CLOCK"), *n = getenv("FAULT_MALLOC"), *fork_n = getenv("FAULT_FORK");
	int fd = clock_file == NULL ? -1 : open(clock_file, O_RDONLY | O_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		(void)close(fd);
	if (map != MAP_FAILED)
		atomic_store(&offset, (const volatile int64_t *)map);
	atomic_store(&calls, 0);
	if (n != NULL || fork_n != NULL) {
		const char *file = getenv("FAULT_FIRED");

		fired = file == NULL ? -1 : open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
	}
	if (n != NULL) {
		atomic_store(&fail_on, strchr(n, '+') != NULL);
		atomic_store(&fail_at, atol(n));
	}
	if (fork_n != NULL) {
		const char *to = strchr(fork_n, '-'), *number = getenv("FAULT_FORK_ERRNO");

		fork_in = getenv("FAULT_FORK_IN");
		fork_errno = number == NULL ? EAGAIN : atoi(number);
		atomic_store(&fork_to, strchr(fork_n, '+') != NULL ? LONG_MAX : atol(to == NULL ? fork_n : to + 1));
		atomic_store(&fork_at, atol(fork_n));
	}
}

/* -------------------------------------------------------------------------------------------------------- the clock */

static int64_t off(void)
{
	const volatile int64_t *p = atomic_load(&offset);

	return p == NULL ? 0 : *p;
}

static void shift(struct timespec *t, int64_t by)
{
	int64_t all = t->tv_sec * NS + t->tv_nsec + by;

	t->tv_sec = all / NS;
	t->tv_nsec = all % NS;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	static atomic_uintptr_t next;
	uintptr_t f = atomic_load(&next);
	int status;

	if (f == 0)
		atomic_store(&next, f = (uintptr_t)dlsym(RTLD_NEXT, "clock_gettime"));
	status = f == 0 ? (int)syscall(SYS_clock_gettime, id, t) : ((int (*)(clockid_t, struct timespec *))f)(id, t);
	if (status == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		shift(t, off());
	return status;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *to)
{
	struct timespec now = {0, 0};

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (to != NULL)
		*to = now.tv_sec;
	return now.tv_sec;
}

/* A deadline that was computed from the shifted clock would else be hours away, or long past. */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
			   const struct timespec *restrict until)
{
	static atomic_uintptr_t next;
	struct timespec real = *until;
	uintptr_t f = atomic_load(&next);

	if (f == 0) { /* the version without a name is an older kind of condition */
		f = (uintptr_t)dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
		atomic_store(&next, f = f != 0 ? f : (uintptr_t)dlsym(RTLD_NEXT, "pthread_cond_timedwait"));
	}
	if (real.tv_sec > EPOCH_S)
		shift(&real, -off());
	return ((int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))f)(cond, mutex, &real);
}

/* ------------------------------------------------------------------------------------------------------- the memory */

static void note_fired(void)
{
	if (write(fired, "x", 1) != 1)
		fired = -1;
}

static int fails(void)
{
	long at = atomic_load(&fail_at), n;

	if (at == 0)
		return 0;
	n = atomic_fetch_add(&calls, 1) + 1;
	if (n != at && !(n > at && atomic_load(&fail_on)))
		return 0;
	note_fired();
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

/* ---------------------------------------------------------------------------------------------------- the processes */

static int fork_fails(void)
{
	long at = atomic_load(&fork_at), n;
	char name[16] = "";

	if (at == 0 || (fork_in != NULL && (prctl(PR_GET_NAME, name) != 0 || strcmp(name, fork_in) != 0)))
		return 0;
	n = atomic_fetch_add(&forks, 1) + 1;
	if (n < at || n > atomic_load(&fork_to))
		return 0;
	note_fired();
	errno = fork_errno;
	return 1;
}

static uintptr_t next_of(const char *name)
{
	return (uintptr_t)dlsym(RTLD_NEXT, name);
}

pid_t fork(void)
{
	return fork_fails() ? -1 : ((pid_t(*)(void))next_of("fork"))();
}

/* The child of a vfork must not return through a frame of ours, which its parent still needs: this call has to be a jump, as gcc and
 * clang make it from -O1 on. */
pid_t vfork(void)
{
	pid_t (*next)(void) = (pid_t(*)(void))next_of("vfork");

	if (fork_fails())
		return -1;
	return next();
}

typedef int spawn_fn(pid_t *restrict, const char *restrict, const posix_spawn_file_actions_t *restrict,
		     const posix_spawnattr_t *restrict, char *const *restrict, char *const *restrict);

int posix_spawn(pid_t *restrict pid, const char *restrict path, const posix_spawn_file_actions_t *restrict actions,
		const posix_spawnattr_t *restrict attributes, char *const *restrict argv, char *const *restrict envp)
{
	return fork_fails() ? fork_errno : ((spawn_fn *)next_of("posix_spawn"))(pid, path, actions, attributes, argv, envp);
}

int posix_spawnp(pid_t *restrict pid, const char *restrict file, const posix_spawn_file_actions_t *restrict actions,
		 const posix_spawnattr_t *restrict attributes, char *const *restrict argv, char *const *restrict envp)
{
	return fork_fails() ? fork_errno : ((spawn_fn *)next_of("posix_spawnp"))(pid, file, actions, attributes, argv, envp);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*start)(void *), void *restrict arg)
{
	typedef int create_fn(pthread_t *restrict, const pthread_attr_t *restrict, void *(*)(void *), void *restrict);

	return fork_fails() ? fork_errno : ((create_fn *)next_of("pthread_create"))(thread, attributes, start, arg);
}
