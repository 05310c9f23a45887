// SPDX-License-Identifier: MIT
#include "convert.h"

#include <string.h>

#include "tracefs/fields.h"

/* switch_state_bits - convert why a thread left. Where it was preempted the kernel sets one bit
 * above all states, another one in each version; where it gave way by itself, none: it can still
 * run either way. */
static uint8_t switch_state_bits(uint64_t state)
{
	/* TASK_IDLE is reported by a bit of its own; it is an uninterruptible sleep. */
	const uint64_t idle = 0x80, uninterruptible = 0x02;

	if (!(state & 0xFF))
		return SWITCH_PREEMPTED;
	return (uint8_t)(state & idle ? uninterruptible : state & SWITCH_STATE);
}

static uint8_t find_vector(const struct formats *formats, uint64_t address)
{
	for (size_t i = 0; i < formats->reason_count; i++)
		if (formats->reasons[i].address == address)
			return formats->reasons[i].vector;
	return VECTOR_OTHER;
}

/* find_mask - locate the bytes of a set of CPUs; false: they are not within the record */
static bool find_mask(const struct layout_field *field, const struct page_record *record,
		      struct converted *converted)
{
	uint32_t offset = field->offset, size = field->size;

	if (field->located) {
		uint32_t where = (uint32_t)trace_number(record->data + field->offset, 4);

		offset = (where & 0xFFFF) + (field->relative ? field->offset + 4u : 0);
		size = where >> 16;
	}
	if (offset > record->size || size > record->size - offset)
		return false;
	converted->mask = record->data + offset;
	converted->mask_size = size;
	return true;
}

bool convert(const struct formats *formats, const struct page_record *record,
	     struct converted *converted)
{
	struct recorder_event *event = &converted->event;
	const struct layout *layout;
	uint8_t known;

	if (record->size < 2)
		return false;
	known = formats->by_id[trace_number(record->data, 2)];
	if (!known)
		return false;
	layout = &formats->layouts[known - 1];
	if (record->size < layout->least)
		return false;

	*converted =
	    (struct converted){.pid = (uint32_t)trace_number(record->data + layout->pid, 4)};
	event->time_ns = record->time_ns;
	event->kind = layout->source->kind;
	event->a = layout->source->vector;
	for (uint8_t i = 0; i < layout->count; i++) {
		const struct layout_field *field = &layout->fields[i];
		const uint8_t *bytes = record->data + field->offset;
		uint64_t value = trace_number(bytes, field->size); /* 0 for what is no number */

		switch ((enum target)field->target) {
		case TARGET_NONE:
			break;
		case TARGET_A:
			event->a = (uint8_t)value;
			break;
		case TARGET_B:
			event->b = (uint16_t)value;
			break;
		case TARGET_C:
		case TARGET_PID:
			event->c = (uint32_t)value;
			break;
		case TARGET_D:
			event->d = (uint32_t)value;
			break;
		case TARGET_E:
			event->e = value;
			break;
		case TARGET_E_OR:
			event->e = event->e ? event->e : value;
			break;
		case TARGET_F:
			event->f = value;
			break;
		case TARGET_STATE:
			event->a = switch_state_bits(value);
			break;
		case TARGET_PRIO_PREV:
			event->b |= (uint16_t)(value & 0xFF);
			break;
		case TARGET_PRIO_NEXT:
			event->b |= (uint16_t)((value & 0xFF) << 8);
			break;
		case TARGET_COMM:
			memcpy(&event->e, bytes, sizeof(event->e));
			memcpy(&event->f, bytes + sizeof(event->e), sizeof(event->f));
			break;
		case TARGET_IDLE:
			event->kind =
			    (uint32_t)value == UINT32_MAX ? EVENT_IDLE_EXIT : EVENT_IDLE_ENTRY;
			event->b = event->kind == EVENT_IDLE_ENTRY ? (uint16_t)value : 0;
			break;
		case TARGET_REASON:
			event->a = find_vector(formats, value);
			break;
		case TARGET_MASK:
			if (!find_mask(field, record, converted))
				return false;
			break;
		}
	}
	return true;
}
