/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How many entries a worker claims, and when it writes outcomes.
 */
#include "worker/batching.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SLOTS 8
#define NOW (1000 * JS_SECOND_US)

static struct jobstack_running slot[SLOTS];

/* A worker with SLOTS slots that all run commands of MEAN_S seconds, which began at AGE_S before now; it can claim as
 * much as it likes. */
static struct batching busy(double mean_s, double age_s, double step_ms)
{
	for (size_t i = 0; i < SLOTS; i++)
		slot[i] = (struct jobstack_running){sizeof(slot[i]), i + 1, 1, NOW - (int64_t)(age_s * 1e6)};
	return (struct batching){.now_us = NOW,
				 .slot = slot,
				 .slots = SLOTS,
				 .running = SLOTS,
				 .mean_us = mean_s * 1e6,
				 .step = {step_ms * 1e3, 0},
				 .finished = 100,
				 .ready = 1000000,
				 .workers = 1,
				 .most = JOBSTACK_POP_MAX};
}

static void nothing_is_known(void **state)
{
	struct batching b = busy(0, 0, 0);
	struct batching_plan p;

	(void)state;
	b.finished = 0;
	b.running = 3;
	p = batching_plan(&b);
	assert_true(p.claim == 5 && p.due && !p.fresh); /* what can start now */
	b.running = SLOTS;
	assert_true(batching_plan(&b).claim == 0);
}

static void short_commands(void **state)
{
	struct batching b = busy(0.01, 0, 1);
	struct batching_plan p = batching_plan(&b);

	(void)state;
	assert_true(p.claim == JOBSTACK_POP_MAX && p.due && p.gather_us == JS_SECOND_US / 2);
	b.queued = 700; /* a second's work is 800 */
	assert_true(batching_plan(&b).claim == 0);
	b.queued = 400;
	assert_true(batching_plan(&b).claim == 400);
	b.workers = 10;
	b.ready = 1000; /* at most half of one's share */
	assert_true(batching_plan(&b).claim == 50);
}

static void long_commands_on_a_fast_server(void **state)
{
	struct batching b = busy(2, 1.99, 5);
	struct batching_plan p = batching_plan(&b);

	(void)state;
	assert_true(p.claim == 0 && p.gather_us == 0);
	b.running = SLOTS - 2;
	p = batching_plan(&b);
	assert_true(p.claim == 2 && p.due && !p.fresh);
}

static void long_commands_on_a_slow_server(void **state)
{
	struct batching b = busy(10, 2, 500);
	struct batching_plan p = batching_plan(&b);

	(void)state;
	assert_true(p.claim == 0 && p.gather_us == 2 * JS_SECOND_US);
	assert_true(p.look_us == NOW + 5 * JS_SECOND_US); /* 10 s less what they ran, the gathering and two steps */
	b = busy(10, 8, 500);
	p = batching_plan(&b);
	assert_true(p.claim == SLOTS && p.due && p.fresh); /* one per slot, and no more */
	b.queued = 1;
	p = batching_plan(&b);
	assert_true(p.claim == SLOTS - 1 && !p.due); /* with the next step */
	b.queued = 0;
	p = batching_plan(&b);
	assert_true(p.due);
	b.running = SLOTS - 1;
	slot[0].entry = 0;
	p = batching_plan(&b);
	assert_true(p.claim == SLOTS && p.due && !p.fresh);
}

static void late_steps(void **state)
{
	struct batching b = busy(10, 2, 500);
	struct batching_plan p;

	(void)state;
	b.step.off_us = 250e3; /* the next step but one may take a second more */
	p = batching_plan(&b);
	assert_true(p.claim == 0 && p.look_us == NOW + 4 * JS_SECOND_US);
	b = busy(10, 9.9, 50); /* most steps take so little that no slot would notice */
	assert_true(batching_plan(&b).claim == 0);
	b.step.off_us = 15e3;
	assert_true(batching_plan(&b).claim == SLOTS);
}

static void not_ahead(void **state)
{
	struct batching b = busy(10, 9, 500);

	(void)state;
	b.no_ahead = 1;
	assert_true(batching_plan(&b).claim == 0);
	b.no_ahead = 0;
	b.limited = 1;
	assert_true(batching_plan(&b).claim == 0);
	b.limited = 0;
	b.workers = 100;
	b.ready = 150; /* others want it, too */
	assert_true(batching_plan(&b).claim == 0);
	b.ready = 1000;
	assert_true(batching_plan(&b).claim == 5);
	b.running = SLOTS - 1;
	slot[0].entry = 0;
	b.ready = 1; /* but what can start now may be claimed, one at a time */
	assert_true(batching_plan(&b).claim == 1);
}

static void steps(void **state)
{
	struct batching_step step = {0, 0};

	(void)state;
	batching_note_step(&step, 4000);
	assert_true(step.mean_us > 3999 && step.mean_us < 4001 && step.off_us > 999 && step.off_us < 1001);
	batching_note_step(&step, 8000);
	assert_true(step.mean_us > 4999 && step.mean_us < 5001 && step.off_us > 1749 && step.off_us < 1751);
}

/* A thousand workers look fifty times per second together, or five times while much is left. */
static void looks(void **state)
{
	const int64_t near = JS_SECOND_US * 21, far = JS_SECOND_US * 201;

	(void)state;
	assert_int_equal(batching_look_us(0, 0, 0, 64, 10e6), JS_SECOND_US);
	assert_int_equal(batching_look_us(1000000, 1000, 0, 64, 10e6), far);
	assert_int_equal(batching_look_us(200000, 1000, 0, 64, 10e6), near);
	assert_int_equal(batching_look_us(1000000, 1000, 800, 64, 10e6), near); /* the others claim as much */
	assert_int_equal(batching_look_us(1000000, 1000, 0, 64, 10e3), near);	/* of short ones more are claimed */
	assert_int_equal(batching_look_us(2000000, 1000, 0, 64, 10e3), far);
}

/* SECONDS steps that follow each other, each of a second, with four of the slots free for its last half: it was to
 * claim CLAIM entries, and brought GOT. */
static void wait_long(struct batching_wait *wait, int seconds, size_t claim, size_t got)
{
	for (int i = 0; i < seconds; i++) {
		const int64_t now = (wait->at_us == 0 ? NOW : wait->at_us) + JS_SECOND_US;
		struct batching_waited step = {slot, SLOTS, 0, claim, got, now - JS_SECOND_US, now};

		for (size_t k = 0; k < SLOTS; k++)
			slot[k] = (struct jobstack_running){sizeof(slot[k]), k % 2, 1, now - JS_SECOND_US / 2};
		batching_note_wait(wait, &step);
	}
}

static void waits(void **state)
{
	struct batching_wait w = {0};
	struct batching_waited step = {slot, SLOTS, 0, 1, 1, 0, 0};

	(void)state;
	wait_long(&w, 5, 4, 4);
	assert_true(w.share > 0.12 && w.share < 0.25); /* careful at first */
	wait_long(&w, 300, 4, 4);
	assert_true(w.share > 0.24 && w.share < 0.26); /* half of the time, half of the slots */
	wait_long(&w, 300, 1, 1);
	assert_true(w.share > 0.24 && w.share < 0.26); /* those that must wait for the next step, too */
	wait_long(&w, 300, 4, 1);
	assert_true(w.share > 0.06 && w.share < 0.07); /* only one could have started */
	wait_long(&w, 300, 4, 0);
	assert_true(w.share < 0.001); /* none */

	/* four slots that are free for long, as there was nothing to start, wait since this step began: half a second
	 * of all, in 31 */
	for (size_t k = 0; k < SLOTS; k++)
		slot[k] = (struct jobstack_running){sizeof(slot[k]), k % 2, 1, NOW};
	w.share = 0;
	step.sent_us = w.at_us;
	step.now_us = w.at_us + JS_SECOND_US;
	batching_note_wait(&w, &step);
	assert_true(w.share > 0.016 && w.share < 0.017);
	/* a step that claims nothing is counted with the next one: a second of all, in 32 */
	w.share = 0;
	step.claim = step.got = 0;
	step.now_us += JS_SECOND_US;
	batching_note_wait(&w, &step);
	assert_true(w.share < 1e-9);
	step.claim = step.got = 1;
	step.now_us += JS_SECOND_US;
	batching_note_wait(&w, &step);
	assert_true(w.share > 0.032 && w.share < 0.033);
	w.share = 0;
	step.queued = 1; /* there is something to start */
	step.now_us += JS_SECOND_US;
	batching_note_wait(&w, &step);
	assert_true(w.share < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_known),
					   cmocka_unit_test(short_commands),
					   cmocka_unit_test(long_commands_on_a_fast_server),
					   cmocka_unit_test(long_commands_on_a_slow_server),
					   cmocka_unit_test(late_steps),
					   cmocka_unit_test(not_ahead),
					   cmocka_unit_test(steps),
					   cmocka_unit_test(waits),
					   cmocka_unit_test(looks)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
