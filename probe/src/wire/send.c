// SPDX-License-Identifier: MIT
#include "send.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

#include "clock.h"

/* Messages that the host has not acknowledged yet. */
#define STORE_SIZE   (2u * 1024 * 1024)
#define LONGEST_NOTE 256
/* A block that holds less has more head than data. */
#define LEAST_BLOCK 64u

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
	/* A reader that went away shows here even while there is nothing to write. */
	if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
		link->output_broken = true;
	link_write(link);
}

bool sender_host_gone(const struct sender *sender)
{
	/* The end of a plan is not the end of who wrote it. */
	return (sender->link.input_ended && !sender->link.one_way) || sender->link.output_broken;
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
	return sender->spooling || link_has_room(&sender->link, length);
}

size_t sender_block_limit(const struct sender *sender)
{
	size_t limit = sender->link.frame_limit;

	if (sender->spooling)
		return SPOOL_BLOCK;
	if (limit > 256)
		return limit - 64;
	return limit < LEAST_BLOCK ? LEAST_BLOCK : limit;
}

void send_packed(struct sender *sender, uint8_t kind, const uint8_t *payload, size_t length)
{
	struct frame frame;

	while (!link_has_room(&sender->link, length)) {
		/* For good: half an answer is worse than none, should it speak again. */
		if (sender_host_silent(sender, clock_ns()))
			sender->link.output_broken = true;
		if (sender_host_gone(sender))
			return;
		sender_turn(sender, -1, sender->link.one_way, 20);
		/* What is not read now the host sends again, but a plan is sent only once. */
		if (!sender->link.one_way)
			link_next(&sender->link, &frame, true);
		link_tick(&sender->link, clock_ns());
	}
	link_send(&sender->link, kind, payload, length);
}

/* put - send or spool a message; one that does not fit a frame is lost, but all are built to fit */
static void put(struct sender *sender, bool spool, uint8_t kind, const void *message)
{
	uint8_t payload[WIRE_MAX_PAYLOAD];
	struct wire_writer writer = {payload, sizeof(payload), 0, false};

	wire_pack(&writer, kind, message);
	if (writer.failed)
		return;
	/* Samples that find no room are missing from the indices, and so are counted. */
	if (spool)
		spool_put(&sender->spool, kind, payload, writer.length);
	else
		send_packed(sender, kind, payload, writer.length);
}

void send_message(struct sender *sender, uint8_t kind, const void *message)
{
	put(sender, false, kind, message);
}

void keep_message(struct sender *sender, uint8_t kind, const void *message)
{
	put(sender, sender->spooling, kind, message);
}

bool sender_spool(struct sender *sender, size_t limit)
{
	sender->spooling = spool_open(&sender->spool, limit);
	return sender->spooling;
}

void sender_unspool(struct sender *sender)
{
	struct spool_reader reader = spool_read(&sender->spool);
	uint8_t kind, *payload;
	size_t length;

	if (!sender->spooling)
		return;
	sender->spooling = false;
	while (spool_next(&reader, &kind, &payload, &length))
		send_packed(sender, kind, payload, length);
	spool_release(&sender->spool);
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
