/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which file system a path is on, by its text alone: the file system itself, which may hang, is not asked.  (So a
 * symbolic link into another file system is not seen.)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct js_mount {
	char *point, *type; /* as in "/scratch", "lustre" */
	size_t len;	    /* of the point; 0: it is "/" */
	int64_t number;	    /* made of both */
};

/* Begins as {.n = 0}. */
struct js_mounts {
	struct js_mount *at;
	size_t n, room;
};

/* Reads what is mounted from FILE, as /proc/self/mounts.  0, or -1: that can't be read, or without memory. */
int js_mounts_read(struct js_mounts *mounts, const char *file);
void js_mounts_free(struct js_mounts *mounts);

/* Returns the mount that PATH, LEN bytes and absolute, is on; NULL: unknown. */
const struct js_mount *js_mounts_of(const struct js_mounts *mounts, const char *path, size_t len);

/* Returns whether Linux counts, in /proc/PID/io, what processes read from and write to such a file system's storage. If
 * not, the counters stay 0. */
int js_mount_is_counted(const struct js_mount *mount);
