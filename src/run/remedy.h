/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What to do about an error, where both tools say the same.  It is chosen by server_errno (js_error_why), never by the
 * text; each tool adds what only it knows.
 */
#pragma once

#include "jobstack/jobstack.h"

/* What to do about ERROR, or NULL.  FILE is the option file that was used, in words if need be; NULL: there is none. */
const char *js_remedy(const struct jobstack_error *error, const char *file);

/* A remedy with a name in it, in a static buffer until the next call.  js_remedy may use it, too. */
const char *js_remedy_for(const char *format, ...) __attribute__((format(printf, 1, 2)));
