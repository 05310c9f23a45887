// SPDX-License-Identifier: MIT
#include "samples.h"

#include <string.h>

#include "wire/block.h"

#define MAX_OVERRUNS 32 /* stalls in one block */

struct sample_block samples_pack(struct ring *ring, uint8_t *data, uint8_t *stages, size_t room)
{
	struct sample_block block = {0};
	uint8_t overruns[MAX_OVERRUNS * (3 + LEB128_LONGEST)];
	size_t overruns_length = 0, stalls = 0;
	const struct activation *activation;
	uint64_t next = 0;
	int64_t before[2][WIRE_MOST_COLUMNS] = {0};

	while ((activation = ring_peek(ring)) != NULL) {
		if (block.count == 0)
			block.first = activation->index;
		else if (activation->index != next)
			break;
		if (block.count == UINT16_MAX || stalls == MAX_OVERRUNS ||
		    block.length + overruns_length + 3 + 2 * LEB128_LONGEST > room ||
		    block.stages_length + block_longest_row(BLOCK_STAGES) > room)
			break;
		block.length += block_put(data + block.length, BLOCK_SAMPLES,
					  &activation->latency_ns, before[0]);
		if (stages) {
			const int32_t *ns = activation->stages_ns;

			block.stages_length +=
			    block_put(stages + block.stages_length, BLOCK_STAGES,
				      (const int64_t[]){ns[0], ns[1], ns[2]}, before[1]);
		}
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
