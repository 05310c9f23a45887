// SPDX-License-Identifier: MIT
/* How events travel: the data of an events message (schema/wire.toml, "kinds of events"). */
#ifndef WHYLATE_RECORDER_PACK_EVENTS_H
#define WHYLATE_RECORDER_PACK_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "names.h"

/* The most that one event takes. */
#define PACKED_EVENT (2u + 7u * 10u)

/* pack_event - append one event whose predecessor was at before_ns; returns its length */
size_t pack_event(uint8_t *data, const struct recorder_event *event, uint64_t before_ns,
		  struct names *names);

#endif
