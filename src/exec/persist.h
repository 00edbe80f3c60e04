/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Persistent commands: a process that is started once and is given entries one at a time, over a line protocol on its
 * standard input and output (docs/LANGUAGES.md).
 *
 *   to the process      ENTRY ATTEMPT DATAPATH\n     in DATAPATH \\, \n and \r stand for backslash, newline and
 *                                                     carriage return
 *   from the process    done\n                        or: failed CODE\n, failed CODE MESSAGE\n
 *
 * Every other line that it prints is output.  Nothing here waits, and nothing is allocated for an entry.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "exec/spawn.h"

#include <stddef.h>
#include <stdint.h>

/* The longest request: two numbers, two blanks, a newline, and each byte of the name may take two. */
#define JS_PERSIST_REQUEST (20 + 1 + 10 + 1 + 2 * JOBSTACK_DATAPATH_MAX + 1)
#define JS_PERSIST_MESSAGE 240 /* a message is cut there, with its NUL */
/* A longer line is not an answer, except "failed CODE MESSAGE", whose message is cut. */
#define JS_PERSIST_LINE 1024

/* -------------------------------------------------------------------------------------------------- the protocol */

/* Writes a request into TO, which has room for JS_PERSIST_REQUEST bytes.  Returns its length, or 0: the name is too
 * long. */
size_t js_persist_encode(char *to, uint64_t entry, uint32_t attempt, const char *datapath, size_t len);

struct js_persist_answer {
	int code;			  /* 0: done */
	char message[JS_PERSIST_MESSAGE]; /* one line of UTF-8 without control characters; may be "" */
};

/* Returns 1, and fills ANSWER, if the line, given without its newline, is an answer; 0 if it is output.  "failed"
 * alone, or with a number that is not 1 to 255, is an answer with code 1, whose message says what is wrong.  "failed"
 * with other words after it is output. */
int js_persist_parse(const char *line, size_t len, struct js_persist_answer *answer);

/* Takes a stream apart into output and answers.  Begin with zeroes.
 *
 * A line is passed on in pieces if it is long, so the reader remembers what kind of line it is in:
 *
 *   AT_LINE     A line begins.  Up to JS_PERSIST_LINE bytes are kept until its newline comes, since they may be an
 *               answer.  Then, or when it is longer, it becomes one of the other two.
 *   IN_OUTPUT   It is output: its bytes are passed on as they come, to the newline.
 *   IN_ANSWER   It is an answer longer than JS_PERSIST_LINE: the rest of its message is dropped, to the newline.
 */
struct js_persist_reader {
	char data[16384];
	size_t at, end; /* the bytes not yet taken */
	enum { JS_PERSIST_AT_LINE, JS_PERSIST_IN_OUTPUT, JS_PERSIST_IN_ANSWER } state;
	struct js_persist_answer answer;
};

enum js_persist_piece { JS_PERSIST_MORE, JS_PERSIST_OUTPUT, JS_PERSIST_ANSWER };

/* Returns where the next bytes of the stream go, and in *ROOM how many; the caller adds to reader->end what it has put
 * there.  There is always room after js_persist_next has said MORE. */
char *js_persist_room(struct js_persist_reader *reader, size_t *room);

/* Returns the next piece.  OUTPUT: it is *TEXT, *LEN bytes, valid until the next call.  ANSWER: it is reader->answer.
 * MORE: more of the stream must be read first.  AT_END: there is no more, and a line without a newline is output. */
enum js_persist_piece js_persist_next(struct js_persist_reader *reader, int at_end, const char **text, size_t *len);

/* --------------------------------------------------------------------------------------------------- the process */

/* One process, from entry to entry:
 *
 *   no process   --start-->   idle   --ask-->   asked   --the whole request is read, and answered-->   idle
 *
 * pid is 0 without a process; asked is 1 between ask and answer.  If the process ends while it is asked, whether it has
 * seen the request decides whose fault that is (js_persist_is_unread): FIONREAD tells how much of what was sent is
 * still in the pipe, so 0 bytes there and sent == request_len mean that it was read.  The descriptors are for the
 * caller's poll; a process whose standard input the caller closes is expected to end. */
struct js_persist {
	pid_t pid;
	int in, out;		  /* pipes to and from it, non-blocking; -1: closed */
	int to;			  /* where its output goes: the caller's */
	int asked;		  /* it has a request and has not answered */
	int failed;		  /* errno of output that could not be kept; 0: all was kept */
	uint64_t answers;	  /* how many so far */
	size_t request_len, sent; /* how long the request is, and how much of it is in the pipe or was read */
	char request[JS_PERSIST_REQUEST];
	struct js_persist_reader reader;
};

/* Allocates one without a process; free with js_persist_free, when its process has been collected.  NULL: no memory. */
struct js_persist *js_persist_new(void);
void js_persist_free(struct js_persist *p);

/* Starts the process as js_spawn_start does; its standard output but for the answers is written to the descriptor OUT,
 * its standard error is ERR.  Returns the pid, or a negative errno.  (So many parameters: those of
 * js_spawn_start, and P.) */
pid_t js_persist_start(struct js_persist *p, struct js_spawn *spawn, const char *path, char *const argv[],
		       char *const envp[], int out, int err);

/* Sends a request; what the pipe does not take now is sent by js_persist_send, when it can be written to.  Returns 0,
 * or -1 with errno: EPIPE: the process does not read any more, and has not seen the request. */
int js_persist_ask(struct js_persist *p, uint64_t entry, uint32_t attempt, const char *datapath, size_t len);
int js_persist_send(struct js_persist *p);

/* Returns whether some of the request has not been taken by the process; ALL: nothing of it has. */
int js_persist_is_unread(const struct js_persist *p, int all);

enum js_persist_event {
	JS_PERSIST_NOTHING,  /* nothing more for now */
	JS_PERSIST_ANSWERED, /* reader.answer is the answer to the request */
	JS_PERSIST_UNASKED,  /* an answer without a request, or to one that it has not read */
	JS_PERSIST_CLOSED    /* its standard output is closed, and so is the pipe here */
};

/* Goes through what the process has printed, up to the next event, and writes output to p->to.  READ: first reads once
 * from the pipe; otherwise it goes on with what was read before. */
enum js_persist_event js_persist_take(struct js_persist *p, int read);

/* Returns whether there is more to be read from the pipe now. */
int js_persist_has_more(const struct js_persist *p);

/* To be called when it was collected, and what it had printed was read (js_persist_has_more): closes what is open. */
void js_persist_ended(struct js_persist *p);
