/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a script for bash says about its pipelines: whether each part of one decides, or only the last, as bash has it
 * by itself.  With pipefail bash takes a part that SIGPIPE ended for a failure (141), although the last part only
 * wanted no more of it (`... | head -1`).
 */
#pragma once

enum js_pipeline {
	JS_PIPELINE_NONE,	/* the script has no pipeline */
	JS_PIPELINE_PLAIN,	/* each part decides, and 141 counts as 0 where the last part ended with 0 */
	JS_PIPELINE_STRICT,	/* each part decides; 141 is a failure, since a command behind && was skipped for it */
	JS_PIPELINE_CONDITIONS, /* only the last part: bash could take the wrong way at an if, or at || */
};

/* Returns what SCRIPT, in bash's language, has of pipelines outside of single quotes. */
enum js_pipeline js_pipeline_find(const char *script);

/* Returns what is to be put before such a script, or "".  It wants `bash -o pipefail`, but for JS_PIPELINE_CONDITIONS.
 */
const char *js_pipeline_watch(enum js_pipeline kind);

/* The beginning of what such a script writes to standard error at its end, if a pipeline's last part ended well and an
 * earlier one did not. */
#define JS_PIPELINE_FAILED "jobstack: a part of the pipeline failed"
