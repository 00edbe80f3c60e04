/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack init: creates or upgrades the schema, and says what it did.
 */
#include "cli/cli.h"

static const char *dir;
static const struct js_opt table[] = {CLI_OPTS_DATABASE,
				      {CLI_OWN, "schema-dir", "DIR",
				       "the directory of the .sql files (default: those installed with this\nprogram)",
				       CLI_WORD(&dir)},
				      CLI_OPTS_ALWAYS,
				      CLI_OPTS_END};

static int create_schema(struct cli *cli)
{
	struct jobstack_init_report report = JOBSTACK_INIT_REPORT_INIT;

	if (jobstack_init(cli->handle, dir != NULL ? dir : cli_schema_dir(), &report, &cli->error) != 0)
		return cli_fail(cli);
	if (report.created_database)
		cli_say(cli, "created the database");
	if (report.before == report.after)
		cli_say(cli, "the schema exists already (version %u)", report.after);
	else if (report.before == 0)
		cli_say(cli, "created the schema (version %u)", report.after);
	else
		cli_say(cli, "upgraded the schema from version %u to %u", report.before, report.after);
	return CLI_YES;
}

static const char about[] =
	"Creates the schema in the database, or upgrades it. It is safe to repeat, and to run several times at once.";
static const char notes[] = "  jobstack server start && jobstack init";
static const struct js_opts opts = {"jobstack init", "[OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_init = {&opts, "", 0, 0, NULL, create_schema};
