/* SPDX-License-Identifier: MIT */
/*
 * What trace events tell of threads: one ends, one begins, or has another program and with it maybe
 * another pid. Nothing remains of a thread when the next one with its pid begins.
 */
#ifndef WHYLATE_SECTION_TRACEFS_THREADS_H
#define WHYLATE_SECTION_TRACEFS_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "pairs.h"
#include "records.h"

/* Events of an instance; each that this kernel lacks tells nothing. */
struct thread_events {
	struct record_layout ends, begins, has_program;
};

void threads_read_layouts(struct thread_events *events, int instance);

/* threads_enable - let these events be recorded, or no more */
void threads_enable(const struct thread_events *events, int instance, bool is_enabled);

/* threads_before - follow a record before the section begins or ends with it: a thread begins, or
 * has another pid */
void threads_before(const struct thread_events *events, struct pairs *pairs, uint16_t cpu,
		    const struct page_record *record);

/* threads_after - follow a record after that: a thread ends. may_return: what it has begun may
 * return still. */
void threads_after(const struct thread_events *events, struct pairs *pairs, uint16_t cpu,
		   const struct page_record *record, bool may_return);

/* threads_key - the key of a thread by its pid, which is not 0 */
uint64_t threads_key(uint64_t pid);

#endif
