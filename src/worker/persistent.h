/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a slot has beside others when its command is persistent: a process that stays from entry to entry
 * (run/persist.h).
 */
#pragma once

#include "run/persist.h"
#include "worker/slot.h"

/* In the events of their pipes: the slot's number less one, and whether it is the standard input. */
#define PERSISTENT_INPUT 0x10000u

struct persistent {
	struct js_persist *process;
	const struct js_persist_answer
		*answer;    /* to the entry whose outcome is being made; NULL: it ended without one */
	int own[2];	    /* the entry's own files for stdout and stderr; -1: none */
	int waits;	    /* part of a request waits until its standard input takes it */
	int leaving;	    /* it is to end: no more entries */
	int64_t term_at_us; /* leaving: TERM is sent then */
	int64_t kill_at_us; /* TERM was sent, and KILL follows then; 0: it was not */
	int64_t mute_at_us; /* its standard output, or input, is closed: TERM is sent then, if it still runs the entry;
			       0: it is open */
	int64_t user_us, system_us; /* its processor time at the last look */
	int64_t since_us; /* how long the entries took that came after that look: at most so much of what follows was
			     theirs */
};

/* A process takes two pipes, two files and an eye on its usage: raises the limit of open files as far as the slots need
 * it, and as may be.  Beyond it some slots wait for others. */
void persistent_raise_files(unsigned slots);

int persistent_new(struct persistent **made, struct jobstack_error *error);
void persistent_free(struct persistent *p);

/* Gives the entry to the slot's process, which is started first if there is none.  OWN are the entry's own files, taken
 * over if this returns SLOT_RUNS.  Else as slot_start. */
enum slot_start persistent_ask(struct slots *all, struct slot *slot, const struct js_template_values *values,
			       const int own[2], struct jobstack_error *error);

/* How long a process whose input or output is closed may take to end, before it is ended. */
int64_t persistent_patience_us(const struct config *config);

/* What of a request could not be sent at once is sent as far as possible, and watched for. */
void persistent_send(struct slots *all, struct slot *slot);

/* Its standard input is closed there: it gets no more entries, and if it has not read the last one, it may not take for
 * ever to end. */
void persistent_deaf(struct slots *all, struct slot *slot);

/* Puts what was printed for the entry into its own files, and closes them.  0, or negative: it could not be kept. */
int persistent_keep_own(struct slot *slot, struct jobstack_error *error);
void persistent_drop_own(struct slot *slot);

/* The process is to end: its standard input is closed, and at TERM_AT it gets TERM. */
void persistent_leave(struct persistent *p, int64_t term_at_us);

/* What the entry that SLOT runs has used, now that it has been answered; nothing is looked at for a short one. */
void persistent_usage(struct slot *slot, struct js_reaped *answered);

/* The process has ended under the entry that SLOT runs: makes the usage of a whole life that of the entry. */
void persistent_usage_of_end(const struct slot *slot, struct js_reaped *reaped);

/* The process was collected. */
void persistent_ended(struct persistent *p);
