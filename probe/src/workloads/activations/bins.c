// SPDX-License-Identifier: MIT
#include "bins.h"

#include <stddef.h>

#include "wire/block.h"

/* What a message holds beside its bins takes less. */
#define DATA_ROOM (WIRE_MAX_PAYLOAD - 128u)

uint16_t bins_put(const uint64_t *bins, uint8_t data[WIRE_MAX_PAYLOAD], uint16_t *length)
{
	int64_t before[WIRE_MOST_COLUMNS] = {0};
	uint16_t count = 0;
	size_t at = 0;

	for (uint32_t i = 0; i < WIRE_WAIT_BINS && at + block_longest_row(BLOCK_WAITS) < DATA_ROOM;
	     i++) {
		const int64_t row[WIRE_MOST_COLUMNS] = {i, (int64_t)bins[i]};

		if (!bins[i])
			continue;
		at += block_put(data + at, BLOCK_WAITS, row, before);
		count++;
	}
	*length = (uint16_t)at;
	return count;
}
