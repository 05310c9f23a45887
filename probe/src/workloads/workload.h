// SPDX-License-Identifier: MIT
/*
 * What the session knows of a workload: how to start, continue and end it.
 *
 * A new workload is a file that defines a struct workload_ops, and a line in workloads.c.
 */
#ifndef WHYLATE_WORKLOAD_H
#define WHYLATE_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "failure.h"
#include "wire/messages.h"

struct counter_set;
struct flight;
struct sender;

/* What the session gives a workload; valid as long as the workload. */
struct workload_context {
	struct sender *sender;
	struct flight *flight; /* the recorder, as the host asked for it */
	const struct counter_set *counters;
	uint64_t phase_ns; /* the workload begins this much later */
};

/* A workload that runs. The other fields are its own. */
struct workload {
	const struct workload_ops *ops; /* NULL: none runs */
	struct workload_context context;
	uint32_t command; /* the number of the command that started it */
	int error;	  /* why it failed, once it is over; with a text */
	char text[FAILURE_TEXT];
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
	/* abandon - end the processes that it has started: the session is over. NULL: none */
	void (*abandon)(struct workload *workload);
	/* wait_ms - how long it needs no poll; -1: until its input can be read */
	int (*wait_ms)(const struct workload *workload);
	/* input - a descriptor that ends the wait when it can be read. NULL: none */
	int (*input)(const struct workload *workload);
};

extern const struct workload_ops workload_wakeup, workload_app, workload_section, workload_switch,
    workload_memory, workload_clock, workload_shared_clock, workload_bulk, workload_command,
    workload_off, workload_traced_switch, workload_flush, workload_switch_flush, workload_offset;

/* workload_of - the workload that a command starts, or NULL */
const struct workload_ops *workload_of(uint8_t command);

/* Samples are sent this often. */
#define SHIP_NS (100 * NS_PER_MS)

/* workload_look_ms - the time until activations are examined again, for a workload with them */
int workload_look_ms(const struct workload *workload);

/* workload_spool - keep samples on the board until the end, in at most half of the available
 * memory; returns 0, or an errno with the text */
int workload_spool(struct workload *workload);

/* workload_send_result - send the last message of a workload: the CPU time and memory of the probe
 */
void workload_send_result(struct sender *sender);

#endif
