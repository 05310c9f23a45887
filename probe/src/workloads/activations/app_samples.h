// SPDX-License-Identifier: MIT
/*
 * Blocks of activations of a program's threads: what travels beside their samples.
 *
 * `samples` of them have in `first` the number of the block's first activation on its CPU, counted
 * from the start; they tell of no overruns. Latency is from when an activation was due until its
 * thread was switched to. `sample_threads` has three LEB128 numbers for each:
 *   the thread's pid;
 *   zigzag(due_ns - due_ns of the one before it in the block, or for the first - start_ns);
 *   what made it due, enum recorder_origin.
 */
#ifndef WHYLATE_APP_SAMPLES_H
#define WHYLATE_APP_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/event.h"

/* app_sample_put - the numbers of one activation; returns their bytes, 30 at the most */
size_t app_sample_put(uint8_t *data, const struct recorder_stage *stage, uint64_t before_ns);

#endif
