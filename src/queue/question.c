/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who asks somebody else (Slurm) a question that many programs have, and the answer for all of them.  Promises: the
 * right to ask is given by one compare-and-set, by the server's clock; a program that was told to ask, and lost the
 * reply, is told so again; an answer is stored only by the program that asked last, so it is never older than it seems.
 *
 * A row's life:
 *
 *     (no row)                      nobody has asked yet: an INSERT gives the right to ask; the key decides who has it
 *     token, question               somebody asks: others have to wait until EVERY_US is over (jobstack_ask)
 *     token, question, answer       jobstack_answer has stored it, if the token is still there
 *     dashes, question              there is no answer (jobstack_unanswered): others may ask EARLY_US sooner
 */
#include "queue/queue.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

#define TRIES 5				   /* to get the right to ask, while others get it first */
#define KEPT_US (2 * INT64_C(86400000000)) /* a question that nobody has asked for so long is forgotten */
#define NEAR (UINT64_C(1) << 52)	   /* numbers are hashes of 60 bits: so near is one question in 128 */

/* A row of `slurm_answer`.  Its text is the token of who asked, the question, and the answer. */
#define NUMBER "CAST(CONV(LEFT(SHA2(%s,256),15),16,10) AS SIGNED)"
#define ROW " question=" NUMBER
#define TOKEN 32 /* digits */

struct asked {
	const char *question;
	int64_t asked_us, age_us; /* when, and how long ago; by the server's clock */
	int found;
	char token[TOKEN + 1];
	char *answer;
	size_t size;
};

static void take_asked(void *ctx, const struct js_row *row)
{
	struct asked *a = ctx;
	size_t len = strlen(a->question);
	const char *text = row == NULL ? NULL : row->col[2];

	a->found = text != NULL;
	a->token[0] = a->answer[0] = '\0';
	if (text == NULL)
		return;
	a->asked_us = js_row_time(row, 0);
	a->age_us = js_row_i64(row, 1);
	/* another question with this number would be no answer */
	if (strlen(text) <= TOKEN + len || strncmp(text + TOKEN, a->question, len) != 0 || text[TOKEN + len] != '\n')
		return;
	(void)snprintf(a->token, sizeof(a->token), "%.*s", TOKEN, text);
	(void)snprintf(a->answer, a->size, "%s", text + TOKEN + len + 1);
}

/* Writes that TOKEN asks now, if nobody else has written that since the row was read: by its time, which is exact to
 * the microsecond, or by the key, if there was no row. */
static int claim_question(struct jobstack *handle, const struct asked *a, const char *token,
			  struct jobstack_error *error)
{
	if (!a->found)
		return js_handle_change(handle, 1, NULL, error,
					"INSERT INTO slurm_answer(question,asked,text) VALUES(" NUMBER
					",UTC_TIMESTAMP(6),CONCAT(%s,%s,'\n'))",
					a->question, token, a->question);
	return js_handle_change(handle, 1, NULL, error,
				"UPDATE slurm_answer SET asked=UTC_TIMESTAMP(6),text=CONCAT(%s,%s,'\n') WHERE" ROW
				" AND asked=%t",
				token, a->question, a->question, a->asked_us);
}

int jobstack_ask(struct jobstack *handle, const char *question, int64_t every_us, char token[33], char *answer,
		 size_t size, int64_t *age_us, struct jobstack_error *error)
{
	struct asked a = {.question = question, .answer = answer, .size = size};
	int status = js_schema_check(handle, error);

	if (token != NULL)
		js_file_random_hex(token, TOKEN);
	for (int tries = 0; status == 0 && tries < TRIES; tries++) {
		status = js_handle_ask(handle, take_asked, &a, error,
				       "SELECT asked,TIMESTAMPDIFF(MICROSECOND,asked,UTC_TIMESTAMP(6)),text FROM "
				       "slurm_answer WHERE" ROW,
				       question);
		*age_us = a.found ? a.age_us : INT64_MAX;
		if (status != 0 || (a.found && token != NULL && strcmp(a.token, token) == 0))
			return status;
		/* a clock that was set back must not keep everybody from asking */
		if (a.found && a.age_us > -every_us && a.age_us < every_us)
			return JOBSTACK_NOTHING;
		if (token == NULL)
			return 0;
		status = claim_question(handle, &a, token, error);
		if (status == JS_DB_GUARD || status == JS_DB_DUPLICATE) /* somebody was faster, or our own lost try */
			status = 0;
	}
	return status == 0 ? JOBSTACK_NOTHING : status;
}

/* Deletes questions that nobody has asked for long: those about single jobs would pile up.  Each answer looks only at
 * those whose numbers are near its own question's, about one in 128, since there may be very many. */
static int forget_questions(struct jobstack *handle, const char *question, struct jobstack_error *error)
{
	return js_handle_change(handle, 0, NULL, error,
				"DELETE FROM slurm_answer WHERE question BETWEEN " NUMBER "-%u AND " NUMBER
				"+%u AND asked<UTC_TIMESTAMP(6)-INTERVAL %d MICROSECOND ORDER BY question LIMIT 1000",
				question, NEAR, question, NEAR, KEPT_US);
}

int jobstack_unanswered(struct jobstack *handle, const char *question, const char *token, int64_t early_us,
			struct jobstack_error *error)
{
	/* without the token, so that a second try after a lost reply changes nothing */
	int status =
		js_handle_change(handle, 1, NULL, error,
				 "UPDATE slurm_answer SET asked=asked-INTERVAL %d "
				 "MICROSECOND,text=CONCAT(REPEAT('-',32),%s,'\n') WHERE" ROW " AND LEFT(text,32)=%s",
				 early_us, question, question, token);

	return status == JS_DB_GUARD ? JOBSTACK_NOTHING : status;
}

int jobstack_answer(struct jobstack *handle, const char *question, const char *token, const char *answer,
		    struct jobstack_error *error)
{
	int status =
		js_handle_change(handle, 1, NULL, error,
				 "UPDATE slurm_answer SET text=CONCAT(%s,%s,'\n',%s) WHERE" ROW " AND LEFT(text,32)=%s",
				 token, question, answer, question, token);

	return status == JS_DB_GUARD ? JOBSTACK_NOTHING
	       : status == 0	     ? forget_questions(handle, question, error)
				     : status;
}
