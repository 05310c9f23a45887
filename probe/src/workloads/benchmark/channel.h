// SPDX-License-Identifier: MIT
/*
 * Channels that pass a token from one task to another, and make the one that waits for it sleep.
 *
 * Of every kind passing is one system call, and so is waiting, whether it sleeps or not: what a
 * task that passes the token to itself takes is what passing alone costs.
 */
#ifndef WHYLATE_BENCHMARK_CHANNEL_H
#define WHYLATE_BENCHMARK_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/constants.h"

struct channel {
	enum channel_kind kind;
	int in, out;		/* -1 where it has none */
	_Atomic uint32_t *word; /* of a futex: 0, or the token */
};

/* channel_open - word: in memory that the tasks share; returns 0, or an errno */
int channel_open(struct channel *channel, enum channel_kind kind, _Atomic uint32_t *word);

void channel_close(struct channel *channel);

/* channel_pass - token is 1 to 255; false where the channel is broken */
bool channel_pass(const struct channel *channel, uint8_t token);

/* channel_wait - the token, or 0 where the channel is broken */
uint8_t channel_wait(const struct channel *channel);

#endif
