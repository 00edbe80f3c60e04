/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack doctor: Slurm.  Promises: a controller that does not answer is given up after some seconds; libslurm is
 * asked in a child of its own, as workers ask it; what the site's limits are is read from Slurm's own commands, in any
 * release.
 */
#include "cli/doctor/doctor.h"

#include "base/clock.h"
#include "frame/sbatch.h"
#include "slurm/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_US (12 * JS_SECOND_US)
#define PARTITIONS_MAX 20
#define PARTITIONS "sinfo -h -o '%R is %a, time limit %l, nodes %F (busy/idle/other/all)'"
#define GRACE_S 5 /* a worker's default */

/* Asks the controller in the way in which recovery asks it: through the plugin, or by commands.  Returns 0 if it
 * answered. */
static int check_module(struct doctor *d)
{
	static const char without[] = "jobstack works without it, but entries of dead workers are requeued only when "
				      "their lease ends: build jobstack with this Slurm's headers";
	static const char chosen[] = "unset $JOBSTACK_SLURM to use the plugin, which finds dead workers before their "
				     "lease ends";
	const struct js_slurm_where where = {getenv("JOBSTACK_MODULE_DIR"), LIMIT_US, NULL};
	const char *cluster = getenv("SLURM_CLUSTER_NAME");
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	int64_t began = js_clock_mono_us();
	struct js_slurm_conf conf;
	int status = js_slurm_conf(&where, &conf, &error);

	if (status == 0)
		doctor_ok(d, "controller", "the controller of cluster \"%s\" answers jobstack after %.0f ms",
			  conf.cluster, (double)(js_clock_mono_us() - began) / 1e3);
	if (status == 0 && cluster != NULL && strcmp(cluster, conf.cluster) != 0)
		doctor_warn(
			d, "controller",
			"set $SLURM_CONF to the configuration of this job's cluster, or unset it: until then jobstack "
			"can't ask about this job, and entries of dead workers are requeued only when their lease ends",
			"this job is in the cluster \"%s\"", cluster);
	if (status == 0 && !conf.by_commands)
		doctor_ok(d, "Slurm plugin", "Slurm is queried through libslurm");
	else if (status == 0)
		doctor_warn(d, "Slurm plugin", conf.no_module[0] != '\0' ? without : chosen,
			    "not used: Slurm is queried through squeue and scontrol%s%s",
			    conf.no_module[0] != '\0' ? ": " : " ($JOBSTACK_SLURM)", conf.no_module);
	else if (status == JOBSTACK_EFILE && error.server_errno == JS_WHY_NO_SLURM_CONFIG)
		doctor_warn(d, "Slurm", "on a cluster, set $SLURM_CONF to the path of its slurm.conf",
			    "its programs are installed, but not configured: `jobstack run` and jobstack-worker work "
			    "without Slurm");
	else if (status == JOBSTACK_EFILE)
		doctor_fail(d, "controller",
			    "check slurmctld with `scontrol ping`, or ask your admin: without it no job can be "
			    "submitted, and dead workers are found later",
			    "%s", error.text);
	else
		doctor_warn(d, "Slurm plugin", without, "%s", error.text);
	return status;
}

/* CONFIG is what `scontrol show config` printed. */
static void check_site_limits(struct doctor *d, const char *config)
{
	char array[CLI_SLURM_VALUE], jobs[CLI_SLURM_VALUE] = "?", kill_wait[CLI_SLURM_VALUE], track[CLI_SLURM_VALUE];

	(void)cli_slurm_config(config, "MaxJobCount", jobs);
	if (cli_slurm_config(config, "MaxArraySize", array))
		doctor_warn_if(strtol(array, NULL, 10) < 2, d, "arrays",
			       "job arrays are disabled here: `jobstack submit` submits one job per worker",
			       "MaxArraySize=%s, MaxJobCount=%s", array, jobs);
	if (cli_slurm_config(config, "KillWait", kill_wait))
		doctor_warn_if(strtol(kill_wait, NULL, 10) < GRACE_S + 3, d, "KillWait",
			       "Slurm sends KILL soon after TERM: give workers a shorter --grace", "%s", kill_wait);
	if (cli_slurm_config(config, "ProctrackType", track))
		doctor_warn_if(strcmp(track, "proctrack/cgroup") != 0, d, "processes",
			       "ask your admin for proctrack/cgroup, with which no process outlives its step",
			       "ProctrackType=%s", track);
}

/* TEXT is what PARTITIONS prints, a line for each partition. */
static void check_partitions(struct doctor *d, char *text)
{
	unsigned up = 0, n = 0;
	char *line;

	while ((line = strsep(&text, "\n")) != NULL && *line != '\0') {
		up += strstr(line, " is up, ") != NULL;
		if (n++ < PARTITIONS_MAX)
			doctor_ok(d, "partition", "%s", line);
	}
	if (n > PARTITIONS_MAX)
		doctor_ok(d, "partition", "and %u more", n - PARTITIONS_MAX);
	if (up == 0)
		doctor_fail(d, "partition", "wait, or ask your admin", "no partition is up");
}

/* The first question decides whether the others make sense: a controller that does not answer would let each of them
 * wait until its time is up. */
void doctor_slurm(struct doctor *d)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	const char *conf = getenv("SLURM_CONF");
	char *text;

	if (!d->slurm) {
		doctor_ok(d, "Slurm", "not on this host: `jobstack run` and jobstack-worker work without Slurm");
		return;
	}
	if (!js_child_is_in_path("sbatch"))
		doctor_warn(d, "Slurm", "`jobstack submit` needs it: submit from a login node",
			    "there is no sbatch in $PATH");
	if (conf != NULL && *conf != '\0' && access(conf, R_OK) != 0) {
		/* Slurm's commands would look for it for a minute */
		doctor_fail(d, "controller", "unset $SLURM_CONF, or set it to the path of Slurm's configuration",
			    "$SLURM_CONF, %s: %s", conf, strerror(errno));
		return;
	}
	if (check_module(d) == JOBSTACK_EFILE)
		return; /* each further question would take as long */
	text = cli_slurm_answer("scontrol show config", LIMIT_US, &error);
	if (text == NULL) {
		doctor_fail(d, "controller", "check slurmctld with `scontrol ping`, or ask your admin", "scontrol: %s",
			    error.text);
		return;
	}
	check_site_limits(d, text);
	free(text);
	text = cli_slurm_answer(PARTITIONS, LIMIT_US, &error);
	if (text == NULL)
		doctor_warn(d, "partition", "run sinfo to see the error", "sinfo: %s", error.text);
	else
		check_partitions(d, text);
	free(text);
}
