// SPDX-License-Identifier: MIT
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pack.h"

#define ASK_AGAIN_NS 100000000u
#define TAIL_NS	     300000000u
/* Frames that must arrive without a resend before the frame size is doubled. */
#define CLEAN_FRAMES 64u
#define OUT_SIZE     (256u * 1024)
#define MAX_PIECES   ((WIRE_MAX_PAYLOAD + WIRE_FRAGMENT_SIZE - 1) / WIRE_FRAGMENT_SIZE)

static bool set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool link_open(struct link *link, int input, int output, size_t store_size)
{
	memset(link, 0, sizeof(*link));
	link->input = input;
	link->output = output;
	link->next_number = 1;
	link->acknowledged = 1;
	link->expected = 1;
	link->frame_limit = WIRE_MAX_PAYLOAD;
	link->store_size = store_size;
	link->out_size = OUT_SIZE;
	link->store = malloc(link->store_size);
	link->out = malloc(link->out_size);
	return link->store && link->out && set_nonblocking(input) && set_nonblocking(output);
}

static struct link_sent *sent_at(struct link *link, uint32_t number)
{
	return &link->sent[number % LINK_WINDOW];
}

/* place - position in the store for `length` bytes: a message is never split over its end */
static uint64_t place(const struct link *link, size_t length)
{
	size_t offset = (size_t)(link->store_end % link->store_size);

	if (offset + length > link->store_size)
		return link->store_end + (link->store_size - offset);
	return link->store_end;
}

static bool out_has_room(const struct link *link)
{
	return link->out_size - (link->out_end - link->out_start) >= FRAME_MAX_ENCODED;
}

bool link_has_room(const struct link *link, size_t length)
{
	uint64_t end;

	if (link->next_number - link->acknowledged >= LINK_WINDOW || !out_has_room(link))
		return false;
	if (link_idle(link))
		return true;
	end = place(link, length) + length;
	return end - link->sent[link->acknowledged % LINK_WINDOW].position <= link->store_size;
}

bool link_idle(const struct link *link)
{
	return link->next_number == link->acknowledged;
}

/* queue - encode a frame into the output; without room it is dropped, as on a bad line */
static void queue(struct link *link, uint8_t kind, uint32_t number, const uint8_t *payload,
		  size_t length)
{
	if (!out_has_room(link))
		return;
	if (link->out_size - link->out_end < FRAME_MAX_ENCODED) {
		memmove(link->out, link->out + link->out_start, link->out_end - link->out_start);
		link->out_end -= link->out_start;
		link->out_start = 0;
	}
	link->out_end += frame_encode(link->out + link->out_end, kind, number, payload, length);
}

uint32_t link_send(struct link *link, uint8_t kind, const uint8_t *payload, size_t length)
{
	uint32_t number = link->next_number++;
	struct link_sent *sent = sent_at(link, number);

	sent->position = place(link, length);
	sent->length = (uint16_t)length;
	sent->kind = kind;
	if (length)
		memcpy(link->store + sent->position % link->store_size, payload, length);
	link->store_end = sent->position + length;
	link->sent_at_ns = 0;
	if (link->one_way)
		link->acknowledged = link->next_number;
	queue(link, kind, number, payload, length);
	return number;
}

/* queue_control - queue a control frame, which has no number and is never sent again */
static void queue_control(struct link *link, uint8_t kind, const void *message)
{
	uint8_t payload[WIRE_FRAGMENT_SIZE + 16];
	struct wire_writer writer = {payload, sizeof(payload), 0, false};

	wire_pack(&writer, kind, message);
	queue(link, kind, 0, payload, writer.length);
}
_Static_assert(sizeof(((struct link *)0)->have) <= WIRE_FRAGMENT_SIZE, "a resend fits too");

/* queue_resend - ask for the expected frame, or for the fragments of it that are missing */
static void queue_resend(struct link *link)
{
	struct wire_resend resend = {.first = link->expected, .count = 1};

	if (link->pieces_total) {
		resend.have.data = link->have;
		resend.have.length = (uint16_t)((link->pieces_total + 7) / 8);
	}
	queue_control(link, WIRE_RESEND, &resend);
}

static void queue_fragment(struct link *link, uint32_t number, uint16_t index)
{
	const struct link_sent *sent = sent_at(link, number);
	size_t from = (size_t)index * WIRE_FRAGMENT_SIZE;
	size_t length = sent->length - from;
	struct wire_fragment fragment = {
	    .number = number,
	    .kind = sent->kind,
	    .index = index,
	    .total = (uint16_t)((sent->length + WIRE_FRAGMENT_SIZE - 1) / WIRE_FRAGMENT_SIZE),
	    .data = {link->store + sent->position % link->store_size + from,
		     (uint16_t)(length < WIRE_FRAGMENT_SIZE ? length : WIRE_FRAGMENT_SIZE)},
	};

	queue_control(link, WIRE_FRAGMENT, &fragment);
}

/* send_again - send a short frame as it was, a long one in the fragments that the host lacks */
static void send_again(struct link *link, uint32_t number, struct wire_bytes have)
{
	const struct link_sent *sent = sent_at(link, number);

	if (sent->length <= WIRE_FRAGMENT_SIZE) {
		queue(link, sent->kind, number, link->store + sent->position % link->store_size,
		      sent->length);
		return;
	}
	for (uint16_t i = 0; (size_t)i * WIRE_FRAGMENT_SIZE < sent->length; i++)
		if (i / 8 >= have.length || !(have.data[i / 8] >> i % 8 & 1))
			queue_fragment(link, number, i);
}

static void note_ack(struct link *link, uint32_t next)
{
	if (next - link->acknowledged > link->next_number - link->acknowledged)
		return; /* older than the last one, or of frames never sent */
	link->acknowledged = next;
	if (next - link->clean_since >= CLEAN_FRAMES && next > link->clean_since) {
		link->clean_since = link->next_number;
		link->frame_limit *= 2;
		if (link->frame_limit > WIRE_MAX_PAYLOAD)
			link->frame_limit = WIRE_MAX_PAYLOAD;
	}
}

static void answer_resend(struct link *link, const struct wire_resend *resend)
{
	for (uint32_t i = 0; i < resend->count; i++) {
		uint32_t number = resend->first + i;

		if (number - link->acknowledged >= link->next_number - link->acknowledged)
			continue;
		send_again(link, number, resend->have);
		/* Frames sent before the limit fell are no evidence about the limit. */
		if (number >= link->clean_since || link->clean_since == 0) {
			link->clean_since = link->next_number;
			link->frame_limit /= 2;
			if (link->frame_limit < LINK_MIN_FRAME)
				link->frame_limit = LINK_MIN_FRAME;
		}
	}
}

static void drop_pieces(struct link *link)
{
	link->pieces_total = 0;
	memset(link->have, 0, sizeof(link->have));
}

/* accept - the expected frame is here */
static void accept(struct link *link)
{
	link->expected++;
	link->owes_ack = true;
	link->asked_at_ns = 0;
	drop_pieces(link);
}

/* store_fragment - put a piece of the expected frame in its place; true when it is whole */
static bool store_fragment(struct link *link, const struct wire_fragment *piece)
{
	size_t at = (size_t)piece->index * WIRE_FRAGMENT_SIZE;
	bool last = piece->index + 1u == piece->total;

	if (piece->number != link->expected || piece->index >= piece->total ||
	    piece->data.length > WIRE_FRAGMENT_SIZE ||
	    (!last && piece->data.length != WIRE_FRAGMENT_SIZE) ||
	    at + piece->data.length > WIRE_MAX_PAYLOAD || piece->total > MAX_PIECES ||
	    piece->kind >= WIRE_FIRST_CONTROL)
		return false;
	if (!link->pieces_total) {
		link->pieces_total = piece->total;
		link->pieces_left = piece->total;
	} else if (link->pieces_total != piece->total) {
		return false;
	}
	if (link->have[piece->index / 8] >> piece->index % 8 & 1)
		return false;
	link->have[piece->index / 8] |= (uint8_t)(1u << piece->index % 8);
	memcpy(link->pieces + at, piece->data.data, piece->data.length);
	if (last)
		link->pieces_length = at + piece->data.length;
	return --link->pieces_left == 0;
}

/* answer_control - process a control frame; true when it completed the expected frame */
static bool answer_control(struct link *link, struct frame *frame)
{
	union {
		struct wire_ack ack;
		struct wire_resend resend;
		struct wire_tail tail;
		struct wire_mark mark;
		struct wire_fragment fragment;
	} u;

	if (frame->kind != WIRE_ACK && frame->kind != WIRE_RESEND && frame->kind != WIRE_TAIL &&
	    frame->kind != WIRE_MARK && frame->kind != WIRE_FRAGMENT)
		return false;
	if (!wire_unpack(frame->kind, frame->payload, frame->length, &u))
		return false;
	switch (frame->kind) {
	case WIRE_ACK:
		note_ack(link, u.ack.next);
		return false;
	case WIRE_RESEND:
		answer_resend(link, &u.resend);
		return false;
	case WIRE_TAIL:
		if (u.tail.last > link->highest)
			link->highest = u.tail.last;
		if (u.tail.last < link->expected)
			link->owes_ack = true;
		return false;
	case WIRE_MARK: /* its answer follows those to all commands before it */
		queue_control(link, WIRE_MARKED, &(struct wire_marked){u.mark.token});
		return false;
	}
	if (!store_fragment(link, &u.fragment))
		return false;
	frame->kind = u.fragment.kind;
	frame->number = u.fragment.number;
	frame->payload = link->pieces;
	frame->length = link->pieces_length;
	return true;
}

bool link_drained(const struct link *link)
{
	return link->input_ended && link->received_start == link->received_end;
}

void link_read(struct link *link)
{
	ssize_t got;

	if (link->received_start < link->received_end)
		return;
	got = read(link->input, link->received, sizeof(link->received));
	if (got > 0) {
		link->received_start = 0;
		link->received_end = (size_t)got;
	} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
		link->input_ended = true;
	}
}

bool link_next(struct link *link, struct frame *frame, bool hold)
{
	while (link->received_start < link->received_end) {
		bool complete;

		link->received_start +=
		    frame_feed(&link->decoder, link->received + link->received_start,
			       link->received_end - link->received_start, frame, &complete);
		if (!complete)
			continue;
		if (frame->kind >= WIRE_FIRST_CONTROL) {
			if (!answer_control(link, frame))
				continue;
		} else if (frame->number < link->expected) {
			link->owes_ack = true; /* the host has lost the acknowledgement */
			continue;
		} else if (frame->number > link->expected) {
			if (frame->number > link->highest)
				link->highest = frame->number;
			continue;
		}
		if (hold) {
			/* Left: the host sends it again on request. */
			if (frame->number > link->highest)
				link->highest = frame->number;
			drop_pieces(link);
			continue;
		}
		accept(link);
		return true;
	}
	return false;
}

void link_tick(struct link *link, uint64_t now_ns)
{
	if (link->one_way)
		return;
	if (link->highest >= link->expected && now_ns - link->asked_at_ns >= ASK_AGAIN_NS) {
		link->asked_at_ns = now_ns;
		queue_resend(link);
	}
	/* A host of another protocol learns ours from any frame. */
	if (link->answered != link->decoder.counts.other_protocol) {
		link->answered = link->decoder.counts.other_protocol;
		link->owes_ack = true;
	}
	if (link->owes_ack) {
		queue_control(link, WIRE_ACK, &(struct wire_ack){link->expected});
		link->owes_ack = false;
	}
	if (!link->sent_at_ns)
		link->sent_at_ns = now_ns;
	if (!link_idle(link) && now_ns - link->sent_at_ns >= TAIL_NS) {
		link->sent_at_ns = now_ns;
		queue_control(link, WIRE_TAIL, &(struct wire_tail){link->next_number - 1});
	}
}

void link_write(struct link *link)
{
	while (link->out_start < link->out_end && !link->output_broken) {
		ssize_t put = write(link->output, link->out + link->out_start,
				    link->out_end - link->out_start);

		if (put > 0)
			link->out_start += (size_t)put;
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			link->output_broken = true;
	}
	if (link->out_start == link->out_end)
		link->out_start = link->out_end = 0;
}
