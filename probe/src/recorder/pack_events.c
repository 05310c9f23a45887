// SPDX-License-Identifier: MIT
#include "pack_events.h"

#include "wire/leb128.h"

/* Which of e and f hold an address. */
#define ADDRESS_E 1u
#define ADDRESS_F 2u
/* Which of them mean nothing outside of the kernel. */
#define NOTHING_F 4u

static const uint8_t holds[] = {
    [EVENT_NMI] = ADDRESS_F,	    [EVENT_TIMER_ENTRY] = ADDRESS_E | NOTHING_F,
    [EVENT_TIMER_EXIT] = NOTHING_F, [EVENT_LOCK_BEGIN] = ADDRESS_E,
    [EVENT_LOCK_END] = ADDRESS_E,   [EVENT_IPI_SEND] = ADDRESS_E,
    [EVENT_STACK] = ADDRESS_E,	    [EVENT_FRAMES] = ADDRESS_E | ADDRESS_F,
    [EVENT_CALL_ENTRY] = ADDRESS_E, [EVENT_CALL_EXIT] = ADDRESS_E,
};

size_t pack_event(uint8_t *data, const struct recorder_event *event, uint64_t before_ns,
		  struct names *names)
{
	uint8_t held = event->kind < sizeof(holds) ? holds[event->kind] : 0;
	uint64_t fields[6] = {event->a, event->b, event->c, event->d, event->e, event->f};
	size_t length = 2;

	if (event->kind == EVENT_SWITCH) {
		fields[4] = names_thread(names, event->e, event->f);
		fields[5] = 0;
	}
	if (held & ADDRESS_E)
		fields[4] = names_address(names, event->e);
	if (held & ADDRESS_F)
		fields[5] = names_address(names, event->f);
	if (held & NOTHING_F)
		fields[5] = 0;
	if (event->kind == EVENT_IRQ_ENTRY)
		names_interrupt(names, event->c);
	data[0] = event->kind;
	data[1] = 0;
	length += leb128_put(data + length, leb128_zigzag((int64_t)(event->time_ns - before_ns)));
	for (unsigned i = 0; i < 6; i++) {
		if (!fields[i])
			continue;
		data[1] |= (uint8_t)(1u << i);
		length += leb128_put(data + length, fields[i]);
	}
	return length;
}
