/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A library to preload: a clock that jumps, memory that runs out, and files that hang.
 *
 * $FAULT_CLOCK names a file with two int64_t, nanoseconds: so far off are CLOCK_REALTIME and CLOCK_BOOTTIME of this
 * process, from the moment that the file says so (it is mapped).  CLOCK_MONOTONIC is left alone.  So a jump of the wall
 * clock is a change of the first number; a machine that was suspended, of both; a virtual machine that was paused (the
 * process itself must be stopped meanwhile), of the second by as much less; and if its host then sets no clock, of both
 * by as much less.  Whoever waits for such leaps (TFD_TIMER_CANCEL_ON_SET) is woken as the kernel would do it.
 * $FAULT_MALLOC=N: the Nth allocation of each process fails; N+: that one and all after it.  Each that fails adds a
 * byte to the file $FAULT_FIRED, so that one knows.
 * $FAULT_HANG names a directory: while a file of that name with ".hang" behind it exists, calls that open, or change,
 * what is below the directory do not return, as with a file system whose server is away; and they make that file
 * longer.
 *
 * -DCLOCK_ONLY leaves out what gets in the way of a sanitizer's library: the memory, and a condition variable's
 * deadlines by the wall clock, which only servers have; and the files, but for -DWITH_FILES.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS INT64_C(1000000000)
#define EPOCH_S 500000000 /* a deadline beyond is by the wall clock; no host has been up for so long */

#define LOOK_NS (NS / 100)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static _Atomic(const volatile int64_t *) offsets; /* of the wall clock, and of CLOCK_BOOTTIME */
static atomic_int leap_fd = -1;
static atomic_long calls, fail_at, fail_on;
static int fired = -1;
static char hang_dir[3000], hang_flag[3010];

__attribute__((constructor)) static void begin(void)
{
	const char *clock_file = getenv("FAULT_CLOCK"), *n = getenv("FAULT_MALLOC"), *hang = getenv("FAULT_HANG");
	int fd = clock_file == NULL ? -1 : open(clock_file, O_RDONLY | O_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 2 * sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		(void)close(fd);
	if (map != MAP_FAILED)
		atomic_store(&offsets, (const volatile int64_t *)map);
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

/* ----------------------------------------------------------------------------------------------------- the clock */

static int64_t off(int which)
{
	const volatile int64_t *p = atomic_load(&offsets);

	return p == NULL ? 0 : p[which];
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
		shift(t, off(0));
	else if (status == 0 && id == CLOCK_BOOTTIME)
		shift(t, off(1));
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

static int settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	static atomic_uintptr_t next;
	uintptr_t f = atomic_load(&next);

	if (f == 0)
		atomic_store(&next, f = (uintptr_t)dlsym(RTLD_NEXT, "timerfd_settime"));
	return ((int (*)(int, int, const struct itimerspec *, struct itimerspec *))f)(fd, flags, new, old);
}

/* Makes the timer expire whenever the file has changed. */
static void *tell_leaps(void *unused)
{
	const struct itimerspec past = {.it_value = {.tv_nsec = 1}};
	const struct timespec nap = {.tv_nsec = LOOK_NS};
	int64_t seen[2] = {off(0), off(1)};

	(void)unused;
	for (;;) {
		(void)nanosleep(&nap, NULL);
		if (off(0) == seen[0] && off(1) == seen[1])
			continue;
		seen[0] = off(0);
		seen[1] = off(1);
		(void)settime(atomic_load(&leap_fd), TFD_TIMER_ABSTIME, &past, NULL);
	}
	return NULL;
}

/* A process has one such timer.  A child of fork has no thread of ours: it must ask for one of its own. */
int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	pthread_t thread;
	sigset_t all, before;

	if ((flags & TFD_TIMER_CANCEL_ON_SET) != 0 && atomic_load(&offsets) != NULL) {
		atomic_store(&leap_fd, fd);
		(void)sigfillset(&all);
		(void)pthread_sigmask(SIG_SETMASK, &all, &before);
		if (pthread_create(&thread, NULL, tell_leaps, NULL) != 0)
			abort();
		(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	return settime(fd, flags, new, old);
}

#ifndef CLOCK_ONLY
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
		shift(&real, -off(0));
	return ((int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))f)(cond, mutex, &real);
}

/* ---------------------------------------------------------------------------------------------------- the memory */

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

#endif

#if !defined(CLOCK_ONLY) || defined(WITH_FILES)
/* ----------------------------------------------------------------------------------------------------- the files */

static void hang_path(const char *path)
{
	const struct timespec nap = {0, 20000000};

	if (hang_dir[0] == '\0' || strncmp(path, hang_dir, strlen(hang_dir)) != 0)
		return;
	while (syscall(SYS_access, hang_flag, F_OK) == 0) {
		long fd = syscall(SYS_openat, AT_FDCWD, hang_flag, O_WRONLY | O_APPEND);

		if (fd >= 0 && syscall(SYS_write, fd, ".", 1) == 1)
			(void)syscall(SYS_close, fd);
		(void)syscall(SYS_nanosleep, &nap, NULL);
	}
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
#endif
