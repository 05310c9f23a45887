// SPDX-License-Identifier: MIT
/* Numbers of variable length: seven bits a byte, the lowest first, the last without its top bit. */
#ifndef WHYLATE_LEB128_H
#define WHYLATE_LEB128_H

#include <stddef.h>
#include <stdint.h>

#define LEB128_LONGEST 10u /* bytes of 64 bits */

static inline size_t leb128_put(uint8_t *data, uint64_t value)
{
	size_t length = 0;

	while (value >= 0x80) {
		data[length++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	data[length++] = (uint8_t)value;
	return length;
}

/* leb128_zigzag - numbers near 0, of either sign, become small ones */
static inline uint64_t leb128_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

#endif
