/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What jobstack-worker was asked for.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "exec/site.h"
#include "exec/template.h"

#include <regex.h>

#define SLOTS_MAX 256
#define ALLOWED_MAX 16
#define CODE_MAX 8

enum { CONFIG_AUTO, CONFIG_ALWAYS, CONFIG_NEVER };

struct config {
	const char *stack, *defaults_file, *chdir, *log_dir;
	char **command;
	size_t words;
	struct js_template *template, *output, *error, *creates; /* the last three may be NULL */
	const char *sources[3];					 /* of those three, as they were typed */
	int output_dash;					 /* --output -: to our own output */
	int64_t lease_us, timeout_us, grace_us, idle_us;	 /* 0: the default; timeout: no limit */
	int64_t margin_us;					 /* -1: the default */
	int64_t connect_us;	     /* how long it waits for the database before it begins */
	uint64_t slots;		     /* 0: by Slurm and the CPU mask */
	uint64_t batch, max_entries; /* 0: not limited */
	unsigned char fatal[32];     /* one bit per exit code */
	const char *defer_match;     /* NULL: no output is looked through; else compiled: */
	regex_t defer;
	uint64_t max_defers; /* 0: the default, until all options are read */
	uint64_t recycle;    /* a persistent command is restarted after so many entries; 0: never */
	int finish_on_loss, shell, persistent, dry_run, new_stack, wait_for_stack, dry_names, strict, quiet, verbose;
	const char *joblog;	/* NULL: none */
	const char *events;	/* a file, or syslog; NULL: none */
	const char *node_check; /* NULL: none */
	int tag, keep_order;	/* with output_dash */
	int packages, no_packages;
	struct js_site site;
	struct jobstack_error site_error;     /* why the site's file is ignored; code 0: it is used */
	const char *site_path;		      /* as the user named it, or NULL */
	int packages_by_site, events_by_site; /* switched on by it, not by the user */
	int progress;			      /* CONFIG_AUTO and so on */
	int of_run;			      /* `jobstack run` has started it, and prints the summary */
	const char *replace;
	const char *shell_program; /* as the user named it, or NULL */
	int no_pipefail, as_array;
	int commands;			  /* entries are command lines */
	const char *allowed[ALLOWED_MAX]; /* whose lines run, too; database accounts */
	size_t allowed_n;
	const char *code[CODE_MAX]; /* --code */
	size_t code_n;
	const char *code_version;
	struct js_buf colsep;		/* empty: entries have no fields */
	unsigned last_field;		/* the highest field number in the templates; 0: no fields */
	int64_t output_limit, log_size; /* in bytes; 0: not limited */
};

/* Parses the arguments.  0: ok; 1: *TEXT (to be freed) has to be printed, and nothing else done; negative: ERROR.  Free
 * with config_free. */
int config_parse(struct config *config, int argc, char **argv, char **text, struct jobstack_error *error);
void config_free(struct config *config);

int config_is_fatal(const struct config *config, int exit_code);
