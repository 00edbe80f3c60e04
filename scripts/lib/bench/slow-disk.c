/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A disk that takes its time: preloaded into a database server, it makes each fsync and fdatasync take $SLOW_DISK_US
 * microseconds longer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default"))) /* the build hides all else */

static void take_time(void)
{
	static long us = -1;

	if (us < 0)
		us = getenv("SLOW_DISK_US") == NULL ? 0 : atol(getenv("SLOW_DISK_US"));
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
