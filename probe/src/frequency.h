// SPDX-License-Identifier: MIT
/* The frequency of a CPU, measured instead of believed. */
#ifndef WHYLATE_FREQUENCY_H
#define WHYLATE_FREQUENCY_H

#include <stdint.h>

/* frequency_measure - Hz of a CPU, from the best of several short chains of instructions that
 * take a cycle each and wait for one another. 0 where the CPU cannot be run on. Takes about
 * 2 ms at 1 GHz. */
uint64_t frequency_measure(uint16_t cpu);

#endif
