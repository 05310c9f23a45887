// SPDX-License-Identifier: MIT
#include "frame.h"

#include <string.h>

#include "pack.h"
#include "xxh64.h"

/* cobs_encode - replace zeros: each group of up to 254 other bytes is preceded by its length + 1 */
static size_t cobs_encode(uint8_t *out, const uint8_t *data, size_t length)
{
	size_t code_at = 0, at = 1;
	uint8_t code = 1;

	for (size_t i = 0; i < length; i++) {
		if (data[i]) {
			out[at++] = data[i];
			code++;
		}
		if (!data[i] || (code == 0xFF && i + 1 < length)) {
			out[code_at] = code;
			code_at = at++;
			code = 1;
		}
	}
	out[code_at] = code;
	return at;
}

/* cobs_decode - undo it; returns the length, or 0 where a group reaches beyond the frame */
static size_t cobs_decode(uint8_t *out, const uint8_t *data, size_t length)
{
	size_t at = 0, written = 0;

	while (at < length) {
		size_t code = data[at];

		if (code == 0 || at + code > length)
			return 0;
		memcpy(out + written, data + at + 1, code - 1);
		written += code - 1;
		at += code;
		if (code != 0xFF && at < length)
			out[written++] = 0;
	}
	return written;
}

size_t frame_encode(uint8_t *encoded, uint8_t kind, uint32_t number, const uint8_t *payload,
		    size_t length)
{
	uint8_t body[FRAME_MAX_BODY];
	size_t size;

	body[0] = WIRE_PROTOCOL;
	body[1] = kind;
	wire_store(body + 2, number, 4);
	if (length)
		memcpy(body + FRAME_HEADER, payload, length);
	wire_store(body + FRAME_HEADER + length, xxh64(body, FRAME_HEADER + length), 8);

	encoded[0] = 0;
	size = cobs_encode(encoded + 1, body, FRAME_HEADER + length + FRAME_CHECKSUM);
	encoded[1 + size] = 0;
	return size + 2;
}

/* decode_frame - check what was collected between two zeros */
static bool decode_frame(struct frame_decoder *decoder, struct frame *frame)
{
	uint8_t *body = decoder->body;
	size_t size = cobs_decode(body, decoder->partial, decoder->length);
	size_t checked;

	if (size < FRAME_HEADER + FRAME_CHECKSUM || size > FRAME_MAX_BODY)
		goto damaged;
	checked = size - FRAME_CHECKSUM;
	if (xxh64(body, checked) != wire_load(body + checked, 8))
		goto damaged;
	if (body[0] != WIRE_PROTOCOL) {
		decoder->counts.other_protocol++;
		return false;
	}
	decoder->counts.good++;
	frame->kind = body[1];
	frame->number = (uint32_t)wire_load(body + 2, 4);
	frame->payload = body + FRAME_HEADER;
	frame->length = checked - FRAME_HEADER;
	return true;

damaged:
	decoder->counts.damaged++;
	return false;
}

size_t frame_feed(struct frame_decoder *decoder, const uint8_t *data, size_t length,
		  struct frame *frame, bool *complete)
{
	*complete = false;
	for (size_t i = 0; i < length; i++) {
		if (data[i] == 0) {
			if (decoder->length)
				*complete = decode_frame(decoder, frame);
			decoder->length = 0;
			decoder->skipping = false;
			if (*complete)
				return i + 1;
		} else if (decoder->skipping) {
			continue;
		} else if (decoder->length == sizeof(decoder->partial)) {
			decoder->counts.oversized++;
			decoder->skipping = true;
			decoder->length = 0;
		} else {
			decoder->partial[decoder->length++] = data[i];
		}
	}
	return length;
}
