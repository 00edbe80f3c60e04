/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SHA-256 (FIPS 180-4), as the server's SHA2(..., 256).
 */
#ifndef JS_BASE_SHA256_H
#define JS_BASE_SHA256_H

#include <stddef.h>

#define JS_SHA256 32 /* bytes */

/* The hash of the LEN bytes of DATA, into HASH. */
void js_sha256(const void *data, size_t len, unsigned char hash[JS_SHA256]);

#endif
