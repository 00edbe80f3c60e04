/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A private CA and the server's certificate, made by the openssl program.
 */
#pragma once

#include "base/log.h"
#include "jobstack/jobstack.h"
#include "server/layout.h"
#include "server/net.h"

/* Sees that there is a CA, and a server certificate from it for this host's names and for NET's; makes what is missing.
 * The server's key is its user's, the CA's is ours. */
int js_tls_prepare(const struct js_work *work, const struct js_net *net, struct jobstack_error *error);
