/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The site's file: what an administrator switches on for all users of a machine, as the group [site] of
 *
 *     [site]
 *     packages = 1
 *     events = syslog
 *     packages-public = numpy, scipy, scikit-*
 *
 * It is no fence.  A user may refuse what it switches on, and may name another file.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

#define JS_SITE_FILE "/etc/jobstack.cnf"

/* Start it as {0}; free it with js_site_free. */
struct js_site {
	int packages;		       /* Python packages are recorded */
	struct js_buf events;	       /* an absolute path, or "syslog"; of length 0: no events */
	struct js_buf public_packages; /* globs of their names, each with a NUL behind it */
};

/* Reads PATH; NULL or "": JS_SITE_FILE.  A file that is not there says nothing.  0; JOBSTACK_EFILE, JOBSTACK_EPERM, or
 * JOBSTACK_EUSAGE with the line: then SITE is empty, that is, nothing is switched on and no package is public. */
int js_site_read(struct js_site *site, const char *path, struct jobstack_error *error);
void js_site_free(struct js_site *site);

/* Does the site call the Python package NAME, as a worker records it, public?  For events and reports that are shared.
 */
int js_site_is_public(const struct js_site *site, const char *name);
