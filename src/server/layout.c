/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's directory.  Promises: other directories are never changed; a tree that another user can write to is
 * never changed with root's rights.
 */
#include "server/layout.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOCK_NAP_US (50 * 1000)
#define PATIENCE_US (900 * JS_SECOND_US) /* a first start on a slow disk takes long */
#define SAY_US (10 * JS_SECOND_US)

void js_layout_join(char out[JS_LAYOUT_PATH], const char *dir, const char *name)
{
	size_t a = strnlen(dir, JS_LAYOUT_PATH - 2), b = strnlen(name, JS_LAYOUT_PATH - 2 - a);

	memmove(out, dir, a);
	out[a] = '/';
	memcpy(out + a + 1, name, b);
	out[a + 1 + b] = '\0';
}

/* Paths are written into files of lines (the record, option files), so control characters, above all a newline, are
 * refused. */
int js_layout_absolute(char out[JS_LAYOUT_PATH], const char *path, struct jobstack_error *error)
{
	char cwd[JS_LAYOUT_PATH] = "";
	size_t len;

	for (const char *p = path; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return js_error_set(error, JOBSTACK_EUSAGE, "the path %s contains control characters", path);
	if (*path == '\0')
		return js_error_set(error, JOBSTACK_EUSAGE, "a path is empty");
	if (*path != '/' && getcwd(cwd, sizeof(cwd)) == NULL)
		return js_error_file(error, "the working directory is unknown");
	if (strlen(cwd) + strlen(path) + 2 > JS_LAYOUT_DIR_MAX)
		return js_error_set(error, JOBSTACK_EUSAGE, "the path %.100s... is too long", path);
	if (*path == '/')
		memcpy(out, path, strlen(path) + 1);
	else
		js_layout_join(out, cwd, path);
	for (len = strlen(out); len > 1 && out[len - 1] == '/'; len--)
		out[len - 1] = '\0';
	return 0;
}

int js_layout_set(struct js_layout *layout, const char *dir, struct jobstack_error *error)
{
	JS_TRY(js_layout_absolute(layout->dir, dir, error));
#define JOIN(name, file) js_layout_join(layout->name, layout->dir, file);
	JS_LAYOUT_PATHS(JOIN)
	return 0;
}

int js_layout_who(const struct js_layout *layout, const char *user, struct js_who *who, struct jobstack_error *error)
{
	struct stat st;
	int has_data = lstat(layout->data, &st) == 0 && st.st_uid != 0;

	if (geteuid() != 0) {
		js_who_self(who);
		return user == NULL || strcmp(user, who->name) == 0
			       ? 0
			       : js_error_set(error, JOBSTACK_EPERM,
					      "only root can run the server as another user (%s)", user);
	}
	/* the owner of existing data decides, so that a later start needs no --user */
	if (user == NULL && has_data)
		return js_who_numbered(st.st_uid, who, error);
	if (user == NULL)
		return js_who_named("mysql", who, NULL) == 0 ? 0 : js_who_named("nobody", who, error);
	JS_TRY(js_who_named(user, who, error));
	if (has_data && st.st_uid != who->uid)
		return js_error_set(
			error, JOBSTACK_ECONFLICT,
			"the data in %s belongs to the user with the number %lu: the server can't run as %s",
			layout->data, (unsigned long)st.st_uid, user);
	return 0;
}

/* Returns whether the directory PATH can be read and is empty. */
static int is_empty_directory(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int n = 0;

	if (dir == NULL)
		return 0;
	while ((e = readdir(dir)) != NULL)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	(void)closedir(dir);
	return n == 0;
}

/* Makes one directory below DIR, if it does not exist, and sets its owner and mode. */
static int make_subdirectory(const char *path, const struct js_who *who, mode_t mode, struct jobstack_error *error)
{
	struct stat st;

	if (mkdir(path, mode) != 0 && errno != EEXIST)
		return js_error_file(error, "%s can't be made", path);
	if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return js_error_set(error, JOBSTACK_EFILE, "%s is not a directory", path);
	if (who->change && st.st_uid != who->uid && lchown(path, who->uid, who->gid) != 0)
		return js_error_file(error, "can't make the user %s the owner of %s", who->name, path);
	if (chmod(path, mode) != 0)
		return js_error_file(error, "%s", path);
	return 0;
}

/* Makes DIR, if it does not exist, and checks that it is ours, and empty or a server's directory. */
static int claim_directory(const struct js_layout *layout, const struct js_who *who, struct jobstack_error *error)
{
	struct js_who us;
	struct stat st;

	if (js_file_mkdirs(layout->dir, who->change ? 0755 : 0700) != 0)
		return js_error_access(error, "the directory %s can't be made", layout->dir);
	if (stat(layout->dir, &st) != 0)
		return js_error_file(error, "%s", layout->dir);
	if (st.st_uid != geteuid()) {
		if (js_who_numbered(st.st_uid, &us, NULL) != 0)
			us.name[0] = '\0';
		return js_error_set(error, JOBSTACK_EPERM, "the directory %s belongs to another user (%s)", layout->dir,
				    us.name[0] != '\0' ? us.name : "unknown");
	}
	if (access(layout->dir, R_OK | W_OK | X_OK) != 0 && chmod(layout->dir, 0700) != 0)
		return js_error_errno(error, JOBSTACK_EPERM, "the directory %s can't be used", layout->dir);
	/* the lock is the first file made there; it is looked for twice, since another start may have made it just now
	 */
	if (access(layout->lock, F_OK) != 0 && !is_empty_directory(layout->dir) && access(layout->lock, F_OK) != 0)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "the directory %s contains other files and was not made by jobstack server: give "
				    "another --data",
				    layout->dir);
	if (chmod(layout->dir, who->change ? 0711 : 0700) != 0)
		return js_error_file(error, "%s", layout->dir);
	return 0;
}

/* Returns 0 if we may enter the directory and write in it. */
static int try_access(const void *dir)
{
	return access(dir, X_OK | W_OK) == 0 ? 0 : 1;
}

/* The lock is made before the other files: it is the sign by which the next call knows the directory. */
int js_layout_prepare(const struct js_layout *layout, const struct js_who *who, struct jobstack_error *error)
{
	struct js_who us;
	int status, fd;

	js_who_self(&us);
	JS_TRY(claim_directory(layout, who, error));
	fd = open(layout->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return js_error_access(error, "%s can't be made", layout->lock);
	(void)close(fd);
	status = make_subdirectory(layout->tls, &us, who->change ? 0711 : 0700, error);
	JS_THEN(status, make_subdirectory(layout->run, who, 0700, error));
	if (status == 0 && who->change && js_who_call(who, try_access, layout->run) > 0)
		status = js_error_set(error, JOBSTACK_EPERM,
				      "the user %s can't reach %s: give each directory above it the mode o+x, or "
				      "choose another --data",
				      who->name, layout->run);
	return status;
}

/* Opens a lock in /tmp, for a file system without locks.  It works only among processes of this host, which is all that
 * is needed. */
static int open_local_lock(const struct js_layout *layout, struct jobstack_error *error)
{
	char path[160];
	struct stat st;
	int fd;

	if (stat(layout->dir, &st) != 0)
		return js_error_file(error, "%s", layout->dir);
	(void)snprintf(path, sizeof(path), "/tmp/jobstack-server-%lu-%" PRIx64 "-%" PRIx64 ".lock",
		       (unsigned long)geteuid(), (uint64_t)st.st_dev, (uint64_t)st.st_ino);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != geteuid()) {
		if (fd >= 0)
			(void)close(fd);
		return js_error_set(error, JOBSTACK_EFILE,
				    "the lock file %s can't be used: if it belongs to somebody else, let them or root "
				    "remove it, or give a --data on a file system with locks",
				    path);
	}
	return fd;
}

/* After flock has failed on *FD.  0: try again; *FD may be another one then. */
static int handle_lock_failure(const struct js_layout *layout, int *fd, int *local, struct jobstack_error *error)
{
	if (errno == EWOULDBLOCK || errno == EINTR)
		return 0;
	if (*local || (errno != ENOSYS && errno != EOPNOTSUPP && errno != ENOLCK))
		return js_error_file(error, "%s can't be locked", layout->lock);
	*local = 1;
	js_file_close(fd);
	*fd = open_local_lock(layout, error);
	return *fd < 0 ? *fd : 0;
}

/* Tries again and again instead of waiting in flock, so that a signal ends the wait, and the user is told why nothing
 * happens. */
int js_layout_lock(const struct js_layout *layout, struct cli *cli)
{
	int64_t start = js_clock_mono_us(), said = start;
	int fd = open(layout->lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW), local = 0, status = 0;

	if (fd < 0)
		return js_error_access(&cli->error, "%s", layout->lock);
	while (status == 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		status = handle_lock_failure(layout, &fd, &local, &cli->error);
		if (status == 0 && cli_stop != 0)
			status = js_error_set(&cli->error, JOBSTACK_ESTOPPED, "stopped while waiting for the lock %s",
					      layout->lock);
		else if (status == 0 && js_clock_mono_us() - start > PATIENCE_US)
			status = js_error_set(&cli->error, JOBSTACK_ECONFLICT,
					      "another `jobstack server` command is still using %s", layout->dir);
		if (status == 0 && js_clock_mono_us() - said > SAY_US) {
			said = js_clock_mono_us();
			cli_say(cli, "waiting for another `jobstack server` command that works on %s", layout->dir);
		}
		js_clock_nap(LOCK_NAP_US, &cli_stop);
	}
	if (status != 0)
		js_file_close(&fd);
	return status != 0 ? status : fd;
}

int js_layout_exists(const struct js_layout *layout)
{
	struct stat st;

	if (stat(layout->lock, &st) == 0)
		return 1;
	return errno == EACCES ? -1 : 0;
}

/* Returns the bytes that PATH takes on disk.  With REMOVE_ALL it removes PATH, the contents of each directory first. */
static uint64_t walk_tree(const char *path, int remove_all)
{
	char *const roots[] = {(char *)(uintptr_t)path, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	uint64_t bytes = 0;

	for (FTSENT *e; tree != NULL && (e = fts_read(tree)) != NULL;) {
		if (e->fts_info != FTS_DP && e->fts_info != FTS_NS && e->fts_info != FTS_ERR)
			bytes += (uint64_t)e->fts_statp->st_blocks * 512;
		if (remove_all && e->fts_info != FTS_D)
			(void)remove(e->fts_accpath);
	}
	if (tree != NULL)
		(void)fts_close(tree);
	return bytes;
}

uint64_t js_layout_size(const char *path)
{
	return walk_tree(path, 0);
}

/* Removes a tree, in the process of the user that owns it: as root it could be led elsewhere by a link that this user
 * puts there meanwhile. */
static int remove_tree(const void *path)
{
	(void)walk_tree(path, 1);
	return 0;
}

void js_layout_remove(const char *path, const struct js_who *who)
{
	if (who->change)
		(void)js_who_call(who, remove_tree, path);
	else
		(void)remove_tree(path);
	(void)rmdir(path);
}

void js_layout_sweep(const char *path, const char *prefix, const struct js_who *who)
{
	DIR *dir = opendir(path);
	char file[JS_LAYOUT_PATH];
	struct dirent *e;

	while (dir != NULL && (e = readdir(dir)) != NULL)
		if (strncmp(e->d_name, prefix, strlen(prefix)) == 0) {
			js_layout_join(file, path, e->d_name);
			js_layout_remove(file, who);
		}
	if (dir != NULL)
		(void)closedir(dir);
}

/* f_bavail is what an ordinary user may still use; root's reserve does not count. */
int js_layout_full(const char *path, uint64_t mb)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < mb << 20;
}
