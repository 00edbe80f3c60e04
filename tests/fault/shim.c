/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A library to preload: a clock that jumps, memory that runs out, and files that hang.
 *
 * $FAULT_CLOCK names a file with one int64_t, nanoseconds: so far off is the wall clock of this process, from the
 * moment that the file says so (it is mapped).  The monotonic clock is left alone, as a real jump leaves it.
 * $FAULT_MALLOC=N: the Nth allocation of each process fails; N+: that one and all after it.  Each that fails adds a
 * byte to the file $FAULT_FIRED, so that one knows.
 * $FAULT_HANG names a directory: while a file of that name with ".hang" behind it exists, calls that open, or change, what is below
 * the directory do not return, as with a file system whose server is away.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
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
static char hang_dir[3000], hang_flag[3010];

__attribute__((constructor)) static void begin(void)
{
	const char *clock_file = getenv("FAULT_CLOCK"), *n = getenv("FAULT_MALLOC"), *hang = getenv("FAULT_HANG");
	int fd = clock_file == NULL ? -1 : open(clock_file, O_RDONLY | O_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		(void)close(fd);
	if (map != MAP_FAILED)
		atomic_store(&offset, (const volatile int64_t *)map);
	atomic_store(&calls, 0);
	if (hang != NULL && strlen(hang) < sizeof(hang_dir)) {
		(void)strcat(strcpy(hang_dir, hang), "/");
		(void)strcat(strcpy(hang_flag, hang), ".hang");
	}
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

/* -------------------------------------------------------------------------------------------------------- the files */

static void hang_path(const char *path)
{
	const struct timespec nap = {0, 20000000};

	if (hang_dir[0] == '\0' || strncmp(path, hang_dir, strlen(hang_dir)) != 0)
		return;
	while (syscall(SYS_access, hang_flag, F_OK) == 0)
		(void)syscall(SYS_nanosleep, &nap, NULL);
}

static void hang_file(int fd)
{
	char link[64], path[4096];
	ssize_t n;

	if (hang_dir[0] == '\0')
		return;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlink, link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	hang_path(path);
}

int open(const char *path, int flags, ...)
{
	unsigned mode = 0;
	va_list more;

	va_start(more, flags);
	if ((flags & (O_CREAT | O_TMPFILE)) != 0)
		mode = va_arg(more, unsigned);
	va_end(more);
	hang_path(path);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t len)
{
	hang_file(fd);
	return syscall(SYS_write, fd, data, len);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	hang_file(fd);
	return syscall(SYS_pwrite64, fd, data, len, at);
}

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t len, unsigned flags)
{
	hang_file(out);
	return syscall(SYS_copy_file_range, in, from, out, to, len, flags);
}

int ftruncate(int fd, off_t len)
{
	hang_file(fd);
	return (int)syscall(SYS_ftruncate, fd, len);
}
