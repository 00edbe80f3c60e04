/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stack's policy as people write it.
 */
#include "cli/cli.h"

#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LIMIT_MAX INT64_C(1000000000000)
#define PRIORITY_MAX 1000000
#define STARTS_MAX 1000000

/* A key, and where its value goes: a number from LOW to HIGH; a duration if both are 0. */
static const struct {
	const char *name;
	int64_t low, high;
	size_t at, size;
} policies[] = {
#define MEMBER(name) offsetof(struct jobstack_policy, name), sizeof(((struct jobstack_policy *)0)->name)
	{"max-attempts", 1, INT32_MAX, MEMBER(max_attempts)},
	{"max-losses", 1, INT32_MAX, MEMBER(max_losses)},
	{"retry-delay", 0, 0, MEMBER(retry_delay_us)},
	{"max-running", 1, LIMIT_MAX, MEMBER(max_running)},
	{"max-failures", 1, LIMIT_MAX, MEMBER(max_failures)},
	{"delay", 0, 0, MEMBER(starts_us)},
	{"priority", -PRIORITY_MAX, PRIORITY_MAX, MEMBER(priority)},
	{"strict-order", 0, 1, MEMBER(strict_order)},
};
#define POLICIES (sizeof(policies) / sizeof(policies[0]))

/* Reads "60/min", "1/1.5s" or "none".  Returns 0, or -1. */
static int read_rate(const char *value, struct jobstack_policy *policy)
{
	const char *slash = strchr(value, '/');
	char n[24], time[40];

	policy->max_starts = 0;
	if (strcmp(value, "none") == 0)
		return 0;
	if (slash == NULL || slash[1] == '\0' || slash - value >= (int)sizeof(n))
		return -1;
	(void)snprintf(n, sizeof(n), "%.*s", (int)(slash - value), value);
	(void)snprintf(time, sizeof(time), "%s%s", slash[1] >= '0' && slash[1] <= '9' ? "" : "1", slash + 1);
	return js_num_i64(n, 1, STARTS_MAX, &policy->max_starts) != 0 ||
			       js_num_duration(time, &policy->starts_us) != 0 || policy->starts_us == 0
		       ? -1
		       : 0;
}

/* The names and limits are in one table for `set`, `push` and `run`.  "none" is stored as 0, which means no limit. */
int cli_policy(struct cli *cli, const char *name, const char *value, struct jobstack_policy *policy)
{
	const char *bare = strncmp(name, "--", 2) == 0 ? name + 2 : name;
	size_t i = 0;
	int64_t n = 0, low, high;

	if (strcmp(bare, "max-starts") == 0)
		return read_rate(value, policy) == 0
			       ? 0
			       : cli_usage(
					 cli,
					 "%s takes starts per time, such as 60/min, 5/s or 1/1.5s, or none, not \"%s\"",
					 name, value);
	while (i < POLICIES && strcmp(policies[i].name, bare) != 0)
		i++;
	if (i == POLICIES)
		return cli_usage(cli,
				 "there is no policy \"%s\"; use max-attempts, max-losses, retry-delay, max-running, "
				 "max-starts, max-failures, priority or strict-order",
				 name);
	low = policies[i].low;
	high = policies[i].high;
	if (high == 0 && js_num_duration(value, &n) != 0)
		return cli_usage(cli, "%s takes a duration up to 366 d, such as 90, 15m or 1:30:00, not \"%s\"", name,
				 value);
	if (high != 0 && !(high == LIMIT_MAX && strcmp(value, "none") == 0) && js_num_i64(value, low, high, &n) != 0)
		return cli_usage(cli, "%s takes a whole number from %" PRId64 " to %" PRId64 "%s, not \"%s\"", name,
				 low, high, high == LIMIT_MAX ? ", or none" : "", value);
	if (policies[i].size == sizeof(n))
		memcpy((char *)policy + policies[i].at, &n, sizeof(n));
	else
		memcpy((char *)policy + policies[i].at, &(int32_t){(int32_t)n}, sizeof(int32_t));
	if (policies[i].at == offsetof(struct jobstack_policy, starts_us)) /* --delay 2: one start in two seconds */
		policy->max_starts = n > 0;
	return 0;
}

int cli_policy_take(struct cli *cli, void *ctx, int key, const char *arg)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "--%s", cli_option(cli, key)->name);
	return cli_policy(cli, name, arg == NULL ? "1" : arg, ctx);
}
