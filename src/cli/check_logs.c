/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack check --logs.  A database that was set back (a restored backup, a failover that lost commits) has forgotten
 * outcomes that it had confirmed; the packed logs and the spools of the workers still tell of them.  Promises: files
 * and database are only read; 24 bytes of memory for each attempt in the logs of a stack.
 */
#include "cli/cli.h"

#include "base/array.h"
#include "base/file.h"
#include "view/json.h"
#include "view/text.h"
#include "run/logread.h"
#include "run/spool.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What the database has of an attempt that is in a log. */
enum known { KNOWN_NOT, KNOWN_OTHERWISE, KNOWN_NO_ENTRY, KNOWN_RUNNING, KNOWN };

struct record {
	uint64_t entry;
	int64_t at;
	uint32_t attempt;
	unsigned file : 28, known : 4;
};

/* One stack's files. */
struct logs {
	struct cli *cli;
	const char *stack;
	char **file; /* the logs, then the spools */
	size_t files, files_room, logs;
	struct record *record;
	size_t n, room;
	size_t next;	  /* the first record that the export has not passed */
	unsigned reading; /* the file that is being read */
	uint64_t forgotten, running;
	unsigned unread; /* files that can't be read */
	json_t *found;	 /* NULL: lines are printed */
	int failed;
};

static int compare_records(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

static int add_record(void *ctx, const struct js_logged *logged)
{
	struct logs *l = ctx;

	if (js_array_grow(&l->record, &l->room, l->n + 1, sizeof(*l->record)) != 0)
		return l->failed = 1;
	l->record[l->n++] =
		(struct record){logged->entry, logged->at, logged->attempt, l->reading & 0xfffffff, KNOWN_NOT};
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* Is RECORD what ITEM, an attempt in the database, has as its output?  Directories may have other names
 * where we are. */
static int is_same_run(const struct logs *l, const struct record *r, const struct jobstack_item *item)
{
	const char *name = base_name(l->file[r->file]);

	return (item->log != NULL && item->log_at == r->at && strcmp(base_name(item->log), name) == 0) ||
	       (item->err_log != NULL && item->err_at == r->at && strcmp(base_name(item->err_log), name) == 0);
}

static int match_finished(void *ctx, const struct jobstack_item *item)
{
	const struct record key = {.entry = item->entry, .attempt = item->attempt};
	struct logs *l = ctx;

	while (l->next < l->n && compare_records(&l->record[l->next], &key) < 0)
		l->next++;
	for (size_t i = l->next; i < l->n && compare_records(&l->record[i], &key) == 0; i++)
		l->record[i].known = is_same_run(l, &l->record[i], item) ? KNOWN : KNOWN_OTHERWISE;
	return 0;
}

/* One record, which is looked up on its own. */
struct second_look {
	const struct logs *logs;
	struct record *record;
};

static int match_one(void *ctx, const struct jobstack_item *item)
{
	struct second_look *s = ctx;

	if (item->attempt != s->record->attempt)
		return 0;
	s->record->known = item->outcome < 0			   ? KNOWN_RUNNING
			   : is_same_run(s->logs, s->record, item) ? KNOWN
								   : KNOWN_OTHERWISE;
	return 0;
}

/* What was not found may have ended meanwhile, or be running. */
static int look_again(struct logs *l)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < l->n; i++) {
		struct second_look s = {l, &l->record[i]};

		if (s.record->known != KNOWN_NOT)
			continue;
		status = jobstack_attempts(l->cli->handle, l->stack, s.record->entry, match_one, &s, &l->cli->error);
		if (status == JOBSTACK_EMISSING) {
			js_error_clear(&l->cli->error);
			s.record->known = KNOWN_NO_ENTRY;
			status = 0;
		}
	}
	return status;
}

/* Prints one attempt that the database does not have as the file PATH does: HOW it ended by the file, and what the
 * database has. */
static void print_forgotten(struct logs *l, const struct record *r, const char *path, const char *how, const char *text,
			    size_t len)
{
	static const char *const has[] = {[KNOWN_NOT] = "the database has no such attempt",
					  [KNOWN_OTHERWISE] =
						  "the database has a different run under this attempt number",
					  [KNOWN_NO_ENTRY] = "the database has no such entry"};
	struct js_buf name = {0};

	l->forgotten++;
	if (l->found != NULL) {
		l->failed |= VIEW_APPEND(l->found, KEY_COUNT("entry", r->entry), KEY_COUNT("attempt", r->attempt),
					 KEY_BYTES("datapath", text, len), KEY_TEXT("ended", how),
					 KEY_TEXT("file", path), KEY_TEXT("why", has[r->known]));
		return;
	}
	view_safe(&name, text == NULL ? "" : text, len);
	(void)printf("%s: entry %" PRIu64 "%s%s%s, attempt %" PRIu32 ": %s, in %s: %s\n", l->stack, r->entry,
		     name.len > 0 ? " (" : "", name.len > 0 ? name.data : "", name.len > 0 ? ")" : "", r->attempt, how,
		     path, has[r->known]);
	js_buf_free(&name);
}

/* Names in a log have control bytes and backslashes written \xNN: as they were.  At most ROOM bytes: the log may be
 * damaged. */
static size_t unescape_name(char *to, size_t room, const char *from)
{
	size_t n = 0;

	for (; *from != '\0' && n < room; n++) {
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

static int print_logged(void *ctx, const struct js_logged *logged)
{
	struct record key = {.entry = logged->entry, .attempt = logged->attempt};
	struct logs *l = ctx;
	struct record *r = bsearch(&key, l->record, l->n, sizeof(key), compare_records);
	char path[JOBSTACK_DATAPATH_MAX], how[100];

	if (r == NULL)
		return 0;
	while (r > l->record && compare_records(r - 1, &key) == 0)
		r--;
	while (r < l->record + l->n && compare_records(r, &key) == 0 && (r->file != l->reading || r->at != logged->at))
		r++;
	if (r == l->record + l->n || compare_records(r, &key) != 0 || r->known == KNOWN)
		return 0;
	if (r->known == KNOWN_RUNNING) {
		l->running++;
		return 0;
	}
	(void)snprintf(how, sizeof(how), "%s %d at %s", logged->signal != 0 ? "signal" : "exit",
		       logged->signal != 0 ? logged->signal : logged->exit_code, logged->ended);
	print_forgotten(l, r, l->file[l->reading], how, path, unescape_name(path, sizeof(path), logged->datapath));
	return ferror(stdout) || l->failed;
}

/* One outcome of a spool. */
struct spooled {
	const struct js_spool_head *head;
	const struct jobstack_outcome *outcome;
	int there;
};

static int match_spooled(void *ctx, const struct jobstack_item *item)
{
	struct spooled *s = ctx;

	s->there |= item->attempt == s->outcome->attempt && item->outcome >= 0 && item->worker == s->head->worker;
	return 0;
}

static int check_spool(struct logs *l, const char *path)
{
	struct js_spool spool = {.n = 0};
	struct js_buf text = {0};
	int status = js_file_read(path, &text) != 0 ? js_error_file(&l->cli->error, "can't read %s", path)
						    : js_spool_read(text.data, text.len, path, &spool, &l->cli->error);

	for (size_t i = 0; status == 0 && i < spool.n; i++) {
		struct spooled s = {&spool.head, &spool.outcomes[i], 0};
		struct record r = {.entry = s.outcome->entry, .attempt = s.outcome->attempt, .known = KNOWN_NOT};

		if (s.outcome->verdict != JOBSTACK_DONE &&
		    s.outcome->verdict != JOBSTACK_FAILED) /* it runs again in any case */
			continue;
		status = jobstack_attempts(l->cli->handle, l->stack, r.entry, match_spooled, &s, &l->cli->error);
		if (status == JOBSTACK_EMISSING) {
			js_error_clear(&l->cli->error);
			r.known = KNOWN_NO_ENTRY;
			status = 0;
		}
		if (status == 0 && !s.there)
			print_forgotten(l, &r, path,
					s.outcome->verdict == JOBSTACK_DONE ? "done, not delivered"
									    : "failed, not delivered",
					NULL, 0);
	}
	js_spool_free(&spool);
	js_buf_free(&text);
	return status;
}

/* Neither a directory nor a FIFO is a worker's file, and to open a FIFO would wait for ever.  What can't be looked at
 * counts as a file: to read it fails, with the reason. */
static int may_be_file(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

static int ends_with(const char *name, const char *suffix)
{
	size_t len = strlen(name), tail = strlen(suffix);

	return len > tail && strcmp(name + len - tail, suffix) == 0;
}

static void add_file(struct logs *l, const char *dir, const char *name)
{
	char *path;

	if (js_array_grow(&l->file, &l->files_room, l->files + 1, sizeof(*l->file)) != 0 ||
	    asprintf(&path, "%s/%s", dir, name) < 0) {
		l->failed = 1;
		return;
	}
	if (may_be_file(path))
		l->file[l->files++] = path;
	else
		free(path);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Gathers the files in DIR whose names end with SUFFIX, in order. */
static int gather_files(struct logs *l, const char *dir, const char *suffix)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, compare_names);

	if (n < 0)
		return js_error_file(&l->cli->error, "can't read %s", dir);
	for (int i = 0; i < n; i++) {
		if (ends_with(names[i]->d_name, suffix))
			add_file(l, dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return l->failed ? js_error_memory(&l->cli->error) : 0;
}

/* Prints why a file can't be read; the other files are still compared. */
static void note_unread(struct logs *l)
{
	cli_tell(l->cli, "%s", l->cli->error.text);
	js_error_clear(&l->cli->error);
	l->unread++;
}

static int read_logs(struct logs *l, js_logged_fn *fn)
{
	int status = 0;

	for (l->reading = 0; status == 0 && l->reading < l->logs; l->reading++) {
		status = js_log_read(l->file[l->reading], fn, l, &l->cli->error);
		if (status == JOBSTACK_EFILE && fn == add_record)
			note_unread(l);
		if (status == JOBSTACK_EFILE) {
			js_error_clear(&l->cli->error);
			status = 0;
		}
	}
	return l->failed ? js_error_memory(&l->cli->error) : status;
}

/* The comparison itself. */
static int compare_logs(struct logs *l, const char *dir)
{
	struct jobstack_export_options all = JOBSTACK_EXPORT_OPTIONS_INIT;
	int status = gather_files(l, dir, ".log");

	l->logs = l->files;
	if (status == 0)
		status = gather_files(l, dir, ".spool");
	if (status == 0)
		status = read_logs(l, add_record);
	if (status == 0 && l->n > 0)
		qsort(l->record, l->n, sizeof(*l->record), compare_records);
	all.no_datapath = 1;
	if (status == 0)
		status = jobstack_export(l->cli->handle, l->stack, &all, match_finished, l, &l->cli->error);
	if (status == JOBSTACK_EMISSING) { /* the stack is forgotten, with all its entries */
		js_error_clear(&l->cli->error);
		status = 0;
	}
	if (status == 0)
		status = look_again(l);
	if (status == 0)
		status = read_logs(l, print_logged);
	for (size_t i = l->logs; status == 0 && i < l->files; i++) {
		status = check_spool(l, l->file[i]);
		if (status == JOBSTACK_EFILE) {
			note_unread(l);
			status = 0;
		}
	}
	return status;
}

/* One stack, whose files are in DIR/STACK.  Returns a negative code, or what was found, as bits. */
enum { FORGOTTEN = 1, UNREAD = 2 };

static int compare_stack(struct cli *cli, const char *dir, const char *stack)
{
	struct logs l = {.cli = cli, .stack = stack, .found = cli->json ? json_array() : NULL};
	struct js_buf path = {0};
	json_t *o;
	int status;

	js_buf_printf(&path, "%s/%s", dir, stack);
	status = path.failed || (cli->json && l.found == NULL) ? js_error_memory(&cli->error)
							       : compare_logs(&l, path.data);
	if (status == 0 && cli->json) {
		o = VIEW_OBJECT(KEY_TEXT("stack", stack), KEY_COUNT("logs", l.logs), KEY_COUNT("attempts", l.n),
				KEY_COUNT("running", l.running), KEY_COUNT("forgotten", l.forgotten),
				KEY_COUNT("unread", l.unread), KEY_JSON("found", json_incref(l.found)));
		if (cli_print_json(view_checked(o, l.failed)) != CLI_YES)
			status = js_error_memory(&cli->error);
	} else if (status == 0 && l.forgotten > 0)
		(void)printf("%s: %" PRIu64 " outcome%s in the files below %s %s not in the database\n", stack,
			     l.forgotten, l.forgotten == 1 ? "" : "s", path.data, l.forgotten == 1 ? "is" : "are");
	else if (status == 0 && !cli->quiet && l.unread == 0)
		(void)printf("%s: the database has every outcome in the files below %s (%zu in the logs)\n", stack,
			     path.data, l.n);
	json_decref(l.found);
	for (size_t i = 0; i < l.files; i++)
		free(l.file[i]);
	free(l.file);
	free(l.record);
	js_buf_free(&path);
	return status != 0 ? status : (l.forgotten > 0 ? FORGOTTEN : 0) | (l.unread > 0 ? UNREAD : 0);
}

/* What check_stack returned, as a status. */
static int exit_status_of(struct cli *cli, int found)
{
	if (found > 0 && (found & UNREAD) != 0)
		return js_error_set(&cli->error, JOBSTACK_EFILE,
				    "some files could not be read (see above), so their outcomes were not compared");
	return found;
}

int cli_check_logs(struct cli *cli, const char *dir)
{
	int status = 0, bad = 0, n, stacks = 0;
	struct dirent **names;
	struct stat st;

	if (cli->stack_given)
		return exit_status_of(cli, compare_stack(cli, dir, cli->stack));
	n = scandir(dir, &names, NULL, alphasort);
	if (n < 0)
		return js_error_file(&cli->error, "can't read %s", dir);
	for (int i = 0; i < n; i++) {
		struct js_buf path = {0};

		js_buf_printf(&path, "%s/%s", dir, names[i]->d_name);
		if (status >= 0 && names[i]->d_name[0] != '.' && !path.failed && stat(path.data, &st) == 0 &&
		    S_ISDIR(st.st_mode)) {
			stacks++;
			status = compare_stack(cli, dir, names[i]->d_name);
			bad |= status > 0 ? status : 0;
		}
		js_buf_free(&path);
		free(names[i]);
	}
	free(names);
	if (status >= 0 && stacks == 0)
		return js_error_set(
			&cli->error, JOBSTACK_EUSAGE,
			"%s has no workers' logs: give --logs the directory that was the workers' --log-dir", dir);
	return exit_status_of(cli, status < 0 ? status : bad);
}
