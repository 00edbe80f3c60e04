/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The cgroup of a process, of version 1 or 2, and what it limits.
 */
#pragma once

/* Calls LOOK with the directory of the cgroup that CONTROLLER ("memory", "cpu") has the process in whose directory is
 * PROC ("/proc/self"), and then with those above it, until LOOK returns other than 0.  Some of these directories may
 * not exist, because a container sees only a part of the hierarchy.  VERSION is 1 or 2. */
typedef int js_cgroup_fn(void *ctx, const char *dir, int version);
void js_cgroup_walk(const char *proc, const char *controller, js_cgroup_fn *look, void *ctx);

/* Returns how many CPUs the quotas of these cgroups allow, rounded down, but at least 1; 0: there is no quota. */
unsigned js_cgroup_cpus(const char *proc);
