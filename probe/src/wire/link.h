// SPDX-License-Identifier: MIT
/*
 * The link: numbered messages, in order, over a stream that may lose and damage bytes.
 *
 * A message is kept until the host acknowledges it, and sent again, in fragments, on request. The
 * frame size follows the line: a request for a resend halves it, frames that arrive at once double
 * it. One thread does all of it.
 */
#ifndef WHYLATE_WIRE_LINK_H
#define WHYLATE_WIRE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

#define LINK_WINDOW    4096u /* frames that may wait for their acknowledgement */
#define LINK_MIN_FRAME 48u   /* payload bytes below which a smaller frame gains nothing */

struct link_sent {
	uint64_t position; /* in store, counted from the beginning of time */
	uint16_t length;
	uint8_t kind;
};

struct link {
	int input;
	int output;
	bool input_ended;
	bool output_broken;
	/* The input is a plan, a file with all commands: nothing is acknowledged, and nothing kept.
	 */
	bool one_way;

	/* sending: numbers acknowledged … next_number - 1 are kept in store */
	uint32_t next_number;
	uint32_t acknowledged; /* the lowest number that the host does not have */
	struct link_sent sent[LINK_WINDOW];
	uint8_t *store;
	size_t store_size;
	uint64_t store_end;
	uint8_t *out; /* encoded, not yet written */
	size_t out_size;
	size_t out_start;
	size_t out_end;
	uint64_t sent_at_ns;
	size_t frame_limit;
	uint32_t clean_since; /* first number sent since the limit last changed */

	/* receiving: only the next number is accepted, a later one is requested again */
	struct frame_decoder decoder;
	uint8_t received[65536];
	size_t received_start;
	size_t received_end;
	uint32_t expected;
	uint32_t highest;
	bool owes_ack;
	uint64_t asked_at_ns;
	uint64_t answered; /* frames of another protocol that were answered */
	uint8_t pieces[WIRE_MAX_PAYLOAD];
	uint8_t have[(WIRE_MAX_PAYLOAD / WIRE_FRAGMENT_SIZE + 8) / 8];
	uint16_t pieces_total;
	uint16_t pieces_left;
	size_t pieces_length;
};

/* link_open - make a link over two descriptors; both become non-blocking. False: no memory. */
bool link_open(struct link *link, int input, int output, size_t store_size);

/* link_has_room - whether a message of that length can be sent now */
bool link_has_room(const struct link *link, size_t length);

/* link_send - number, keep and queue a message. Call only after link_has_room(). */
uint32_t link_send(struct link *link, uint8_t kind, const uint8_t *payload, size_t length);

/* link_idle - whether the host has everything */
bool link_idle(const struct link *link);

/* link_read - read what the stream has; sets input_ended at its end */
void link_read(struct link *link);

/* link_drained - whether the input has ended and all of it was read */
bool link_drained(const struct link *link);

/* link_next - return the next command in order, if there is one; valid until the next call.
 * Control frames are processed on the way; with `hold` commands are left for later. */
bool link_next(struct link *link, struct frame *frame, bool hold);

/* link_tick - do what is due: acknowledge, request a resend, repeat the last number */
void link_tick(struct link *link, uint64_t now_ns);

/* link_write - write as much as the stream accepts */
void link_write(struct link *link);

#endif
