// SPDX-License-Identifier: MIT
#include "xxh64.h"

#include "pack.h"

static const uint64_t PRIME1 = 0x9E3779B185EBCA87u;
static const uint64_t PRIME2 = 0xC2B2AE3D27D4EB4Fu;
static const uint64_t PRIME3 = 0x165667B19E3779F9u;
static const uint64_t PRIME4 = 0x85EBCA77C2B2AE63u;
static const uint64_t PRIME5 = 0x27D4EB2F165667C5u;

static uint64_t rotate(uint64_t value, unsigned int bits)
{
	return value << bits | value >> (64 - bits);
}

static uint64_t accumulate(uint64_t sum, uint64_t input)
{
	return rotate(sum + input * PRIME2, 31) * PRIME1;
}

static uint64_t merge(uint64_t hash, uint64_t sum)
{
	return (hash ^ accumulate(0, sum)) * PRIME1 + PRIME4;
}

uint64_t xxh64(const uint8_t *data, size_t length)
{
	const uint8_t *const end = data + length;
	uint64_t hash = PRIME5;

	if (length >= 32) {
		uint64_t sum[4] = {PRIME1 + PRIME2, PRIME2, 0, 0 - PRIME1};

		for (; end - data >= 32; data += 32)
			for (int i = 0; i < 4; i++)
				sum[i] = accumulate(sum[i], wire_load(data + 8 * i, 8));
		hash =
		    rotate(sum[0], 1) + rotate(sum[1], 7) + rotate(sum[2], 12) + rotate(sum[3], 18);
		for (int i = 0; i < 4; i++)
			hash = merge(hash, sum[i]);
	}
	hash += length;
	for (; end - data >= 8; data += 8)
		hash = rotate(hash ^ accumulate(0, wire_load(data, 8)), 27) * PRIME1 + PRIME4;
	if (end - data >= 4) {
		hash = rotate(hash ^ (uint32_t)wire_load(data, 4) * PRIME1, 23) * PRIME2 + PRIME3;
		data += 4;
	}
	for (; data < end; data++)
		hash = rotate(hash ^ *data * PRIME5, 11) * PRIME1;
	hash = (hash ^ hash >> 33) * PRIME2;
	hash = (hash ^ hash >> 29) * PRIME3;
	return hash ^ hash >> 32;
}
