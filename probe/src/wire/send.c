// SPDX-License-Identifier: MIT
#include "send.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

/* Messages that the host has not acknowledged yet. */
#define STORE_SIZE   (2u * 1024 * 1024)
#define LONGEST_NOTE 256
/* A smaller block has more overhead than data. */
#define LEAST_BLOCK 64u
/* Sample data in a block that is spooled: what a frame holds on any line but a bad one. */
#define SPOOL_BLOCK 1024u

/* ---------------------------------------------------------------- the spool */

/* Memory that is allocated at a time, and holds messages with a struct head before each. */
struct spool_chunk {
	struct spool_chunk *next;
	size_t used;
	uint8_t data[256 << 10];
};

struct head {
	uint8_t kind;
	uint16_t length;
};

/* grow_spool - append a chunk; false where the limit is reached or memory is short */
static bool grow_spool(struct spool *spool)
{
	struct spool_chunk *chunk = NULL;

	if (spool->size + sizeof(*chunk) <= spool->limit)
		chunk = malloc(sizeof(*chunk));
	if (!chunk)
		return false;
	chunk->next = NULL;
	chunk->used = 0;
	*(spool->last ? &spool->last->next : &spool->first) = chunk;
	spool->last = chunk;
	spool->size += sizeof(*chunk);
	return true;
}

/* put_spool - keep a message; without room it is lost */
static void put_spool(struct spool *spool, uint8_t kind, const uint8_t *payload, size_t length)
{
	struct head head = {kind, (uint16_t)length};
	struct spool_chunk *chunk;

	if (spool->last->used + sizeof(head) + length > sizeof(spool->last->data) &&
	    !grow_spool(spool))
		return;
	chunk = spool->last;
	memcpy(chunk->data + chunk->used, &head, sizeof(head));
	if (length)
		memcpy(chunk->data + chunk->used + sizeof(head), payload, length);
	chunk->used += sizeof(head) + length;
}

bool sender_spool(struct sender *sender, size_t limit)
{
	sender->spool = (struct spool){.limit = limit};
	return grow_spool(&sender->spool);
}

void sender_unspool(struct sender *sender)
{
	struct spool_chunk *chunk = sender->spool.first, *next;

	sender->spool = (struct spool){0};
	for (; chunk; chunk = next) {
		struct head head;

		for (size_t at = 0; at < chunk->used; at += sizeof(head) + head.length) {
			memcpy(&head, chunk->data + at, sizeof(head));
			send_packed(sender, head.kind, chunk->data + at + sizeof(head),
				    head.length);
		}
		next = chunk->next;
		free(chunk);
	}
}

/* ---------------------------------------------------------------- the link */

bool sender_open(struct sender *sender, int input, int output)
{
	return link_open(&sender->link, input, output, STORE_SIZE);
}

void sender_turn(struct sender *sender, int other, bool hold, int timeout_ms)
{
	struct link *link = &sender->link;
	struct pollfd fds[3] = {
	    {.fd = link->input_ended || hold ? -1 : link->input, .events = POLLIN},
	    {.fd = link->output, .events = link->out_start < link->out_end ? POLLOUT : 0},
	    {.fd = other, .events = POLLIN},
	};

	if (poll(fds, 3, timeout_ms) < 0)
		return;
	if (fds[0].revents)
		link_read(link);
	/* A reader that is gone shows here even while there is nothing to write. */
	if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
		link->output_broken = true;
	link_write(link);
}

bool sender_host_gone(const struct sender *sender)
{
	/* The end of a plan's file does not mean that the host is gone. */
	return (sender->link.input_ended && !sender->link.one_way) || sender->link.output_broken;
}

bool sender_look(struct sender *sender)
{
	struct pollfd output = {.fd = sender->link.output};

	/* The end of the input is not looked for: what came before it may still be asked for. */
	if (poll(&output, 1, 0) > 0 && output.revents & (POLLERR | POLLHUP | POLLNVAL))
		sender->link.output_broken = true;
	return sender_host_gone(sender);
}

bool sender_host_silent(struct sender *sender, uint64_t now_ns)
{
	uint64_t heard = sender->link.decoder.counts.good;

	if (sender->frames_heard != heard || !sender->host_heard_ns) {
		sender->frames_heard = heard;
		sender->host_heard_ns = now_ns;
	}
	return sender->host_timeout_ns && now_ns - sender->host_heard_ns > sender->host_timeout_ns;
}

bool sender_has_room(const struct sender *sender, size_t length)
{
	return sender_is_spooling(sender) || link_has_room(&sender->link, length);
}

size_t sender_block_limit(const struct sender *sender)
{
	size_t limit = sender->link.frame_limit;

	if (sender_is_spooling(sender))
		return SPOOL_BLOCK;
	if (limit > 256)
		return limit - 64;
	return limit < LEAST_BLOCK ? LEAST_BLOCK : limit;
}

void send_packed(struct sender *sender, uint8_t kind, const uint8_t *payload, size_t length)
{
	struct frame frame;

	while (!link_has_room(&sender->link, length)) {
		/* For good: should the host speak again, half an answer is worse than none. */
		if (sender_host_silent(sender, clock_ns()))
			sender->link.output_broken = true;
		if (sender_host_gone(sender))
			return;
		sender_turn(sender, -1, sender->link.one_way, 20);
		/* The host repeats what is not read now; a plan cannot be repeated. */
		if (!sender->link.one_way)
			link_next(&sender->link, &frame, true);
		link_tick(&sender->link, clock_ns());
	}
	link_send(&sender->link, kind, payload, length);
}

/* put - send or spool a message; one that does not fit a frame is lost, but all are made to fit */
static void put(struct sender *sender, bool spool, uint8_t kind, const void *message)
{
	uint8_t payload[WIRE_MAX_PAYLOAD];
	struct wire_writer writer = {payload, sizeof(payload), 0, false};

	wire_pack(&writer, kind, message);
	if (writer.failed)
		return;
	/* Lost samples leave a gap in the indices, and so are counted. */
	if (spool)
		put_spool(&sender->spool, kind, payload, writer.length);
	else
		send_packed(sender, kind, payload, writer.length);
}

void send_message(struct sender *sender, uint8_t kind, const void *message)
{
	put(sender, false, kind, message);
}

void keep_message(struct sender *sender, uint8_t kind, const void *message)
{
	put(sender, sender_is_spooling(sender), kind, message);
}

void send_note(struct sender *sender, const char *code, const char *format, ...)
{
	char text[LONGEST_NOTE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	SEND(sender, note, NOTE, .code = wire_text(code), .text = wire_text(text));
}

void send_outcome(struct sender *sender, uint32_t command, int error, const char *text)
{
	if (error)
		SEND(sender, failed, FAILED, .command = command, .error = error,
		     .text = wire_text(text));
	else
		SEND(sender, done, DONE, .command = command);
}
