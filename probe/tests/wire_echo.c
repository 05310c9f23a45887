// SPDX-License-Identifier: MIT
/*
 * wire_echo MODE - what the probe makes of bytes, as text that a test can compare
 *
 * frames   the stream on stdin: a line "name number field=value ... frame=HEX" for each sound
 *          frame, with what packing and encoding the fields gives again; then the counts.
 *          Integers are decimal, text and bytes hexadecimal, elements of lists end with a comma.
 * ranges   the stream on stdin: a line for each sound frame, with the field that is out of its
 * range, or "ok" cobs     lines of hexadecimal: "encoded decoded" for each xxh64    lines of
 * hexadecimal: their checksum samples  lines "index latency overruns": a line "first count HEX" for
 * each block that samples_pack() makes of them; the second argument is its room
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/activations/samples.h"
#include "wire/messages.h"
#include "wire/xxh64.h"

/* For the encoding alone, which the probe itself needs only inside frames. */
#include "wire/frame.c"

#define LINE_SIZE  16384
#define RING_SLOTS 4096

static void put_hex(const uint8_t *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		printf("%02x", data[i]);
}

/* get_hex - the bytes of a line of hexadecimal digits, in place; returns how many */
static size_t get_hex(char *line, uint8_t *bytes)
{
	size_t length = strcspn(line, "\n") / 2;

	for (size_t i = 0; i < length; i++) {
		char digits[3] = {line[2 * i], line[2 * i + 1], '\0'};

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return length;
}

/* ---------------------------------------------------------------- fields */

/* The struct of any message fits. */
union message {
	uint64_t aligned;
	uint8_t bytes[512];
};

static void print_list(uint8_t type, struct wire_list list)
{
	for (size_t i = 0, count = list.count; i < count; i++) {
		if (type == WIRE_LIST_STR) {
			struct wire_bytes text = wire_list_next_str(&list);

			put_hex(text.data, text.length);
			printf(",");
		} else if (type == WIRE_LIST_U16) {
			printf("%u,", wire_list_u16(list, i));
		} else {
			printf("%" PRIu64 ",", wire_list_u64(list, i));
		}
	}
}

static void print_field(const struct wire_field *field, const union message *message)
{
	const void *at = message->bytes + field->offset;
	const struct wire_bytes *bytes = at;

	printf(" %s=", field->name);
	switch (field->type) {
	case WIRE_U8:
		printf("%u", *(const uint8_t *)at);
		break;
	case WIRE_U16:
		printf("%u", *(const uint16_t *)at);
		break;
	case WIRE_U32:
		printf("%" PRIu32, *(const uint32_t *)at);
		break;
	case WIRE_I32:
		printf("%" PRId32, *(const int32_t *)at);
		break;
	case WIRE_U64:
		printf("%" PRIu64, *(const uint64_t *)at);
		break;
	case WIRE_BYTES:
		put_hex(bytes->data, bytes->length);
		break;
	default:
		print_list(field->type, *(const struct wire_list *)at);
	}
}

/* echo - print a frame's fields and pack them again; false where they are no such message */
static bool echo(const struct frame *frame, struct wire_writer *writer)
{
	const struct wire_layout *layout = &wire_layouts[frame->kind];
	union message message;

	if (!wire_unpack(frame->kind, frame->payload, frame->length, &message))
		return false;
	printf("%s %" PRIu32, layout->name, frame->number);
	for (size_t i = 0; i < layout->field_count; i++)
		print_field(&layout->fields[i], &message);
	wire_pack(writer, frame->kind, &message);
	return !writer->failed;
}

/* ---------------------------------------------------------------- modes */

static void print_again(const struct frame *frame)
{
	uint8_t payload[WIRE_MAX_PAYLOAD], encoded[FRAME_MAX_ENCODED];
	struct wire_writer writer = {payload, sizeof(payload), 0, false};
	size_t length;

	if (!echo(frame, &writer)) {
		printf("refused %u\n", frame->kind);
		return;
	}
	length = frame_encode(encoded, frame->kind, frame->number, payload, writer.length);
	printf(" frame=");
	put_hex(encoded, length);
	printf("\n");
}

static void print_range(const struct frame *frame)
{
	union message message;
	const char *field = "refused";

	if (wire_unpack(frame->kind, frame->payload, frame->length, &message))
		field = wire_out_of_range(frame->kind, &message);
	printf("%s\n", field ? field : "ok");
}

static void frames(void (*print)(const struct frame *frame))
{
	static struct frame_decoder decoder;
	uint8_t data[LINE_SIZE];
	size_t got;

	while ((got = fread(data, 1, sizeof(data), stdin)) > 0) {
		for (size_t at = 0; at < got;) {
			struct frame frame;
			bool complete;

			at += frame_feed(&decoder, data + at, got - at, &frame, &complete);
			if (complete)
				print(&frame);
		}
	}
	printf("good=%" PRIu64 " damaged=%" PRIu64 " oversized=%" PRIu64 " other_protocol=%" PRIu64
	       "\n",
	       decoder.counts.good, decoder.counts.damaged, decoder.counts.oversized,
	       decoder.counts.other_protocol);
}

static void cobs(char *line, uint8_t *bytes)
{
	uint8_t encoded[LINE_SIZE], decoded[LINE_SIZE];

	while (fgets(line, LINE_SIZE, stdin)) {
		size_t length = cobs_encode(encoded, bytes, get_hex(line, bytes));

		put_hex(encoded, length);
		printf(" ");
		put_hex(decoded, cobs_decode(decoded, encoded, length));
		printf("\n");
	}
}

static void checksums(char *line, uint8_t *bytes)
{
	while (fgets(line, LINE_SIZE, stdin)) {
		size_t length = get_hex(line, bytes);

		printf("%016" PRIx64 "\n", xxh64(bytes, length));
	}
}

static void samples(char *line, size_t room)
{
	struct activation slots[RING_SLOTS], next;
	struct ring ring = {.slots = slots, .size = RING_SLOTS};
	uint8_t *data = malloc(room);
	struct sample_block block;

	while (data && fgets(line, LINE_SIZE, stdin) &&
	       sscanf(line, "%" SCNu64 " %" SCNd64 " %" SCNu32, &next.index, &next.latency_ns,
		      &next.overruns) == 3)
		if (!ring_put(&ring, next))
			break;
	ring.offered = ring_written(&ring);
	while (data && (block = samples_pack(&ring, data, NULL, room)).count) {
		printf("%" PRIu64 " %u ", block.first, block.count);
		put_hex(data, block.length);
		printf("\n");
	}
	free(data);
}

int main(int argc, char **argv)
{
	char line[LINE_SIZE];
	uint8_t bytes[LINE_SIZE];

	if (argc == 2 && !strcmp(argv[1], "frames"))
		frames(print_again);
	else if (argc == 2 && !strcmp(argv[1], "ranges"))
		frames(print_range);
	else if (argc == 2 && !strcmp(argv[1], "cobs"))
		cobs(line, bytes);
	else if (argc == 2 && !strcmp(argv[1], "xxh64"))
		checksums(line, bytes);
	else if (argc == 3 && !strcmp(argv[1], "samples"))
		samples(line, strtoul(argv[2], NULL, 10));
	else
		return 2;
	return 0;
}
