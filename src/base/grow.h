/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Structs that can grow, as the head of jobstack.h describes them.  Each begins with its size.  These functions copy
 * between the caller's struct and KNOWN, which is the struct as this library was built with it, started by its ..._INIT
 * macro.  NAME is the struct's name, for messages.
 */
#pragma once

#include "jobstack/jobstack.h"

/* Copies the input GIVEN over the defaults in KNOWN.  GIVEN NULL: the defaults stay.  0, or JOBSTACK_EUSAGE: its size
 * is wrong, or a member that this library does not know is set. */
int js_grow_in(void *known, const void *given, const char *name, struct jobstack_error *error);

/* The same for an array of N elements.  *ARRAY becomes the elements as this library knows them: GIVEN itself if that is
 * possible, else a copy, which is in *MEMORY too; the caller frees *MEMORY.  DEFAULTS is one element. */
int js_grow_array(const void **array, void **memory, const void *given, size_t n, const void *defaults,
		  const char *name, struct jobstack_error *error);

/* Fills the output GIVEN (NULL: not wanted) with KNOWN, and with zeros behind that, up to the size that GIVEN has.  If
 * that size is wrong, nothing is written; js_grow_begin then gives JOBSTACK_EUSAGE, else 0. */
int js_grow_begin(void *given, const void *known, const char *name, struct jobstack_error *error);
void js_grow_out(void *given, const void *known);
