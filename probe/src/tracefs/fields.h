/* SPDX-License-Identifier: MIT */
/* Lines in which the kernel describes the fields of its trace events, and of its pages. */
#ifndef WHYLATE_TRACEFS_FIELDS_H
#define WHYLATE_TRACEFS_FIELDS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The longest seen is 3 KiB: sched:sched_switch, for the text that prints its states. */
#define TRACE_FORMAT_LONGEST 16384

/* One line: "field:int irq;	offset:8;	size:4;	signed:1;" */
struct trace_field {
	char declaration[128]; /* type and name */
	const char *name;
	uint32_t offset, size;
};

/* trace_field_parse - parse one line; false: it is no field. The name is without an array's
 * brackets. */
bool trace_field_parse(const char *line, struct trace_field *field);

/* trace_next_line - cut one line off a text; NULL at its end */
char *trace_next_line(char **text);

/* trace_number - read a field of 1, 2, 4 or 8 bytes, little-endian like all our boards; 0 of any
 * other size */
static inline uint64_t trace_number(const uint8_t *bytes, uint32_t size)
{
	uint64_t value = 0;

	/* Each size on its own: then it is one instruction, and not a call. */
	switch (size) {
	case 1:
		return *bytes;
	case 2:
		memcpy(&value, bytes, 2);
		break;
	case 4:
		memcpy(&value, bytes, 4);
		break;
	case 8:
		memcpy(&value, bytes, 8);
		break;
	}
	return value;
}

#endif
