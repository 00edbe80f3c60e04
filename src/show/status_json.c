/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A snapshot as JSON.
 */
#include "show/json.h"
#include "show/status.h"
#include "show/version.h"
#include "show/words.h"

#include <string.h>

/* Returns an array of N objects, each made by ONE. */
static json_t *make_list(const struct figures_snapshot *l, size_t n,
			 json_t *(*one)(const struct figures_snapshot *l, size_t i))
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		show_append(list, one(l, i));
	return list;
}

static json_t *worker_json(const struct figures_snapshot *l, size_t i)
{
	const struct jobstack_worker_row *w = &l->worker[i];

	return SHOW_OBJECT(
		KEY_COUNT("worker", w->worker), KEY_TEXT("node", w->node != NULL ? w->node : w->host),
		KEY_TEXT("host", w->host), KEY_TEXT("user", w->user), KEY_COUNT("pid", w->pid), KEY_TEXT("job", w->job),
		KEY_TEXT("array_job", w->array_job), KEY_TEXT("array_task", w->array_task), KEY_TEXT("step", w->step),
		KEY_COUNT("slots", w->slots), KEY_COUNT("running", w->running), KEY_COUNT("done", w->done),
		KEY_COUNT("dead", w->dead), KEY_SPAN("age_seconds", w->age_us),
		KEY_SPAN("silent_seconds", w->silent_us < 0 ? 0 : w->silent_us), KEY_SPAN("lease_seconds", w->lease_us),
		KEY_FLAG("by_script", w->by_script), KEY_TEXT("suspicion", w->suspicion));
}

static json_t *longest_json(const struct figures_snapshot *l, size_t i)
{
	const struct figures_longest *one = &l->longest[i];

	return SHOW_OBJECT(KEY_COUNT("entry", one->entry), KEY_BYTES("datapath", one->datapath.data, one->datapath.len),
			   KEY_SPAN("seconds", one->us), KEY_COUNT("worker", one->worker), KEY_TEXT("node", one->node));
}

static json_t *bad_node_json(const struct figures_snapshot *l, size_t i)
{
	const struct figures_bad_node *b = &l->bad[i];

	return SHOW_OBJECT(KEY_TEXT("node", b->node), KEY_COUNT("failed", b->b.failed),
			   KEY_COUNT("attempts", b->b.attempts), KEY_COUNT("failed_elsewhere", b->b.failed_elsewhere),
			   KEY_COUNT("attempts_elsewhere", b->b.attempts_elsewhere));
}

/* Returns the message of a group.  The version that all have in common comes first: where a long message is cut, its
 * end stays. */
static struct show_member message_member(const struct figures_failure *one)
{
	const char *example = one->f.various ? "(various)" : one->example;
	struct js_buf text = {0};

	show_version_only(&text, one->program);
	js_buf_printf(&text, "%s%s%s%s", text.len > 0 ? " " : "", one->reason,
		      one->reason[0] != '\0' && example[0] != '\0' ? ": " : "", example);
	if (text.len > 0 && text.data[0] == ' ')
		memmove(text.data, text.data + 1, text.len--);
	return show_said_member("message", &text);
}

json_t *show_failures_json(const struct figures_failures *failures)
{
	json_t *list = json_array();

	for (size_t i = 0; i < failures->n; i++) {
		const struct jobstack_failure *f = &failures->group[i].f;

		SHOW_APPEND(list, KEY_COUNT("count", f->count), KEY_TEXT("outcome", show_outcome_word(f->outcome)),
			    KEY_INT("exit_code", f->exit_code, f->exit_code >= 0),
			    KEY_INT("signal", f->signal, f->signal > 0), KEY_TEXT("how", show_failure_how(f).text),
			    KEY_TEXT("reason", f->reason), KEY_TEXT("pattern", f->pattern),
			    KEY_TEXT("example", f->example), message_member(&failures->group[i]),
			    KEY_TEXT("node", f->node), KEY_COUNT("entry", f->entry), KEY_COUNT("attempt", f->attempt),
			    KEY_FLAG("various", f->various), KEY_SPAN("last_seen_seconds", f->ago_us));
	}
	return list;
}

json_t *show_status_json(const struct figures_snapshot *l, const struct figures_seen *seen, int detailed)
{
	const struct jobstack_status *s = &seen->stack.s;
	const struct jobstack_pace *p = &seen->pace;
	json_t *o = SHOW_OBJECT(
		KEY_TEXT("stack", seen->stack.name), KEY_TEXT("state", show_stack_state(s)),
		KEY_BYTES("note", seen->stack.note.data, seen->stack.note.len), KEY_COUNTS(s),
		KEY_COUNT("workers", s->workers), KEY_COUNT("silent", s->silent), KEY_COUNT("slots", s->slots),
		KEY_COUNT("busy", s->busy), KEY_COUNT("pushers", s->pushers), KEY_REAL("rate", p->rate, 1),
		KEY_SPAN("eta_seconds", p->eta_us), KEY_SPAN("eta_low_seconds", p->low_us),
		KEY_SPAN("eta_high_seconds", p->high_us), KEY_SPAN("slot_seconds", p->each_us),
		KEY_SPAN("next_due_seconds", s->next_due_us), KEY_COUNT("max_attempts", s->max_attempts),
		KEY_COUNT("max_losses", s->max_losses), KEY_SPAN("retry_delay_seconds", s->retry_delay_us),
		KEY_INT("max_running", s->max_running, s->max_running > 0),
		KEY_INT("max_starts", s->max_starts, s->max_starts > 0),
		KEY_SPAN("starts_seconds", s->max_starts > 0 ? s->starts_us : -1),
		KEY_INT("max_failures", s->max_failures, s->max_failures > 0),
		KEY_COUNT("claimed", figures_stack_claimed(s)));

	struct js_buf idle = {0};

	if (detailed && l->idle.alone)
		show_idle(&idle, &l->idle);
	if (detailed)
		SHOW_SET(o, KEY_JSON("live", make_list(l, l->worker_n, worker_json)),
			 KEY_JSON("longest", make_list(l, l->longest_n, longest_json)),
			 KEY_JSON("failures", show_failures_json(&l->failures)),
			 KEY_TEXT("failures_of", l->failures_all ? "attempts" : "dead"),
			 KEY_COUNT("failures_looked_at", l->failures.report.looked),
			 KEY_JSON("bad_nodes", make_list(l, l->bad_n, bad_node_json)), KEY_TEXT("idle", idle.data));
	js_buf_free(&idle);
	return o;
}
