// SPDX-License-Identifier: MIT
/* What an event costs, measured before the first activation: later it would add latency. */
#ifndef WHYLATE_RECORDER_SAMPLE_COST_H
#define WHYLATE_RECORDER_SAMPLE_COST_H

#include "engine.h"

/*
 * sample_cost - measure runs of programs, or events, and the time that they took; 0: not known
 *
 * Where the kernel measures the programs, it does so while this thread sleeps and wakes as the
 * measured ones will. Where it cannot, two threads wake each other, in turn with recording and
 * while it pauses: the CPU time that they take more is that of the events. Both leave out what a
 * tracepoint costs before anything is recorded. Takes a tenth of a second at the most.
 */
void sample_cost(struct recorder *recorder, struct recorder_cost *sampled);

#endif
