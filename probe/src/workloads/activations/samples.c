// SPDX-License-Identifier: MIT
#include "samples.h"

#include <string.h>

#include "wire/leb128.h"

#define MAX_OVERRUNS 32 /* stalls in one block */

size_t samples_put_stages(uint8_t *data, const struct activation *activation)
{
	size_t length = 0;

	for (unsigned i = 0; i < STAGE_COUNT; i++) {
		int32_t ns = activation->stages_ns[i];

		length += leb128_put(data + length, ns == NOT_SEEN ? 0 : 1 + leb128_zigzag(ns));
	}
	return length;
}

struct sample_block samples_pack(struct ring *ring, uint8_t *data, uint8_t *stages, size_t room)
{
	struct sample_block block = {0};
	uint8_t overruns[MAX_OVERRUNS * (3 + LEB128_LONGEST)];
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
		    block.length + overruns_length + 3 + 2 * LEB128_LONGEST > room ||
		    block.stages_length + STAGE_COUNT * LEB128_LONGEST > room)
			break;
		/* Unsigned, so that no latency overflows: the reader's sum wraps as well. */
		block.length += leb128_put(
		    data + block.length,
		    leb128_zigzag((int64_t)((uint64_t)activation->latency_ns - (uint64_t)before)));
		before = activation->latency_ns;
		if (stages)
			block.stages_length +=
			    samples_put_stages(stages + block.stages_length, activation);
		if (activation->overruns) {
			overruns_length += leb128_put(overruns + overruns_length, block.count);
			overruns_length +=
			    leb128_put(overruns + overruns_length, activation->overruns);
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
