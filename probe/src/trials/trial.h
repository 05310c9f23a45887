// SPDX-License-Identifier: MIT
/*
 * A trial: one go at one setting of a workload that has repetitions instead of activations.
 *
 * It is a process of its own, so that whatever it maps, opens and starts is gone with it, and so
 * that the probe can end it at any moment. What it has to say it packs as messages of the wire and
 * writes to a pipe, from which the probe passes them on.
 */
#ifndef WHYLATE_TRIAL_H
#define WHYLATE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "counters.h"
#include "wire/messages.h"
#include "wire/pack.h"

#define TRIAL_MESSAGE 240

/* What a body has: where it says what it found, and what is counted meanwhile. */
struct trial_context {
	int out;
	uint32_t trial;
	struct counters counters;
	/* Why it failed, in words: one line. */
	char text[TRIAL_MESSAGE];
};

/* Returns 0, or an errno with the text filled in. */
typedef int (*trial_body)(struct trial_context *context, const void *plan);

struct trial {
	pid_t child; /* 0: none */
	int in;
	uint32_t command, number;
	uint8_t received[2 * (3 + WIRE_MAX_PAYLOAD)];
	size_t length;
	bool taken;    /* the first message was handed out */
	bool at_end;   /* the pipe has ended */
	bool said_why; /* it told its errno and its text */
	bool stopped;
	int error;
	char text[TRIAL_MESSAGE];
};

/* trial_start - fork the process that carries it out; returns 0, or an errno */
int trial_start(struct trial *trial, uint32_t command, uint32_t number, trial_body body,
		const void *plan, const struct counter_set *counters);

/* trial_next - the next message that it said, if there is one; valid until the next call */
bool trial_next(struct trial *trial, uint8_t *kind, uint8_t **payload, size_t *length);

/* trial_is_over - whether it has ended, and all that it said was taken; then error and text tell
 * how, and the process is waited for */
bool trial_is_over(struct trial *trial);

/* trial_stop - end it and all that it started, now */
void trial_stop(struct trial *trial);

/* trial_say - pass a packed message on, from within a body */
void trial_say(struct trial_context *context, uint8_t kind, const struct wire_writer *writer);

/* trial_fail - fill in the text; returns the errno */
int trial_fail(struct trial_context *context, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* trial_last_word - tell the errno and the text, from where a body cannot return; may be called by
 * a handler of signals */
void trial_last_word(const struct trial_context *context, int error);

/* trial_say_counts - what was counted in a repetition; returns 0, or an errno as a body does */
int trial_say_counts(struct trial_context *context, uint16_t repetition);

#define SAY(context, name, NAME, ...)                                                              \
	do {                                                                                       \
		uint8_t packed[WIRE_MAX_PAYLOAD];                                                  \
		struct wire_writer writer = {packed, sizeof(packed), 0, false};                    \
		wire_pack(&writer, WIRE_##NAME, &(struct wire_##name){__VA_ARGS__});               \
		trial_say(context, WIRE_##NAME, &writer);                                          \
	} while (0)

#endif
