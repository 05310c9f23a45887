// SPDX-License-Identifier: MIT
/*
 * Timing every execution of a section of code by BPF programs where it begins and where it ends.
 *
 * Programs count and time; the probe reads what they wrote in memory that is mapped. The kernel
 * keeps all of it by descriptors, which end with the probe. Where there are no programs, trace
 * events do it (tracing.h), and what is read is the same.
 */
#ifndef WHYLATE_SECTION_H
#define WHYLATE_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "section/bpf/layout.h"
#include "section/flush.h"
#include "section/user.h"
#include "section/walk.h"
#include "bpf/program.h"
#include "parts.h"
#include "samples.h"
#include "wire/messages.h"

/* Arguments of tracepoints, by the names of their fields. */
struct section_arguments {
	const char *begin, *end; /* that pair them */
	const char *conditions[SECTION_CONDITIONS];
};

/* return_pops of functions of the kernel: the call's return address is gone by then. */
#if defined(__x86_64__)
#define KERNEL_RETURN_POPS 8
#else
#define KERNEL_RETURN_POPS 0
#endif
/* Whether the registers at a return of the kernel have the stack pointer: arch_rethook_trampoline
 * of riscv64 does not save it. */
#if defined(__riscv)
#define KERNEL_RETURN_HAS_PLACE false
#else
#define KERNEL_RETURN_HAS_PLACE true
#endif

/* What is timed, and how. Names are valid as long as the section. */
struct section_plan {
	enum section_kind kind;
	enum section_hook hook;
	const char *begin; /* a function; SYSTEM:TRACEPOINT; or a place of user code: user.h */
	const char *end;   /* as this; empty: its return. Of two places in the kernel each is
			    * FUNCTION, FUNCTION+0xBYTES or 0xADDRESS */
	const char *file;  /* of user code */
	struct section_arguments arguments;
	uint16_t cpu_limit;
	uint64_t rows;			 /* of each CPU; a power of two */
	uint64_t code_bytes;		 /* of a function of the kernel, where it is read */
	const struct section *counts_of; /* its counters are read; NULL: those of this section */
	bool is_empty; /* nothing lies between the beginning and the end: see floor.h */
	struct section_config config;
};

/* Hooks at all places where a section begins, or where it ends. */
struct section_links {
	int at[USER_PLACES_MOST];
	size_t count;
};

struct section_method;
struct section_tracing;

/* All descriptors, -1 where there is none. */
struct section {
	struct section_plan plan;
	struct section_tracing *tracing;   /* NULL: programs time it, */
	const struct section_method *hook; /* by the one that was found to work */
	struct bpf_fds fds;
	int begin_program;
	int end_program;
	struct section_links begin_links;
	struct section_links end_links;
	struct section_part_links parts;
	uint64_t address;	/* of a function of the kernel that has a fprobe; 0: by its name */
	uint32_t address_times; /* that it is given to the kernel */
	uint64_t missed;	/* by links that are closed */
	struct user_code user;	/* of user code */
	struct section_flush flush;
	struct section_walk walk;
	size_t element;
	char *cpus; /* mapped */
	struct section_owner *owners;
	struct section_paths *paths;   /* by CPU number; NULL: none is kept */
	struct section_paths *samples; /* likewise, of what was seen of executions */
	struct section_sampling sampling;
	uint64_t sample_ns; /* executions are looked at so often once they are attached; 0: not */
};

/* What became of all executions. */
struct section_account {
	uint64_t entries;
	uint64_t returned;
	uint64_t in_flight;
	uint64_t left;
	uint64_t too_deep;
	uint64_t no_room;
	uint64_t unmatched;
	uint64_t missed;
};

/* Executions of an arm of an experiment. */
struct section_arm_account {
	uint64_t entries;
	uint64_t returned;
	uint64_t failed;
	uint64_t bins[WIRE_WAIT_BINS];
};

/* section_open - load the programs for the first hook that this kernel permits, and attach them, so
 * that it is known to work; nothing is timed yet. Returns 0, or an errno with the text. */
int section_open(struct section *section, const struct section_plan *plan, char *text);

/* section_events - the map of the counters that executions read at their marks,
 * WIRE_MOST_EXECUTION_COUNTS of each CPU */
int section_events(const struct section *section);

/* section_attach - time executions from now on; returns 0, or an errno with the text */
int section_attach(struct section *section, char *text);

/* section_start_arming - flush code, or walk over other code or pages, before executions that are
 * drawn, where that is the treatment; returns 0, or an errno with the text */
int section_start_arming(struct section *section, char *text);

/* section_allow - let so many more executions begin on each CPU until the next call, so that hooks
 * that keep the probe from running end by themselves; returns false, and allows no more, where so
 * many began on a CPU since the last call. Trace events have no such limit. */
bool section_allow(struct section *section, uint64_t more);

/* section_close_entries - time no more executions that begin; ends of those that have begun are
 * timed still */
void section_close_entries(struct section *section);

/* section_detach - time nothing any more; what was written stays readable */
void section_detach(struct section *section);

/* section_forget - forget all executions, while nothing is attached */
void section_forget(struct section *section);

/* section_gather - pair what was traced until now; true: all of it. Programs need no call. */
bool section_gather(struct section *section);

/* section_lost - trace events that were overwritten before they were read */
uint64_t section_lost(const struct section *section);

/* section_cpu_at, section_row_at - what the programs wrote of a CPU, and a row of it */
struct section_cpu *section_cpu_at(const struct section *section, uint16_t cpu);
const struct section_row *section_row_at(const struct section *section, uint16_t cpu,
					 uint64_t number);

/* section_longer_ns - twice the median of the executions that have returned, as an upper bound; 0:
 * there were too few to know it */
uint64_t section_longer_ns(const struct section *section);

/* section_account - add up what became of all executions; once detached it is exact */
void section_account(const struct section *section, struct section_account *account);

/* section_counts_missed - whether missed has each time that the kernel did not run a hook, as a
 * kprobe within a kprobe */
bool section_counts_missed(const struct section *section);

/* section_arm_account - add up the executions of an arm of an experiment */
void section_arm_account(const struct section *section, bool is_treated,
			 struct section_arm_account *account);

enum section_hook section_hook_kind(const struct section *section);

void section_close(struct section *section);

#endif
