/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of `jobstack doctor` share.
 *
 *     findings.c   the lines that are printed
 *     doctor.c    the options, the order, the same under srun
 *     local.c     files, limits and programs of this host
 *     database.c  the connection, the server and its settings
 *     slurm.c     the controller, its limits, the partitions
 */
#pragma once

#include "cli/cli.h"

enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_LEVELS };

struct doctor_fact {
	char *name, *value;
};

struct doctor {
	struct cli *cli;
	const char *srun; /* its options, or NULL: not under srun */
	int inner;	  /* we are what runs under srun */
	int slurm;	  /* there is a Slurm here */
	char where[256];  /* the host, or Slurm's name of the node */
	unsigned count[DOCTOR_LEVELS];
	struct doctor_fact *facts;
	size_t facts_n, facts_room;
	int memory; /* ran out */
};

/* Tells one line: what was looked at (a word or two), what was found, and (NULL: nothing) what to do about it. */
void doctor_say(struct doctor *d, enum doctor_level level, const char *check, const char *remedy, const char *format,
		...) __attribute__((format(printf, 5, 6)));

/* The same for a line that was made elsewhere, WHERE. */
void doctor_tell(struct doctor *d, enum doctor_level level, const char *where, const char *check, const char *text,
		 const char *remedy);

/* "ok", "warn", "FAIL". */
const char *doctor_level_word(enum doctor_level level);

void doctor_local(struct doctor *d);
void doctor_database(struct doctor *d);
void doctor_slurm(struct doctor *d);

/* What is free below PATH, or, if we may not look there, above it: a line named CHECK.  Less than WARN or FAIL bytes
 * is reported as such. */
void doctor_disk(struct doctor *d, const char *check, const char *path, double warn, double fail, const char *remedy);

/* A fact that the server reported, or NULL; and as a number, or NONE. */
const char *doctor_fact(const struct doctor *d, const char *name);
double doctor_number(const struct doctor *d, const char *name, double none);
