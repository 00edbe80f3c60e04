/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading the site's file.  Promise: a file with an error switches nothing on.
 */
#include "exec/site.h"

#include "base/error.h"
#include "base/file.h"
#include "base/glob.h"
#include "base/num.h"
#include "base/setting.h"
#include "exec/packages.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Adds the globs in TEXT, between commas, blanks and line ends; comments begin with a '#'. */
static int add_public(struct js_site *site, char *text, const struct js_setting *s, struct jobstack_error *error)
{
	char *line, *word;

	while ((line = strsep(&text, "\n")) != NULL) {
		line[strcspn(line, "#")] = '\0';
		while ((word = strsep(&line, ", \t\r")) != NULL) {
			if (*word == '\0')
				continue;
			if (js_glob_fault(word, strlen(word)) != NULL)
				return js_setting_refuse(s, error, "packages-public has an invalid pattern");
			js_packages_plain(word);
			js_buf_add(&site->public_packages, word, strlen(word) + 1);
		}
	}
	return 0;
}

/* Reads the value of packages-public: a list, or the name of a file with one. */
static int read_public(struct js_site *site, const struct js_setting *s, struct jobstack_error *error)
{
	struct js_buf text = {0};
	int status;

	js_buf_reset(&site->public_packages);
	if (*s->value != '/')
		return add_public(site, s->value, s, error);
	if (js_file_read(s->value, &text) != 0)
		status = js_error_access(error, "%s, line %u: can't read %s", s->path, s->line, s->value);
	else
		status = text.data == NULL ? 0 : add_public(site, text.data, s, error);
	js_buf_free(&text);
	return status;
}

/* Reads one setting; a js_setting_fn. */
static int read_setting(void *ctx, const struct js_setting *s, struct jobstack_error *error)
{
	struct js_site *site = ctx;
	int64_t slurm_us;

	if (s->group == NULL || strcmp(s->group, "site") != 0)
		return 0;
	if (s->value == NULL)
		return js_setting_refuse(s, error, "the value is missing: write KEY = VALUE");
	if (strcmp(s->key, "packages") == 0) {
		site->packages = strcmp(s->value, "1") == 0;
		return site->packages || strcmp(s->value, "0") == 0
			       ? 0
			       : js_setting_refuse(s, error, "packages takes 1 or 0");
	}
	if (strcmp(s->key, "events") == 0) {
		js_buf_reset(&site->events);
		js_buf_str(&site->events, s->value);
		return *s->value == '\0' || *s->value == '/' || strcmp(s->value, "syslog") == 0
			       ? 0
			       : js_setting_refuse(s, error, "events takes syslog, or an absolute path");
	}
	if (strcmp(s->key, "packages_public") == 0)
		return read_public(site, s, error);
	if (strcmp(s->key, "slurm_every") == 0) {
		if (strcmp(s->value, "never") == 0)
			site->slurm_us = INT64_MAX;
		else if (js_num_duration(s->value, &slurm_us) == 0 && slurm_us >= JS_SITE_SLURM_US &&
			 slurm_us <= JS_SITE_SLURM_MOST_US)
			site->slurm_us = slurm_us;
		else
			return js_setting_refuse(
				s, error,
				"slurm-every takes a time of at least 1m and at most 1d, such as 5m, or never");
		return 0;
	}
	return js_setting_refuse(s, error,
				 "unknown setting: [site] takes packages, events, packages-public and slurm-every");
}

/* A file that is missing is no error.  In a file with an error one setting still counts: the limit on questions to
 * Slurm, which protects others. */
int js_site_read(struct js_site *site, const char *path, struct jobstack_error *error)
{
	int status = 0;

	path = path == NULL || *path == '\0' ? JS_SITE_FILE : path;
	if (access(path, F_OK) == 0 || errno != ENOENT)
		status = js_setting_read(path, "site", read_setting, site, error);
	if (status == 0 && (site->events.failed || site->public_packages.failed))
		status = js_error_memory(error);
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

/* The globs lie one behind the other, each with its NUL. */
int js_site_is_public(const struct js_site *site, const char *name)
{
	const char *glob = site->public_packages.data, *end = glob == NULL ? NULL : glob + site->public_packages.len;

	for (; glob < end; glob += strlen(glob) + 1)
		if (js_glob_match(glob, name))
			return 1;
	return 0;
}
