/* SPDX-License-Identifier: MIT */
/* Durations that are counted in bins, 16 an octave: block waits of the wire. */
#ifndef WHYLATE_WORKLOADS_ACTIVATIONS_BINS_H
#define WHYLATE_WORKLOADS_ACTIVATIONS_BINS_H

#include <stdint.h>

#include "wire/bins.h"
#include "wire/messages.h"

/* bins_put - write those of WIRE_WAIT_BINS bins that have any. What a message has no room for is
 * left out, which the host notices: no run is long enough for so many. Returns how many, and their
 * bytes. */
uint16_t bins_put(const uint64_t *bins, uint8_t data[WIRE_MAX_PAYLOAD], uint16_t *length);

#endif
