// SPDX-License-Identifier: MIT
#include "samples.h"

#include <string.h>

#define LONGEST_NUMBER 10 /* bytes of a LEB128 number of 64 bits */
#define MAX_OVERRUNS   32 /* stalls in one block */

static size_t put_number(uint8_t *data, uint64_t value)
{
	size_t length = 0;

	while (value >= 0x80) {
		data[length++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	data[length++] = (uint8_t)value;
	return length;
}

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

struct sample_block samples_take(struct ring *ring, uint8_t *data, size_t room)
{
	struct sample_block block = {0};
	uint8_t overruns[MAX_OVERRUNS * (3 + LONGEST_NUMBER)];
	size_t overruns_length = 0, stalls = 0;
	const struct activation *activation;
	uint64_t next = 0;
	int64_t before = 0;

	while ((activation = ring_peek(ring)) != NULL) {
		if (block.count == 0)
			block.first = activation->index;
		else if (activation->index != next)
			break;
		if (block.count == UINT16_MAX || stalls == MAX_OVERRUNS ||
		    block.length + overruns_length + 3 + 2 * LONGEST_NUMBER > room)
			break;
		/* Unsigned, so that no latency overflows: the reader's sum wraps as well. */
		block.length += put_number(
		    data + block.length,
		    zigzag((int64_t)((uint64_t)activation->latency_ns - (uint64_t)before)));
		before = activation->latency_ns;
		if (activation->overruns) {
			overruns_length += put_number(overruns + overruns_length, block.count);
			overruns_length +=
			    put_number(overruns + overruns_length, activation->overruns);
			stalls++;
		}
		next = activation->index + 1 + activation->overruns;
		block.count++;
		ring_drop(ring);
	}
	memcpy(data + block.length, overruns, overruns_length);
	block.length += overruns_length;
	return block;
}
