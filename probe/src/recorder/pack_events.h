// SPDX-License-Identifier: MIT
/*
 * How events travel: the data of an events message.
 *
 * A sequence of records, one for each event:
 *   u8 kind (enum recorder_kind), u8 mask: which of a, b, c, d, e, f follow (bit 0: a);
 *   LEB128: zigzag(time_ns - that of the event before it, the window's due_ns for the first of
 *   the message); then those fields, each as a LEB128 number.
 * What is an address, or the 16 bytes of a thread's name, is an id there, from 1, whose name
 * comes in a name message (names.h): e of SWITCH (table 1; f is absent); e of TIMER_ENTRY,
 * LOCK_BEGIN, LOCK_END, IPI_SEND, CALL_ENTRY, CALL_EXIT, STACK, f of NMI, e and f of FRAMES
 * (table 2). hrtimers (f of TIMER_ENTRY and TIMER_EXIT) are left out. IRQ_ENTRY and IRQ_EXIT are
 * named by c (table 3).
 */
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
