/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parsing what jobstack-worker was asked for.  Promise: a value that is not one is refused before anything begins.
 */
#include "worker/config.h"

#include "base/error.h"
#include "base/num.h"
#include "exec/worker_options.h"
#include "show/term.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MAX_DEFERS 100
#define DEFAULT_GRACE_US INT64_C(5000000)
#define DEFAULT_IDLE_US INT64_C(60000000)
#define DEFAULT_CONNECT_US INT64_C(120000000)
#define DEFAULT_OUTPUT_LIMIT (INT64_C(16) << 20)
#define DEFAULT_LOG_SIZE (INT64_C(1) << 30)
#define UNSET (-1)

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

static int set_defer_match(struct config *c, const struct js_opt *o, const char *arg, struct jobstack_error *error)
{
	char why[200];
	int bad;

	JS_TRY(js_opt_once("--defer-match", c->defer_match, arg, error));
	if (*arg == '\0')
		return js_opt_refuse(o, "a regular expression, such as 'licen[cs]e|quota'", arg, error);
	if (c->defer_match != NULL)
		return 0;
	bad = regcomp(&c->defer, arg, REG_EXTENDED | REG_NEWLINE);
	if (bad == 0) {
		c->defer_match = arg;
		return 0;
	}
	(void)regerror(bad, &c->defer, why, sizeof(why));
	return js_error_why(error, JOBSTACK_EUSAGE, JOBSTACK_WHY_OPTION,
			    "--defer-match takes a POSIX extended regular expression, not \"%.400s\": %s", arg, why);
}

/* How the templates are read, once all options are known. */
static struct js_template_syntax syntax_of(const struct config *c)
{
	return (struct js_template_syntax){.repl = c->replace,
					   .colsep = c->colsep.len > 0 ? c->colsep.data : NULL,
					   .shell = c->shell_program != NULL ? c->shell_program
									     : js_template_usual_shell(),
					   .no_pipefail = c->no_pipefail};
}

static int set_template(struct config *c, struct js_template **to, const char *arg, struct jobstack_error *error)
{
	const struct js_template_syntax syntax = syntax_of(c);

	return js_template_string(to, arg, &syntax, error);
}

struct later {
	const char *output, *error, *creates; /* templates, which are parsed when -I is known */
	const char *stack;		      /* as it was typed */
};

#define A_TIME "a duration up to 366 d, such as 90, 15m or 1:30:00"
#define A_LONG_TIME "a duration of at least 1 s and at most 366 d, such as 90, 15m or 1:30:00"
#define A_SIZE(least) "a size of at least " #least " bytes, such as 512K, 16M or 2G, or the word none"
#define A_NUMBER_OF_SLOTS "a whole number from 1 to 256 (without it: one per CPU)"
#define A_FILE "the name of a file, such as out/{#}"

/* Takes the option KEY with its argument.  Most options only put a checked value somewhere, which the table says. Those
 * with a case below may be repeated, or have an argument with a language of its own. */
static int set_option(struct config *c, struct later *later, int key, const char *arg, struct jobstack_error *error)
{
	const struct {
		int key;
		struct js_take take;
	} takes[] = {
		{'q', {JS_FLAG, &c->quiet, 0, 0, NULL}},
		{'v', {JS_FLAG, &c->verbose, 0, 0, NULL}},
		{JS_WORKER_AS_ARRAY, {JS_FLAG, &c->as_array, 0, 0, NULL}},
		{JS_WORKER_NO_PIPEFAIL, {JS_FLAG, &c->no_pipefail, 0, 0, NULL}},
		{JS_WORKER_PERSISTENT, {JS_FLAG, &c->persistent, 0, 0, NULL}},
		{JS_WORKER_DRY_RUN, {JS_FLAG, &c->dry_run, 0, 0, NULL}},
		{JS_WORKER_PACKAGES, {JS_FLAG, &c->packages, 0, 0, NULL}},
		{JS_WORKER_NO_PACKAGES, {JS_FLAG, &c->no_packages, 0, 0, NULL}},
		{JS_WORKER_TAG, {JS_FLAG, &c->tag, 0, 0, NULL}},
		{'k', {JS_FLAG, &c->keep_order, 0, 0, NULL}},
		{JS_WORKER_NODE_CHECK, {JS_NAME, &c->node_check, 0, 0, "a command"}},
		{JS_WORKER_JOBLOG, {JS_NAME, &c->joblog, 0, 0, "a file"}},
		{JS_WORKER_EVENTS, {JS_NAME, &c->events, 0, 0, "a file, or the word syslog"}},
		{JS_WORKER_OF_RUN, {JS_FLAG, &c->of_run, 0, 0, NULL}},
		{JS_WORKER_PROGRESS, {JS_CHOICE, &c->progress, 0, 0, "auto, always or never"}},
		{JS_WORKER_NEW_STACK, {JS_FLAG, &c->new_stack, 0, 0, NULL}},
		{JS_WORKER_COMMANDS, {JS_FLAG, &c->commands, 0, 0, NULL}},
		{JS_WORKER_WAIT_FOR_STACK, {JS_FLAG, &c->wait_for_stack, 0, 0, NULL}},
		{JS_WORKER_DRY_NAMES, {JS_FLAG, &c->dry_names, 0, 0, NULL}},
		{JS_WORKER_STRICT, {JS_FLAG, &c->strict, 0, 0, NULL}},
		{'I', {JS_NAME, &c->replace, 0, 0, "a word that stands for the datapath"}},
		{JS_WORKER_DEFAULTS_FILE, {JS_NAME, &c->defaults_file, 0, 0, "a file"}},
		{JS_WORKER_CHDIR, {JS_NAME, &c->chdir, 0, 0, "a directory"}},
		{JS_WORKER_LOG_DIR, {JS_NAME, &c->log_dir, 0, 0, "a directory"}},
		{JS_WORKER_OUTPUT, {JS_NAME, &later->output, 0, 0, A_FILE}},
		{JS_WORKER_ERROR, {JS_NAME, &later->error, 0, 0, A_FILE}},
		{JS_WORKER_CREATES, {JS_NAME, &later->creates, 0, 0, A_FILE}},
		{JS_WORKER_CODE_VERSION, {JS_NAME, &c->code_version, 0, 0, "a version, in words"}},
		{JS_WORKER_SLOTS, {JS_NUMBER, &c->slots, 1, SLOTS_MAX, A_NUMBER_OF_SLOTS}},
		{'P', {JS_NUMBER, &c->slots, 1, SLOTS_MAX, A_NUMBER_OF_SLOTS}},
		{JS_WORKER_BATCH, {JS_NUMBER, &c->batch, 1, JOBSTACK_POP_MAX, NULL}},
		{JS_WORKER_MAX_ENTRIES, {JS_NUMBER, &c->max_entries, 1, INT64_MAX, NULL}},
		{JS_WORKER_MAX_DEFERS, {JS_NUMBER, &c->max_defers, 1, INT32_MAX, NULL}},
		{JS_WORKER_RECYCLE, {JS_NUMBER, &c->recycle, 1, INT64_MAX, NULL}},
		{JS_WORKER_LEASE, {JS_TIME, &c->lease_us, 1000000, 0, A_LONG_TIME}},
		{JS_WORKER_TIMEOUT, {JS_TIME, &c->timeout_us, 1, 0, A_LONG_TIME}},
		{JS_WORKER_GRACE, {JS_TIME, &c->grace_us, 0, 0, A_TIME}},
		{JS_WORKER_MARGIN, {JS_TIME, &c->margin_us, 0, 0, A_TIME}},
		{JS_WORKER_IDLE_TIMEOUT, {JS_TIME, &c->idle_us, 0, 0, A_TIME}},
		{JS_WORKER_CONNECT_TIMEOUT, {JS_TIME, &c->connect_us, 0, 0, A_TIME}},
		{JS_WORKER_LOG_SIZE, {JS_SIZE, &c->log_size, 65536, 0, A_SIZE(65536)}},
		{JS_WORKER_OUTPUT_LIMIT, {JS_SIZE, &c->output_limit, 1024, 0, A_SIZE(1024)}},
		{JS_WORKER_ON_LEASE_LOSS, {JS_CHOICE, &c->finish_on_loss, 0, 0, "stop or finish"}},
	};
	const struct js_opt *o = js_opt_row(&js_worker_opts, key);

	switch (key) {
	case 's':
		JS_TRY(js_opt_once("-s", later->stack, arg, error));
		c->stack = later->stack = arg;
		return 0;
	case JS_WORKER_DEFAULTS_FILE: JS_TRY(js_opt_once("--defaults-file", c->defaults_file, arg, error)); break;
	case JS_WORKER_ALLOW_USER:
		if (c->allowed_n == ALLOWED_MAX || *arg == '\0')
			return js_opt_refuse(o, "at most 16 database accounts, one each time", arg, error);
		c->allowed[c->allowed_n++] = arg;
		return 0;
	case JS_WORKER_CODE:
		if (c->code_n == CODE_MAX || *arg == '\0')
			return js_opt_refuse(o, "at most 8 paths, one each time", arg, error);
		c->code[c->code_n++] = arg;
		return 0;
	case JS_WORKER_DEFER_MATCH: return set_defer_match(c, o, arg, error);
	case JS_WORKER_SHELL:
		c->shell = 1;
		c->shell_program = *arg != '\0' ? arg : NULL;
		return 0;
	case JS_WORKER_BAR: c->progress = CONFIG_ALWAYS; return 0;
	case JS_WORKER_PROGRESS: arg = *arg == '\0' ? "always" : arg; break;
	case JS_WORKER_COLSEP: js_buf_reset(&c->colsep); return js_template_colsep(arg, &c->colsep, error);
	case JS_WORKER_FATAL_EXIT:
		return parse_exit_codes(c->fatal, arg) == 0
			       ? 0
			       : js_opt_refuse(o, "exit codes from 1 to 255 such as 1,5-7", arg, error);
	default: break;
	}
	for (size_t i = 0; i < sizeof(takes) / sizeof(takes[0]); i++)
		if (takes[i].key == key)
			return js_opt_take(o, &takes[i].take, arg, error);
	return js_error_set(error, JOBSTACK_EBUG, "an unknown option");
}

/* An entry without the field of the highest number that any template needs can't run. */
static void note_last_field(struct config *c)
{
	const struct js_template *const all[] = {c->template, c->output, c->error, c->creates};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] != NULL && js_template_last_field(all[i]) > c->last_field)
			c->last_field = js_template_last_field(all[i]);
}

/* Checks which options can be used together, and parses the templates.  This comes after all options were read: how a
 * template is read depends on -I, --colsep and --shell, which may stand behind it. */
static int parse_templates(struct config *c, const struct later *later, struct jobstack_error *error)
{
	const struct js_template_syntax syntax = syntax_of(c);
	int status;

	if (c->commands && (c->words > 0 || (c->shell && c->shell_program == NULL) || c->persistent ||
			    c->replace != NULL || c->colsep.len > 0))
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "with --commands each entry is a command line: CMD, --shell (without =PROGRAM), "
				    "--persistent, --colsep and -I can't be used");
	if (c->no_pipefail && (!c->shell || c->commands))
		return js_error_set(error, JOBSTACK_EUSAGE, "--no-pipefail can only be used with --shell -- CMD");
	if (c->as_array && (c->commands || c->persistent))
		return js_error_set(error, JOBSTACK_EUSAGE, "--as-array can't be used with --commands or --persistent");
	if (c->allowed_n > 0 && !c->commands)
		return js_error_set(error, JOBSTACK_EUSAGE, "--allow-user needs --commands");
	if (c->words == 0 && !c->commands)
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "there is no command to run: jobstack-worker [OPTIONS] -- CMD {}: see --help");
	if (c->recycle != 0 && !c->persistent)
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "--recycle needs --persistent: other commands start once per entry anyway");
	c->max_defers = c->max_defers == 0 ? DEFAULT_MAX_DEFERS : c->max_defers;
	status = c->commands	 ? js_template_line(&c->template, syntax.shell, error)
		 : c->persistent ? js_template_persistent(&c->template, c->command, c->words, c->shell, &syntax, error)
		 : c->shell	 ? js_template_shell(&c->template, c->command, c->words, &syntax, error)
				 : js_template_command(&c->template, c->command, c->words, &syntax, error);
	c->sources[0] = later->output;
	c->sources[1] = later->error;
	c->sources[2] = later->creates;
	c->output_dash = later->output != NULL ? strcmp(later->output, "-") == 0 : c->tag || c->keep_order;
	if (!c->output_dash && (c->tag || c->keep_order))
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "--tag and --keep-order print on standard output, so --output can't name files");
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
	if (status != 0)
		return status;
	note_last_field(c);
	if (c->colsep.len > 0 && c->last_field == 0 && !c->persistent && js_template_has_name(c->template))
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "--colsep is for CMD with fields: write {1} {2} in it instead of {}");
	return 0;
}

/* Decides whether packages and events are recorded.  The options come first, then the environment, then the site's
 * file.  A refusal always wins.  An empty $JOBSTACK_EVENTS switches off the site's events. */
static void choose_recording(struct config *c)
{
	const char *wished = getenv("JOBSTACK_PACKAGES");
	int refused = c->no_packages || (wished != NULL && strcmp(wished, "0") == 0);

	c->site_path = getenv("JOBSTACK_SITE_FILE");
	c->site_error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
	(void)js_site_read(&c->site, c->site_path, &c->site_error);
	c->packages |= wished != NULL && strcmp(wished, "1") == 0;
	c->packages_by_site = !c->packages && c->site.packages && !refused;
	c->packages = (c->packages && !refused) || c->packages_by_site;
	c->events_by_site = c->events == NULL && c->site.events.len > 0;
	if (c->events_by_site)
		c->events = c->site.events.data;
	else if (c->events != NULL && *c->events == '\0')
		c->events = NULL;
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
	c->events = getenv("JOBSTACK_EVENTS");
	c->grace_us = DEFAULT_GRACE_US;
	c->idle_us = DEFAULT_IDLE_US;
	c->margin_us = c->connect_us = UNSET;
	c->output_limit = UNSET;
	c->log_size = DEFAULT_LOG_SIZE;
	optind = 0;
	while (status == 0 && (key = js_opt_next(&js_worker_opts, argc, argv, &arg, error)) != -1) {
		if (key == '?')
			return JOBSTACK_EUSAGE;
		if (key == JS_WORKER_HELP || key == JS_WORKER_HELP_ALL || key == JS_WORKER_VERSION) {
			if (key != JS_WORKER_VERSION)
				js_opt_help(&js_worker_opts, show_columns(stdout), key == JS_WORKER_HELP_ALL, &help);
			else
				js_buf_printf(&help, "jobstack-worker %s (schema %u)\n", jobstack_version(),
					      jobstack_schema_version());
			*text = help.data;
			return 1;
		}
		status = set_option(c, &later, key, arg, error);
	}
	choose_recording(c);
	c->dry_run |= c->new_stack | c->dry_names;
	if (c->connect_us == UNSET)
		c->connect_us = c->dry_run ? 0 : DEFAULT_CONNECT_US;
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
	js_site_free(&c->site);
	if (c->defer_match != NULL)
		regfree(&c->defer);
}
