/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The platform of a worker.  Promise: nothing is executed, and a file that is not what it seems does no harm.
 */
#include "exec/platform.h"

#include "base/file.h"
#include "exec/spawn.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PART (1 << 20) /* of a file's tables at most so much is read */

/* Adds a line "NAME: VALUE" if the value is known.  Control characters would break the line. */
static void add_known(struct js_buf *out, const char *name, const char *value, size_t len)
{
	if (value == NULL || len == 0)
		return;
	js_buf_printf(out, "%s: ", name);
	for (size_t i = 0; i < len && i < 4000; i++)
		js_buf_char(out, (char)((unsigned char)value[i] < ' ' ? '?' : value[i]));
	js_buf_char(out, '\n');
}

static void add_processor(struct js_buf *out)
{
	struct js_buf info = {0};
	const char *model, *colon;

	if (js_file_read("/proc/cpuinfo", &info) == 0 && !info.failed) {
		model = strstr(info.data, "model name");
		colon = model == NULL ? NULL : strchr(model, ':');
		if (colon != NULL && colon[1] != '\0')
			add_known(out, "processor", colon + 2, strcspn(colon + 2, "\n"));
	}
	js_buf_free(&info);
}

/* Reads LEN bytes at AT into memory of the caller's, with a NUL behind them; NULL: they are not there. */
static char *read_part(int fd, uint64_t at, uint64_t len)
{
	char *part = len == 0 || len > PART ? NULL : malloc((size_t)len + 1);

	if (part != NULL && pread(fd, part, (size_t)len, (off_t)at) != (ssize_t)len) {
		free(part);
		part = NULL;
	}
	if (part != NULL)
		part[len] = '\0';
	return part;
}

/* Returns where the virtual ADDRESS lies in the file, by the segments that are loaded; 0: nowhere. */
static uint64_t place_in_file(const Elf64_Phdr *part, unsigned n, uint64_t address)
{
	for (unsigned i = 0; i < n; i++)
		if (part[i].p_type == PT_LOAD && address >= part[i].p_vaddr &&
		    address - part[i].p_vaddr < part[i].p_filesz)
			return address - part[i].p_vaddr + part[i].p_offset;
	return 0;
}

/* Adds the names of the libraries that the dynamic section asks for. */
static void add_needed(int fd, const Elf64_Phdr *part, unsigned n, const Elf64_Phdr *dynamic, struct js_buf *names)
{
	uint64_t count = dynamic->p_filesz / sizeof(Elf64_Dyn), strings = 0, size = 0;
	Elf64_Dyn *entry = (void *)read_part(fd, dynamic->p_offset, count * sizeof(Elf64_Dyn));
	char *text;

	for (uint64_t i = 0; entry != NULL && i < count; i++)
		if (entry[i].d_tag == DT_STRTAB)
			strings = place_in_file(part, n, entry[i].d_un.d_ptr);
		else if (entry[i].d_tag == DT_STRSZ)
			size = entry[i].d_un.d_val;
	text = entry == NULL ? NULL : read_part(fd, strings, size);
	for (uint64_t i = 0; text != NULL && i < count && entry[i].d_tag != DT_NULL; i++)
		if (entry[i].d_tag == DT_NEEDED && entry[i].d_un.d_val < size)
			js_buf_printf(names, " %s", text + entry[i].d_un.d_val);
	free(text);
	free(entry);
}

/* Adds the libraries that a 64-bit program asks for.  A program for another byte order has numbers that lead nowhere.
 */
static void add_libraries(int fd, struct js_buf *out)
{
	struct js_buf names = {0};
	Elf64_Phdr *part = NULL;
	Elf64_Ehdr head;

	if (pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
	    head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_phentsize == sizeof(*part))
		part = (void *)read_part(fd, head.e_phoff, (uint64_t)head.e_phnum * sizeof(*part));
	for (unsigned i = 0; part != NULL && i < head.e_phnum; i++)
		if (part[i].p_type == PT_DYNAMIC)
			add_needed(fd, part, head.e_phnum, &part[i], &names);
	if (!names.failed && names.len > 0)
		add_known(out, "libraries", names.data + 1, names.len - 1);
	js_buf_free(&names);
	free(part);
}

/* Adds the libraries of the program, or, if it is a script, of its interpreter.  DEPTH 1: that is an interpreter
 * already. */
static void add_program(const char *program, int depth, struct js_buf *out)
{
	int fd = program == NULL ? -1 : open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char line[256] = "", *word, *rest;
	struct js_buf file = {0};
	ssize_t n = fd < 0 ? -1 : pread(fd, line, sizeof(line) - 1, 0);

	if (n > 2 && strncmp(line, "#!", 2) == 0 && depth == 0) {
		line[strcspn(line, "\n")] = '\0';
		word = strtok_r(line + 2, " \t", &rest);
		if (word != NULL && strlen(word) > 4 && strcmp(word + strlen(word) - 4, "/env") == 0)
			word = strtok_r(NULL, " \t", &rest);
		if (word != NULL && js_spawn_resolve(word, getenv("PATH"), &file, NULL) == 0)
			add_program(file.data, 1, out);
	} else if (n > 0)
		add_libraries(fd, out);
	js_buf_free(&file);
	js_file_close(&fd);
}

/* Of two variables that say the same, only the first one that is set counts. */
void js_platform_describe(const char *program, struct js_buf *out)
{
	static const struct {
		const char *name, *variable;
	} named[] = {{"modules", "LOADEDMODULES"},
		     {"conda", "CONDA_PREFIX"},
		     {"virtual environment", "VIRTUAL_ENV"},
		     {"container", "APPTAINER_CONTAINER"},
		     {"container", "SINGULARITY_CONTAINER"},
		     {"container", "container"},
		     {"memory of the job, per node (MiB)", "SLURM_MEM_PER_NODE"},
		     {"memory of the job, per CPU (MiB)", "SLURM_MEM_PER_CPU"}};
	struct utsname u;

	if (uname(&u) == 0)
		js_buf_printf(out, "kernel: %s %s %s\n", u.sysname, u.release, u.machine);
	add_processor(out);
	for (size_t i = 0, last = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		const char *value = getenv(named[i].variable);

		if (value == NULL || *value == '\0' || (last > 0 && strcmp(named[last].name, named[i].name) == 0))
			continue;
		add_known(out, named[i].name, value, strlen(value));
		last = i;
	}
	add_program(program, 0, out);
}
