/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Noting which attempt imported which packages.  Promises: files of Python's are read by the thread alone, without the
 * lock; memory is bounded, whatever commands write.
 */
#include "exec/packages.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "proc/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "jobstack-packages-"
#define KEPT 128      /* attempts remembered per slot (a power of two): an attempt is asked about after its end */
#define PLACES 64     /* directories */
#define PACKAGES 4096 /* that are told apart */
#define MODULES 65536 /* of all distributions in all places */
#define FILES 50000   /* looked at in a directory */
#define LINE 1024
#define ROUND (64 << 10) /* bytes read at once */
#define PAUSE_US 5000	 /* after each round, and four times as long as it took: a flood takes little of a processor */
#define PAUSE_MOST_US 100000
#define RECENT_S 60 /* a younger directory may just be being made */

/* How a package is found.  A Python that starts writes its sys.path into the FIFO, and later the name of each module
 * that it imports:
 *
 *   17.2 <tab> /opt/py/site-packages <tab> 64768.131     the attempt may find packages in that directory
 *   17.2 <tab> numpy                                     the attempt has imported the module
 *
 * A directory is read once, when it is first named: each distribution in it (numpy-1.24.0.dist-info) lists its modules.
 * So module[] says which package a module belongs to in which directory, and the attempt gets the package's bit. */

/* A module that can be imported, from one of the directories. */
struct module {
	char *name;
	unsigned place, package;
};

struct package {
	char *name, *version;
};

struct attempt {
	uint64_t entry;
	uint32_t attempt;
	uint64_t places;		 /* the directories where it may find packages, as bits */
	unsigned char has[PACKAGES / 8]; /* the packages that it has imported, as bits */
};

struct js_packages {
	pthread_mutex_t lock; /* for attempt[], package[], and the numbers of the next line */
	int busy;	      /* what was read from the FIFO is not yet noted */
	int stop, running;
	pthread_t thread;
	char dir[512];
	int fifo;
	unsigned slots, *next;		 /* per slot, which of its attempts is the oldest */
	struct attempt *attempt, *found; /* the one that was looked for last */
	struct package *package;
	size_t package_n, package_room;
	/* the thread's own */
	char *place[PLACES];
	unsigned place_n;
	struct module *module; /* by name */
	size_t module_n, module_room;
	char line[LINE];
	size_t line_n;
	int overlong;
};

/* ----------------------------------------------------------------------------------------------- distributions */

/* Returns the package's number, which is new if need be; PACKAGES: there can be no more, or no memory. */
static unsigned add_package(struct js_packages *p, const char *name, const char *version)
{
	struct package added = {.name = NULL};
	unsigned i = 0;

	while (i < p->package_n &&
	       (strcmp(p->package[i].name, name) != 0 || strcmp(p->package[i].version, version) != 0))
		i++;
	if (i < p->package_n || i == PACKAGES)
		return i;
	added.name = strdup(name);
	added.version = strdup(version);
	(void)pthread_mutex_lock(&p->lock);
	if (added.name == NULL || added.version == NULL ||
	    js_array_grow(&p->package, &p->package_room, p->package_n + 1, sizeof(added)) != 0) {
		free(added.name);
		free(added.version);
		i = PACKAGES;
	} else
		p->package[p->package_n++] = added;
	(void)pthread_mutex_unlock(&p->lock);
	return i;
}

/* Adds a module of PACKAGE.  RECORD lists many files of a module, one after the other, so one that was just added is
 * left out. */
static void add_module(struct js_packages *p, const char *name, size_t len, unsigned place, unsigned package)
{
	struct module m = {strndup(name, len), place, package};

	if (m.name == NULL || len == 0 || p->module_n == MODULES ||
	    js_array_grow(&p->module, &p->module_room, p->module_n + 1, sizeof(m)) != 0 ||
	    (p->module_n > 0 && p->module[p->module_n - 1].package == package &&
	     strcmp(p->module[p->module_n - 1].name, m.name) == 0))
		free(m.name);
	else
		p->module[p->module_n++] = m;
}

/* Adds the modules that a file of the distribution lists: top_level.txt, or RECORD with a path in each line.  Returns
 * how many lines it has. */
static size_t read_modules(struct js_packages *p, const char *path, unsigned place, unsigned package)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[LINE];
	size_t n = 0;

	if (file == NULL) {
		js_file_close(&fd);
		return 0;
	}
	for (; n < FILES && fgets(line, sizeof(line), file) != NULL; n++) {
		size_t len = strcspn(line, "/.,\r\n");

		/* not NAME-1.0.dist-info/METADATA, and not ../../bin/f2py */
		if (strncmp(line, "__pycache__", 11) != 0 && memchr(line, '-', len) == NULL)
			add_module(p, line, len, place, package);
	}
	(void)fclose(file);
	return n;
}

void js_packages_plain(char *name)
{
	for (char *c = name; *c != '\0'; c++)
		*c = *c == '_' || *c == '.' ? '-' : (char)tolower((unsigned char)*c);
}

/* Adds a distribution: NAME-VERSION.dist-info or NAME-VERSION[-pyX.Y].egg-info, a directory (or a file, of distutils).
 * If it lists no modules, its own name is taken for one. */
static void read_distribution(struct js_packages *p, const char *entry, unsigned place)
{
	char name[256], *version, *end, path[LINE];
	unsigned package;
	size_t n = 0;

	if (snprintf(name, sizeof(name), "%s", entry) >= (int)sizeof(name) || (end = strrchr(name, '.')) == NULL ||
	    (strcmp(end, ".dist-info") != 0 && strcmp(end, ".egg-info") != 0))
		return;
	*end = '\0';
	version = strchr(name, '-');
	if (version != NULL) {
		*version++ = '\0';
		version[strcspn(version, "-")] = '\0';
	}
	for (char *c = name; c < end; c++) /* names are recorded in lines */
		*c = *c != '\0' && (unsigned char)*c <= ' ' ? '?' : *c;
	js_packages_plain(name);
	package = add_package(p, name, version == NULL ? "" : version);
	for (int i = 0; i < 2 && n == 0; i++)
		if (snprintf(path, sizeof(path), "%s/%s/%s", p->place[place], entry,
			     i == 0 ? "top_level.txt" : "RECORD") < (int)sizeof(path))
			n = read_modules(p, path, place, package);
	for (char *c = name; n == 0 && *c != '\0'; c++)
		*c = *c == '-' ? '_' : *c;
	if (n == 0)
		add_module(p, name, strlen(name), place, package);
}

static int compare_modules(const void *a, const void *b)
{
	return strcmp(((const struct module *)a)->name, ((const struct module *)b)->name);
}

/* Returns the number of a directory, which is read when it is first named; PLACES: there can be no more.  Modules are
 * sorted anew, so that they can be searched. */
static unsigned find_place(struct js_packages *p, const char *path)
{
	struct dirent *entry;
	unsigned i = 0;
	DIR *dir;

	while (i < p->place_n && strcmp(p->place[i], path) != 0)
		i++;
	if (i < p->place_n || i == PLACES || (p->place[i] = strdup(path)) == NULL)
		return i < p->place_n ? i : PLACES;
	p->place_n++;
	dir = opendir(path);
	for (int n = 0; dir != NULL && n < FILES && (entry = readdir(dir)) != NULL; n++)
		read_distribution(p, entry->d_name, i);
	if (dir != NULL)
		(void)closedir(dir);
	if (p->module_n > 0)
		qsort(p->module, p->module_n, sizeof(*p->module), compare_modules);
	return i;
}

/* --------------------------------------------------------------------------------------------------------- lines */

/* Returns the attempt, or NULL if it is not known (any more).  With the lock held. */
static struct attempt *find_attempt(struct js_packages *p, uint64_t entry, uint32_t attempt)
{
	if (p->found != NULL && p->found->entry == entry && p->found->attempt == attempt)
		return p->found;
	for (unsigned back = 1; back <= KEPT; back++) /* most lines come from commands that run */
		for (unsigned slot = 0; slot < p->slots; slot++) {
			struct attempt *a = &p->attempt[slot * KEPT + (p->next[slot] - back) % KEPT];

			if (a->entry == entry && a->attempt == attempt)
				return p->found = a;
		}
	return NULL;
}

/* Returns the directories where the attempt may find packages, after adding PLACE if that is not PLACES; 0: the attempt
 * is not known. */
static uint64_t places_of(struct js_packages *p, uint64_t entry, uint32_t attempt, unsigned place)
{
	struct attempt *a;
	uint64_t places = 0;

	(void)pthread_mutex_lock(&p->lock);
	a = find_attempt(p, entry, attempt);
	if (a != NULL && place < PLACES)
		a->places |= UINT64_C(1) << place;
	if (a != NULL)
		places = a->places;
	(void)pthread_mutex_unlock(&p->lock);
	return places;
}

/* Notes that the attempt has imported the package N. */
static void note_package(struct js_packages *p, uint64_t entry, uint32_t attempt, unsigned n)
{
	struct attempt *a;

	if (n == PACKAGES)
		return;
	(void)pthread_mutex_lock(&p->lock);
	a = find_attempt(p, entry, attempt);
	if (a != NULL)
		a->has[n / 8] |= (unsigned char)(1u << n % 8);
	(void)pthread_mutex_unlock(&p->lock);
}

/* Returns whether the attempt is known. */
static int is_known(struct js_packages *p, uint64_t entry, uint32_t attempt)
{
	int known;

	(void)pthread_mutex_lock(&p->lock);
	known = find_attempt(p, entry, attempt) != NULL;
	(void)pthread_mutex_unlock(&p->lock);
	return known;
}

/* PATH is a directory, a tab, and DEVICE.INODE.  Returns whether this process sees the same directory under that name:
 * in a container it may be another one.  Cuts PATH to the directory. */
static int is_same_directory(char *path)
{
	char *tab = strrchr(path, '\t'), *dot = tab == NULL ? NULL : strchr(tab, '.');
	uint64_t device, inode;
	struct stat st;

	if (dot == NULL)
		return 0;
	*tab = *dot = '\0';
	return js_num_u64(tab + 1, 0, UINT64_MAX, &device) == 0 && js_num_u64(dot + 1, 0, UINT64_MAX, &inode) == 0 &&
	       stat(path, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

/* Parses one line.  A line that did not come from our hook is ignored. */
static void parse_line(struct js_packages *p, char *line)
{
	char *tab = strchr(line, '\t'), *dot = tab == NULL ? NULL : memchr(line, '.', (size_t)(tab - line));
	uint64_t entry, attempt, places;
	struct module named;

	if (dot == NULL)
		return;
	*dot = *tab = '\0';
	if (js_num_u64(line, 1, UINT64_MAX, &entry) != 0 || js_num_u64(dot + 1, 1, UINT32_MAX, &attempt) != 0)
		return;
	if (tab[1] == '/') { /* files are read for a command that runs, and for no other */
		if (is_known(p, entry, (uint32_t)attempt) && is_same_directory(tab + 1))
			(void)places_of(p, entry, (uint32_t)attempt, find_place(p, tab + 1));
		return;
	}
	named.name = tab + 1;
	places = places_of(p, entry, (uint32_t)attempt, PLACES);
	for (size_t i = js_array_lower(p->module, p->module_n, sizeof(named), &named, compare_modules);
	     i < p->module_n && strcmp(p->module[i].name, named.name) == 0; i++)
		if ((places >> p->module[i].place & 1) != 0)
			note_package(p, entry, (uint32_t)attempt, p->module[i].package);
}

/* Splits what the commands have written into lines.  It comes in pieces of any length; a line that is too long, or has
 * a NUL, is dropped. */
static void split_lines(struct js_packages *p, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (data[i] != '\n') {
			p->overlong |= p->line_n + 1 >= LINE || data[i] == '\0';
			if (!p->overlong)
				p->line[p->line_n++] = data[i];
		} else {
			p->line[p->line_n] = '\0';
			if (!p->overlong)
				parse_line(p, p->line);
			p->line_n = 0;
			p->overlong = 0;
		}
}

/* ---------------------------------------------------------------------------------------------------- the thread */

/* The thread.  It rests four times as long as it works, so a command that floods the FIFO takes little of a processor.
 * BUSY is set before the FIFO is read: whoever finds the FIFO empty and BUSY unset knows that all has been noted. */
static void *read_packages(void *arg)
{
	struct js_packages *p = arg;
	struct pollfd fifo = {.fd = p->fifo, .events = POLLIN};
	char data[ROUND];
	int64_t began, pause;
	ssize_t n;
	int stop = 0;

	while (!stop) {
		(void)poll(&fifo, 1, 50);
		began = jobstack_now_us();
		(void)pthread_mutex_lock(&p->lock);
		p->busy = 1; /* before the FIFO is seen to be empty */
		(void)pthread_mutex_unlock(&p->lock);
		n = read(p->fifo, data, sizeof(data));
		if (n > 0)
			split_lines(p, data, (size_t)n);
		(void)pthread_mutex_lock(&p->lock);
		p->busy = 0;
		stop = p->stop;
		(void)pthread_mutex_unlock(&p->lock);
		pause = PAUSE_US + 4 * (jobstack_now_us() - began);
		if (n > 0)
			js_clock_nap(pause < PAUSE_MOST_US ? pause : PAUSE_MOST_US, NULL);
	}
	return NULL;
}

/* FIONREAD is read with the lock held, and so is BUSY: the thread sets BUSY before it empties the FIFO. */
void js_packages_settle(struct js_packages *p, int64_t wait_us)
{
	int64_t until = jobstack_now_us() + wait_us;
	int waiting = 0, settled;

	for (;;) {
		(void)pthread_mutex_lock(&p->lock);
		settled = !p->running || (ioctl(p->fifo, FIONREAD, &waiting) == 0 && waiting == 0 && !p->busy);
		(void)pthread_mutex_unlock(&p->lock);
		if (settled || jobstack_now_us() >= until)
			return;
		js_clock_nap(PAUSE_US, NULL);
	}
}

static int compare_packages(const void *a, const void *b)
{
	const struct package *x = *(const struct package *const *)a, *y = *(const struct package *const *)b;
	int names = strcmp(x->name, y->name);

	return names != 0 ? names : strcmp(x->version, y->version);
}

/* FN is called with the lock held, since the texts of packages may move when one is added. */
int js_packages_of(struct js_packages *p, uint64_t entry, uint32_t attempt, js_packages_fn *fn, void *ctx)
{
	const struct package *has[PACKAGES];
	const struct attempt *a;
	size_t n = 0;

	(void)pthread_mutex_lock(&p->lock);
	a = find_attempt(p, entry, attempt);
	for (size_t i = 0; a != NULL && i < p->package_n; i++)
		if ((a->has[i / 8] & 1u << i % 8) != 0)
			has[n++] = &p->package[i];
	if (n > 0)
		qsort(has, n, sizeof(has[0]), compare_packages);
	for (size_t i = 0; i < n; i++)
		fn(ctx, has[i]->name, has[i]->version);
	(void)pthread_mutex_unlock(&p->lock);
	return a != NULL ? 0 : JOBSTACK_NOTHING;
}

/* The oldest attempt of the slot is forgotten. */
void js_packages_start(struct js_packages *p, unsigned slot, uint64_t entry, uint32_t attempt)
{
	struct attempt *a;

	if (p == NULL)
		return;
	(void)pthread_mutex_lock(&p->lock);
	a = &p->attempt[slot * KEPT + p->next[slot]++ % KEPT];
	memset(a, 0, sizeof(*a));
	a->entry = entry;
	a->attempt = attempt;
	(void)pthread_mutex_unlock(&p->lock);
}

/* ------------------------------------------------------------------------------------------------- the directory */

/* Removes the directory DIR with the files, and the empty directories, in it. */
static void remove_files(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    unlinkat(dirfd(d), entry->d_name, 0) != 0)
			(void)unlinkat(dirfd(d), entry->d_name, AT_REMOVEDIR);
	if (d != NULL)
		(void)closedir(d);
	(void)rmdir(dir);
}

/* Removes a directory with the FIFO and the hook, of which Python may have stored a compiled copy. */
static void remove_directory(const char *dir)
{
	char cache[2048];

	(void)snprintf(cache, sizeof(cache), "%s/__pycache__", dir);
	remove_files(cache);
	remove_files(dir);
}

/* Removes the directories of this user's workers that ended without doing so.  A worker that is alive has its FIFO
 * open, so that the open below succeeds.  Directories of other nodes that share TMP have another HEAD, which is made of
 * the boot. */
static void sweep_directories(const char *tmp, const char *head)
{
	DIR *d = opendir(tmp);
	struct dirent *entry;
	struct stat st;
	char path[1024], fifo[1100];
	int fd;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (strncmp(entry->d_name, head, strlen(head)) != 0 ||
		    snprintf(path, sizeof(path), "%s/%s", tmp, entry->d_name) >= (int)sizeof(path) ||
		    lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
		    time(NULL) - st.st_mtime < RECENT_S)
			continue;
		(void)snprintf(fifo, sizeof(fifo), "%s/fifo", path);
		fd = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 && errno == ENXIO)
			remove_directory(path);
		js_file_close(&fd);
	}
	if (d != NULL)
		(void)closedir(d);
}

/* Makes the directory with the FIFO and the hook.  The FIFO is opened for reading and writing, so it never has an end,
 * and a command's open never waits. */
static int make_directory(struct js_packages *p, const char *tmp, const char *hook, struct jobstack_error *error)
{
	char boot[40], head[64], path[600];
	struct js_buf text = {0};
	int status = 0;

	js_proc_boot_id(boot);
	(void)snprintf(head, sizeof(head), PREFIX "%08x-", (unsigned)js_num_hash(JS_NUM_HASH, boot, strlen(boot)));
	sweep_directories(tmp, head);
	if (snprintf(p->dir, sizeof(p->dir), "%s/%sXXXXXX", tmp, head) >= (int)sizeof(p->dir) ||
	    strchr(tmp, ':') != NULL || mkdtemp(p->dir) == NULL) {
		p->dir[0] = '\0';
		return js_error_set(error, JOBSTACK_EFILE, "can't make a directory in %s", tmp);
	}
	(void)snprintf(path, sizeof(path), "%s/fifo", p->dir);
	if (mkfifo(path, 0600) != 0 || (p->fifo = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0)
		return js_error_file(error, "%s", path);
	(void)fcntl(p->fifo, F_SETPIPE_SZ, 1 << 20); /* so that fewer lines are lost in a burst */
	(void)snprintf(path, sizeof(path), "%s/sitecustomize.py", p->dir);
	if (js_file_read(hook, &text) != 0)
		status = js_error_file(error, "%s", hook);
	else if (js_file_replace(path, 0600, text.data, text.len) != 0)
		status = js_error_file(error, "%s", path);
	js_buf_free(&text);
	return status;
}

static int start_thread(struct js_packages *p, struct jobstack_error *error)
{
	int failed = pthread_create(&p->thread, NULL, read_packages, p);

	p->running = failed == 0;
	return failed == 0
		       ? 0
		       : js_error_set(error, JOBSTACK_EBUG, "can't start a thread: %s", js_error_process_words(failed));
}

int js_packages_begin(struct js_packages **made, const char *tmp, const char *hook, unsigned slots,
		      struct jobstack_error *error)
{
	struct js_packages *p = calloc(1, sizeof(*p));
	int status;

	*made = NULL;
	if (p == NULL)
		return js_error_memory(error);
	(void)pthread_mutex_init(&p->lock, NULL);
	p->fifo = -1;
	p->slots = slots;
	p->next = calloc(slots, sizeof(*p->next));
	p->attempt = calloc((size_t)slots * KEPT, sizeof(*p->attempt));
	status = p->next == NULL || p->attempt == NULL ? js_error_memory(error) : make_directory(p, tmp, hook, error);
	JS_THEN(status, start_thread(p, error));
	if (status == 0)
		*made = p;
	else
		js_packages_end(p);
	return status;
}

/* The directory goes first, so that commands which are still there find no FIFO to write to. */
void js_packages_end(struct js_packages *p)
{
	struct timespec until;

	if (p == NULL)
		return;
	if (p->dir[0] != '\0')
		remove_directory(p->dir);
	if (p->running) {
		(void)pthread_mutex_lock(&p->lock);
		p->stop = 1;
		(void)pthread_mutex_unlock(&p->lock);
		(void)clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 2;
		if (pthread_timedjoin_np(p->thread, NULL, &until) != 0)
			return; /* it hangs in a file system, and uses all this until the process ends */
	}
	js_file_close(&p->fifo);
	for (size_t i = 0; i < p->package_n; i++) {
		free(p->package[i].name);
		free(p->package[i].version);
	}
	for (size_t i = 0; i < p->module_n; i++)
		free(p->module[i].name);
	for (unsigned i = 0; i < p->place_n; i++)
		free(p->place[i]);
	free(p->package);
	free(p->module);
	free(p->attempt);
	free(p->next);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

const char *js_packages_dir(const struct js_packages *p)
{
	return p->dir;
}
