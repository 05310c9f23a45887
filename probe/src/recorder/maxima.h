/* SPDX-License-Identifier: MIT */
/* Running maxima of what comes again, which an engine keeps of all events: see event.h. */
#ifndef WHYLATE_RECORDER_MAXIMA_H
#define WHYLATE_RECORDER_MAXIMA_H

#include "engine.h"

struct sender;

/* maxima_clear - begin anew */
void maxima_clear(const struct recorder *recorder);

/* maxima_send - send the maxima over the CPUs of measured threads, or over all where there is none
 */
void maxima_send(const struct recorder *recorder, struct sender *sender);

#endif
