/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The process of a slot whose command is persistent: starting it, handing it an entry, ending it.
 */
#pragma once

#include "worker/commands.h"

/* In the epoll events of its pipes: the slot's number less one, and whether it is the process's standard input. */
#define PERSISTENT_INPUT 0x10000u

/* A process takes two pipes, two files and a descriptor for its usage.  Raises the limit of open files to what the
 * slots need, as far as that is allowed.  If it is not enough, some slots wait for others. */
void persistent_raise_files(unsigned slots);

int persistent_new(struct persistent **made, struct jobstack_error *error);
void persistent_free(struct persistent *p);

/* Hands the entry to the slot's process, which is started first if there is none.  OWN are the entry's own files; they
 * belong to the slot if this returns SLOT_RUNS.  Other results as of slot_start. */
enum slot_start persistent_ask(struct commands *c, struct slot *slot, const struct js_template_values *values,
			       const int own[2], struct jobstack_error *error);

/* Returns how long a process whose input or output is closed has to end before it gets TERM. */
int64_t persistent_patience_us(const struct config *config);

/* Sends what the pipe takes of a request that could not be sent at once, and watches the pipe for the rest. */
void persistent_send(struct commands *c, struct slot *slot);

/* To be called when the process has closed its standard input: it gets no more entries, and if it has not read the last
 * one, it has to end soon. */
void persistent_deaf(struct commands *c, struct slot *slot);

/* Moves what was printed for the entry into its own files, and closes them.  0, or negative: it could not be kept. */
int persistent_keep_own(struct slot *slot, struct jobstack_error *error);
void persistent_drop_own(struct slot *slot);

/* Has the process end: closes its standard input, and plans its TERM for TERM_AT_US. */
void persistent_leave(struct persistent *p, int64_t term_at_us);

/* Fills in what SLOT's entry has used, which was just answered; for a short entry nothing is measured. */
void persistent_usage(struct slot *slot, struct js_reaped *answered);

/* To be called if the process ended while SLOT ran an entry: turns the usage of its whole life into that of the entry.
 */
void persistent_usage_of_end(const struct slot *slot, struct js_reaped *reaped);

/* To be called when the process was collected. */
void persistent_ended(struct persistent *p);
