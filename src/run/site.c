/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading the site's file.  Promise: a file with an error switches nothing on.
 */
#include "run/site.h"

#include "base/error.h"
#include "base/file.h"
#include "base/glob.h"
#include "base/num.h"
#include "base/setting.h"
#include "run/packages.h"

#include <errno.h>
#include <string.h>

struct reading {
	struct js_site *site;
	struct jobstack_error *error;
	const char *path;
	unsigned line;
	int group; /* -1: none yet; 1: [site] */
};

static int refuse_site_line(const struct reading *r, const char *words)
{
	return js_error_set(r->error, JOBSTACK_EUSAGE, "%s, line %u: %s", r->path, r->line, words);
}

/* Adds the globs in TEXT, between commas, blanks and line ends; comments begin with a '#'. */
static int add_public(struct reading *r, char *text)
{
	char *line, *word;

	while ((line = strsep(&text, "\n")) != NULL) {
		line[strcspn(line, "#")] = '\0';
		while ((word = strsep(&line, ", \t\r")) != NULL) {
			if (*word == '\0')
				continue;
			if (js_glob_fault(word, strlen(word)) != NULL)
				return refuse_site_line(r, "packages-public has an invalid pattern");
			js_packages_plain(word);
			js_buf_add(&r->site->public_packages, word, strlen(word) + 1);
		}
	}
	return 0;
}

/* A list, or the name of a file with one. */
static int read_public(struct reading *r, char *value)
{
	struct js_buf text = {0};
	int status;

	js_buf_reset(&r->site->public_packages);
	if (*value != '/')
		return add_public(r, value);
	if (js_file_read(value, &text) != 0)
		status = js_error_access(r->error, "%s, line %u: can't read %s", r->path, r->line, value);
	else
		status = text.data == NULL ? 0 : add_public(r, text.data);
	js_buf_free(&text);
	return status;
}

static int read_setting(struct reading *r, char *line)
{
	char *value, *key = js_setting_split(line, &value);
	int64_t slurm_us;

	if (value == NULL)
		return refuse_site_line(r, "the value is missing: write KEY = VALUE");
	if (strcmp(key, "packages") == 0) {
		r->site->packages = strcmp(value, "1") == 0;
		return r->site->packages || strcmp(value, "0") == 0 ? 0 : refuse_site_line(r, "packages takes 1 or 0");
	}
	if (strcmp(key, "events") == 0) {
		js_buf_reset(&r->site->events);
		js_buf_str(&r->site->events, value);
		return *value == '\0' || *value == '/' || strcmp(value, "syslog") == 0
			       ? 0
			       : refuse_site_line(r, "events takes syslog, or an absolute path");
	}
	if (strcmp(key, "packages_public") == 0)
		return read_public(r, value);
	if (strcmp(key, "slurm_every") == 0) {
		if (strcmp(value, "never") == 0)
			r->site->slurm_us = INT64_MAX;
		else if (js_num_duration(value, &slurm_us) == 0 && slurm_us >= JS_SITE_SLURM_US &&
			 slurm_us <= JS_SITE_SLURM_MOST_US)
			r->site->slurm_us = slurm_us;
		else
			return refuse_site_line(
				r, "slurm-every takes a time of at least 1m and at most 1d, such as 5m, or never");
		return 0;
	}
	return refuse_site_line(r, "unknown setting: [site] takes packages, events, packages-public and slurm-every");
}

static int read_site_line(struct reading *r, char *line)
{
	line = js_setting_trim(line);
	if (*line == '\0' || *line == '#' || *line == ';')
		return 0;
	if (*line == '[') {
		r->group = strcmp(line, "[site]") == 0;
		return 0;
	}
	if (r->group < 0)
		return refuse_site_line(r, "the line is in no group: write [site] above it");
	return r->group == 1 ? read_setting(r, line) : 0;
}

int js_site_read(struct js_site *site, const char *path, struct jobstack_error *error)
{
	struct reading r = {site, error, path == NULL || *path == '\0' ? JS_SITE_FILE : path, 0, -1};
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct js_buf text = {0};
	int status = 0;

	if (js_file_read(r.path, &text) != 0)
		status = errno == ENOENT ? 0 : js_error_access(error, "can't read the site's file %s", r.path);
	else if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL)
		status = js_error_set(error, JOBSTACK_EUSAGE, "%s is not an option file: it has NUL bytes", r.path);
	for (char *rest = text.data, *line; rest != NULL && (line = strsep(&rest, "\n")) != NULL;) {
		r.line++;
		r.error = status == 0 ? error : &ignored; /* the first one is told */
		js_error_clear(&ignored);
		if (read_site_line(&r, line) != 0)
			status = error->code;
	}
	if (status == 0 && (text.failed || site->events.failed || site->public_packages.failed))
		status = js_error_memory(error);
	js_buf_free(&text);
	if (status != 0) {
		int64_t slurm_us = site->slurm_us; /* a limit holds, whatever is wrong in the file */

		js_site_free(site);
		site->slurm_us = slurm_us;
	}
	if (site->slurm_us == 0)
		site->slurm_us = JS_SITE_SLURM_US;
	return status;
}

void js_site_free(struct js_site *site)
{
	js_buf_free(&site->events);
	js_buf_free(&site->public_packages);
	*site = (struct js_site){0};
}

int js_site_is_public(const struct js_site *site, const char *name)
{
	const char *glob = site->public_packages.data, *end = glob == NULL ? NULL : glob + site->public_packages.len;

	for (; glob < end; glob += strlen(glob) + 1)
		if (js_glob_match(glob, strlen(glob), name, strlen(name)))
			return 1;
	return 0;
}
