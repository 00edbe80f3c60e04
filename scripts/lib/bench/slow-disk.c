/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A disk that takes its time: preloaded into a database server, it makes each fsync and fdatasync take longer.  The file
 * $SLOW_DISK holds how much longer, in microseconds: an int64_t, which may be changed while the server runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default"))) /* the build hides all else */

static const volatile int64_t *delay_us;

__attribute__((constructor)) static void map_delay(void)
{
	const char *path = getenv("SLOW_DISK");
	int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd >= 0 ? mmap(NULL, sizeof(*delay_us), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (at != MAP_FAILED)
		delay_us = at;
	if (fd >= 0)
		close(fd);
}

static void take_time(void)
{
	int64_t us = delay_us != NULL ? *delay_us : 0;

	if (us > 0)
		usleep((unsigned)us);
}

SEEN int fsync(int fd)
{
	int (*next)(int);

	*(void **)&next = dlsym(RTLD_NEXT, "fsync");
	take_time();
	return next(fd);
}

SEEN int fdatasync(int fd)
{
	int (*next)(int);

	*(void **)&next = dlsym(RTLD_NEXT, "fdatasync");
	take_time();
	return next(fd);
}
