/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Results, errors and handles, which all other parts of libjobstack use.
 * Programs include jobstack.h.  It explains the words, and the rules for results, structs, threads and ownership.
 */
#ifndef JOBSTACK_HANDLE_H
#define JOBSTACK_HANDLE_H

#include <stddef.h>
#include <stdint.h>

/* What C++ and a library with hidden symbols need around declarations. */
#ifdef __cplusplus
#define JOBSTACK_C_BEGIN extern "C" {
#define JOBSTACK_C_END }
#else
#define JOBSTACK_C_BEGIN
#define JOBSTACK_C_END
#endif
#if defined(__GNUC__)
#define JOBSTACK_BEGIN _Pragma("GCC visibility push(default)") JOBSTACK_C_BEGIN
#define JOBSTACK_END JOBSTACK_C_END _Pragma("GCC visibility pop")
#else
#define JOBSTACK_BEGIN JOBSTACK_C_BEGIN
#define JOBSTACK_END JOBSTACK_C_END
#endif

JOBSTACK_BEGIN

#define JOBSTACK_VERSION_MAJOR 0
#define JOBSTACK_VERSION_MINOR 2
#define JOBSTACK_VERSION_PATCH 0
#define JOBSTACK_VERSION "0.2.0"

/* Limits, in bytes and entries. */
#define JOBSTACK_DATAPATH_MAX 32768 /* a datapath, without a terminator */
#define JOBSTACK_STACK_MAX 128	    /* a stack's name: letters, digits and . _ - + = @ : , not first - or . */
#define JOBSTACK_POP_MAX 500	    /* entries that one pop may claim */

/* Stacks whose names begin with this belong to scripts/canary, which tests an installation.  jobstack_newest and
 * jobstack_files leave them out, and so do reports of all stacks. */
#define JOBSTACK_CANARY "canary-"

/* Results.  The negative of EUSAGE, ENODB, EBUG and EPERM is the exit status of the command. */
#define JOBSTACK_OK 0
#define JOBSTACK_NOTHING 1	 /* nothing to pop; the lease is gone; closed before with another outcome */
#define JOBSTACK_EUSAGE (-2)	 /* an argument is wrong: an invalid name, a value out of range, a wrong size */
#define JOBSTACK_EMISSING (-3)	 /* no such stack, or no such entry */
#define JOBSTACK_ECONFLICT (-4)	 /* the present state does not allow it */
#define JOBSTACK_EINPUT (-5)	 /* a datapath in the input is invalid */
#define JOBSTACK_EFILE (-6)	 /* a local file can't be read or written */
#define JOBSTACK_ESCHEMA (-7)	 /* the schema is missing, or older or newer than this library */
#define JOBSTACK_ENODB (-69)	 /* the database can't be reached, or can't work (its disk is full) */
#define JOBSTACK_EBUG (-70)	 /* a bug of jobstack, or no memory */
#define JOBSTACK_EPERM (-77)	 /* the server denies it, or an option file can be read by others */
#define JOBSTACK_ESTOPPED (-130) /* jobstack_stop was called, or a callback asked to stop */

/* What went wrong, in words.  The caller owns it, and starts it as {0} or JOBSTACK_ERROR_INIT.  The first error wins: a
 * text that is there is not overwritten.  The text contains no newline and no password. */
struct jobstack_error {
	int code;	       /* JOBSTACK_E... */
	unsigned server_errno; /* the number of the server or the connector, an enum jobstack_why, or 0 */
	char text[1000];       /* cut at this length */
};
/* clang-format off */
#define JOBSTACK_ERROR_INIT {0, 0, {0}}
/* clang-format on */

/* What the library itself found.  It stands in server_errno, for programs that suggest a remedy.  All values are above
 * the numbers of servers and connectors.  Treat one that you do not know as 0. */
enum jobstack_why {
	JOBSTACK_WHY_NO_STACK = 100001, /* EMISSING: no such stack */
	JOBSTACK_WHY_NO_ENTRY,		/* EMISSING: no such entry */
	JOBSTACK_WHY_DROPPING,		/* ECONFLICT: the stack is being dropped */
	JOBSTACK_WHY_CANCELLED,		/* ECONFLICT: the stack is cancelled */
	JOBSTACK_WHY_PUSHING,		/* ECONFLICT: another push to the stack is under way */
	JOBSTACK_WHY_RUNNING,		/* ECONFLICT: entries of the stack are running */
	JOBSTACK_WHY_MAX_FAILURES,	/* ECONFLICT: the stack has as many dead entries as its max_failures */
	JOBSTACK_WHY_SCHEMA_NEWER,	/* ESCHEMA: the schema is newer than this library */
	JOBSTACK_WHY_TLS,		/* ENODB: the connector reports a TLS error */
	JOBSTACK_WHY_MEMORY,		/* EBUG: this process has no memory left */
	JOBSTACK_WHY_OPTION,		/* EUSAGE: a wrong option */
	JOBSTACK_WHY_OLD_WORKERS,	/* ECONFLICT: workers of the older schema are alive */
	JOBSTACK_WHY_NO_PRIMARY,	/* ENODB: this member of a replication group takes no writes */
	JOBSTACK_WHY_DAMAGED		/* EBUG: rows that must be there are not */
};

struct jobstack;	/* a handle: one connection, opened when it is needed */
struct jobstack_worker; /* a worker that this process has registered */

/* Bytes that the caller, or the library, owns.  This struct never changes. */
struct jobstack_bytes {
	const void *data;
	size_t len;
};

enum jobstack_level {
	JOBSTACK_LOG_ERROR,
	JOBSTACK_LOG_WARNING,
	JOBSTACK_LOG_INFO,
	JOBSTACK_LOG_DEBUG,
	JOBSTACK_LOG_PROGRESS /* how far a long operation has come, for a person who waits */
};

/* Gets each message of the library.  TEXT contains no newline and no password; it is valid during the call. */
typedef void jobstack_log_fn(void *ctx, enum jobstack_level level, const char *text);

/* ---------------------------------------------------------------------------------------------- version and time */

/* The version of the library that runs, as "MAJOR.MINOR.PATCH".  A constant; do not free it. */
const char *jobstack_version(void);

/* The schema version that this library works with. */
unsigned jobstack_schema_version(void);

/* What the result CODE means in general: "no such stack or entry".  A constant; do not free it.  The error object says
 * what went wrong in particular. */
const char *jobstack_strerror(int code);

/* The present moment: CLOCK_BOOTTIME in microseconds, which goes on while the host is suspended. */
int64_t jobstack_now_us(void);

/* ------------------------------------------------------------------------------------------------------- handles */

struct jobstack_options {
	size_t size; /* set by the macro */
	/* An option file in MySQL's format: groups [client], then [jobstack].  It is read again at every reconnect.
	 * NULL: no file.  If it contains a password and others can read it, the call fails with JOBSTACK_EPERM. */
	const char *defaults_file;
	/* Each of these that is not NULL (port: not 0) overrides the file.  The host may be a list,
	 * "a,b:3307,[::1]:3306", as host= in the file may.  The hosts are tried in turn, beginning with the one that
	 * worked last.  Read-only servers are skipped. */
	const char *host, *socket, *user, *password, *database;
	unsigned port;
	/* How long a call retries while the database can't be reached, before it fails with JOBSTACK_ENODB.  0: one
	 * try.  The first connection of a handle is one try, unless first_us says more, all connections of the server
	 * are taken, or the server is too busy to answer the connection. */
	int64_t patience_us;
	/* How long the first connection waits while all connections of the server are taken, if that is longer than
	 * patience_us. */
	int64_t crowd_us;
	jobstack_log_fn *log; /* NULL: no messages */
	void *log_ctx;
	/* The OS user, recorded with the stacks and pushes that this handle makes, beside the database account, which
	 * the server adds.  Nobody checks it.  NULL: not recorded. */
	const char *os_user;
	/* How long the first connection retries while the database can't be reached or takes no writes, as during a
	 * failover.  0: one try. */
	int64_t first_us;
};
/* clang-format off */
#define JOBSTACK_OPTIONS_INIT \
	{sizeof(struct jobstack_options), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 0}
/* clang-format on */

/* Makes a handle in *HANDLE and connects it.  Free it with jobstack_free.  OPTIONS NULL: defaults.  The schema is not
 * checked here, but by the calls that need it, so that jobstack_init can use the handle.  Errors: EPERM, EFILE, EUSAGE,
 * ENODB, ESTOPPED. */
int jobstack_open(struct jobstack **handle, const struct jobstack_options *options, struct jobstack_error *error);

/* Closes the connection and frees the handle.  Free the workers that were made from it first. */
void jobstack_free(struct jobstack *handle);

/* Stops HANDLE for good: what waits (for a database that is away, for a lock, for another push) ends within a quarter
 * of a second with JOBSTACK_ESTOPPED, now and in all later calls.  A call that need not wait still succeeds.
 * Exceptions: jobstack_check, and calls that read many rows page by page; they end at their next query.  A query that
 * was already sent is finished first.  NULL stops every handle of this process, those that are opened later too. Any
 * thread and any signal handler may call this, but not after jobstack_free. */
void jobstack_stop(struct jobstack *handle);

/* Closes the connection until the next call, which connects again.  For a caller who will not need it for a while. */
void jobstack_disconnect(struct jobstack *handle);

/* The same, but only while the server is short of connections (nine in ten are taken, or this handle was refused
 * lately).  Call it before each wait of some length: then more workers than connections can share a server.  It costs
 * one small query every five seconds. */
void jobstack_disconnect_if_crowded(struct jobstack *handle);

/* Writes to TEXT, of SIZE bytes, where the handle is connected: "user@host:port/database, TLS ...". */
void jobstack_describe(struct jobstack *handle, char *text, size_t size);

JOBSTACK_END
#endif
