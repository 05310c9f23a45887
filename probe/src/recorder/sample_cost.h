// SPDX-License-Identifier: MIT
/* What an event costs, measured before the first activation: later it would add latency. */
#ifndef WHYLATE_RECORDER_SAMPLE_COST_H
#define WHYLATE_RECORDER_SAMPLE_COST_H

#include "engine.h"

/*
 * sample_cost - measure runs of programs, or events, and the time that they took; 0: not known
 *
 * Where the kernel can measure the programs, it does so while this thread sleeps and wakes as the
 * measured threads will. Where it cannot, two threads wake each other, in turn with recording and
 * without: the additional CPU time is that of the events. Neither includes the cost of a tracepoint
 * before anything is recorded. Takes at most a tenth of a second.
 */
void sample_cost(struct recorder *recorder, struct recorder_cost *sampled);

#endif
