// SPDX-License-Identifier: MIT
/*
 * Blocks of samples: how activations travel.
 *
 * A block holds `count` activations of one CPU that were seen, the first of them of index
 * `first`. Its data is a sequence of LEB128 numbers:
 *   count of them: zigzag(latency_ns - the one before it in the block, the first - 0);
 *   then pairs (position, overruns): the activation at that position, from 0, was followed by
 *   so many overruns. The index after it is higher by 1 + overruns.
 * Overrun k = 1, 2 … after an activation of latency L was late by at least L - k * interval.
 *
 * The stages of the same activations are three numbers for each: when the interrupt that woke the
 * thread began, when it was woken, and when it was switched to, as 1 + zigzag(ns since it was
 * due), or 0 where that was not seen.
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

/* samples_put_stages - the three numbers of one activation; returns their bytes */
size_t samples_put_stages(uint8_t *data, const struct activation *activation);

#endif
