/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of `jobstack doctor` share.
 *
 *     finding.c   the lines that are printed
 *     local.c     files, limits and programs of this host
 *     database.c  the connection, the server and its settings
 *     slurm.c     the controller, its limits, the partitions
 *     doctor.c    the options, the order, the same under srun
 *
 * Each file calls only those above it.
 */
#pragma once

#include "cli/cli.h"
#include "frame/command.h"
#include "figures/server.h"

enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_LEVELS };

struct doctor {
	struct cli *cli;
	const char *srun; /* its options, or NULL: not under srun */
	int inner;	  /* we are what runs under srun */
	int slurm;	  /* there is a Slurm here */
	char where[256];  /* the host, or Slurm's name of the node */
	unsigned count[DOCTOR_LEVELS];
	struct figures_server server;
	int memory; /* ran out */
};

extern const char *const doctor_word[DOCTOR_LEVELS];

/* Prints one line, found at WHERE: what was checked (a word or two), what was found, and what to do about it, unless
 * the level is OK.
 */
void doctor_print(struct doctor *d, enum doctor_level level, const char *where, const char *check, const char *text,
		  const char *remedy);

/* The same for what was found here. */
void doctor_say(struct doctor *d, enum doctor_level level, const char *check, const char *remedy, const char *format,
		...) __attribute__((format(printf, 5, 6)));
#define doctor_ok(d, check, ...) doctor_say(d, DOCTOR_OK, check, NULL, __VA_ARGS__)
#define doctor_warn(d, check, remedy, ...) doctor_say(d, DOCTOR_WARN, check, remedy, __VA_ARGS__)
#define doctor_warn_if(bad, d, check, remedy, ...)                                                                     \
	doctor_say(d, (bad) ? DOCTOR_WARN : DOCTOR_OK, check, remedy, __VA_ARGS__)
#define doctor_fail(d, check, remedy, ...) doctor_say(d, DOCTOR_FAIL, check, remedy, __VA_ARGS__)

void doctor_local(struct doctor *d);
void doctor_database(struct doctor *d);
void doctor_slurm(struct doctor *d);

/* Prints how much is free on the file system of PATH, or, if we may not look there, of the nearest directory above it,
 * as a line named CHECK.  Less than WARN or FAIL bytes is reported as such. */
void doctor_disk(struct doctor *d, const char *check, const char *path, double warn, double fail, const char *remedy);
