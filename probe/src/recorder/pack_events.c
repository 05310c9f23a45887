// SPDX-License-Identifier: MIT
#include "pack_events.h"

#include "wire/leb128.h"
#include "wire/messages.h"

/* field_value - what travels of a field: an id where it is an address or a name */
static uint64_t field_value(const struct recorder_event *event, uint8_t field, uint64_t value,
			    struct names *names)
{
	switch (field) {
	case FIELD_ADDRESS:
		return names_address(
		    names, value, event->kind == EVENT_LOCK_BEGIN || event->kind == EVENT_LOCK_END);
	case FIELD_INTERRUPT:
		names_interrupt(names, (uint32_t)value);
		return value;
	case FIELD_COMM:
		value = names_thread(names, event->e, event->f);
		names_task(names, event->d, (uint32_t)value);
		return value;
	case FIELD_LOCAL:
		return 0;
	default:
		return value;
	}
}

size_t pack_event(uint8_t *data, const struct recorder_event *event, uint64_t before_ns,
		  struct names *names)
{
	static const uint8_t as_it_is[WIRE_EVENT_FIELDS];
	const uint8_t *fields =
	    event->kind < EVENT_COUNT ? wire_event_fields[event->kind] : as_it_is;
	const uint64_t values[WIRE_EVENT_FIELDS] = {event->a, event->b, event->c,
						    event->d, event->e, event->f};
	size_t length = 2;

	data[0] = event->kind;
	data[1] = 0;
	length += leb128_put(data + length, leb128_zigzag((int64_t)(event->time_ns - before_ns)));
	for (unsigned i = 0; i < WIRE_EVENT_FIELDS; i++) {
		uint64_t value = field_value(event, fields[i], values[i], names);

		if (!value)
			continue;
		data[1] |= (uint8_t)(1u << i);
		length += leb128_put(data + length, value);
	}
	return length;
}
