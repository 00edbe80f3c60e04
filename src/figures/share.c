/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a shared report leaves out.
 */
#include "figures/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const figures_share_words[FIGURES_SHARE_KINDS] = {"datapaths", "arguments", "users", "packages",
							      "messages"};

int figures_share_hides(const struct figures_share *share, unsigned what)
{
	return share != NULL && (share->shown & what) == 0;
}

/* Keeps of a platform only the lines whose values come from the machine and from Slurm, not from the user. */
static void keep_machine_lines(char *text)
{
	static const char *const kept[] = {"kernel: ", "processor: ", "memory of the job, "};
	char *to = text;

	for (char *line = text, *next; *line != '\0'; line = next) {
		size_t len = strcspn(line, "\n"), whole = len + (line[len] == '\n');

		next = line + whole;
		for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
			if (strncmp(line, kept[i], strlen(kept[i])) == 0) {
				memmove(to, line, whole);
				to += whole;
				break;
			}
	}
	*to = '\0';
}

void figures_share_mount(const struct figures_share *share, char *text)
{
	if (figures_share_hides(share, FIGURES_SHARE_DATAPATHS))
		text[strcspn(text, " ")] = '\0';
}

/* Versions get numbers in the order of the facts, so that a reader can still tell them apart. */
int figures_share_facts(const struct figures_share *share, struct figures_facts *facts)
{
	unsigned version = 0;

	for (size_t i = 0; i < facts->n; i++) {
		struct figures_fact *one = &facts->at[i];
		char number[32];

		if (one->f.kind == JOBSTACK_FACT_MOUNT)
			figures_share_mount(share, one->text);
		if (one->f.kind == JOBSTACK_FACT_PACKAGES && figures_share_hides(share, FIGURES_SHARE_PACKAGES))
			one->text[0] = '\0'; /* the public ones have been counted */
		if (!figures_share_hides(share, FIGURES_SHARE_ARGUMENTS))
			continue;
		if (one->f.kind == JOBSTACK_FACT_PLATFORM)
			keep_machine_lines(one->text);
		if (one->f.kind != JOBSTACK_FACT_PROGRAM)
			continue;
		(void)snprintf(number, sizeof(number), "version number %u", ++version); /* as of --code-version */
		free(one->text);
		one->text = strdup(number);
		one->f.text = one->text;
		if (one->text == NULL)
			return -1;
	}
	return 0;
}

/* A reason of ours may quote the user's options; only that of a timeout stays, in words of its own. */
void figures_share_failures(const struct figures_share *share, struct figures_failures *failures)
{
	for (size_t i = 0; i < failures->n; i++) {
		struct figures_failure *one = &failures->group[i];
		int timeout;

		if (figures_share_hides(share, FIGURES_SHARE_ARGUMENTS))
			one->program[0] = '\0';
		if (!figures_share_hides(share, FIGURES_SHARE_MESSAGES))
			continue;
		timeout = one->f.cause == JOBSTACK_CAUSE_TIMEOUT;
		(void)snprintf(one->reason, sizeof(one->reason), "%s", timeout ? "timeout after its limit" : "");
		one->pattern[0] = one->example[0] = '\0';
		one->f.reason = timeout ? one->reason : NULL;
		one->f.pattern = one->f.example = NULL;
	}
}
