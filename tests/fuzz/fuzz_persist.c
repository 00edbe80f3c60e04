/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The protocol of persistent commands.  The first byte says in what pieces the stream comes; the rest is the stream,
 * and a name.
 *
 * In whatever pieces it comes, the same output and the same answers come out, in the same order; each byte of the
 * stream is in the output, or in a line that is an answer by itself; a message is one line of UTF-8.  A name comes back
 * from its request.
 */
#define _GNU_SOURCE
#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "exec/persist.h"

#define LONGER 8
#define REPEAT 700 /* a line that says so is made longer: no fuzzer comes to a thousand bytes by itself */

struct taken {
	char *text; /* the output, and an answer as \0 CODE MESSAGE \0 */
	size_t len, space, answers;
};

static void put(struct taken *t, const void *data, size_t len)
{
	need(t->len + len <= t->space);
	memcpy(t->text + t->len, data, len);
	t->len += len;
}

static void check_answer(const struct js_persist_answer *a)
{
	size_t len = strnlen(a->message, sizeof(a->message));

	need(a->code >= 0 && a->code <= 255 && len < sizeof(a->message) && (a->code != 0 || len == 0));
	for (size_t at = 0, n; at < len; at += n) {
		n = js_utf8_len(a->message + at, len - at);
		need(n > 0 && (unsigned char)a->message[at] >= 0x20);
	}
}

/* Everything that comes out of the stream, in pieces of STEP bytes. */
static void take(const char *stream, size_t len, size_t step, struct taken *t)
{
	static struct js_persist_reader r;
	size_t at = 0, space, n;
	const char *text;

	memset(&r, 0, sizeof(r));
	t->len = t->answers = 0;
	for (int at_end = 0; !at_end;) {
		enum js_persist_piece piece;
		char *to = js_persist_room(&r, &space);

		need(space > 0);
		n = step < space ? step : space;
		n = n < len - at ? n : len - at;
		memcpy(to, stream + at, n);
		r.end += n;
		at += n;
		at_end = at == len;
		while ((piece = js_persist_next(&r, at_end, &text, &n)) != JS_PERSIST_MORE) {
			if (piece == JS_PERSIST_OUTPUT) {
				need(n > 0 && text >= r.data && text + n <= r.data + sizeof(r.data));
				put(t, text, n);
				continue;
			}
			check_answer(&r.answer);
			put(t, "\0", 1);
			put(t, &r.answer.code, sizeof(r.answer.code));
			put(t, r.answer.message, strlen(r.answer.message) + 1);
			t->answers++;
		}
		need(!at_end || r.at == r.end);
	}
}

/* The same, line by line and with no buffer at all. */
static void take_lines(const char *stream, size_t len, struct taken *t)
{
	struct js_persist_answer a;
	const char *end = stream + len, *newline;

	t->len = t->answers = 0;
	for (; (newline = memchr(stream, '\n', (size_t)(end - stream))) != NULL; stream = newline + 1) {
		if (!js_persist_parse(stream, (size_t)(newline - stream), &a)) {
			put(t, stream, (size_t)(newline - stream) + 1);
			continue;
		}
		need((newline - stream == 4 && memcmp(stream, "done", 4) == 0) || memcmp(stream, "failed", 6) == 0);
		put(t, "\0", 1);
		put(t, &a.code, sizeof(a.code));
		put(t, a.message, strlen(a.message) + 1);
		t->answers++;
	}
	/* what has no newline is output; but a long one that began as an answer had been taken for one */
	if (end > stream && (end - stream <= JS_PERSIST_LINE || !js_persist_parse(stream, JS_PERSIST_LINE, &a)))
		put(t, stream, (size_t)(end - stream));
}

static void a_name(const char *name, size_t len)
{
	static char line[JS_PERSIST_REQUEST];
	size_t n = js_persist_encode(line, UINT64_MAX, 1, name, len), at = 0;
	const char *p = line + strlen("18446744073709551615 1 "), *end = line + n - 1;

	if (len > JOBSTACK_DATAPATH_MAX) {
		need(n == 0);
		return;
	}
	need(n <= sizeof(line) && memcmp(line, "18446744073709551615 1 ", 23) == 0 && *end == '\n');
	need(memchr(line, '\n', n) == end && memchr(line, '\r', n) == NULL);
	for (; p < end; p++, at++) {
		char c = *p;

		if (c == '\\') {
			c = *++p;
			need(p < end && (c == 'n' || c == 'r' || c == '\\'));
			c = c == 'n' ? '\n' : c == 'r' ? '\r' : c;
		}
		need(at < len && name[at] == c);
	}
	need(at == len);
}

/* A copy in which a byte 0x01 has become many: the first of them, for the rest would only take time. */
static char *longer(const uint8_t *data, size_t size, size_t *len)
{
	char *text = malloc(size + LONGER * REPEAT + 1), *to = text;

	need(text != NULL);
	for (size_t i = 0, longer_n = 0; i < size; i++) {
		size_t n = data[i] == 1 && longer_n++ < LONGER ? REPEAT : 1;

		memset(to, n > 1 ? 'x' : data[i], n);
		to += n;
	}
	*len = (size_t)(to - text);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t steps[] = {1, 2, 5, 100, 1023, 1024, 1025, 5000, 16384};
	struct taken a = {0}, b = {0};
	char *stream;
	size_t len;

	if (size == 0 || size > 4096)
		return 0;
	stream = longer(data + 1, size - 1, &len);
	a.space = b.space = (len + 1) * 9 + 1000; /* of "failed\n" becomes most */
	a.text = malloc(a.space);
	b.text = malloc(b.space);
	need(a.text != NULL && b.text != NULL);
	take_lines(stream, len, &a);
	take(stream, len, steps[*data % (sizeof(steps) / sizeof(steps[0]))], &b);
	need(a.answers == b.answers && a.len == b.len && memcmp(a.text, b.text, a.len) == 0);
	a_name(stream, len);
	free(a.text);
	free(b.text);
	free(stream);
	return 0;
}
