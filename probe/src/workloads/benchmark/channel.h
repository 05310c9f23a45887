// SPDX-License-Identifier: MIT
/*
 * Channels that pass a token from one task to another, which sleeps until then.
 *
 * With every kind passing is one system call, and so is waiting, asleep or not: a task that passes
 * the token to itself measures the cost of passing alone.
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

/* channel_open - open a channel; word: in memory that the tasks share. Returns 0, or an errno */
int channel_open(struct channel *channel, enum channel_kind kind, _Atomic uint32_t *word);

void channel_close(struct channel *channel);

/* channel_pass - pass a token of 1 to 255; false: the channel is broken */
bool channel_pass(const struct channel *channel, uint8_t token);

/* channel_wait - wait for the token; returns it, or 0 where the channel is broken */
uint8_t channel_wait(const struct channel *channel);

#endif
