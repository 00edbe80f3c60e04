/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What commands print: caught in two unnamed files per slot, then put, an entry at a time and in one piece, into the
 * worker's packed log or its own output; or written straight to a file per entry.
 *
 * A worker that writes through these ignores SIGXFSZ and SIGPIPE, so that they become errors.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "exec/excerpt.h"
#include "exec/reap.h"
#include "exec/template.h"

#include <stdint.h>

/* -------------------------------------------------------------------------------------------- one slot's capture */

struct js_capture;

/* Makes the capture of one slot, with files in DIR ($TMPDIR, /tmp) that have no name and vanish with their last
 * user.  They are opened by js_capture_begin.  Free with js_capture_free.  Returns 0, or JOBSTACK_EBUG: no memory. */
int js_capture_new(struct js_capture **made, const char *dir, struct jobstack_error *error);
void js_capture_free(struct js_capture *capture);

/* Limits what is kept of stdout to OUT bytes and of stderr to ERR (0: everything; see exec/excerpt.h), from the next
 * js_capture_begin on. */
void js_capture_limit(struct js_capture *capture, int64_t out, int64_t err);

/* To be called now and then while a command runs: frees the disk space of what will not be kept, if the file system can
 * do that (ext4, xfs, btrfs, tmpfs and NFS 4.2 can).  Returns 1 if it should be called again soon, because much is
 * being printed. */
int js_capture_trim(struct js_capture *capture);

/* Gets two empty files ready for the next command and returns their descriptors, which belong to the capture.  A file
 * that was written to is replaced, not emptied: a process that outlived its command and still has it open can't write
 * into the next command's file.  (A process that left its group and printed nothing before its command ended still
 * could.)  Returns 0, or JOBSTACK_EFILE. */
int js_capture_begin(struct js_capture *capture, int *out, int *err, struct jobstack_error *error);

/* Gives the two descriptors; -1 before the first js_capture_begin. */
void js_capture_files(const struct js_capture *capture, int *out, int *err);

/* For a command that stays from entry to entry and continues to write into the same files: what was there when the
 * capture was last looked at (js_capture_look, js_capture_move, js_packlog_append) has been kept, and does not belong
 * to a later entry.  Its disk space is freed now and then, if the file system can do that. */
void js_capture_next(struct js_capture *capture);

/* Copies what was caught of stdout (WHICH 0) or stderr (1) to the file TO, and counts it as kept.  Returns 0, or
 * JOBSTACK_EFILE. */
int js_capture_move(struct js_capture *capture, int which, int to, struct jobstack_error *error);

/* Chooses what to keep of the output that was captured by now and not kept before.  Returns 0, or -1 with errno. */
int js_capture_look(struct js_capture *capture, struct js_kept kept[2]);

/* Reads the end of stdout (WHICH 0) or stderr (1) at the last js_capture_look, as js_kept_tail does. */
size_t js_capture_tail(const struct js_capture *capture, int which, char to[JS_KEPT_TAIL]);

/* Opens a file in DIR that has no name, is appended to, and vanishes when it is closed.  -1 with errno. */
int js_capture_temporary(const char *dir);

/* Finds out whether nothing can be written in DIR (NULL: where CAPTURE has its files) because the disk is full or a
 * quota is used up.  It tries, since a look at the free space does not show quotas.  Returns JOBSTACK_EFILE, or 0. */
int js_capture_full(const struct js_capture *capture, const char *dir, struct jobstack_error *error);

/* ------------------------------------------------------------------------------------------------ the packed log */

/* One file per worker, or more, when it grows.  For each entry that printed something:
 *
 *   ==> entry 17 attempt 1 exit 3 2026-11-21T06:20:11.123456Z out 123 err 45 path data/a\x0ab.nc\n
 *   123 bytes of stdout, then 45 bytes of stderr, then a newline if there was none at the end
 *
 * Of long output that is its beginning, a line "[jobstack: 12345678 bytes left out]", and its end.  "exit 3" may be
 * "signal 9".  In the path, control characters and the backslash are written as \xHH. */
struct js_packlog;

/* Where an entry's output lies: stdout at AT, stderr at AT + OUT, in the file of that NUMBER (from 1).  AT is -1, OUT
 * and ERR are 0, if it printed nothing. */
struct js_packlog_place {
	int64_t at, out, err;
	unsigned number;
};

/* Makes a log that will be DIR/NAME.log; directory and file are made by the first append that has something to write.
 * NAME must be new: a file that is there is never written to.  When an entry would make it longer than SIZE (0: any
 * length is fine), it continues as DIR/NAME.2.log, and so on; no entry is in two files.  Free with js_packlog_free.
 * Returns 0, or JOBSTACK_EBUG. */
int js_packlog_new(struct js_packlog **made, const char *dir, const char *name, int64_t size,
		   struct jobstack_error *error);
void js_packlog_free(struct js_packlog *log);

/* Appends what CAPTURE holds, whole or not at all.  Threads may do so at the same time, each with a capture of its own.
 * ENDED_WALL_US is the time of the header, since 1970.  Returns 0 with *PLACE filled; or JOBSTACK_EFILE (no space, for
 * example), and then the log is as long as it was: the caller can hand the entry back, or try again when there is
 * space.  (So many parameters because the header says all of this about an attempt.) */
int js_packlog_append(struct js_packlog *log, struct js_capture *capture, const struct js_template_values *values,
		      const struct js_reaped *reaped, int64_t ended_wall_us, struct js_packlog_place *place,
		      struct jobstack_error *error);

/* Returns the file where the last entry went, whether it exists or not.  Valid until the next append. */
const char *js_packlog_path(const struct js_packlog *log);

/* Makes PATH that of the file of that number.  0, or -1 without memory. */
int js_packlog_path_of(const struct js_packlog *log, unsigned number, struct js_buf *path);

/* --------------------------------------------------------------------------------------------- a file per entry */

/* Opens (makes or empties) PATH for a command's output, with the directories above it, and gives the descriptor,
 * which the caller closes, in *FD.  Returns 0, or JOBSTACK_EFILE. */
int js_capture_open(const char *path, int *fd, struct jobstack_error *error);
