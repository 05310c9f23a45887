// SPDX-License-Identifier: MIT
/* What an event costs, measured before the first activation: afterwards measuring would disturb. */
#ifndef WHYLATE_RECORDER_SAMPLE_COST_H
#define WHYLATE_RECORDER_SAMPLE_COST_H

#include "engine.h"

/* sample_cost - have the kernel measure the programs while this thread sleeps and wakes as the
 * measured ones will; all 0 where it cannot. Takes less than a tenth of a second on an idle CPU. */
void sample_cost(struct recorder *recorder, struct recorder_cost *sampled);

#endif
