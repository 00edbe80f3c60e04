/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack check: proves that the ledger balances, of one stack or of all.  Promise: status 0 only if every stack that
 * was looked at balances.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "frame/command.h"
#include "show/json.h"
#include "show/text.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const kind[JOBSTACK_FAULTS] = {
	[JOBSTACK_FAULT_LOST] = "lost", [JOBSTACK_FAULT_DOUBLED] = "doubled", [JOBSTACK_FAULT_STRAY] = "stray",
	[JOBSTACK_FAULT_SPAN] = "span", [JOBSTACK_FAULT_CLAIM] = "claim",     [JOBSTACK_FAULT_ATTEMPT] = "attempt",
	[JOBSTACK_FAULT_NAME] = "name", [JOBSTACK_FAULT_COUNTER] = "counter"};

/* What `jobstack recover` does about findings of a kind; NULL: nothing. */
static const char *const mended[JOBSTACK_FAULTS] = {
	[JOBSTACK_FAULT_CLAIM] = "puts this right as soon as the claim's worker has ended or is dead, "
				 "unless the claim can't be read",
	[JOBSTACK_FAULT_DOUBLED] =
		"takes such entries out of claims of workers that have ended or are dead. If a live worker has such an "
		"entry, only the first outcome of its attempt will count"};

/* One stack's check. */
struct proof {
	const char *stack; /* NULL: rows of no stack */
	char command[JOBSTACK_STACK_MAX + 32];
	struct jobstack_check_report report;
	json_t *findings; /* NULL: lines are printed */
};

static int add_name(void *names, const struct jobstack_status *s)
{
	cli_words_add(names, s->stack);
	return ((const struct cli_words *)names)->failed;
}

/* Prints or gathers a finding at once: there may be very many. */
static int print_finding(void *ctx, const struct jobstack_finding *f)
{
	struct proof *p = ctx;
	struct js_buf path = {0};

	if (p->findings != NULL) {
		SHOW_APPEND(p->findings, KEY_TEXT("kind", f->kind), KEY_INT("entry", (int64_t)f->entry, f->entry != 0),
			    KEY_BYTES("datapath", f->datapath.data, f->datapath.len), KEY_TEXT("text", f->text),
			    KEY_TEXT("command", mended[f->fault] != NULL ? p->command : NULL));
		return 0;
	}
	(void)printf("%s: %s: ", p->stack == NULL ? "(no stack)" : p->stack, f->kind);
	if (f->entry != 0) {
		if (f->datapath.data != NULL)
			show_safe(&path, f->datapath.data, f->datapath.len);
		(void)printf("entry %" PRIu64 "%s%s%s: ", f->entry, path.len > 0 ? " (" : "",
			     path.len > 0 ? path.data : "", path.len > 0 ? ")" : "");
	}
	(void)printf("%s\n", f->text);
	js_buf_free(&path);
	return ferror(stdout) != 0;
}

static uint64_t count_faults(const struct jobstack_check_report *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < JOBSTACK_FAULTS; i++)
		n += r->found[i];
	return n;
}

/* Prints the last lines: that the ledger balances, or how much of each kind is wrong, and what to do about it. */
static void print_verdict(const struct proof *p)
{
	const struct jobstack_check_report *r = &p->report;
	const char *between = ": ";

	if (p->stack != NULL && count_faults(r) == 0)
		(void)printf("the ledger of %s balances: %" PRIu64 " %s, %" PRIu64 " attempt%s\n", p->stack,
			     SHOW_ENTRIES(r->entries), r->attempts, show_plural(r->attempts));
	if (p->stack != NULL && count_faults(r) > 0)
		(void)printf("the ledger of %s does not balance", p->stack);
	else if (count_faults(r) > 0)
		(void)printf("there are rows that belong to no stack");
	for (size_t i = 0; i < JOBSTACK_FAULTS; i++) {
		if (r->found[i] == 0)
			continue;
		(void)printf("%s%" PRIu64 " %s", between, r->found[i], kind[i]);
		if (r->found[i] > JOBSTACK_CHECK_TOLD)
			(void)printf(" (the first %d are listed)", JOBSTACK_CHECK_TOLD);
		between = ", ";
	}
	if (count_faults(r) > 0)
		(void)putchar('\n');
	for (size_t i = 0; p->stack != NULL && i < JOBSTACK_FAULTS; i++)
		if (r->found[i] > 0 && mended[i] != NULL)
			(void)printf("%s: `%s` %s\n", kind[i], p->command, mended[i]);
		else if (r->found[i] > 0)
			(void)printf("%s: no command of jobstack puts this right: please report it\n", kind[i]);
}

/* In a cancelled stack entries that were ready, waiting or held count as cancelled, as `jobstack status` counts them.
 */
static int print_proof_json(struct proof *p)
{
	const struct jobstack_check_report *r = &p->report;
	int cancelled = r->state == JOBSTACK_CANCELLED;
	uint64_t open = cancelled ? 0 : 1;
	json_t *o = SHOW_OBJECT(KEY_TEXT("stack", p->stack), KEY_FLAG("balances", count_faults(r) == 0)),
	       *found = json_object();

	if (p->stack != NULL)
		SHOW_SET(o, KEY_TEXT("state", show_stack_word(r->state)), KEY_COUNT("entries", r->entries),
			 KEY_COUNT("attempts", r->attempts), KEY_COUNT("ready", open * r->ready),
			 KEY_COUNT("waiting", open * r->waiting), KEY_COUNT("held", open * r->held),
			 KEY_COUNT("running", r->running), KEY_COUNT("done", r->done), KEY_COUNT("dead", r->dead),
			 KEY_COUNT("moved", r->moved),
			 KEY_COUNT("cancelled", r->cancelled + (cancelled ? r->ready + r->waiting + r->held : 0)));
	for (size_t i = 0; i < JOBSTACK_FAULTS; i++)
		SHOW_SET(found, KEY_COUNT(kind[i], r->found[i]));
	SHOW_SET(o, KEY_JSON("found", found), KEY_JSON("findings", p->findings));
	p->findings = NULL;
	return cli_print_json(o);
}

/* Checks one stack (NULL: rows that belong to no stack), and prints the result.  0, 1 if something is wrong, or
 * negative with the error. */
static int prove_stack(struct cli *cli, const char *stack)
{
	struct proof p = {
		.stack = stack, .report = JOBSTACK_CHECK_REPORT_INIT, .findings = cli->json ? json_array() : NULL};
	int status;

	(void)snprintf(p.command, sizeof(p.command), "jobstack recover -s %s", stack == NULL ? "" : stack);
	status = cli->json && p.findings == NULL
			 ? js_error_memory(&cli->error)
			 : jobstack_check(cli->handle, stack, print_finding, &p, &p.report, &cli->error);

	if (status == JOBSTACK_ESTOPPED && ferror(stdout))
		status = JOBSTACK_NOTHING; /* cli_end tells */
	if (status >= 0 && cli->json && (stack != NULL || status != 0)) {
		if (print_proof_json(&p) != 0)
			status = js_error_memory(&cli->error);
	} else if (status >= 0 && !cli->json && !(status == 0 && cli->quiet))
		print_verdict(&p);
	json_decref(p.findings);
	return status;
}

/* The names are gathered first, and then each stack is checked by itself, with the same connection.  A stack that is
 * dropped meanwhile is no fault. */
static int prove_all(struct cli *cli)
{
	struct cli_words names = {0};
	int status = jobstack_status(cli->handle, NULL, add_name, &names, &cli->error), bad = 0, one;

	if (names.failed)
		status = js_error_memory(&cli->error);
	for (size_t i = 0; status == 0 && i < names.n; i++) {
		one = prove_stack(cli, names.at[i]);
		if (one == JOBSTACK_EMISSING) /* dropped meanwhile */
			js_error_clear(&cli->error);
		else if (one < 0)
			status = one;
		bad |= one == JOBSTACK_NOTHING;
	}
	if (status == 0) {
		one = prove_stack(cli, NULL);
		status = one < 0 ? one : 0;
		bad |= one == JOBSTACK_NOTHING;
	}
	if (status == 0 && names.n == 0)
		cli_say(cli, "there are no stacks yet: `jobstack push` creates one");
	cli_words_free(&names);
	return status != 0 ? status : bad;
}

static const char *logs;
static const struct js_opt table[] = {
	{'s', "stack", "NAME", "this stack (default: $JOBSTACK_STACK, else all stacks)", NULL},
	{0, "logs", "DIR",
	 "compare the files that workers wrote below DIR (their --log-dir) with the database, and list the outcomes "
	 "that are missing in the database. For use after a restored backup, or a failover that lost commits. Nothing "
	 "else is checked",
	 CLI_NAME(&logs)},
	CLI_OPTS_REST};

static int verify_ledgers(struct cli *cli)
{
	int status = logs != NULL	? cli_check_logs(cli, logs)
		     : cli->stack_given ? prove_stack(cli, cli->stack)
					: prove_all(cli);

	return status < 0 ? cli_fail(cli) : status;
}

static const char about[] =
	"Verifies that the ledger balances: every entry is in exactly one state, all its attempts are recorded, and "
	"the counters\nare right. It reads each stack from one consistent snapshot: it changes nothing, and workers "
	"can continue meanwhile.\nEnds with 0 if everything is right, with 1 after listing what is wrong.";
static const char notes[] = "  jobstack check -s mystack\n  jobstack check -s mystack --logs jobstack-logs";
static const struct js_opts opts = {"jobstack check", "[STACK] [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_check = {&opts,	   "only one stack can be given", CLI_CATCHES, 60 * JS_SECOND_US, NULL,
				    verify_ledgers};
