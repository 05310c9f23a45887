// SPDX-License-Identifier: MIT
/*
 * A process in which a benchmark, or a command of the host's, is carried out.
 *
 * Whatever it maps, opens and starts is gone with it, and the probe can end it at any moment. What
 * it has to report it packs as messages of the wire and writes to a pipe, from which the probe
 * passes them on.
 */
#ifndef WHYLATE_BENCHMARK_CHILD_H
#define WHYLATE_BENCHMARK_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "counters.h"
#include "wire/messages.h"

#define CHILD_MESSAGE 240

/* What a body has: where it reports, and what is counted meanwhile. */
struct child_context {
	int out;
	uint32_t turn; /* the number that the host gave this point in this round */
	struct counters counters;
	/* Why it failed, in words: one line. */
	char text[CHILD_MESSAGE];
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
	char text[CHILD_MESSAGE];
};

/* child_start - fork the process that carries out the body; returns 0, or an errno */
int child_start(struct child *child, uint32_t turn, child_body body, const void *plan,
		const struct counter_set *counters);

/* child_next - read the next message that it sent, if there is one; valid until the next call */
bool child_next(struct child *child, uint8_t *kind, uint8_t **payload, size_t *length);

/* child_is_over - whether it has ended, and all of its messages were read; then error and text are
 * set, and the process is waited for */
bool child_is_over(struct child *child);

/* child_stop - end it and all that it started, now */
void child_stop(struct child *child);

/* REPORT - send a message from within a body */
#define REPORT(context, name, NAME, ...)                                                           \
	child_report(context, WIRE_##NAME, &(struct wire_##name){__VA_ARGS__})

void child_report(struct child_context *context, uint8_t kind, const void *message);

/* child_fail - fill in the text; returns the errno */
int child_fail(struct child_context *context, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* child_report_failure - report the errno and the text, from where a body cannot return; may be
 * called by a handler of signals */
void child_report_failure(const struct child_context *context, int error);

/* child_report_counts - report what was counted in a repetition; returns 0, or an errno as a body
 * does */
int child_report_counts(struct child_context *context, uint16_t repetition);

#endif
