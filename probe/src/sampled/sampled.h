// SPDX-License-Identifier: MIT
/*
 * Sampling CPUs by a timer, to see when interrupts or preemption are disabled.
 *
 * The kernel sets the timer of a perf event for the points of a grid in time. While interrupts are
 * disabled its interrupt waits: the sample comes as they are enabled, and the points between have
 * none. A BPF program keeps the samples that tell anything, or where there is none the probe does
 * that: perf_rings.h. The idle thread is not sampled.
 */
#ifndef WHYLATE_SAMPLED_H
#define WHYLATE_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/program.h"
#include "sampled/bpf/layout.h"
#include "sampled/perf_rings.h"
#include "wire/messages.h"

#if defined(__aarch64__)
#define SAMPLED_MACHINE SAMPLED_ARM64
#elif defined(__arm__)
#define SAMPLED_MACHINE SAMPLED_ARM
#elif defined(__riscv)
#define SAMPLED_MACHINE SAMPLED_RISCV
#else
#define SAMPLED_MACHINE SAMPLED_X86
#endif

/* What is sampled: valid as long as the samples are. */
struct sampled_plan {
	enum off_what what;
	uint64_t period_ns;
	struct wire_list cpus;
	uint32_t counters; /* that are read */
};

/* What is known of a CPU's samples before they are looked at. */
struct sampled_usual {
	uint64_t usual_ns;   /* the median lateness, */
	uint64_t limit_ns;   /* above which a sample is late */
	uint64_t without_ns; /* a piece of work without samples, and with them; 0: not measured */
	uint64_t with_ns;
};

struct sampled {
	struct sampled_plan plan;
	struct bpf_fds fds;
	int program;
	int traced;  /* the program that knows when a timer was due */
	int *events; /* by place in the plan's cpus; -1: none */
	struct sampled_usual *usual;
	bool has_rings; /* samples are perf's own records */
	struct perf_rings rings;
	void *memory; /* mapped */
	size_t element;
	size_t size;
};

/* sampled_open - load the program and open the timers, which do not run; returns 0, or an errno
 * with the text */
int sampled_open(struct sampled *sampled, const struct sampled_plan *plan, char *text);

/* sampled_events - the map of the counters that are read, WIRE_MOST_OFF_COUNTS of each CPU */
int sampled_events(const struct sampled *sampled);

/* sampled_start - measure what the samples take, and how late they come where nothing holds them
 * up; they go on from then. Returns 0, or an errno with the text. */
int sampled_start(struct sampled *sampled, char *text);

/* sampled_next - copy the next row of the CPU at that place; false: there is none */
bool sampled_next(struct sampled *sampled, size_t place, struct sampled_row *row);

/* sampled_cpu_of - what the program wrote of the CPU at that place */
struct sampled_cpu *sampled_cpu_of(const struct sampled *sampled, size_t place);

/* sampled_stop - let no more samples come; those that came can be read */
void sampled_stop(struct sampled *sampled);

void sampled_close(struct sampled *sampled);

#endif
