// SPDX-License-Identifier: MIT
/*
 * Every time that interrupts or preemption are disabled, by the kernel's tracepoints for it, where
 * it has them (CONFIG_PREEMPTIRQ_TRACEPOINTS).
 *
 * BPF programs there keep a sum, bins and groups of all stretches, and a row of each longer one.
 */
#ifndef WHYLATE_TRACED_H
#define WHYLATE_TRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/program.h"
#include "traced/bpf/layout.h"
#include "wire/messages.h"

/* What is traced: valid as long as the tracepoints are. */
struct traced_plan {
	enum off_what what;
	uint64_t keep_ns; /* stretches of that length, or more, have a row */
	struct wire_list cpus;
	uint32_t counters; /* that are read */
};

#define TRACED_PROGRAMS 3u

struct traced {
	struct traced_plan plan;
	struct bpf_fds fds;
	int links[TRACED_PROGRAMS];
	void *memory; /* mapped */
	size_t element;
	size_t size;
	/* A piece of work of the first CPU without the programs, and with them; 0: not measured */
	uint64_t without_ns, with_ns;
	uint64_t work; /* stretches in it, with them */
};

/* traced_open - run programs at the tracepoints; they look at nothing yet. Returns 0, ENOENT where
 * this kernel has none, or an errno, with the text */
int traced_open(struct traced *traced, const struct traced_plan *plan, char *text);

/* traced_events - the map of the counters that are read, WIRE_MOST_OFF_COUNTS of each CPU */
int traced_events(const struct traced *traced);

/* traced_start - measure what the programs take; they look from then on */
void traced_start(struct traced *traced);

/* traced_next - copy the next row of the CPU at that place; false: there is none */
bool traced_next(struct traced *traced, size_t place, struct traced_row *row);

/* traced_cpu_of - what the programs wrote of the CPU at that place */
struct traced_cpu *traced_cpu_of(const struct traced *traced, size_t place);

/* traced_stop - look at nothing more; the rows that came can be read */
void traced_stop(struct traced *traced);

void traced_close(struct traced *traced);

#endif
