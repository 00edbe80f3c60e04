/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packages in memory.
 */
#include "insight/packages.h"

#include <stdio.h>

static int keep_package(void *ctx, const struct jobstack_stack_package *package)
{
	struct insight_packages *all = ctx;

	if (all->n == INSIGHT_PACKAGES || insight_share_hides_package(all->share, package->name)) {
		all->more++;
		return 0;
	}
	(void)snprintf(all->at[all->n].name, sizeof(all->at[0].name), "%s", package->name);
	(void)snprintf(all->at[all->n].version, sizeof(all->at[0].version), "%s", package->version);
	all->at[all->n].entries = package->entries;
	all->at[all->n++].nodes = package->nodes;
	return 0;
}

int insight_packages_read(struct insight_packages *all, struct jobstack *handle, const char *stack,
			  const struct insight_share *share, struct jobstack_error *error)
{
	*all = (struct insight_packages){.share = share};
	return jobstack_stack_packages(handle, stack, keep_package, all, error);
}
