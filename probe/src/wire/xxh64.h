// SPDX-License-Identifier: MIT
/* XXH64: the checksum of frames, as specified in doc/xxhash_spec.md of the xxHash project. */
#ifndef WHYLATE_WIRE_XXH64_H
#define WHYLATE_WIRE_XXH64_H

#include <stddef.h>
#include <stdint.h>

/* xxh64 - the 64-bit hash of data, seed 0 */
uint64_t xxh64(const uint8_t *data, size_t length);

#endif
