/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libjobstack: a durable queue of files, kept in MySQL or MariaDB.
 *
 * Words.  A STACK is a named list of ENTRIES.  An entry is one datapath (any bytes but NUL) to process.  A CLAIM is a
 * set of entries that one worker holds.  An ATTEMPT is one run of a command on one entry; it has one outcome.  A DEAD
 * entry has used up its attempts and waits for a person.  A LEASE is the time for which a worker may be silent; after
 * that others take back what it holds.
 *
 * Results.  A function that can fail returns 0 for success, 1 for an ordinary "nothing" (the stack is empty, the lease
 * is gone), or a negative JOBSTACK_E... code.  With a negative code it also fills the caller's error object, if there
 * is one.  After a failure nothing has changed in the database, unless the function says otherwise.
 *
 * Structs that grow.  Later versions add members at the end of structs, and programs need not be built again.  So:
 *
 *   - Every struct that the caller provides begins with its `size`, except those that never change (see below).  Start
 *     it with its ..._INIT macro, which sets the size and the defaults.  A function that gets a wrong size fails with
 *     JOBSTACK_EUSAGE.
 *   - Options and input: if the struct is smaller than the library's, the missing members have their defaults.  If it
 *     is larger, the bytes that the library does not know must be zero, else the function fails with JOBSTACK_EUSAGE.
 *   - Output: the library writes no more than `size` bytes.  It fills what it does not know with zeros.
 *   - Arrays, in either direction: the `size` of an element is also the distance to the next one.  All elements of an
 *     array have the same size.  The elements of a batch may be larger than the caller's struct, so they are read
 *     through jobstack_batch_entry.
 *   - What a callback gets is made by the library.  It may grow at its end too.  Read it during the call; copy the
 *     members that you need, not the struct.  Its new members are there if jobstack_version is at least that of this
 *     header.
 *   - struct jobstack_error, jobstack_bytes, jobstack_range, jobstack_seen and jobstack_held never change.  Enums may
 *     get more values at their end.
 *
 * Threads.  A handle, and all that was made from it, may be used by one thread at a time; jobstack_stop is the
 * exception.  Handles are independent of each other.  The library starts no threads, installs no signal handlers,
 * prints nothing, and reads no environment variables.  After a fork, the child must not use its parent's handle.  A
 * callback must not use the handle that calls it.
 *
 * Ownership.  The library reads pointers that it is given only during the call.  What a function allocates is freed by
 * the function named at its prototype.  Those functions accept NULL and keep errno.
 *
 * Units.  Times named ..._us are microseconds.  A MOMENT is a time of this host by CLOCK_BOOTTIME in microseconds
 * (jobstack_now_us).  The library converts moments to the server's time, so a wrong clock on a node does no harm.
 *
 * Popping with SELECT ... FOR UPDATE is as old as queues in databases.  jobstack stores what nobody has claimed as
 * intervals, so a pop changes one small row; docs/DESIGN.md explains that.
 */
#ifndef JOBSTACK_JOBSTACK_H
#define JOBSTACK_JOBSTACK_H

#include "jobstack/handle.h"
#include "jobstack/stack.h"
#include "jobstack/push.h"
#include "jobstack/work.h"
#include "jobstack/recover.h"
#include "jobstack/entries.h"
#include "jobstack/history.h"

#endif
