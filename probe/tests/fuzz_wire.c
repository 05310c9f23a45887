// SPDX-License-Identifier: MIT
/*
 * fuzz_wire - whatever arrives, the probe's end of the wire neither crashes nor loses its way
 *
 * LLVMFuzzerTestOneInput() serves libFuzzer and the like (compile with -DWITH_FUZZER). Without
 * one, "fuzz_wire CORPUS SECONDS SEED" makes inputs itself: pieces of the file CORPUS, mutated,
 * and sound frames with hostile contents. It prints how many inputs it made, and how many sound
 * frames were in them, and it is meant to be
 * compiled with -fsanitize=address,undefined: those say what went wrong.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "wire/link.h"
#include "wire/pack.h"

#define MAX_INPUT 32768
/* Small, so that messages reach its end. */
#define STORE_SIZE 5000
#define TURNS	   8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sound_frames;

/* must - what holds whatever the input is */
static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_wire: %s\n", what);
	abort();
}

/* ---------------------------------------------------------------- messages */

/* The struct of any message fits. */
union message {
	uint64_t aligned;
	uint8_t bytes[512];
};

/* unpack_as - unpack a payload as one kind of message; what was unpacked must give the same bytes
 */
static void unpack_as(uint8_t kind, const uint8_t *payload, size_t length)
{
	const char *field;
	uint8_t again[WIRE_MAX_PAYLOAD];
	struct wire_writer writer = {again, sizeof(again), 0, false};
	union message message;

	if (!wire_unpack(kind, payload, length, &message))
		return;
	field = wire_out_of_range(kind, &message);
	must(!field || strlen(field), "a field out of its range has no name");
	wire_pack(&writer, kind, &message);
	must(!writer.failed && writer.length == length &&
		 (!length || !memcmp(again, payload, length)),
	     "a message does not pack to what it was unpacked from");
}

/* walk_argv - take every string off a list, as the probe does for a load's command */
static void walk_argv(const uint8_t *payload, size_t length)
{
	struct wire_load_start start;
	char text[64];

	if (!wire_unpack(WIRE_LOAD_START, payload, length, &start))
		return;
	while (start.argv.count) {
		struct wire_bytes word = wire_list_next_str(&start.argv);

		if (wire_copy_text(word, text, sizeof(text)))
			must(strlen(text) == word.length, "a copied text has another length");
	}
}

static void unpack_all(const uint8_t *payload, size_t length)
{
	for (unsigned kind = 0; kind < 256; kind++)
		unpack_as((uint8_t)kind, payload, length);
	walk_argv(payload, length);
}

/* ---------------------------------------------------------------- the link */

/* drain - what the link wrote; the pipe is emptied so that it can go on */
static void drain(int fd)
{
	uint8_t sink[65536];

	while (read(fd, sink, sizeof(sink)) > 0)
		;
}

/* converse - a link that has sent a few messages hears the stream in a few pieces */
static void converse(const uint8_t *stream, size_t size, bool hold)
{
	static struct link link;
	uint8_t message[600];
	uint64_t now_ns = 1000000000;
	uint32_t before = 0;
	int in[2], out[2];

	must(pipe(in) == 0 && pipe(out) == 0, "no pipes");
	must(link_open(&link, in[0], out[1], STORE_SIZE), "no memory for a link");
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	memset(message, 0x5A, sizeof(message));
	for (size_t turn = 0; turn < TURNS; turn++) {
		size_t from = size * turn / TURNS, to = size * (turn + 1) / TURNS;
		struct frame frame;

		/* Then silence: what is missing at the end is noticed by time alone. */
		for (size_t i = 0; turn < TURNS / 2 && i < 8; i++)
			if (link_has_room(&link, sizeof(message)))
				link_send(&link, WIRE_NOTE, message, 1 + i * 80);
		must(write(in[1], stream + from, to - from) == (ssize_t)(to - from), "short write");
		if (to > from)
			link_read(&link);
		while (link_next(&link, &frame, hold)) {
			must(!hold, "a held link gave a message");
			must(frame.number == before + 1, "messages are not in order");
			must(frame.length <= WIRE_MAX_PAYLOAD, "a message is too long");
			before = frame.number;
			unpack_all(frame.payload, frame.length);
		}
		must(link.next_number - link.acknowledged <= LINK_WINDOW, "the window is overrun");
		must((link.pieces_total + 7u) / 8 <= sizeof(link.have),
		     "more pieces than a frame has");
		now_ns += 150000000;
		link_tick(&link, now_ns);
		link_write(&link);
		drain(out[0]);
	}
	free(link.store);
	free(link.out);
	for (size_t i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
}

/* ---------------------------------------------------------------- inputs */

/* frames_of - records "kind, number (4), length (2), payload" as sound frames; their length */
static size_t frames_of(uint8_t *stream, const uint8_t *data, size_t size)
{
	size_t at = 0, length = 0;

	while (size - at >= 7 && MAX_INPUT - length >= FRAME_MAX_ENCODED) {
		size_t payload =
		    (size_t)(data[at + 5] | data[at + 6] << 8) % (WIRE_MAX_PAYLOAD + 1);

		if (payload > size - at - 7)
			payload = size - at - 7;
		length +=
		    frame_encode(stream + length, data[at], (uint32_t)wire_load(data + at + 1, 4),
				 data + at + 7, payload);
		at += 7 + payload;
	}
	return length;
}

/* LLVMFuzzerTestOneInput - the first byte chooses: the rest is a stream, or frames to be */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct frame_decoder decoder;
	uint8_t stream[MAX_INPUT];
	struct frame frame;
	size_t length;
	bool complete;

	if (size < 1 || size > MAX_INPUT)
		return 0;
	if (data[0] & 1) {
		length = frames_of(stream, data + 1, size - 1);
	} else {
		length = size - 1;
		memcpy(stream, data + 1, length);
	}
	unpack_all(data + 1, size - 1 < WIRE_MAX_PAYLOAD ? size - 1 : WIRE_MAX_PAYLOAD);
	memset(&decoder, 0, sizeof(decoder));
	for (size_t at = 0; at < length;) {
		at += frame_feed(&decoder, stream + at, length - at, &frame, &complete);
		if (!complete)
			continue;
		sound_frames++;
		unpack_as(frame.kind, frame.payload, frame.length);
		/* All kinds of all frames would cost most of the time. */
		if (sound_frames % 64 == 0)
			unpack_all(frame.payload, frame.length);
	}
	converse(stream, length, data[0] & 2);
	return 0;
}

#ifndef WITH_FUZZER

struct source {
	uint64_t state;
	const uint8_t *corpus;
	size_t corpus_size;
};

/* draw - a random number below `below` (xorshift64*, Marsaglia 2003 and Vigna 2016) */
static size_t draw(struct source *source, size_t below)
{
	source->state ^= source->state >> 12;
	source->state ^= source->state << 25;
	source->state ^= source->state >> 27;
	return (size_t)((source->state * 0x2545F4914F6CDD1Du >> 33) % below);
}

/* make_mutant - a piece of the corpus with a few bytes changed, removed or doubled */
static size_t make_mutant(struct source *source, uint8_t *input)
{
	size_t size = 1 + draw(source, source->corpus_size < 9000 ? source->corpus_size : 9000);
	size_t from = draw(source, source->corpus_size - size + 1);

	memcpy(input, source->corpus + from, size);
	for (size_t i = draw(source, 6); i > 0; i--) {
		size_t at = draw(source, size), count = draw(source, size - at) % 300;

		switch (draw(source, 3)) {
		case 0:
			input[at] = (uint8_t)draw(source, 256);
			break;
		case 1:
			memmove(input + at, input + at + count, size - at - count);
			size -= count;
			break;
		default:
			memmove(input + at + count, input + at, size - at);
			size += count;
			break;
		}
	}
	return size;
}

/* odd_number - small, or at the bounds of its type, or anything */
static uint32_t odd_number(struct source *source)
{
	static const uint32_t bounds[] = {0,   1,     102,   103,	 127,
					  255, 65535, 65536, 0x7FFFFFFF, 0xFFFFFFFF};

	if (draw(source, 4))
		return (uint32_t)draw(source, 50);
	return bounds[draw(source, sizeof(bounds) / sizeof(bounds[0]))];
}

/* odd_bytes - a field of bytes whose length is often that of a fragment */
static struct wire_bytes odd_bytes(struct source *source, const uint8_t *random)
{
	return (struct wire_bytes){
	    random, (uint16_t)(draw(source, 3) ? WIRE_FRAGMENT_SIZE : draw(source, 60))};
}

/* put_control - a control frame's payload, its fields odd but in place; returns its kind */
static uint8_t put_control(struct source *source, struct wire_writer *writer, const uint8_t *random)
{
	struct wire_fragment fragment = {
	    .number = 1 + (uint32_t)draw(source, 3),
	    .kind = draw(source, 20) ? WIRE_READ : (uint8_t)draw(source, 256),
	    .index = (uint16_t)(draw(source, 8) ? draw(source, 4) : odd_number(source)),
	    .total = (uint16_t)(draw(source, 20) ? 2 + draw(source, 2) : odd_number(source)),
	};

	switch (draw(source, 7)) {
	case 0:
		wire_pack(writer, WIRE_ACK, &(struct wire_ack){odd_number(source)});
		return WIRE_ACK;
	case 1:
		wire_pack(writer, WIRE_RESEND,
			  &(struct wire_resend){odd_number(source), (uint16_t)odd_number(source),
						odd_bytes(source, random)});
		return WIRE_RESEND;
	case 2:
		wire_pack(writer, WIRE_TAIL, &(struct wire_tail){odd_number(source)});
		return WIRE_TAIL;
	case 3:
		wire_pack(writer, WIRE_MARK, &(struct wire_mark){odd_number(source)});
		return WIRE_MARK;
	default:
		fragment.data = odd_bytes(source, random);
		wire_pack(writer, WIRE_FRAGMENT, &fragment);
		return WIRE_FRAGMENT;
	}
}

/* make_records - sound frames: control frames with odd fields, and any kind with any payload */
static size_t make_records(struct source *source, uint8_t *input)
{
	uint8_t random[600];
	uint32_t number = 1;
	size_t at = 0;

	for (size_t i = 0; i < sizeof(random); i++)
		random[i] = (uint8_t)(draw(source, 2) ? draw(source, 256) : 0);
	for (size_t frames = 1 + draw(source, 60); frames > 0; frames--) {
		struct wire_writer writer = {input + at + 7, sizeof(random), 0, false};
		uint8_t kind = (uint8_t)(draw(source, 4) ? draw(source, 80) : draw(source, 256));

		if (draw(source, 3))
			kind = put_control(source, &writer, random);
		else
			wire_write_raw(&writer, random,
				       draw(source, 4) ? draw(source, 30) : draw(source, 600));
		input[at] = kind;
		wire_store(input + at + 1, draw(source, 4) ? number++ : odd_number(source), 4);
		wire_store(input + at + 5, (uint16_t)writer.length, 2);
		at += 7 + writer.length;
	}
	return at;
}

static size_t read_file(const char *path, uint8_t *data, size_t room)
{
	FILE *file = fopen(path, "rb");
	size_t size;

	must(file != NULL, "the corpus cannot be opened");
	size = fread(data, 1, room, file);
	fclose(file);
	return size;
}

int main(int argc, char **argv)
{
	static uint8_t corpus[1 << 20], input[1 << 17];
	struct source source = {.corpus = corpus};
	uint64_t made = 0;
	time_t end;

	if (argc != 4)
		return 2;
	source.corpus_size = read_file(argv[1], corpus, sizeof(corpus));
	source.state = strtoull(argv[3], NULL, 10) * 2 + 1;
	must(source.corpus_size > 0, "the corpus is empty");
	end = time(NULL) + strtol(argv[2], NULL, 10);
	do {
		bool records = draw(&source, 2);

		input[0] = (uint8_t)(records | (draw(&source, 8) ? 0 : 2));
		LLVMFuzzerTestOneInput(input, 1 + (records ? make_records(&source, input + 1)
							   : make_mutant(&source, input + 1)));
		made++;
	} while (made < 100 || time(NULL) < end);
	printf("%" PRIu64 " %" PRIu64 "\n", made, sound_frames);
	return 0;
}

#endif
