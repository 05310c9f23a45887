/* SPDX-License-Identifier: MIT */
/* Where the records of a trace event have what a section needs of them. */
#ifndef WHYLATE_SECTION_TRACEFS_RECORDS_H
#define WHYLATE_SECTION_TRACEFS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "section/bpf/layout.h"
#include "tracefs/pages.h"

/* A number in a record; size 0: there is none. */
struct record_field {
	uint16_t offset;
	uint8_t size;
};

/* A trace event. */
struct record_layout {
	uint16_t id;
	uint16_t least; /* bytes that a record has */
	struct record_field pid;
	struct record_field place;  /* the stack pointer */
	struct record_field caller; /* where the function returns to */
	struct record_field key;    /* what pairs it with the other one */
	struct record_field conditions[SECTION_CONDITIONS];
};

/* A field by its name. */
struct record_wanted {
	const char *name;
	struct record_field *to;
};

/* record_layout_read - read where an event of an instance, "system:event", has its thread and what
 * is wanted beside; returns 0, or an errno with the text */
int record_layout_read(struct record_layout *layout, int instance, const char *event,
		       const struct record_wanted *wanted, size_t count, char *text);

/* record_is - whether a record is of that event, and as long as those are */
bool record_is(const struct record_layout *layout, const struct page_record *record);

/* record_number - read a field of a record that is of its event; 0 where there is none */
uint64_t record_number(const struct page_record *record, const struct record_field *field);

#endif
