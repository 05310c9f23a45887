// SPDX-License-Identifier: MIT
/*
 * Sending to the host: at once, or when the run is over.
 *
 * Messages of SEND() go out at once. Those of KEEP() stay on the board while a workload spools, and
 * go out at its end.
 */
#ifndef WHYLATE_WIRE_SEND_H
#define WHYLATE_WIRE_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link.h"
#include "messages.h"
#include "pack.h"

/* Messages that stay on the board until the run is over. */
struct spool {
	struct spool_chunk *first, *last; /* NULL: nothing is kept */
	size_t size;
	size_t limit;
};

struct sender {
	struct link link;
	struct spool spool;
	uint64_t host_timeout_ns; /* 0: a silent host is waited for */
	uint64_t host_heard_ns;
	uint64_t frames_heard;
};

/* SEND - send a message when there is room: SEND(sender, done, DONE, .command = 1) */
#define SEND(sender, name, NAME, ...)                                                              \
	send_message(sender, WIRE_##NAME, &(struct wire_##name){__VA_ARGS__})
/* KEEP - the same for what belongs to the samples, and waits with them while they are spooled */
#define KEEP(sender, name, NAME, ...)                                                              \
	keep_message(sender, WIRE_##NAME, &(struct wire_##name){__VA_ARGS__})

/* sender_open - a sender over two descriptors. False: no memory. */
bool sender_open(struct sender *sender, int input, int output);

/* sender_turn - read and write once what is possible; wait for that at most timeout_ms, or until
 * `other`, a descriptor or -1, can be read. hold: nothing is read. */
void sender_turn(struct sender *sender, int other, bool hold, int timeout_ms);

/* sender_look - notice now whether the host is gone, in work that takes long; returns whether it is
 */
bool sender_look(struct sender *sender);

/* sender_host_gone - whether the host is gone */
bool sender_host_gone(const struct sender *sender);

/* sender_host_silent - whether the host has sent nothing for longer than host_timeout_ns */
bool sender_host_silent(struct sender *sender, uint64_t now_ns);

/* sender_has_room - whether so many bytes can be sent, or spooled, without waiting */
bool sender_has_room(const struct sender *sender, size_t length);

/* sender_block_limit - bytes of samples or events that one message should hold */
size_t sender_block_limit(const struct sender *sender);

/* sender_is_spooling - whether messages of KEEP() stay on the board */
static inline bool sender_is_spooling(const struct sender *sender)
{
	return sender->spool.first;
}

/* sender_spool - keep messages of KEEP() on the board from now on, at most `limit` bytes of them.
 * False: no memory. */
bool sender_spool(struct sender *sender, size_t limit);

/* sender_unspool - send the messages that were kept, and keep no more */
void sender_unspool(struct sender *sender);

void send_message(struct sender *sender, uint8_t kind, const void *message);
void keep_message(struct sender *sender, uint8_t kind, const void *message);

/* send_packed - the same for a payload */
void send_packed(struct sender *sender, uint8_t kind, const uint8_t *payload, size_t length);

/* send_note - something that the user should know; code: one word */
void send_note(struct sender *sender, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* send_outcome - the end of a command: done, or failed with its text */
void send_outcome(struct sender *sender, uint32_t command, int error, const char *text);

#endif
