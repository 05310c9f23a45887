// SPDX-License-Identifier: MIT
/* Blocks of samples: how the activations of a ring travel (schema/wire.toml, "samples", "stages").
 */
#ifndef WHYLATE_SAMPLES_H
#define WHYLATE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "ring.h"

struct sample_block {
	uint64_t first;
	uint16_t count;
	size_t length;
	size_t stages_length;
};

/* samples_pack - move activations from the ring to a block; count is 0 where it is empty.
 * A gap in the indices, or a full block, ends it. room, of each, must be at least 64. stages
 * NULL: they are not wanted. */
struct sample_block samples_pack(struct ring *ring, uint8_t *data, uint8_t *stages, size_t room);

#endif
