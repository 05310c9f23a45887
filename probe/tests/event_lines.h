/* SPDX-License-Identifier: MIT */
/* Events and stages of the flight recorder as lines of text, for tests to read. */
#ifndef WHYLATE_TESTS_EVENT_LINES_H
#define WHYLATE_TESTS_EVENT_LINES_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "recorder/event.h"

static inline void print_event(uint16_t cpu, const struct recorder_event *event)
{
	printf("event %" PRIu64 " %u %" PRIu32 " %u %u %u %" PRIu32 " %" PRIu32 " %" PRIx64
	       " %" PRIx64 "\n",
	       (uint64_t)event->time_ns, cpu, (uint32_t)event->seq, event->kind, event->a, event->b,
	       (uint32_t)event->c, (uint32_t)event->d, (uint64_t)event->e, (uint64_t)event->f);
}

static inline void print_sums(const __u64 *sums)
{
	for (size_t i = 0; i < RECORDER_SUMS; i++)
		printf(" %" PRIu64, (uint64_t)sums[i]);
	printf("\n");
}

static inline void print_stage(unsigned cpu, const struct recorder_stage *stage)
{
	printf("stage %u %" PRIu64 " %" PRIu64 " %" PRIu64, cpu, (uint64_t)stage->switched_ns,
	       (uint64_t)stage->waking_ns, (uint64_t)stage->timer_ns);
	print_sums(stage->sums);
}

/* print_left - when the measured thread was last switched away from */
static inline void print_left(unsigned cpu, const struct recorder_cpu *state)
{
	printf("left %u %" PRIu64, cpu, (uint64_t)state->left_ns);
	print_sums(state->left_sums);
}

#endif
