/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of mounts.
 */
#include "process/mounts.h"

#include "base/array.h"
#include "base/file.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

/* Turns \040 and the like into their bytes, in place. */
static void unescape_octal(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; to++) {
		if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else
			*to = *from++;
	}
	*to = '\0';
}

/* proc(5): the fifth word is the place, the first behind a lone "-" the type. */
static int add_mount(struct js_mounts *m, char *line)
{
	char *point = NULL, *type = NULL, *rest, *word = strtok_r(line, " ", &rest);

	for (int n = 1; word != NULL && type == NULL; word = strtok_r(NULL, " ", &rest), n++)
		if (n == 5)
			point = word;
		else if (n > 6 && strcmp(word, "-") == 0)
			type = strtok_r(NULL, " ", &rest);
	if (point == NULL || type == NULL)
		return 0;
	if (js_array_grow(&m->at, &m->room, m->n + 1, sizeof(*m->at)) != 0)
		return -1;
	unescape_octal(point);
	m->at[m->n++] = (struct js_mount){
		point, type, strcmp(point, "/") == 0 ? 0 : strlen(point),
		(int64_t)(js_num_hash(js_num_hash(JS_NUM_HASH, type, strlen(type) + 1), point, strlen(point)) >> 1)};
	return 0;
}

int js_mounts_read(struct js_mounts *m, const char *file)
{
	int status = 0;

	js_mounts_free(m);
	if (js_file_read(file, &m->text) != 0 || m->text.failed)
		return -1;
	for (char *line = m->text.data, *next; line != NULL && *line != '\0' && status == 0; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		status = add_mount(m, line);
	}
	return status;
}

void js_mounts_free(struct js_mounts *m)
{
	js_buf_free(&m->text);
	free(m->at);
	*m = (struct js_mounts){.n = 0};
}

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
