/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The site's file: what an administrator switches on for all users of a machine, as the group [site] of
 *
 *     [site]
 *     packages = 1
 *     events = syslog
 *     packages-public = numpy, scipy, scikit-*
 *     slurm-every = 5m
 *
 * It enforces nothing.  Users can refuse what it switches on, and can name another file.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

#define JS_SITE_FILE "/etc/jobstack.cnf"

#define JS_SITE_SLURM_US (60 * INT64_C(1000000)) /* the default, and the least */
#define JS_SITE_SLURM_MOST_US (86400 * INT64_C(1000000))

/* Begins as {0}; free it with js_site_free. */
struct js_site {
	int packages;		       /* Python packages are recorded */
	struct js_buf events;	       /* an absolute path, or "syslog"; of length 0: no events */
	struct js_buf public_packages; /* globs of their names, each with a NUL behind it */
	/* the least time between two questions to slurmctld that a user's workers ask by themselves; INT64_MAX: they
	 * ask nothing */
	int64_t slurm_us;
};

/* Reads PATH; NULL or "": JS_SITE_FILE.  A missing file is as an empty one.  On an error (JOBSTACK_EFILE,
 * JOBSTACK_EPERM, or JOBSTACK_EUSAGE with the line) SITE is empty but for a valid slurm-every: nothing is switched on,
 * and no package is public. */
int js_site_read(struct js_site *site, const char *path, struct jobstack_error *error);
void js_site_free(struct js_site *site);

/* Returns whether the site lists the Python package NAME (as a worker records it) as public.  Shared reports, and
 * events that the site asked for, name only these. */
int js_site_is_public(const struct js_site *site, const char *name);
