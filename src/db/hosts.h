/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The list of hosts that an option file may name: host=a,b:3307,[2001:db8::1]:3306.
 */
#pragma once

#define JS_HOSTS_MAX 8
#define JS_HOST_NAME 256 /* a name with its NUL */

struct js_host {
	char name[JS_HOST_NAME]; /* a name or an address, without brackets */
	unsigned port;		 /* its own; 0: not said */
};

struct js_hosts {
	unsigned n; /* 0: no host was named */
	struct js_host at[JS_HOSTS_MAX];
};

/* Reads LIST: one to JS_HOSTS_MAX of `host`, `host:port`, `[address]`, `[address]:port`, with commas between them and
 * blanks around them as one likes; an empty LIST names none.  Returns NULL, or why it makes no sense, in a few constant
 * words; then HOSTS is as it was. */
const char *js_hosts_read(struct js_hosts *hosts, const char *list);

/* The place of HOST in HOSTS, or 0 if it is not there. */
unsigned js_hosts_find(const struct js_hosts *hosts, const struct js_host *host);
