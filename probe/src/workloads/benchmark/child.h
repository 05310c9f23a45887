// SPDX-License-Identifier: MIT
/*
 * A process in which a benchmark, or a command of the host's, is carried out.
 *
 * What it maps, opens and starts ends with it, and the probe can end it at any moment. It writes
 * its reports as messages of the wire to a pipe, from which the probe forwards them.
 */
#ifndef WHYLATE_BENCHMARK_CHILD_H
#define WHYLATE_BENCHMARK_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "counters.h"
#include "failure.h"
#include "wire/messages.h"

/* What a body is given. */
struct child_context {
	int out;
	uint32_t turn; /* the number that the host gave this point in this round */
	struct counters counters;
	const struct counter_set *wanted;
	char text[FAILURE_TEXT];
};

/* Returns 0, or an errno with the text filled in. */
typedef int (*child_body)(struct child_context *context, const void *plan);

struct child {
	pid_t pid; /* 0: none */
	int in;
	uint8_t received[2 * (3 + WIRE_MAX_PAYLOAD)];
	size_t length;
	bool handed_out; /* the first message was returned by child_next() */
	bool at_end;	 /* the pipe has ended */
	bool has_reason; /* it reported its errno and its text */
	bool stopped;
	int error;
	char text[FAILURE_TEXT];
};

/* child_start - fork the process that carries out the body; returns 0, or an errno */
int child_start(struct child *child, uint32_t turn, child_body body, const void *plan,
		const struct counter_set *counters);

/* child_next - read the next message from the child; valid until the next call */
bool child_next(struct child *child, uint8_t *kind, uint8_t **payload, size_t *length);

/* child_is_over - whether it has ended and all of its messages were read; then it is reaped, and
 * error and text are set */
bool child_is_over(struct child *child);

/* child_stop - kill it and all that it started */
void child_stop(struct child *child);

/* REPORT - send a message from within a body */
#define REPORT(context, name, NAME, ...)                                                           \
	child_report(context, WIRE_##NAME, &(struct wire_##name){__VA_ARGS__})

void child_report(struct child_context *context, uint8_t kind, const void *message);

/* child_report_failure - report an errno and the text where a body cannot return; async-signal-safe
 */
void child_report_failure(const struct child_context *context, int error);

/* child_report_counts - report what was counted in a repetition; returns as a body does */
int child_report_counts(struct child_context *context, uint16_t repetition);

#endif
