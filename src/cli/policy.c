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

enum kind { COUNT, LIMIT, DURATION, PRIORITY };

/* A key, and where its value goes. */
static const struct {
	const char *name;
	enum kind kind;
	size_t at;
} policies[] = {
	{"max-attempts", COUNT, offsetof(struct jobstack_policy, max_attempts)},
	{"max-losses", COUNT, offsetof(struct jobstack_policy, max_losses)},
	{"retry-delay", DURATION, offsetof(struct jobstack_policy, retry_delay_us)},
	{"max-running", LIMIT, offsetof(struct jobstack_policy, max_running)},
	{"max-failures", LIMIT, offsetof(struct jobstack_policy, max_failures)},
	{"priority", PRIORITY, offsetof(struct jobstack_policy, priority)},
};
#define POLICIES (sizeof(policies) / sizeof(policies[0]))

static int read_number(struct cli *cli, const char *name, const char *value, int64_t low, int64_t high, int64_t *to)
{
	if (js_num_i64(value, low, high, to) == 0)
		return 0;
	return cli_usage(cli, "%s takes a whole number from %" PRId64 " to %" PRId64 "%s, not \"%s\"", name, low, high,
			 high == LIMIT_MAX ? ", or none" : "", value);
}

int cli_policy(struct cli *cli, const char *name, const char *value, struct jobstack_policy *policy)
{
	const char *bare = strncmp(name, "--", 2) == 0 ? name + 2 : name;
	size_t i = 0;
	int64_t n = 0;
	char *to;
	int status;

	while (i < POLICIES && strcmp(policies[i].name, bare) != 0)
		i++;
	if (i == POLICIES)
		return cli_usage(cli,
				 "there is no policy \"%s\"; use max-attempts, max-losses, retry-delay, max-running, "
				 "max-failures or priority",
				 name);
	to = (char *)policy + policies[i].at;
	switch (policies[i].kind) {
	case DURATION:
		if (js_num_duration(value, &n) != 0)
			return cli_usage(cli, "%s takes a duration up to 366 d, such as 90, 15m or 1:30:00, not \"%s\"",
					 name, value);
		memcpy(to, &n, sizeof(n));
		return 0;
	case LIMIT:
		if (strcmp(value, "none") == 0)
			status = 0;
		else
			status = read_number(cli, name, value, 1, LIMIT_MAX, &n);
		memcpy(to, &n, sizeof(n));
		return status;
	default:
		status = read_number(cli, name, value, policies[i].kind == COUNT ? 1 : -PRIORITY_MAX,
				     policies[i].kind == COUNT ? INT32_MAX : PRIORITY_MAX, &n);
		memcpy(to, &(int32_t){(int32_t)n}, sizeof(int32_t));
		return status;
	}
}

int cli_policy_take(struct cli *cli, void *ctx, int key, const char *arg)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "--%s", cli_option(cli, key)->name);
	return cli_policy(cli, name, arg, ctx);
}
