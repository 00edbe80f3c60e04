/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack check --logs.  A database that was set back (a restored backup, a failover that lost commits) has forgotten
 * outcomes that it had confirmed; the packed logs and the spools of the workers still tell of them.  Promises: files
 * and database are only read; 24 bytes of memory for each output of an attempt that the database has of a stack.
 */
#include "cli/cli.h"

#include "base/array.h"
#include "frame/command.h"
#include "show/json.h"
#include "show/text.h"
#include "exec/logread.h"
#include "exec/spool.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* Where an attempt in the database has output.  Directories may have other names where we are, so the file's own name
 * says which file it is, and of that a checksum is kept: 24 bytes for each output, whatever the names are. */
struct place {
	uint64_t entry;
	int64_t at;
	uint32_t attempt, file; /* file: see number_of_name */
};

/* One stack's files. */
struct logs {
	struct cli *cli;
	const char *stack;
	struct cli_words files; /* their paths: the logs, then the spools */
	size_t logs;
	struct place *place; /* what the database has, by entry and attempt */
	size_t n, capacity;
	const char *reading; /* the file that is being read */
	uint64_t attempts;   /* in the logs */
	uint64_t forgotten, running;
	unsigned unread; /* files that can't be read */
	json_t *found;	 /* of --json; else NULL: lines are printed */
	int status;	 /* why reading was ended */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

/* Returns the checksum of the file's name without its directory. */
static uint32_t number_of_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;

	return (uint32_t)crc32(0, (const Bytef *)name, (uInt)strlen(name));
}

static void add_output(struct logs *l, const struct jobstack_item *item, const char *file, int64_t at)
{
	if (file == NULL || at < 0 || l->status != 0)
		return;
	if (js_array_grow(&l->place, &l->capacity, l->n + 1, sizeof(*l->place)) != 0)
		l->status = js_error_memory(&l->cli->error);
	else
		l->place[l->n++] = (struct place){item->entry, at, item->attempt, number_of_name(file)};
}

/* Notes what the database has of an attempt.  They come by entry and attempt. */
static int note_known(void *ctx, const struct jobstack_item *item)
{
	struct logs *l = ctx;

	add_output(l, item, item->log, item->log_at);
	add_output(l, item, item->err_log, item->err_at);
	return l->status != 0;
}

/* ------------------------------------------------------------------------------------------------ one by one */

/* What the database has of an attempt that a file has: nothing; another attempt of this number; not even the entry; an
 * attempt that runs; the same one. */
enum known { KNOWN_NOT, KNOWN_OTHERWISE, KNOWN_NO_ENTRY, KNOWN_RUNNING, KNOWN };

/* An attempt that is looked for in the database by itself. */
struct sought {
	struct place place; /* where the log has its output */
	uint64_t worker;    /* of a spool; 0: it is of a log */
	enum known known;
};

/* Compares one attempt of the entry.  That of a spool is the same if it is of the same worker; that of a log if its
 * output is at the same place. */
static int match_one(void *ctx, const struct jobstack_item *item)
{
	struct sought *s = ctx;
	struct place places[2];
	struct logs its = {.place = places, .capacity = 2};

	if (item->attempt != s->place.attempt)
		return 0;
	(void)note_known(&its, item);
	s->known = item->outcome < 0 ? KNOWN_RUNNING : KNOWN_OTHERWISE;
	if (item->outcome >= 0 && s->worker != 0 && item->worker == s->worker)
		s->known = KNOWN;
	for (size_t i = 0; i < its.n && item->outcome >= 0 && s->worker == 0; i++)
		if (places[i].at == s->place.at && places[i].file == s->place.file)
			s->known = KNOWN;
	return 0;
}

static int ask_database(struct logs *l, struct sought *s)
{
	int status = jobstack_attempts(l->cli->handle, l->stack, s->place.entry, match_one, s, &l->cli->error);

	if (status != JOBSTACK_EMISSING)
		return status;
	js_error_clear(&l->cli->error);
	s->known = KNOWN_NO_ENTRY;
	return 0;
}

/* Prints one attempt that the database does not have as the file PATH does: HOW it ended by the file, and what the
 * database has. */
static void print_forgotten(struct logs *l, const struct sought *s, const char *path, const char *how, const char *text,
			    size_t len)
{
	static const char *const has[] = {[KNOWN_NOT] = "the database has no such attempt",
					  [KNOWN_OTHERWISE] = "the database has a different attempt under this number",
					  [KNOWN_NO_ENTRY] = "the database has no such entry",
					  [KNOWN_RUNNING] = "the attempt is still running in the database"};
	struct js_buf name = {0};

	l->forgotten++;
	if (l->found != NULL) {
		SHOW_APPEND(l->found, KEY_COUNT("entry", s->place.entry), KEY_COUNT("attempt", s->place.attempt),
			    KEY_BYTES("datapath", text, len), KEY_TEXT("ended", how), KEY_TEXT("file", path),
			    KEY_TEXT("why", has[s->known]));
		return;
	}
	show_safe(&name, text == NULL ? "" : text, len);
	(void)printf("%s: entry %" PRIu64 "%s%s%s, attempt %" PRIu32 ": %s, in %s: %s\n", l->stack, s->place.entry,
		     name.len > 0 ? " (" : "", name.len > 0 ? name.data : "", name.len > 0 ? ")" : "", s->place.attempt,
		     how, path, has[s->known]);
	js_buf_free(&name);
}

/* Undoes how a log writes control bytes and backslashes of names: as \xNN.  Returns how many bytes it wrote: at most
 * CAPACITY, since the log may be damaged. */
static size_t unescape_name(char *to, size_t capacity, const char *from)
{
	size_t n = 0;

	for (; *from != '\0' && n < capacity; n++) {
		if (from[0] == '\\' && from[1] == 'x' && isxdigit((unsigned char)from[2]) &&
		    isxdigit((unsigned char)from[3])) {
			const char code[3] = {from[2], from[3], '\0'};

			to[n] = (char)strtoul(code, NULL, 16);
			from += 4;
		} else
			to[n] = *from++;
	}
	return n;
}

/* Looks for an attempt of the log among those that were read from the database before, and prints it if it is missing.
 * One that is not among them is asked for once more by itself: it may have ended since, be running, or have left no
 * output. */
static int compare_logged(void *ctx, const struct js_logged *logged)
{
	struct logs *l = ctx;
	struct sought s = {.place = {logged->entry, logged->at, logged->attempt, number_of_name(l->reading)}};
	char how[80], name[PATH_MAX];
	size_t i = js_array_lower(l->place, l->n, sizeof(*l->place), &s.place, compare_places);

	l->attempts++;
	for (; i < l->n && compare_places(&l->place[i], &s.place) == 0; i++) {
		if (l->place[i].at == s.place.at && l->place[i].file == s.place.file)
			return 0;
		s.known = KNOWN_OTHERWISE;
	}
	if (s.known == KNOWN_NOT) /* it may have ended meanwhile, be running, or have left no output */
		l->status = ask_database(l, &s);
	l->running += s.known == KNOWN_RUNNING;
	if (l->status != 0 || s.known >= KNOWN_RUNNING)
		return l->status != 0;
	(void)snprintf(how, sizeof(how), "%s %d at %s", logged->signal != 0 ? "signal" : "exit",
		       logged->signal != 0 ? logged->signal : logged->exit_code, logged->ended);
	print_forgotten(l, &s, l->reading, how, name, unescape_name(name, sizeof(name), logged->datapath));
	return ferror(stdout);
}

/* Looks for the outcomes of a spool, which its worker has not been able to deliver. */
static int check_spool(struct logs *l, const char *path)
{
	struct js_spool spool;
	int status = js_spool_load(path, &spool, &l->cli->error);

	for (size_t i = 0; status == 0 && i < spool.n; i++) {
		const struct jobstack_outcome *o = &spool.outcomes[i];
		struct sought s = {{.entry = o->entry, .attempt = o->attempt}, spool.head.worker, KNOWN_NOT};

		if (o->verdict != JOBSTACK_DONE && o->verdict != JOBSTACK_FAILED) /* it runs again in any case */
			continue;
		status = ask_database(l, &s);
		if (status == 0 && s.known != KNOWN)
			print_forgotten(l, &s, path,
					o->verdict == JOBSTACK_DONE ? "done, not delivered" : "failed, not delivered",
					NULL, 0);
	}
	js_spool_free(&spool);
	return status;
}

/* Returns whether PATH may be a worker's file.  A directory or a FIFO can't be one, and opening a FIFO could wait for
 * ever.  What can't be looked at counts as a file: reading it then fails, with the reason. */
static int may_be_file(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

/* Gathers the files in DIR whose names end with SUFFIX, in order. */
static int gather_files(struct logs *l, const char *dir, const char *suffix)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort);
	char path[PATH_MAX];

	if (n < 0)
		return js_error_file(&l->cli->error, "can't read %s", dir);
	for (int i = 0; i < n; i++) {
		const char *tail = strrchr(names[i]->d_name, '.');

		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		if (tail != NULL && tail != names[i]->d_name && strcmp(tail, suffix) == 0 && may_be_file(path))
			cli_words_add(&l->files, path);
		free(names[i]);
	}
	free(names);
	return l->files.failed ? js_error_memory(&l->cli->error) : 0;
}

/* Returns STATUS; but if a file could not be read, prints that, and returns 0: the others are compared all the same. */
static int pass_unread(struct logs *l, int status)
{
	if (status != JOBSTACK_EFILE)
		return status;
	cli_tell(l->cli, "%s", l->cli->error.text);
	js_error_clear(&l->cli->error);
	l->unread++;
	return 0;
}

/* Reads what the database has of the stack, and then compares one file after the other with it. */
static int compare_logs(struct logs *l, const char *dir)
{
	struct jobstack_export_options all = JOBSTACK_EXPORT_OPTIONS_INIT;
	int status = gather_files(l, dir, ".log");

	l->logs = l->files.n;
	JS_THEN(status, gather_files(l, dir, ".spool"));
	all.no_datapath = 1;
	JS_THEN(status, jobstack_export(l->cli->handle, l->stack, &all, note_known, l, &l->cli->error));
	if (status == JOBSTACK_EMISSING) { /* the stack is forgotten, with all its entries */
		js_error_clear(&l->cli->error);
		status = 0;
	}
	for (size_t i = 0; status == 0 && i < l->files.n; i++) {
		l->reading = l->files.at[i];
		status = i < l->logs ? js_log_read(l->reading, compare_logged, l, &l->cli->error)
				     : check_spool(l, l->reading);
		status = pass_unread(l, l->status != 0 ? l->status : status);
	}
	return status;
}

/* Compares one stack, whose files are in DIR, and adds what was found to *FORGOTTEN and *UNREAD.  0, or a negative
 * code.
 */
static int compare_stack(struct cli *cli, const char *dir, const char *stack, uint64_t *forgotten, unsigned *unread)
{
	struct logs l = {.cli = cli, .stack = stack, .found = cli->json ? json_array() : NULL};
	int status = cli->json && l.found == NULL ? js_error_memory(&cli->error) : compare_logs(&l, dir);

	if (status == 0 && cli->json) {
		if (CLI_PRINT(KEY_TEXT("stack", stack), KEY_COUNT("logs", l.logs), KEY_COUNT("attempts", l.attempts),
			      KEY_COUNT("running", l.running), KEY_COUNT("forgotten", l.forgotten),
			      KEY_COUNT("unread", l.unread), KEY_JSON("found", json_incref(l.found))) != CLI_YES)
			status = js_error_memory(&cli->error);
	} else if (status == 0 && l.forgotten > 0)
		(void)printf("%s: %" PRIu64 " outcome%s in the files below %s %s not in the database\n", stack,
			     l.forgotten, l.forgotten == 1 ? "" : "s", dir, l.forgotten == 1 ? "is" : "are");
	else if (status == 0 && !cli->quiet && l.unread == 0)
		(void)printf("%s: the database has every outcome in the files below %s (%" PRIu64 " in the logs)\n",
			     stack, dir, l.attempts);
	*forgotten += l.forgotten;
	*unread += l.unread;
	json_decref(l.found);
	cli_words_free(&l.files);
	free(l.place);
	return status;
}

/* Workers have a directory per stack below their --log-dir.  A stack that the database has forgotten altogether has
 * one, too, so the directories are listed, and not the stacks. */
int cli_check_logs(struct cli *cli, const char *dir)
{
	struct dirent **names = NULL;
	uint64_t forgotten = 0;
	unsigned unread = 0, stacks = 0;
	int status = 0, n = 0;
	char path[PATH_MAX];
	struct stat st;

	if (cli->stack_given) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, cli->stack);
		stacks = 1;
		status = compare_stack(cli, path, cli->stack, &forgotten, &unread);
	} else if ((n = scandir(dir, &names, NULL, alphasort)) < 0)
		return js_error_file(&cli->error, "can't read %s", dir);
	for (int i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		if (status == 0 && names[i]->d_name[0] != '.' && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
			stacks++;
			status = compare_stack(cli, path, names[i]->d_name, &forgotten, &unread);
		}
		free(names[i]);
	}
	free(names);
	if (status == 0 && stacks == 0)
		return js_error_set(
			&cli->error, JOBSTACK_EUSAGE,
			"%s has no workers' logs: give --logs the directory that was the workers' --log-dir", dir);
	if (status == 0 && unread > 0)
		return js_error_set(&cli->error, JOBSTACK_EFILE,
				    "some files could not be read (see above), so their outcomes were not compared");
	return status != 0 ? status : forgotten > 0;
}
