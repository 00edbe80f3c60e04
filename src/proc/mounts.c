/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of mounts.
 */
#include "proc/mounts.h"

#include "base/array.h"
#include "base/num.h"

#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number is a hash, so that all workers give a file system the same number. */
static int add_mount(struct js_mounts *m, const struct mntent *entry)
{
	struct js_mount mount = {.point = strdup(entry->mnt_dir), .type = strdup(entry->mnt_type)};

	if (mount.point == NULL || mount.type == NULL ||
	    js_array_grow(&m->at, &m->room, m->n + 1, sizeof(*m->at)) != 0) {
		free(mount.point);
		free(mount.type);
		return -1;
	}
	mount.len = strcmp(mount.point, "/") == 0 ? 0 : strlen(mount.point);
	mount.number = (int64_t)(js_num_hash(js_num_hash(JS_NUM_HASH, mount.type, strlen(mount.type) + 1), mount.point,
					     strlen(mount.point)) >>
				 1);
	m->at[m->n++] = mount;
	return 0;
}

/* The table is read once, when the worker starts: reading it touches no file system. */
int js_mounts_read(struct js_mounts *m, const char *file)
{
	FILE *table = setmntent(file, "re");
	struct mntent entry;
	char line[16384];
	int status = 0;

	js_mounts_free(m);
	if (table == NULL)
		return -1;
	while (status == 0 && getmntent_r(table, &entry, line, sizeof(line)) != NULL)
		status = add_mount(m, &entry);
	(void)endmntent(table);
	return status;
}

void js_mounts_free(struct js_mounts *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->at[i].point);
		free(m->at[i].type);
	}
	free(m->at);
	*m = (struct js_mounts){.n = 0};
}

/* The mount is the one whose point is the longest beginning of the path, up to a slash. */
const struct js_mount *js_mounts_of(const struct js_mounts *m, const char *path, size_t len)
{
	const struct js_mount *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < m->n; i++) {
		size_t n = m->at[i].len;

		if (n <= len && n >= longest && (n == len || path[n] == '/') && memcmp(path, m->at[i].point, n) == 0) {
			best = &m->at[i]; /* of two at one place, the later one is seen */
			longest = n;
		}
	}
	return best;
}

int js_mount_is_counted(const struct js_mount *mount)
{
	/* NFS counts only some ways of reading, Lustre, GPFS, ZFS and FUSE none */
	static const char *const type[] = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "vfat", "tmpfs", "ramfs"};

	for (size_t i = 0; mount != NULL && i < sizeof(type) / sizeof(type[0]); i++)
		if (strcmp(mount->type, type[i]) == 0)
			return 1;
	return 0;
}
