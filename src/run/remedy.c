/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The remedies that both tools know.
 */
#include "run/remedy.h"

#include "base/error.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

const char *js_remedy_for(const char *format, ...)
{
	static char text[PATH_MAX + 300];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return text;
}

/* The server is there, but does not do what was asked. */
static const char *remedy_server(unsigned why)
{
	switch (why) {
	case 1153: /* a packet is too large: for the server, in its answer, in a function, for the connector */
	case 1162:
	case 1301:
	case 2020:
		return "ask the server's administrator to set max_allowed_packet=64M in its option file, or to run SET "
		       "GLOBAL max_allowed_packet=67108864";
	case 1665:
		return "ask the server's administrator to set binlog_format=ROW in its option file, or to run SET "
		       "GLOBAL binlog_format=ROW";
	case 1461: return "ask the server's administrator to raise max_prepared_stmt_count by at least 1";
	case 1197: return "ask the server's administrator to raise max_binlog_cache_size";
	case 4082: return "ask the server's administrator to raise connection_memory_limit";
	case 1047: /* Galera */
	case JOBSTACK_WHY_NO_PRIMARY:
		return "if this lasts, the database's servers may have lost their majority: ask their administrator "
		       "(Galera: SHOW STATUS LIKE 'wsrep_cluster_status'; MySQL: SELECT * FROM "
		       "performance_schema.replication_group_members)";
	case 1317:
	case 1969:
	case 3024:
		return "try again later; if it happens again, ask the server's administrator what kills statements "
		       "there";
	default:
		return js_error_is_disk(why)
			       ? "free space on the server's disk, or raise its owner's quota, then repeat "
				 "the command: each change "
				 "was made completely or not at all"
			       : NULL;
	}
}

static const char *remedy_noperm(unsigned why, const char *file)
{
	switch (why) {
	case 0: return NULL;
	case 1045: /* the server refuses the user or the password */
	case 1698:
		return file == NULL ? "put user and password into ~/.my.cnf (mode 600), or start a private server with "
				      "`jobstack server start`"
				    : js_remedy_for("check user and password in %s", file);
	case 2061: /* the server wants the password itself, and nothing has proved that it is the right server */
		return js_remedy_for("set ssl-ca=FILE (the certificate of the server's CA) in %s, and remove ssl=1 "
				     "and any ssl-mode weaker than VERIFY_CA",
				     file != NULL ? file : "the option file");
	case 1142: /* a statement on a table is denied */
		return "this account may not change anything if `jobstack server share --read-only` made it; else ask "
		       "the database's admin for the GRANTs in docs/ADMIN.md";
	default: return "ask the database's admin for the GRANTs in docs/ADMIN.md";
	}
}

const char *js_remedy(const struct jobstack_error *error, const char *file)
{
	unsigned why = error->server_errno;

	switch (error->code) {
	case JOBSTACK_ENODB: return remedy_server(why);
	case JOBSTACK_EPERM: return remedy_noperm(why, file);
	case JOBSTACK_ESCHEMA:
		if (why == JS_ASIDE_MOVED)
			return "name the new server's option file in $JOBSTACK_DEFAULTS_FILE";
		if (why == JS_ASIDE_MOVING)
			return "wait, or repeat `jobstack server move FILE`";
		if (why == JS_ASIDE_HALF)
			return "wait, or repeat `jobstack server restore FILE --replace`";
		return why == JOBSTACK_WHY_SCHEMA_NEWER ? "install the newer jobstack on this machine"
							: "run `jobstack init`";
	case JOBSTACK_EBUG: return why == JOBSTACK_WHY_DAMAGED ? "`jobstack check` tells more" : NULL;
	case JOBSTACK_EUSAGE: return why == JOBSTACK_WHY_OPTION ? "see --help" : NULL;
	default: return NULL;
	}
}
