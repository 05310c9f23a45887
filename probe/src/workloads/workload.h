// SPDX-License-Identifier: MIT
/*
 * What the session knows of a workload: how to start it, how to go on with it, how to end it.
 *
 * A new workload is a file that defines a struct workload_ops, and a line in workloads.c.
 */
#ifndef WHYLATE_WORKLOAD_H
#define WHYLATE_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/messages.h"

#define WORKLOAD_MESSAGE 256

struct counter_set;
struct flight;
struct sender;

/* What a workload is given by the session. It stays valid as long as the workload. */
struct workload_context {
	struct sender *sender;
	struct flight *flight; /* the recorder, as the host asked for it */
	const struct counter_set *counters;
	uint64_t phase_ns; /* the workload begins so much later than it else would */
};

/* A workload that runs. The other fields are its own. */
struct workload {
	const struct workload_ops *ops; /* NULL: none runs */
	struct workload_context context;
	uint32_t command; /* the number of the command that started it */
	int error;	  /* why it failed, once it is over; with a text */
	char text[WORKLOAD_MESSAGE];
	void *state;
};

struct workload_ops {
	uint8_t command; /* enum wire_kind of the command that starts it */
	/* The command is answered when the workload is over, and not when it has started. */
	bool answered_at_end;
	/*
	 * start - check the command and start; it has been answered up to `done`
	 *
	 * Returns 0, or an errno with the workload's text; then nothing is left of it.
	 */
	int (*start)(struct workload *workload, const union wire_command *command);
	/* poll - send what there is; true: the workload is over, and its state is released */
	bool (*poll)(struct workload *workload, uint64_t now_ns);
	/* stop - let it end now; what was measured is sent as at a planned end */
	void (*stop)(struct workload *workload);
	/* abandon - end what it has started: the session is over, and nobody polls any more */
	void (*abandon)(struct workload *workload);
	/* wait_ms - how long it needs no poll */
	int (*wait_ms)(const struct workload *workload);
	/* input - a descriptor that ends the wait when it can be read; -1: none */
	int (*input)(const struct workload *workload);
};

extern const struct workload_ops workload_wakeup, workload_app, workload_switch, workload_memory,
    workload_clock, workload_command;

/* workload_of - the workload that a command starts, or NULL */
const struct workload_ops *workload_of(uint8_t command);

/* workload_fail - fill in the text; returns the errno */
int workload_fail(struct workload *workload, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Samples are shipped this often. */
#define SHIP_NS 100000000u

/* Functions of a workload with activations. */
int workload_look_ms(const struct workload *workload);
int workload_no_input(const struct workload *workload);

/* workload_spool - keep samples on the board until the end: no more of them than half of the memory
 * that is free. Returns 0, or an errno with the text. */
int workload_spool(struct workload *workload);

/* workload_send_result - send the last message of a workload: what the probe took of the board */
void workload_send_result(struct sender *sender);

#endif
