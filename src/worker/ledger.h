/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ledger thread: all of the worker that talks to the database.  It never waits for a command.
 */
#pragma once

#include "worker/ledger_state.h"

/* Lets the parts of LEDGER know each other, once their given members are set; before anything else. */
void ledger_connect(struct ledger *ledger);

/* The thread's function; takes a struct ledger, which belongs to it until it has ended.  At its end the worker's row is
 * ended too, if the database could be reached. */
void *ledger_main(void *ledger);
