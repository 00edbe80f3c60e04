/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SHA-256, from its standard.  The names in a step (S0, maj, ...) are the standard's.
 */
#include "base/sha256.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 64

static const uint32_t K[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
	0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
	0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
	0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void take_block(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], v[8];

	for (unsigned t = 0; t < 16; t++)
		w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
	for (unsigned t = 16; t < 64; t++) {
		uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
		uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;

		w[t] = w[t - 16] + s0 + w[t - 7] + s1;
	}
	memcpy(v, state, sizeof(v));
	for (unsigned t = 0; t < 64; t++) {
		uint32_t S1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25), ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t S0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
		uint32_t maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]), T1 = v[7] + S1 + ch + K[t] + w[t];

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += T1;
		v[0] = T1 + S0 + maj;
	}
	for (unsigned i = 0; i < 8; i++)
		state[i] += v[i];
}

void js_sha256(const void *data, size_t len, unsigned char hash[JS_SHA256])
{
	uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	const unsigned char *p = data;
	unsigned char end[2 * BLOCK] = {0}; /* what is left, a bit that is 1, zeros, the length in bits */
	size_t left = len % BLOCK, blocks = left < BLOCK - 8 ? 1 : 2;

	for (size_t i = 0; i < len / BLOCK; i++)
		take_block(state, p + i * BLOCK);
	if (left > 0)
		memcpy(end, p + len - left, left);
	end[left] = 0x80;
	for (unsigned i = 0; i < 8; i++)
		end[blocks * BLOCK - 1 - i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
	for (size_t i = 0; i < blocks; i++)
		take_block(state, end + i * BLOCK);
	for (unsigned i = 0; i < JS_SHA256; i++)
		hash[i] = (unsigned char)(state[i / 4] >> 8 * (3 - i % 4));
}
