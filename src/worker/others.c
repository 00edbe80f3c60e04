/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The look at others.  Promise: nothing is taken back without a proof (watch/watch.h).
 */
#define _GNU_SOURCE
#include "worker/others.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/home.h"
#include "worker/speaker.h"

#include <limits.h>
#include <stdlib.h>

#define PATIENCE_US (10 * JS_SECOND_US)
#define CROWD_US (600 * JS_SECOND_US) /* while the server has no connection to spare */

static const char *get_variable(const char *name)
{
	return getenv(name);
}

int others_connect(const struct config *config, struct jobstack **handle, struct jobstack_error *error)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	char file[PATH_MAX];

	options.defaults_file = js_home_option_file(config->defaults_file, get_variable, file, sizeof(file));
	options.patience_us = PATIENCE_US;
	options.log = speaker_log;
	options.log_ctx = (void *)(uintptr_t)config;
	options.crowd_us = CROWD_US;
	return jobstack_open(handle, &options, error);
}

static void say_case(void *ctx, const struct js_watch_case *found)
{
	const struct config *config = ctx;
	char text[700];

	if (config->quiet || (found->verdict != JS_WATCH_TAKEN && !(config->verbose && found->runs_here)))
		return;
	js_watch_words(found, text, sizeof(text));
	speaker_say("%s", text);
}

struct js_watch_options others_options(const struct config *config, uint64_t self)
{
	void *ctx = (void *)(uintptr_t)config;

	return (struct js_watch_options){
		.self = self,
		.tell = say_case,
		.tell_ctx = ctx,
		.log = config->verbose ? speaker_log : NULL, /* that Slurm does not answer is for people who ask */
		.log_ctx = ctx,
		.module_dir = getenv("JOBSTACK_MODULE_DIR"),
		.cluster = getenv("SLURM_CLUSTER_NAME")};
}

int others_look(const struct config *config, uint64_t self)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_watch_options options = others_options(config, self);
	struct jobstack *handle = NULL;
	int status = others_connect(config, &handle, &error);

	if (status == 0)
		status = js_watch_confirm(handle, config->stack, &options, NULL, &error);
	jobstack_free(handle);
	return status == 0 ? JS_EXIT_OK : JS_EXIT_NO;
}
