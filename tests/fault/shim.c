/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A library to preload: a clock that jumps, and memory that runs out.
 *
 * $FAULT_CLOCK names a file with one int64_t, nanoseconds: so far off is the wall clock of this process, from the
 * moment that the file says so (it is mapped).  The monotonic clock is left alone, as a real jump leaves it.
 * $FAULT_MALLOC=N: the Nth allocation of each process fails; N+: that one and all after it.  Each that fails adds a
 * byte to the file $FAULT_FIRED, so that one knows.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
static atomic_long calls, fail_at, fail_on;
static int fired = -1;

__attribute__((constructor)) static void begin(void)
{
	const char *clock_file = getenv("FAULT_CLOCK"), *n = getenv("FAULT_MALLOC");
	int fd = clock_file == NULL ? -1 : open(clock_file, O_RDONLY | O_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		(void)close(fd);
	if (map != MAP_FAILED)
		atomic_store(&offset, (const volatile int64_t *)map);
	atomic_store(&calls, 0);
	if (n != NULL) {
		const char *file = getenv("FAULT_FIRED");

		fired = file == NULL ? -1 : open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
		atomic_store(&fail_on, strchr(n, '+') != NULL);
		atomic_store(&fail_at, atol(n));
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

static int fails(void)
{
	long at = atomic_load(&fail_at), n;

	if (at == 0)
		return 0;
	n = atomic_fetch_add(&calls, 1) + 1;
	if (n != at && !(n > at && atomic_load(&fail_on)))
		return 0;
	if (write(fired, "x", 1) != 1)
		fired = -1;
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
