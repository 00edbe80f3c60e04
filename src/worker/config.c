/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parsing what jobstack-worker was asked for.  Promise: a value that is not one is refused before anything begins.
 */
#include "worker/config.h"

#include "base/error.h"
#include "base/num.h"
#include "run/worker_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_GRACE_US INT64_C(5000000)
#define DEFAULT_IDLE_US INT64_C(60000000)
#define DEFAULT_OUTPUT_LIMIT (INT64_C(16) << 20)
#define DEFAULT_LOG_SIZE (INT64_C(1) << 30)
#define UNSET (-1)

static int refuse_option_value(struct jobstack_error *error, const char *option, const char *what, const char *arg)
{
	return js_error_set(error, JOBSTACK_EUSAGE, "--%s takes %s, not \"%.100s%s\": see --help", option, what, arg,
			    strlen(arg) > 100 ? "..." : "");
}

/* Turns 1,5-7 into bits. */
static int parse_exit_codes(unsigned char bits[32], const char *text)
{
	char copy[256], *rest = copy, *item, *dash;
	uint64_t low, high;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return -1;
	while ((item = strsep(&rest, ",")) != NULL) {
		dash = strchr(item, '-');
		if (dash != NULL)
			*dash++ = '\0';
		if (js_num_u64(item, 1, 255, &low) != 0 || js_num_u64(dash != NULL ? dash : item, low, 255, &high) != 0)
			return -1;
		for (uint64_t code = low; code <= high; code++)
			bits[code / 8] |= (unsigned char)(1u << code % 8);
	}
	return 0;
}

int config_is_fatal(const struct config *config, int exit_code)
{
	return exit_code > 0 && exit_code < 256 && (config->fatal[exit_code / 8] & 1u << exit_code % 8) != 0;
}

static int set_duration(const char *option, const char *arg, int64_t least_us, int64_t *to,
			struct jobstack_error *error)
{
	if (js_num_duration(arg, to) != 0 || *to < least_us)
		return refuse_option_value(
			error, option,
			least_us > 0 ? "a duration of at least 1 s and at most 366 d, such as 90, 15m or 1:30:00"
				     : "a duration up to 366 d, such as 90, 15m or 1:30:00",
			arg);
	return 0;
}

static int set_option_number(const char *option, const char *arg, uint64_t high, uint64_t *to,
			     struct jobstack_error *error)
{
	char what[64];

	(void)snprintf(what, sizeof(what), "a whole number from 1 to %llu", (unsigned long long)high);
	return js_num_u64(arg, 1, high, to) == 0 ? 0 : refuse_option_value(error, option, what, arg);
}

/* A text that may not be empty, as "$DIR" is when the variable is not set. */
static int set_option_text(const char *option, const char *what, const char *arg, const char **to,
			   struct jobstack_error *error)
{
	*to = arg;
	return *arg != '\0' ? 0 : refuse_option_value(error, option, what, arg);
}

/* A size of at least LEAST, or 0 for the word none. */
static int set_size(const char *option, const char *arg, uint64_t least, int64_t *to, struct jobstack_error *error)
{
	uint64_t bytes = 0;
	char what[80];

	(void)snprintf(what, sizeof(what), "a size of at least %llu bytes, such as 512K, 16M or 2G, or the word none",
		       (unsigned long long)least);
	if (strcmp(arg, "none") != 0 && (js_num_size(arg, &bytes) != 0 || bytes < least || bytes > INT64_MAX))
		return refuse_option_value(error, option, what, arg);
	*to = (int64_t)bytes;
	return 0;
}

static int set_colsep(struct config *c, const char *arg, struct jobstack_error *error)
{
	js_buf_reset(&c->colsep);
	return js_template_colsep(arg, &c->colsep, error);
}

static struct js_template_syntax syntax_of(const struct config *c)
{
	return (struct js_template_syntax){c->replace, c->colsep.len > 0 ? c->colsep.data : NULL};
}

static int set_template(struct config *c, struct js_template **to, const char *arg, struct jobstack_error *error)
{
	const struct js_template_syntax syntax = syntax_of(c);

	js_template_free(*to);
	*to = NULL;
	return js_template_string(to, arg, &syntax, error);
}

struct later {
	const char *output, *error, *creates; /* templates, which are parsed when -I is known */
	const char *stack;		      /* as it was typed */
};

static int set_option(struct config *c, struct later *later, int key, const char *arg, struct jobstack_error *error)
{
	static const char a_file[] = "the name of a file, such as out/{#}";
	uint64_t n;
	int status = 0;

	switch (key) {
	case 's':
		status = js_opt_once("-s", later->stack, arg, error);
		c->stack = later->stack = arg;
		break;
	case 'q': c->quiet = 1; break;
	case 'v': c->verbose = 1; break;
	case 'I':
		status = set_option_text("replace", "a word that stands for the datapath", arg, &c->replace, error);
		break;
	case JS_WORKER_DEFAULTS_FILE:
		status = js_opt_once("--defaults-file", c->defaults_file, arg, error);
		if (status == 0)
			status = set_option_text("defaults-file", "a file", arg, &c->defaults_file, error);
		break;
	case JS_WORKER_SLOTS:
		status = set_option_number("slots", arg, SLOTS_MAX, &n, error);
		c->slots = status == 0 ? (unsigned)n : 0;
		break;
	case JS_WORKER_LEASE: status = set_duration("lease", arg, 1000000, &c->lease_us, error); break;
	case JS_WORKER_TIMEOUT: status = set_duration("timeout", arg, 1, &c->timeout_us, error); break;
	case JS_WORKER_GRACE: status = set_duration("grace", arg, 0, &c->grace_us, error); break;
	case JS_WORKER_MARGIN: status = set_duration("margin", arg, 0, &c->margin_us, error); break;
	case JS_WORKER_IDLE_TIMEOUT: status = set_duration("idle-timeout", arg, 0, &c->idle_us, error); break;
	case JS_WORKER_BATCH: status = set_option_number("batch", arg, JOBSTACK_POP_MAX, &c->batch, error); break;
	case JS_WORKER_MAX_ENTRIES:
		status = set_option_number("max-entries", arg, INT64_MAX, &c->max_entries, error);
		break;
	case JS_WORKER_CHDIR: status = set_option_text("chdir", "a directory", arg, &c->chdir, error); break;
	case JS_WORKER_LOG_DIR: status = set_option_text("log-dir", "a directory", arg, &c->log_dir, error); break;
	case JS_WORKER_LOG_SIZE: status = set_size("log-size", arg, 65536, &c->log_size, error); break;
	case JS_WORKER_OUTPUT_LIMIT: status = set_size("output-limit", arg, 1024, &c->output_limit, error); break;
	case JS_WORKER_COLSEP: status = set_colsep(c, arg, error); break;
	case JS_WORKER_OUTPUT: status = set_option_text("output", a_file, arg, &later->output, error); break;
	case JS_WORKER_ERROR: status = set_option_text("error", a_file, arg, &later->error, error); break;
	case JS_WORKER_CREATES: status = set_option_text("creates", a_file, arg, &later->creates, error); break;
	case JS_WORKER_FATAL_EXIT:
		if (parse_exit_codes(c->fatal, arg) != 0)
			status =
				refuse_option_value(error, "fatal-exit", "exit codes from 1 to 255 such as 1,5-7", arg);
		break;
	case JS_WORKER_ON_LEASE_LOSS:
		if (strcmp(arg, "stop") != 0 && strcmp(arg, "finish") != 0)
			status = refuse_option_value(error, "on-lease-loss", "stop or finish", arg);
		c->finish_on_loss = strcmp(arg, "finish") == 0;
		break;
	case JS_WORKER_SHELL: c->shell = 1; break;
	case JS_WORKER_PERSISTENT: c->persistent = 1; break;
	case JS_WORKER_RECYCLE: status = set_option_number("recycle", arg, INT64_MAX, &c->recycle, error); break;
	case JS_WORKER_DRY_RUN: c->dry_run = 1; break;
	case JS_WORKER_NEW_STACK: c->dry_run = c->new_stack = 1; break;
	case JS_WORKER_STRICT: c->strict = 1; break;
	default: status = js_error_set(error, JOBSTACK_EBUG, "an unknown option");
	}
	return status;
}

static void note_last_field(struct config *c)
{
	const struct js_template *const all[] = {c->template, c->output, c->error, c->creates};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] != NULL && js_template_last_field(all[i]) > c->last_field)
			c->last_field = js_template_last_field(all[i]);
}

static int parse_templates(struct config *c, const struct later *later, struct jobstack_error *error)
{
	const struct js_template_syntax syntax = syntax_of(c);
	int status;

	if (c->words == 0)
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "there is no command to run: jobstack-worker [OPTIONS] -- CMD {}: see --help");
	if (c->recycle != 0 && !c->persistent)
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "--recycle needs --persistent: other commands start once per entry anyway");
	status = c->persistent ? js_template_persistent(&c->template, c->command, c->words, c->shell, &syntax, error)
		 : c->shell    ? js_template_shell(&c->template, c->command, c->words, &syntax, error)
			       : js_template_command(&c->template, c->command, c->words, &syntax, error);
	c->output_dash = later->output != NULL && strcmp(later->output, "-") == 0;
	if (c->output_limit == UNSET) /* output for another program must be complete */
		c->output_limit = c->output_dash ? 0 : DEFAULT_OUTPUT_LIMIT;
	if (status == 0 && later->output != NULL && !c->output_dash)
		status = set_template(c, &c->output, later->output, error);
	if (status == 0 && later->error != NULL)
		status = set_template(c, &c->error, later->error, error);
	if (status == 0 && later->creates != NULL)
		status = set_template(c, &c->creates, later->creates, error);
	if (status == 0 && ((c->output != NULL && !js_template_varies(c->output)) ||
			    (c->error != NULL && !js_template_varies(c->error))))
		status = js_error_set(
			error, JOBSTACK_EUSAGE,
			"--output and --error need a placeholder such as {#}, or all entries would write to one file");
	if (status == 0)
		note_last_field(c);
	return status;
}

int config_parse(struct config *c, int argc, char **argv, char **text, struct jobstack_error *error)
{
	const char *stack = getenv("JOBSTACK_STACK"), *arg;
	struct later later = {NULL, NULL, NULL, NULL};
	struct js_buf help = {0};
	int key, status = 0;

	memset(c, 0, sizeof(*c));
	*text = NULL;
	c->stack = stack != NULL && *stack != '\0' ? stack : "default";
	c->log_dir = "jobstack-logs";
	c->grace_us = DEFAULT_GRACE_US;
	c->idle_us = DEFAULT_IDLE_US;
	c->margin_us = UNSET;
	c->output_limit = UNSET;
	c->log_size = DEFAULT_LOG_SIZE;
	optind = 0;
	while (status == 0 && (key = js_opt_next(&js_worker_opts, argc, argv, &arg, error)) != -1) {
		if (key == '?')
			return JOBSTACK_EUSAGE;
		if (key == JS_WORKER_HELP || key == JS_WORKER_VERSION) {
			if (key == JS_WORKER_HELP)
				js_opt_help(&js_worker_opts, &help);
			else
				js_buf_printf(&help, "jobstack-worker %s (schema %u)\n", jobstack_version(),
					      jobstack_schema_version());
			*text = help.data;
			return 1;
		}
		status = set_option(c, &later, key, arg, error);
	}
	c->command = argv + optind;
	c->words = (size_t)(argc - optind);
	return status == 0 ? parse_templates(c, &later, error) : status;
}

void config_free(struct config *c)
{
	js_template_free(c->template);
	js_template_free(c->output);
	js_template_free(c->error);
	js_template_free(c->creates);
	js_buf_free(&c->colsep);
}
