/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entries as people name them and as list, show and the others tell of them.
 */
#ifndef JS_CLI_ITEM_H
#define JS_CLI_ITEM_H

#include "base/buf.h"
#include "cli/cli.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the entry that WORD names: its number or, if there is no entry with that, its datapath.  Returns 0, or a
 * JOBSTACK_E code with cli->error filled (EMISSING: there is none). */
int cli_entry(struct cli *cli, const char *word, uint64_t *entry);

/* The entries that the N WORDS name, ascending, each once, in *ENTRIES (to be freed).  Those that are not there are
 * told on standard error and counted in *MISSING; if that is NULL, the first of them is the error JOBSTACK_EMISSING. */
int cli_entries(struct cli *cli, char *const words[], size_t n, uint64_t **entries, size_t *entries_n,
		uint64_t *missing);

/* Which popped entry and attempt close and renew are about: N (0 or 1) WORDS and --attempt's argument (or NULL).
 * Without a word $JOBSTACK_ENTRY and $JOBSTACK_ATTEMPT.  A word without --attempt means $JOBSTACK_ATTEMPT if it is the
 * entry of $JOBSTACK_ENTRY, else the attempt that runs now.  Returns 0, or the exit status, having told why. */
int cli_which(struct cli *cli, char *const words[], int n, const char *attempt_arg, uint64_t *entry, uint32_t *attempt);

/* Words for a state (one JOBSTACK_IS_ bit) and for an outcome (enum jobstack_verdict; NULL for -1). */
const char *view_state_word(unsigned state);
const char *view_outcome_word(int outcome);

/* Reads "ready,dead" into JOBSTACK_IS_ bits; "all" is 0.  Returns 0, or CLI_USAGE, having told why. */
int cli_states(struct cli *cli, const char *list, unsigned *states);

/* How the last attempt ended, in a word or two: "done", "exit 3", "signal 9", "lost"; "-" if it has not. */
void view_item_how(const struct jobstack_item *item, char text[32]);

/* How long an attempt took in microseconds; one that runs: so far, by this host's clock; -1: not known. */
int64_t view_item_took(const struct jobstack_item *item);

/* The fields of an item, by name.  A row whose name is NULL ends the table. */
struct view_field {
	const char *name;
	int kind;
	size_t at;
};
extern const struct view_field view_field[];

/* A choice of fields; without a choice it is all of them. */
#define VIEW_FIELDS_MAX 64
struct view_fields {
	const struct view_field *field[VIEW_FIELDS_MAX];
	size_t n;
};

/* Reads "entry,datapath".  Returns 0, or CLI_USAGE, having told why. */
int cli_fields_parse(struct cli *cli, const char *list, struct view_fields *fields);
void view_fields_all(struct view_fields *fields);

/* Whether err_tail is among them, for the filter's `tails`. */
int view_fields_want_tails(const struct view_fields *fields);

/* Appends one field as text, "-" if it is not known; RAW: names byte for byte, else as view_safe. */
void view_field_text(const struct view_field *field, const struct jobstack_item *item, int raw, struct js_buf *out);

/* One field's value. */
enum view_value_is { VIEW_UNKNOWN, VIEW_NUMBER, VIEW_SECONDS, VIEW_MOMENT, VIEW_TEXT };
struct view_value {
	enum view_value_is is;
	int64_t n; /* a number; microseconds; microseconds since 1970 UTC */
	struct jobstack_bytes text;
};
void view_field_value(const struct view_field *field, const struct jobstack_item *item, struct view_value *value);

/* Sets the fields in OBJECT; not 0 without memory. */
int view_fields_json(const struct view_fields *fields, const struct jobstack_item *item, json_t *object);

#endif
