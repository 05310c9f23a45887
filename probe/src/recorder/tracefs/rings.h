/* SPDX-License-Identifier: MIT */
/* The rings of events and stages in the probe's own memory, one of each for each CPU. */
#ifndef WHYLATE_RECORDER_TRACEFS_RINGS_H
#define WHYLATE_RECORDER_TRACEFS_RINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/engine.h"

/* rings_open - allocate rings for the CPUs that are there; fills cpus, events, cpu_limit and
 * ring_size. Returns 0 or ENOMEM. */
int rings_open(struct recorder *recorder, const bool *present, uint16_t cpu_limit,
	       uint64_t ring_bytes);

/* rings_put - append an event; sets seq, and that last */
void rings_put(struct recorder *recorder, uint16_t cpu, const struct recorder_event *event);

void rings_close(struct recorder *recorder);

#endif
