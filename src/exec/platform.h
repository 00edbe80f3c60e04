/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a worker's commands run on: kernel, processor, loaded modules, environments, container, linked libraries.  Of
 * the environment only the variables named in platform.c are read.
 */
#pragma once

#include "base/buf.h"

/* Appends it to OUT, a line "NAME: VALUE" for each that is known.  PROGRAM is the command's file (an interpreter is
 * found in its first line), or NULL. */
void js_platform_describe(const char *program, struct js_buf *out);
