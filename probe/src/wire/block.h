// SPDX-License-Identifier: MIT
/* Blocks of numbers: rows of columns that schema/wire.toml describes, as LEB128 numbers. */
#ifndef WHYLATE_WIRE_BLOCK_H
#define WHYLATE_WIRE_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "leb128.h"
#include "messages.h"

/* block_longest_row - return the most bytes that a row takes */
static inline size_t block_longest_row(enum wire_block block)
{
	return (size_t)wire_blocks[block].count * LEB128_LONGEST;
}

/* block_put - append a row; before: the row before it, of the first all zeros, which becomes this
 * row. Returns its bytes. */
static inline size_t block_put(uint8_t *data, enum wire_block block, const int64_t *row,
			       int64_t *before)
{
	const struct wire_columns *columns = &wire_blocks[block];
	size_t length = 0;

	for (unsigned i = 0; i < columns->count; i++) {
		uint64_t number = (uint64_t)row[i];

		/* Unsigned, so that no difference overflows: the reader's sum wraps as well. */
		if (columns->encoding[i] == COLUMN_STEP)
			number = leb128_zigzag((int64_t)(number - (uint64_t)before[i]));
		else if (columns->encoding[i] == COLUMN_MAYBE)
			number = row[i] == WIRE_NOT_SEEN ? 0 : 1 + leb128_zigzag(row[i]);
		length += leb128_put(data + length, number);
		before[i] = row[i];
	}
	return length;
}

#endif
