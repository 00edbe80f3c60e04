/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The owner record.  Promise: a pid is believed only together with its start time and boot.
 */
#define _GNU_SOURCE
#include "server/owner.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "process/proc.h"

#include <errno.h>
#include <inttypes.h>
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

static enum js_owner_state judge_owner(const struct js_owner *owner)
{
	char host[256], boot[40];

	js_owner_host(host);
	js_proc_boot_id(boot);
	if (strcmp(host, owner->host) != 0)
		return JS_OWNER_ELSEWHERE;
	if (strcmp(boot, owner->boot) != 0)
		return JS_OWNER_GONE;
	return js_owner_lives(owner) ? JS_OWNER_ALIVE : JS_OWNER_GONE;
}

/* The value of KEY in the record's text, or NULL; ends at the line's end. */
static const char *value_of(const char *text, const char *key, size_t *len)
{
	size_t k = strlen(key);

	while (text != NULL && *text != '\0') {
		if (strncmp(text, key, k) == 0 && text[k] == '=') {
			text += k + 1;
			*len = strcspn(text, "\n");
			return text;
		}
		text = strchr(text, '\n');
		if (text != NULL)
			text++;
	}
	return NULL;
}

static int take_text(const char *record, const char *key, char *out, size_t size)
{
	size_t len;
	const char *value = value_of(record, key, &len);

	if (value == NULL || len >= size)
		return -1;
	memcpy(out, value, len);
	out[len] = '\0';
	return 0;
}

static int take_number(const char *record, const char *key, int64_t high, int64_t *out)
{
	char text[32];

	return take_text(record, key, text, sizeof(text)) == 0 ? js_num_i64(text, -1, high, out) : -1;
}

static int parse_record(const char *text, struct js_owner *o)
{
	int64_t pid = 0, port = 0;
	int bad = 0;

	memset(o, 0, sizeof(*o));
	bad |= take_text(text, "host", o->host, sizeof(o->host));
	bad |= take_text(text, "boot", o->boot, sizeof(o->boot));
	bad |= take_number(text, "pid", INT32_MAX, &pid);
	bad |= take_number(text, "start", INT64_MAX, &o->start);
	bad |= take_number(text, "began_us", INT64_MAX, &o->began_us);
	bad |= take_text(text, "bind", o->bind, sizeof(o->bind));
	bad |= take_text(text, "listen", o->listen, sizeof(o->listen));
	bad |= take_number(text, "port", 65535, &port);
	bad |= take_text(text, "socket", o->socket, sizeof(o->socket));
	bad |= take_text(text, "socket_dir", o->socket_dir, sizeof(o->socket_dir));
	bad |= take_text(text, "client_file", o->client_file, sizeof(o->client_file));
	bad |= take_text(text, "program", o->program, sizeof(o->program));
	bad |= take_text(text, "version", o->version, sizeof(o->version));
	bad |= take_number(text, "log_offset", INT64_MAX, &o->log_offset);
	if (take_text(text, "job", o->job, sizeof(o->job)) != 0)
		o->job[0] = '\0'; /* it is in none */
	o->pid = (pid_t)pid;
	o->port = (unsigned)port;
	return bad == 0 && pid > 0 && o->host[0] != '\0' ? 0 : -1;
}

int js_owner_read(const struct js_layout *layout, struct js_owner *owner, enum js_owner_state *state,
		  struct jobstack_error *error)
{
	struct js_buf text = {0};
	int status = 0;

	memset(owner, 0, sizeof(*owner));
	*state = JS_OWNER_NONE;
	if (js_file_read(layout->owner, &text) != 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			status = js_error_access(error, "%s can't be read", layout->owner);
	} else if (text.failed)
		status = js_error_memory(error);
	else if (parse_record(text.data, owner) != 0)
		status = js_error_set(error, JOBSTACK_EFILE,
				      "%s is damaged: remove it if you are sure that no server runs on %s",
				      layout->owner, layout->dir);
	else
		*state = judge_owner(owner);
	js_buf_free(&text);
	return status;
}

int js_owner_write(const struct js_layout *layout, struct js_owner *owner, struct jobstack_error *error)
{
	struct js_buf t = {0};
	int status = 0;

	js_owner_host(owner->host);
	js_proc_boot_id(owner->boot);
	owner->start = js_proc_start(owner->pid);
	js_buf_printf(&t, "host=%s\nboot=%s\npid=%ld\nstart=%" PRId64 "\nbegan_us=%" PRId64 "\n", owner->host,
		      owner->boot, (long)owner->pid, owner->start, owner->began_us);
	js_buf_printf(&t, "bind=%s\nlisten=%s\nport=%u\nsocket=%s\nsocket_dir=%s\n", owner->bind, owner->listen,
		      owner->port, owner->socket, owner->socket_dir);
	js_buf_printf(&t, "client_file=%s\nprogram=%s\nversion=%s\nlog_offset=%" PRId64 "\n", owner->client_file,
		      owner->program, owner->version, owner->log_offset);
	if (owner->job[0] != '\0')
		js_buf_printf(&t, "job=%s\n", owner->job);
	if (t.failed)
		status = js_error_memory(error);
	else if (js_file_replace(layout->owner, 0600, t.data, t.len) != 0)
		status = js_error_file(error, "%s can't be written", layout->owner);
	js_buf_free(&t);
	return status;
}

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
