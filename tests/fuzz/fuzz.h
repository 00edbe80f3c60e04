/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the fuzz targets share.  A target holds properties, not only that nothing crashes: `need` ends the process with
 * words, which libFuzzer takes for a crash and keeps the input of.
 */
#ifndef JS_TESTS_FUZZ_H
#define JS_TESTS_FUZZ_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define need(what)                                                                                                     \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			(void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);                \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* The input as a string, to be freed: a copy of just its size, so that the sanitizer sees a byte read too far. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	need(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* The file F in the working directory becomes just that. */
static inline void fuzz_file(const char *f, const void *data, size_t size, mode_t mode)
{
	int fd = open(f, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	need(fd >= 0 && (size == 0 || write(fd, data, size) == (ssize_t)size));
	need(fchmod(fd, mode) == 0 && close(fd) == 0);
}

#endif
