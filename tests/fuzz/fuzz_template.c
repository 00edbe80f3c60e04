/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Templates.  The input: a byte of choices, then texts with a NUL between them: the word of -I and
 * the separator of fields (if chosen), a datapath, and the words of the command, the script or the one
 * string.
 *
 * Strings and commands are expanded a second time here, in the simplest way, and must come out the
 * same.  A script is the same for every name: what the shell parses holds no byte of one.  All
 * expansions are bounded.
 */
#define _GNU_SOURCE
#include "fuzz/fuzz.h"
#include "exec/template.h"

#include <inttypes.h>

#define WORDS_MAX 16

struct input {
	struct js_template_syntax syntax;
	const char *datapath;
	char *words[WORDS_MAX];
	size_t n;
};

static void add(struct js_buf *out, const char *text, size_t len)
{
	js_buf_add(out, text, len);
}

/* The values with the field N for the name, cut off byte by byte; nothing if there is none. */
static struct js_template_values field_of(const struct js_template_values *v, unsigned n, const char *colsep)
{
	struct js_template_values f = *v;
	const char *p = v->datapath, *end = p + v->datapath_len;

	f.datapath = n == 1 ? p : NULL;
	for (; p < end; p++)
		if (n > 0 && strncmp(p, colsep, strlen(colsep)) == 0) {
			if (--n == 0)
				break;
			p += strlen(colsep) - 1;
			f.datapath = n == 1 ? p + 1 : NULL;
		}
	f.datapath_len = f.datapath == NULL ? 0 : (size_t)(p - f.datapath);
	f.datapath = f.datapath == NULL ? "" : f.datapath;
	return f;
}

/* What a placeholder gives, by the words of exec/template.h. */
static void place(struct js_buf *out, const char *what, const struct js_template_values *v)
{
	const char *name = v->datapath;
	size_t len = v->datapath_len, end = len, start, dir, dot, first, want = 0;

	while (end > 1 && name[end - 1] == '/')
		end--;
	for (start = end; start > 0 && name[start - 1] != '/';)
		start--;
	if (end == 1 && name[0] == '/') /* the root is its own base name and directory */
		start = 0;
	for (dir = start; dir > 1 && name[dir - 1] == '/';)
		dir--;
	for (first = start; first < end && name[first] == '.';)
		first++;
	for (const char *p = what; *p != '\0'; p++)
		want += *p == '.';
	for (size_t i = dot = end; i > first && want > 0; i--)
		if (name[i - 1] == '.' && --want == 0)
			dot = i - 1;
	if (strcmp(what, "{}") == 0)
		add(out, name, len);
	else if (strcmp(what, "{/}") == 0)
		add(out, name + start, end - start);
	else if (strcmp(what, "{//}") == 0 && end == 1 && name[0] == '/')
		add(out, "/", 1);
	else if (strcmp(what, "{//}") == 0)
		add(out, dir == 0 ? "." : name, dir == 0 ? 1 : dir);
	else if (strcmp(what, "{+/}") == 0)
		add(out, name, dir == 1 && name[0] == '/' ? 0 : dir);
	else if (what[1] == '+')
		add(out, name + dot + (dot < end), end - dot - (dot < end));
	else if (what[1] == '.')
		add(out, name, end < len ? len : dot);
	else if (what[1] == '/')
		add(out, name + start, dot - start);
	else
		js_buf_printf(out, "%" PRIu64, strcmp(what, "{#}") == 0 ? v->entry : (uint64_t)v->slot);
}

/* The longest placeholder that TEXT begins with; 0: none.  FIELD: of which field, 0: of the whole. */
static size_t longest_at(const char *text, int behind_dollar, const struct js_template_syntax *syntax,
			 const char **found, unsigned *field)
{
	static const char *const all[] = {"{}",	    "{/}",  "{//}",  "{.}",    "{/.}", "{..}", "{...}", "{/..}",
					  "{/...}", "{+.}", "{+..}", "{+...}", "{+/}", "{#}",  "{%}"};
	size_t longest = 0, digits = strspn(text + (text[0] == '{'), "0123456789");

	*field = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *word = i == 0 && syntax->repl != NULL ? syntax->repl : all[i];
		size_t len = digits + strlen(all[i]);

		if (strncmp(text, word, strlen(word)) == 0 && strlen(word) > longest) {
			longest = strlen(word);
			*found = all[i];
			*field = 0;
		}
		if (i < 13 && text[0] == '{' && digits >= 1 && digits <= 3 && text[1] != '0' && len > longest &&
		    !behind_dollar && strncmp(text + 1 + digits, all[i] + 1, strlen(all[i] + 1)) == 0 &&
		    (syntax->repl == NULL || syntax->colsep != NULL)) {
			longest = len;
			*found = all[i];
			*field = (unsigned)atoi(text + 1);
		}
	}
	return longest;
}

/* Whether TEXT begins with what only GNU parallel replaces. */
static int is_foreign(const char *text)
{
	size_t minus = text[0] == '{' && text[1] == '-' ? 1 : 0, digits, marks;

	if (text[0] != '{')
		return 0;
	if (text[1] == '=')
		return strstr(text + 2, "=}") != NULL;
	if ((text[1] == '%' || text[1] == '#') && text[2] == '.')
		return strchr(text, '}') != NULL;
	for (digits = 0; text[1 + minus + digits] >= '0' && text[1 + minus + digits] <= '9';)
		digits++;
	text += 1 + minus + digits;
	for (marks = 0; text[marks] != '\0' && strchr("./+#%", text[marks]) != NULL;)
		marks++;
	return text[marks] == '}' && (minus == 1 ? digits > 0 : marks > 0);
}

/* TEXT expanded; gives whether a placeholder stood in it; -1: a field without a separator, or a
 * placeholder of GNU parallel. */
static int expand(struct js_buf *out, const char *text, const struct js_template_syntax *syntax,
		  const struct js_template_values *v)
{
	int named = 0;

	for (const char *p = text; *p != '\0';) {
		const char *found = NULL;
		unsigned field;
		size_t longest = longest_at(p, p > text && p[-1] == '$', syntax, &found, &field);
		struct js_template_values of = *v;

		if (longest == 0 && is_foreign(p) && !(p > text && p[-1] == '$') &&
		    (syntax->repl == NULL || syntax->colsep != NULL))
			return -1;
		if (longest == 0) {
			add(out, p++, 1);
			continue;
		}
		if (field > 1 && syntax->colsep == NULL)
			return -1;
		if (field > 0 && syntax->colsep != NULL)
			of = field_of(v, field, syntax->colsep);
		place(out, found, &of);
		named = 1;
		p += longest;
	}
	return named;
}

/* Whether templates may be refused for what was chosen. */
static int is_odd(const struct input *in)
{
	return (in->syntax.repl != NULL && in->syntax.repl[0] == '\0') ||
	       (in->syntax.colsep != NULL && in->syntax.colsep[0] == '\0');
}

static void a_string(const struct input *in, const struct js_template_values *v)
{
	struct js_buf out = {0}, there = {0};
	struct js_template *t;

	if (js_template_string(&t, in->words[0], &in->syntax, NULL) != 0) {
		need(t == NULL &&
		     (in->words[0][0] == '\0' || is_odd(in) || expand(&there, in->words[0], &in->syntax, v) < 0));
		js_buf_free(&there);
		return;
	}
	need(js_template_text(t, v, &out) == 0);
	js_buf_str(&there, "");
	need(expand(&there, in->words[0], &in->syntax, v) >= 0);
	need(out.len == there.len && (out.len == 0 || memcmp(out.data, there.data, out.len) == 0));
	js_template_free(t);
	js_buf_free(&out);
	js_buf_free(&there);
}

static void a_command(const struct input *in, const struct js_template_values *v)
{
	struct js_buf there = {0};
	struct js_template *t;
	char *const *argv;
	int named = 0;

	if (js_template_command(&t, in->words, in->n, &in->syntax, NULL) != 0) {
		for (size_t i = 0; i < in->n && !is_odd(in) && named >= 0; i++)
			named = expand(&there, in->words[i], &in->syntax, v);
		need(t == NULL && (in->words[0][0] == '\0' || is_odd(in) || named < 0));
		js_buf_free(&there);
		return;
	}
	argv = js_template_argv(t, v);
	need(argv != NULL);
	for (size_t i = 0; i < in->n; i++) {
		js_buf_reset(&there);
		js_buf_str(&there, "");
		named |= expand(&there, in->words[i], &in->syntax, v);
		need(named >= 0);
		need(argv[i] != NULL && strcmp(argv[i], there.data) == 0);
	}
	if (!named)
		need(argv[in->n] != NULL && strcmp(argv[in->n], v->datapath) == 0);
	need(argv[in->n + !named] == NULL);
	need(js_template_program(t) == NULL || strcmp(js_template_program(t), argv[0]) == 0);
	js_template_free(t);
	js_buf_free(&there);
}

static void a_script(const struct input *in, const struct js_template_values *v)
{
	struct js_template_values other = *v;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_template *t;
	char *const *argv;
	size_t source = 0;
	char *script;

	other.datapath = "x"; /* nothing of the other name */
	other.datapath_len = 1;
	if (js_template_shell(&t, in->words, in->n, &in->syntax, &error) != 0) {
		need(t == NULL && error.code == JOBSTACK_EUSAGE && error.text[0] != '\0');
		return;
	}
	for (size_t i = 0; i < in->n; i++)
		source += strlen(in->words[i]) + 1;
	argv = js_template_argv(t, v);
	need(argv != NULL && strcmp(argv[0], "/bin/sh") == 0 && strcmp(argv[1], "-c") == 0);
	need(strcmp(argv[3], "jobstack") == 0 && strcmp(argv[4], v->datapath) == 0);
	need(strlen(argv[2]) <=
	     8 * source + 8); /* a placeholder has one byte at least, and becomes '"${1}"'; {1} '"${71}"' */
	need(strstr(argv[2], "${") != NULL);
	script = fuzz_text((const uint8_t *)argv[2], strlen(argv[2]));
	argv = js_template_argv(t, &other);
	need(argv != NULL && strcmp(argv[2], script) == 0 && strcmp(argv[4], "x") == 0);
	free(script);
	js_template_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct js_template_values v = {.entry = UINT64_MAX, .attempt = 1, .slot = 12, .stack = "s", .worker = 7};
	struct input in = {.n = 0};
	char *text, *p;

	if (size < 2)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	p = text;
	if (*data & 4) {
		in.syntax.repl = p;
		p += strlen(p) + 1;
	}
	if ((*data & 8) && p < text + size) {
		in.syntax.colsep = p;
		p += strlen(p) + 1;
	}
	if (p >= text + size)
		goto out;
	in.datapath = p;
	for (p += strlen(p) + 1; p < text + size && in.n < WORDS_MAX; p += strlen(p) + 1)
		in.words[in.n++] = p;
	if (in.n == 0 || strlen(in.datapath) > JOBSTACK_DATAPATH_MAX || in.datapath[0] == '\0')
		goto out;
	v.datapath = in.datapath;
	v.datapath_len = strlen(in.datapath);
	if ((*data & 3) == 0)
		a_string(&in, &v);
	else if ((*data & 3) == 1)
		a_command(&in, &v);
	else
		a_script(&in, &v);
out:
	free(text);
	return 0;
}
