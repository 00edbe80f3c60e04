/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The owner record.  Promise: a process is identified by its pid together with its start time and boot.
 */
#include "server/owner.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "proc/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

void js_owner_host(char host[256])
{
	struct utsname u;

	host[0] = '\0';
	if (uname(&u) == 0)
		(void)snprintf(host, 256, "%s", u.nodename);
}

int js_owner_lives(const struct js_owner *owner)
{
	return owner->pid > 0 && js_proc_start(owner->pid) == owner->start;
}

/* On another host nothing is known.  After a reboot of this one no process of before lives.  Else the pid is looked up
 * with its start time, since another process may have the number now. */
static enum js_owner_state judge_owner(const struct js_owner *owner)
{
	char host[256], boot[40];

	js_owner_host(host);
	js_proc_boot_id(boot);
	if (strcmp(host, owner->host) != 0)
		return JS_OWNER_ELSEWHERE;
	if (strcmp(boot, owner->boot) != 0)
		return JS_OWNER_CRASHED;
	return js_owner_lives(owner) ? JS_OWNER_ALIVE : JS_OWNER_CRASHED;
}

/* The lines of a record, KEY=VALUE: texts, and numbers of 4 or 8 bytes. */
enum kind { TEXT, INT, LONG };
/* clang-format off */
#define FIELD(kind, name) {#name, kind, offsetof(struct js_owner, name), sizeof(((struct js_owner *)NULL)->name)}
/* clang-format on */
static const struct field {
	const char *key;
	enum kind kind;
	size_t at, size;
} fields[] = {FIELD(TEXT, host),       FIELD(TEXT, boot),	 FIELD(INT, pid),      FIELD(LONG, start),
	      FIELD(LONG, began_us),   FIELD(TEXT, bind),	 FIELD(INT, port),     FIELD(TEXT, socket),
	      FIELD(TEXT, socket_dir), FIELD(TEXT, client_file), FIELD(TEXT, program), FIELD(TEXT, version),
	      FIELD(LONG, log_offset), FIELD(TEXT, job),	 FIELD(TEXT, cluster)};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))
#define NEEDED (FIELDS - 2) /* the last two are only in records of a server in a Slurm job */

/* Reads one line into its member.  A value that does not fit is refused, not cut: the record decides whether a server
 * may start. */
static int parse_field(const char *text, const struct field *f, struct js_owner *o)
{
	char value[JS_LAYOUT_PATH], *at = (char *)o + f->at;
	int64_t n = 0;

	if (js_owner_value(text, f->key, value, sizeof(value)) != 0)
		return -1;
	if (f->kind == TEXT) {
		memcpy(at, value, strlen(value) < f->size ? strlen(value) + 1 : 0);
		return strlen(value) < f->size ? 0 : -1;
	}
	if (js_num_i64(value, -1, f->kind == INT ? INT32_MAX : INT64_MAX, &n) != 0)
		return -1;
	if (f->kind == INT)
		*(int *)(void *)at = (int)n;
	else
		*(int64_t *)(void *)at = n;
	return 0;
}

static int parse_record(const char *text, struct js_owner *o)
{
	int bad = 0;

	memset(o, 0, sizeof(*o));
	for (size_t i = 0; i < FIELDS; i++)
		bad |= parse_field(text, &fields[i], o) != 0 && i < NEEDED;
	return bad == 0 && o->pid > 0 && o->port <= 65535 && o->host[0] != '\0' ? 0 : -1;
}

int js_owner_value(const char *text, const char *key, char *out, size_t size)
{
	size_t k = strlen(key), len;

	while (strncmp(text, key, k) != 0 || text[k] != '=') {
		text = strchr(text, '\n');
		if (text == NULL)
			return -1;
		text++;
	}
	len = strcspn(text + k + 1, "\n");
	if (len >= size)
		return -1;
	memcpy(out, text + k + 1, len);
	out[len] = '\0';
	return 0;
}

int js_owner_read(const struct js_layout *layout, struct js_owner *owner, enum js_owner_state *state,
		  struct jobstack_error *error)
{
	struct js_buf text = {0};
	int status = 0;

	memset(owner, 0, sizeof(*owner));
	*state = JS_OWNER_STOPPED;
	if (js_file_read(layout->owner, &text) != 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			status = js_error_access(error, "%s can't be read", layout->owner);
	} else if (text.failed)
		status = js_error_memory(error);
	else if (text.data == NULL || parse_record(text.data, owner) != 0)
		status = js_error_set(error, JOBSTACK_EFILE,
				      "%s is damaged: remove it if you are sure that no server runs on %s",
				      layout->owner, layout->dir);
	else
		*state = judge_owner(owner);
	js_buf_free(&text);
	return status;
}

void js_owner_identify(struct js_owner *owner, pid_t pid)
{
	js_owner_host(owner->host);
	js_proc_boot_id(owner->boot);
	owner->pid = pid;
	owner->start = js_proc_start(pid);
	owner->began_us = js_clock_wall_us();
}

/* js_file_replace renames a complete file into place, so a reader on any host sees the old record or the new one. */
int js_owner_write(const struct js_layout *layout, const struct js_owner *owner, struct jobstack_error *error)
{
	struct js_buf t = {0};
	int status = 0;

	for (size_t i = 0; i < FIELDS; i++) {
		const void *at = (const char *)owner + fields[i].at;

		if (fields[i].kind != TEXT)
			js_buf_printf(&t, "%s=%" PRId64 "\n", fields[i].key,
				      fields[i].kind == INT ? *(const int *)at : *(const int64_t *)at);
		else if (i < NEEDED || *(const char *)at != '\0')
			js_buf_printf(&t, "%s=%s\n", fields[i].key, (const char *)at);
	}
	if (t.failed)
		status = js_error_memory(error);
	else if (js_file_replace(layout->owner, 0600, t.data, t.len) != 0)
		status = js_error_file(error, "%s can't be written", layout->owner);
	js_buf_free(&t);
	return status;
}

/* Only a directory that we have made in /tmp is removed, whatever the record says. */
void js_owner_sweep(const struct js_owner *owner)
{
	if (strncmp(owner->socket_dir, "/tmp/jobstack-", 14) != 0)
		return;
	(void)unlink(owner->socket);
	(void)rmdir(owner->socket_dir);
}

void js_owner_remove(const struct js_layout *layout, const struct js_owner *owner)
{
	js_owner_sweep(owner);
	(void)unlink(layout->owner);
}
