/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who this process is, for its worker row: host, boot, process, user, and what Slurm's environment tells.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "slurm/env.h"

struct js_slurm_identity {
	struct js_slurm_env env;
	char host[256], boot[64], user[64], step[32], cwd[4097];
};

/* Fills what OPTIONS says about the process; the texts are IDENTITY's and the environment's, and live as long. */
void js_slurm_identify(struct js_slurm_identity *identity, struct jobstack_worker_options *options);
