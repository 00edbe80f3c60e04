/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The cgroup of a process.  Promise: what can't be read limits nothing.
 */
#include "proc/cgroup.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the comma-separated LIST of LEN bytes has WORD in it. */
static int list_has(const char *list, size_t len, const char *word)
{
	const size_t size = strlen(word);

	for (const char *p = list, *end = list + len; p + size <= end; p++)
		if (strncmp(p, word, size) == 0 && (p == list || p[-1] == ',') && (p + size == end || p[size] == ','))
			return 1;
	return 0;
}

/* Finds the cgroup in the text of /proc/self/cgroup ("4:memory:/a/b" for version 1, "0::/a/b" for 2); version 1
 * wins, since a machine with both has the controller there.  Puts the path into GROUP.  Returns the version, or 0. */
static int find_group(const char *text, const char *controller, struct js_buf *group)
{
	int version = 0;

	for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
		const char *list, *path;
		int this_version;

		line += *line == '\n';
		list = strchr(line, ':');
		path = list != NULL ? strchr(list + 1, ':') : NULL;
		if (path == NULL)
			break;
		this_version = list + 1 == path ? 2 : list_has(list + 1, (size_t)(path - list - 1), controller) ? 1 : 0;
		if (this_version == 0 || version == 1)
			continue;
		version = this_version;
		js_buf_reset(group);
		js_buf_add(group, path + 1, strcspn(path + 1, "\n"));
	}
	return version;
}

/* A walk up the cgroups of a process. */
struct walk {
	const char *controller, *group;
	int version; /* of the hierarchy, 1 or 2; 0: the process is in none */
	js_cgroup_fn *look;
	void *ctx;
};

/* If LINE of mountinfo is a file system of these cgroups, walks up in it, from the process's cgroup to the mount point.
 * Returns what LOOK has returned, else 0. */
static int walk_mount(const struct walk *w, const char *line)
{
	const char *dash = strstr(line, " - "),
		   *rest = w->group; /* between the optional fields and the file system's */
	char root[4096], mount[4096], type[16], options[4096] = "";
	struct js_buf dir = {0};
	int found = 0;

	if (dash == NULL || sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) != 2 ||
	    sscanf(dash, " - %15s %*s %4095s", type, options) < 1 ||
	    strcmp(type, w->version == 2 ? "cgroup2" : "cgroup") != 0 ||
	    (w->version == 1 && !list_has(options, strlen(options), w->controller)))
		return 0;
	/* ROOT is the part of the hierarchy that is mounted */
	if (strcmp(root, "/") != 0 && strncmp(rest, root, strlen(root)) == 0)
		rest += strlen(root);
	js_buf_printf(&dir, "%s%s", mount, strcmp(rest, "/") != 0 ? rest : "");
	while (!dir.failed && (found = w->look(w->ctx, dir.data, w->version)) == 0 && dir.len > strlen(mount)) {
		dir.len = (size_t)(strrchr(dir.data, '/') - dir.data);
		dir.data[dir.len] = '\0';
	}
	js_buf_free(&dir);
	return found;
}

/* /proc/PID/cgroup names the cgroup within its hierarchy, and mountinfo says where the hierarchy is mounted. */
void js_cgroup_walk(const char *proc, const char *controller, js_cgroup_fn *look, void *ctx)
{
	struct js_buf path = {0}, text = {0}, group = {0};
	struct walk walk = {.controller = controller, .look = look, .ctx = ctx};
	char *save = NULL;

	js_buf_printf(&path, "%s/cgroup", proc);
	if (!path.failed && js_file_read(path.data, &text) == 0)
		walk.version = find_group(text.data, controller, &group);
	js_buf_reset(&path);
	js_buf_reset(&text);
	js_buf_printf(&path, "%s/mountinfo", proc);
	walk.group = group.data;
	if (walk.version != 0 && !path.failed && !group.failed && js_file_read(path.data, &text) == 0)
		for (char *line = strtok_r(text.data, "\n", &save); line != NULL && walk_mount(&walk, line) == 0;)
			line = strtok_r(NULL, "\n", &save);
	js_buf_free(&path);
	js_buf_free(&text);
	js_buf_free(&group);
}

/* Notes the quota of one cgroup: "150000 100000" of each period, "max 100000" or "-1" without a limit. */
static int note_quota(void *ctx, const char *dir, int version)
{
	static const char *const files[2][2] = {{"cpu.cfs_quota_us", "cpu.cfs_period_us"}, {"cpu.max", NULL}};
	struct js_buf text = {0}, path = {0};
	unsigned *least = ctx, cpus;
	long long quota, period;

	for (int i = 0; i < 2 && files[version - 1][i] != NULL; i++) {
		js_buf_reset(&path);
		js_buf_printf(&path, "%s/%s", dir, files[version - 1][i]);
		if (path.failed || js_file_read(path.data, &text) != 0)
			break;
	}
	if (text.data != NULL && sscanf(text.data, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0) {
		cpus = quota < period ? 1 : (unsigned)(quota / period);
		*least = *least == 0 || cpus < *least ? cpus : *least;
	}
	js_buf_free(&text);
	js_buf_free(&path);
	return 0;
}

unsigned js_cgroup_cpus(const char *proc)
{
	unsigned least = 0;

	js_cgroup_walk(proc, "cpu", note_quota, &least);
	return least;
}
