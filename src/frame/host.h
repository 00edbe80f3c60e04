/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the database is, as far as other hosts are concerned.
 */
#pragma once

#define CLI_HOST 256

/* Copies the host of "user@host:port/database, ..." (jobstack_describe) to HOST; "" for a socket. */
void cli_host_of(const char *where, char host[CLI_HOST]);
