/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Versions of a program.  Promises: a file is read only when its size, time or inode differ from what they were at its
 * last reading; what can't be read has a version, too (its size and time).
 */
#include "exec/program.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "proc/child.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGE (64 << 20)
#define SUM 64
#define TIME 27			    /* as in 2026-11-23T14:02:11.123456Z */
#define SCRIPT_MAX (1 << 20)	    /* so many bytes of a script are looked through */
#define CHANGES 4		    /* a file that changes so often while a worker runs is no program */
#define NEVER -2		    /* as the size of a file that was not looked at */
#define LOOK_US 10000		    /* files are not checked again within this time */
#define READ_US (60 * JS_SECOND_US) /* how long files, and git, are waited for */

/* A file that belongs to the program. */
struct file {
	char *path;
	struct stat seen; /* size, time and inode at the last reading; st_size -1: it is not there */
	char sum[SUM + 1];
	int is_argument, changes; /* an argument that has changed CHANGES times is data, and left out */
};

/* A version that this worker has seen.  It keeps its text, since attempts that ran it may be recorded much later. */
struct version {
	int64_t number;
	char *text;
};

struct js_program {
	pthread_mutex_t looking; /* one look at a time; held for as long as a file system does not answer */
	struct file file[JS_PROGRAM_FILES];
	size_t n;
	int64_t looked_us;    /* when the last look began, by CLOCK_MONOTONIC */
	struct js_buf fixed;  /* the lines of git, and of --code-version */
	pthread_mutex_t lock; /* for what follows; taken after the other one */
	struct version *version;
	size_t versions;
	int64_t now;
};

static int is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Runs ARGV, and appends its output to OUT.  Returns whether it exited with 0. */
static int ask_program(const char *const argv[], struct js_buf *out)
{
	struct js_child child = {.argv = argv, .ignored = JS_CHILD_IGNORED_ALL};
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct js_buf err = {0};
	int wait_status = 0;
	int status = js_child_run(&child, out, &err, READ_US, &wait_status, &ignored);

	js_buf_free(&err);
	return status == 0 && wait_status == 0 && !out->failed;
}

/* Computes the SHA-256 of a file that is not large.  SUM is "" where that fails. */
static void read_file_sum(struct file *f)
{
	EVP_MD_CTX *sum = EVP_MD_CTX_new();
	unsigned char block[65536], made[SUM / 2];
	int fd = -1;
	ssize_t n = -1;

	f->sum[0] = '\0';
	if (sum != NULL && S_ISREG(f->seen.st_mode) && f->seen.st_size <= LARGE)
		fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1)
		for (size_t all = 0; all <= LARGE && (n = read(fd, block, sizeof(block))) > 0; all += (size_t)n)
			(void)EVP_DigestUpdate(sum, block, (size_t)n);
	if (n == 0 && EVP_DigestFinal_ex(sum, made, NULL) == 1)
		for (size_t i = 0; i < sizeof(made); i++)
			(void)snprintf(f->sum + 2 * i, 3, "%02x", made[i]);
	js_file_close(&fd);
	EVP_MD_CTX_free(sum);
}

/* Returns whether F, an argument, changes so often that it must be data of the command, and no part of the program. */
static int is_data(const struct file *f)
{
	return f->is_argument && f->changes >= CHANGES;
}

/* Checks whether the file has changed since it was last read, by its size, time and inode, and if so, reads it. Returns
 * whether it may have changed. */
static int examine_file(struct file *f)
{
	struct stat now;

	if (is_data(f))
		return 0;
	if (stat(f->path, &now) != 0)
		now = (struct stat){.st_size = -1};
	if (is_same_file(&now, &f->seen))
		return 0;
	f->changes += f->seen.st_size != NEVER && f->changes < CHANGES;
	f->seen = now;
	if (!is_data(f))
		read_file_sum(f);
	return 1;
}

static void add_escaped(struct js_buf *out, const char *path)
{
	for (; *path != '\0'; path++)
		if (*path == '\n' || *path == '\\')
			js_buf_str(out, *path == '\n' ? "\\n" : "\\\\");
		else
			js_buf_char(out, *path);
}

/* Adds the file's line to TEXT, and to KEY what distinguishes versions: its path and sum, and only without a sum its
 * size and time.  So a file that was only touched makes no new version. */
static void add_file(const struct file *f, struct js_buf *text, struct js_buf *key)
{
	int64_t time_us = JS_SECOND_US * f->seen.st_mtim.tv_sec + f->seen.st_mtim.tv_nsec / 1000;
	struct tm tm;
	char when[32];

	(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", gmtime_r(&f->seen.st_mtim.tv_sec, &tm));
	js_buf_printf(text, "%s %" PRId64 " %s.%06" PRId64 "Z ", f->sum[0] != '\0' ? f->sum : "-",
		      (int64_t)f->seen.st_size, when, time_us % JS_SECOND_US);
	add_escaped(text, f->path);
	js_buf_char(text, '\n');
	js_buf_str(key, f->path);
	js_buf_char(key, '\0');
	if (f->sum[0] != '\0')
		js_buf_str(key, f->sum);
	else
		js_buf_printf(key, "%" PRId64 " %" PRId64, (int64_t)f->seen.st_size, time_us);
	js_buf_char(key, '\0');
}

/* Returns the number of the version as the files were last seen, and adds its text to TEXT.  -1: without memory. */
static int64_t describe_program(const struct js_program *p, struct js_buf *text)
{
	struct js_buf key = {0};
	int64_t number = -1;

	for (size_t i = 0; i < p->n; i++)
		if (!is_data(&p->file[i]))
			add_file(&p->file[i], text, &key);
	js_buf_add(text, p->fixed.data, p->fixed.len);
	js_buf_add(&key, p->fixed.data, p->fixed.len);
	if (!key.failed && !text->failed)
		number = (int64_t)(js_num_hash(JS_NUM_HASH, key.data, key.len) >> 1);
	js_buf_free(&key);
	return number;
}

/* Sets the present version; if it is new, remembers its text. */
static void find_version(struct js_program *p)
{
	struct js_buf text = {0};
	struct version *more;
	int64_t number = describe_program(p, &text);

	(void)pthread_mutex_lock(&p->lock);
	p->now = -1;
	for (size_t i = 0; number >= 0 && i < p->versions; i++)
		if (p->version[i].number == number) {
			p->now = number;
			number = -1;
		}
	more = number < 0 ? NULL : realloc(p->version, (p->versions + 1) * sizeof(*more));
	if (more != NULL) {
		p->version = more;
		more[p->versions++] = (struct version){number, text.data};
		p->now = number;
		text = (struct js_buf){0};
	}
	(void)pthread_mutex_unlock(&p->lock);
	js_buf_free(&text);
}

/* The two locks are separate because a look may hang in a file system, while js_program_text is called by the ledger
 * thread, which must not wait. */
int64_t js_program_look(struct js_program *p)
{
	int changed = 0;
	int64_t now, begun_us;

	if (p == NULL)
		return -1;
	(void)pthread_mutex_lock(&p->looking);
	begun_us = js_clock_mono_us();
	if (begun_us - p->looked_us >= LOOK_US) {
		for (size_t i = 0; i < p->n; i++)
			changed |= examine_file(&p->file[i]);
		p->looked_us = begun_us; /* not its end: it may take long */
	}
	if (changed)
		find_version(p);
	now = p->now; /* only a look changes it */
	(void)pthread_mutex_unlock(&p->looking);
	return now;
}

int js_program_text(struct js_program *p, int64_t version, struct js_buf *out)
{
	int found = -1;

	if (p == NULL)
		return -1;
	(void)pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->versions; i++)
		if (p->version[i].number == version) {
			js_buf_str(out, p->version[i].text);
			found = out->failed ? -1 : 0;
		}
	(void)pthread_mutex_unlock(&p->lock);
	return found;
}

/* ------------------------------------------------------------------------------------------ what belongs to it */

/* Adds PATH if it is a file, once.  Returns whether it is among the files now. */
static int add_path(struct js_program *p, const char *path, const char *cwd, int is_argument)
{
	struct js_buf whole = {0};
	struct stat is;
	char *real = NULL;
	int known = 0;

	if (*path != '/')
		js_buf_printf(&whole, "%s/", cwd);
	js_buf_str(&whole, path);
	if (!whole.failed && stat(whole.data, &is) == 0 && S_ISREG(is.st_mode))
		real = realpath(whole.data, NULL);
	js_buf_free(&whole);
	for (size_t i = 0; real != NULL && i < p->n; i++)
		known |= strcmp(p->file[i].path, real) == 0;
	if (real == NULL || known || p->n == JS_PROGRAM_FILES) {
		free(real);
		return known;
	}
	p->file[p->n++] = (struct file){.path = real, .seen = {.st_size = NEVER}, .is_argument = is_argument};
	return 1;
}

/* Adds a program: a path, or a name that is looked for in $PATH. */
static void add_name(struct js_program *p, const char *name, const char *cwd)
{
	const char *search = getenv("PATH");
	struct js_buf file = {0};
	int found = 0;

	if (strchr(name, '/') != NULL)
		(void)add_path(p, name, cwd, 0);
	else
		while (!found && search != NULL && js_child_next_path(&search, name, &file) > 0)
			found = add_path(p, file.data, cwd, 0);
	js_buf_free(&file);
}

/* Adds the words of a shell script that are files or programs.  It does not read the shell's language: a word that is
 * not meant as a file does no harm. */
static int add_script(struct js_program *p, const char *script, const char *cwd)
{
	char *copy = strdup(script), *rest = NULL;

	if (copy == NULL)
		return -1;
	for (char *w = strtok_r(copy, " \t\n;|&()<>\"'`=$", &rest); w != NULL;
	     w = strtok_r(NULL, " \t\n;|&()<>\"'`=$", &rest))
		if (!add_path(p, w, cwd, 1))
			add_name(p, w, cwd);
	free(copy);
	return 0;
}

/* Adds the commit of the git work tree PATH, with a "+" if there are changes that are not committed. */
static int add_git(struct js_program *p, const char *path, struct jobstack_error *error)
{
	const char *const commit[] = {"git", "-C", path, "rev-parse", "HEAD", NULL};
	const char *const changes[] = {"git", "-C", path, "status", "--porcelain", NULL};
	struct js_buf out = {0}, dirty = {0};
	int ok = ask_program(commit, &out) && ask_program(changes, &dirty);

	if (ok) {
		js_buf_printf(&p->fixed, "git %.*s%s ", (int)strcspn(out.data, "\n"), out.data,
			      dirty.len > 0 ? "+" : "");
		add_escaped(&p->fixed, path);
		js_buf_char(&p->fixed, '\n');
	}
	js_buf_free(&out);
	js_buf_free(&dirty);
	return ok ? 0
		  : js_error_set(error, JOBSTACK_EUSAGE,
				 "--code: the directory %s has no git commit: name its files, or use --code-version",
				 path);
}

/* Adds what the user has named: files, git work trees, and words. */
static int add_code(struct js_program *p, const struct js_program_code *code, const char *cwd,
		    struct jobstack_error *error)
{
	struct stat is;

	for (size_t i = 0; i < code->paths_n; i++) {
		struct js_buf whole = {0};
		int status = 0;

		js_buf_printf(&whole, "%s%s%s", *code->paths[i] == '/' ? "" : cwd, *code->paths[i] == '/' ? "" : "/",
			      code->paths[i]);
		if (whole.failed)
			status = js_error_memory(error);
		else if (stat(whole.data, &is) != 0)
			status = js_error_set(error, JOBSTACK_EUSAGE, "--code: %s can't be read", whole.data);
		else if (S_ISDIR(is.st_mode))
			status = add_git(p, whole.data, error);
		else if (!add_path(p, whole.data, cwd, 0))
			status = js_error_set(error, JOBSTACK_EUSAGE,
					      "--code: %s is not a file, or there are more than %d of them", whole.data,
					      JS_PROGRAM_FILES);
		js_buf_free(&whole);
		if (status != 0)
			return status;
	}
	if (code->words != NULL) {
		js_buf_str(&p->fixed, "version ");
		add_escaped(&p->fixed, code->words);
		js_buf_char(&p->fixed, '\n');
	}
	return p->fixed.failed ? js_error_memory(error) : 0;
}

/* Words of the command that are files count as part of the program: a script behind its interpreter, a configuration.
 */
int js_program_begin(struct js_program **program, char *const words[], size_t n, int shell, const char *cwd,
		     const struct js_program_code *code, struct jobstack_error *error)
{
	struct js_program *p = calloc(1, sizeof(*p));
	int status;

	*program = p;
	if (p == NULL)
		return js_error_memory(error);
	(void)pthread_mutex_init(&p->looking, NULL);
	(void)pthread_mutex_init(&p->lock, NULL);
	p->now = -1;
	status = add_code(p, code, cwd, error); /* first: it must find room */
	for (size_t i = 0; status == 0 && i < n; i++) {
		if (shell)
			status = add_script(p, words[i], cwd) == 0 ? 0 : js_error_memory(error);
		else if (i == 0)
			add_name(p, words[i], cwd);
		else
			(void)add_path(p, words[i], cwd, 1);
	}
	if (status != 0)
		return status;
	for (size_t i = 0; i < p->n; i++)
		(void)examine_file(&p->file[i]);
	if (p->n > 0 || p->fixed.len > 0)
		find_version(p);
	return 0;
}

void js_program_free(struct js_program *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->n; i++)
		free(p->file[i].path);
	for (size_t i = 0; i < p->versions; i++)
		free(p->version[i].text);
	free(p->version);
	js_buf_free(&p->fixed);
	(void)pthread_mutex_destroy(&p->lock);
	(void)pthread_mutex_destroy(&p->looking);
	free(p);
}

/* ------------------------------------------------------------------------------------- which variables it reads */

/* It reads lines, not the shell's language: NAME counts if it stands as a word of its own outside of a comment line. An
 * assignment or an unset before the first use means that the script cares for the variable itself. */
int js_program_uses(const char *script, const char *name, unsigned *line)
{
	size_t len = strlen(name);
	const char *next;

	*line = 1;
	for (const char *p = script; *p != '\0'; p = next, ++*line) {
		size_t n = strcspn(p, "\n");
		const char *at = memmem(p, n, name, len);
		char before = at != NULL && at > p ? at[-1] : ' ', behind = at != NULL ? at[len] : ' ';

		next = p + n + (p[n] == '\n');
		if (at == NULL || p[strspn(p, " \t")] == '#' || isalnum((unsigned char)before) || before == '_' ||
		    isalnum((unsigned char)behind) || behind == '_')
			continue;
		if ((behind == '=' && strchr("${", before) == NULL) ||
		    (at - p >= 6 && strncmp(at - 6, "unset ", 6) == 0) ||
		    (at - p >= 3 && strncmp(at - 3, "-u ", 3) == 0))
			return -1;
		return 1;
	}
	return 0;
}

/* A file with a NUL is a binary.  An argument is read only if it is executed: a data file may have the word in it. */
const char *js_program_reader(const struct js_program *p, const char *name, int interpreted, unsigned *line)
{
	char *text = malloc(SCRIPT_MAX + 1);
	const char *found = NULL;

	for (size_t i = 0; text != NULL && found == NULL && i < p->n; i++) {
		int fd = open(p->file[i].path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, text, SCRIPT_MAX);

		js_file_close(&fd);
		if (n <= 0 || memchr(text, '\0', (size_t)n) != NULL)
			continue; /* a binary */
		text[n] = '\0';
		if ((!p->file[i].is_argument || interpreted ||
		     (strncmp(text, "#!", 2) == 0 && (p->file[i].seen.st_mode & S_IXUSR))) &&
		    js_program_uses(text, name, line) > 0)
			found = p->file[i].path;
	}
	free(text);
	return found;
}

/* ------------------------------------------------------------------------------------------------------- reading */

/* Returns the next word up to a blank, and moves *AT behind the blank; NULL at the line's end. */
static const char *next_word(const char **at, const char *end)
{
	const char *word = *at, *blank = memchr(word, ' ', (size_t)(end - word));

	*at = blank == NULL ? end : blank + 1;
	return blank == NULL ? NULL : word;
}

int js_program_next(const char **at, struct js_program_line *line)
{
	const char *p = *at, *end = p + strcspn(p, "\n");
	const char *first = next_word(&p, end);

	*line = (struct js_program_line){.kind = JS_PROGRAM_FILE};
	if (first == NULL)
		return 0;
	if (strncmp(first, "version ", 8) == 0)
		line->kind = JS_PROGRAM_WORDS;
	else if (strncmp(first, "git ", 4) == 0) {
		line->kind = JS_PROGRAM_GIT;
		line->sum = next_word(&p, end);
		if (line->sum == NULL)
			return 0;
	} else {
		line->sum = *first == '-' ? NULL : first;
		line->size = next_word(&p, end);
		line->time = next_word(&p, end);
		if (line->time == NULL || strspn(line->time, "0123456789-:.TZ") < TIME)
			return 0;
	}
	line->sum_len = line->sum == NULL ? 0 : strspn(line->sum, "0123456789abcdef+-");
	if (line->sum != NULL && (line->sum_len == 0 || line->sum[line->sum_len] != ' '))
		return 0; /* somebody else wrote this */
	line->text = p;
	line->len = (size_t)(end - p);
	*at = end + (*end == '\n');
	return 1;
}

/* Returns the path of a line, without its escapes, to be freed; NULL without memory. */
static char *path_of(const struct js_program_line *line)
{
	char *path = malloc(line->len + 1), *to = path;

	for (size_t i = 0; path != NULL && i < line->len; i++) {
		if (line->text[i] == '\\' && i + 1 < line->len) {
			i++;
			*to++ = line->text[i] == 'n' ? '\n' : line->text[i];
		} else
			*to++ = line->text[i];
	}
	if (path != NULL)
		*to = '\0';
	return path;
}

/* Returns whether git may be asked about PATH, which is from the database.  Git executes what a work tree's
 * configuration names (hooks, filters).  So it is asked only where the user works, in a directory of their own: there
 * it does what it would do if they typed `git status`. */
static int is_where_user_works(const char *path)
{
	char here[PATH_MAX], there[PATH_MAX];
	struct stat st;
	size_t len;

	if (realpath(".", here) == NULL || realpath(path, there) == NULL || stat(there, &st) != 0)
		return 0;
	len = strlen(there);
	return st.st_uid == geteuid() && len > 1 && strncmp(here, there, len) == 0 && strchr("/", here[len]) != NULL;
}

/* TEXT comes from the database, so its paths are only read, never executed; git has a rule of its own
 * (is_where_user_works). */
int64_t js_program_today(const char *text, struct js_buf *elsewhere)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct js_program p = {.now = -1};
	struct js_program_line line;
	struct js_buf words = {0};
	int64_t number = -1;
	int status = 0;

	while (status == 0 && js_program_next(&text, &line)) {
		char *path = line.kind == JS_PROGRAM_WORDS ? NULL : path_of(&line);

		if (line.kind == JS_PROGRAM_WORDS)
			js_buf_printf(&p.fixed, "version %.*s\n", (int)line.len, line.text);
		else if (path == NULL)
			status = -1;
		else if (line.kind == JS_PROGRAM_GIT && access(path, F_OK) == 0 && !is_where_user_works(path))
			js_buf_printf(elsewhere, "%s%s", elsewhere->len > 0 ? " and " : "", path);
		else if (line.kind == JS_PROGRAM_GIT) {
			if (add_git(&p, path, &ignored) != 0) /* it is gone: another version than any */
				js_buf_printf(&p.fixed, "git - %.*s\n", (int)line.len, line.text);
		} else if (p.n < JS_PROGRAM_FILES) {
			p.file[p.n] = (struct file){.path = path, .seen = {.st_size = NEVER}};
			(void)examine_file(&p.file[p.n++]);
			path = NULL;
		}
		free(path);
	}
	if (status == 0 && elsewhere->len == 0)
		number = describe_program(&p, &words);
	for (size_t i = 0; i < p.n; i++)
		free(p.file[i].path);
	js_buf_free(&p.fixed);
	js_buf_free(&words);
	return number;
}
