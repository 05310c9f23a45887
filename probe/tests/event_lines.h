/* SPDX-License-Identifier: MIT */
/* One event of the flight recorder as one line of text, for tests to read. */
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

#endif
