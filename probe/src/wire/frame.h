// SPDX-License-Identifier: MIT
/*
 * Frames: how messages are cut apart and checked on a byte stream that may be damaged.
 *
 * Header, payload and checksum of schema/wire.toml, in COBS (Cheshire & Baker 1997)
 * between two zero bytes: whatever is damaged, the next zero is a place to start again.
 */
#ifndef WHYLATE_WIRE_FRAME_H
#define WHYLATE_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "messages.h"

#define FRAME_HEADER	  6
#define FRAME_CHECKSUM	  8
#define FRAME_MAX_BODY	  (FRAME_HEADER + WIRE_MAX_PAYLOAD + FRAME_CHECKSUM)
#define FRAME_MAX_COBS	  (FRAME_MAX_BODY + FRAME_MAX_BODY / 254 + 2)
#define FRAME_MAX_ENCODED (FRAME_MAX_COBS + 2)

struct frame {
	uint8_t kind;
	uint32_t number;
	const uint8_t *payload;
	size_t length;
};

struct frame_counts {
	uint64_t good;
	uint64_t damaged;
	uint64_t oversized;
	uint64_t other_protocol;
};

/* Collects bytes between zeros; what it hands out stays valid until it is fed again. */
struct frame_decoder {
	uint8_t partial[FRAME_MAX_COBS];
	uint8_t body[FRAME_MAX_COBS];
	size_t length;
	bool skipping; /* the frame is oversized: wait for the next zero */
	struct frame_counts counts;
};

/* frame_encode - write one frame with both delimiters; returns its length.
 * encoded must have room for FRAME_MAX_ENCODED; length must be <= WIRE_MAX_PAYLOAD. */
size_t frame_encode(uint8_t *encoded, uint8_t kind, uint32_t number, const uint8_t *payload,
		    size_t length);

/* frame_feed - decode bytes up to the end of the next sound frame.
 * Returns how many bytes were consumed; *complete: *frame is one. */
size_t frame_feed(struct frame_decoder *decoder, const uint8_t *data, size_t length,
		  struct frame *frame, bool *complete);

#endif
