/* SPDX-License-Identifier: MIT */
/*
 * How this kernel lays out its trace events: read from its own descriptions, because the layout
 * differs with version, architecture and configuration.
 */
#ifndef WHYLATE_RECORDER_TRACEFS_FORMATS_H
#define WHYLATE_RECORDER_TRACEFS_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/engine.h"
#include "sources.h"
#include "tracefs/pages.h"

#define REASONS 32

/* A field, where it lies in a record. */
struct layout_field {
	uint16_t offset;
	uint8_t size;
	uint8_t target; /* enum target */
	bool located;	/* it holds the offset of its bytes (__data_loc) */
	bool relative;	/* counted from its own end (__rel_data_loc) */
};

struct layout {
	const struct source *source;
	uint16_t least; /* bytes that a record must have */
	uint16_t pid;	/* where common_pid lies, 4 bytes */
	uint8_t count;
	struct layout_field fields[SOURCE_FIELDS];
};

/* The name of an interprocessor interrupt, by the address that an event has for it. */
struct reason {
	uint64_t address;
	uint8_t vector;
};

struct formats {
	struct page_format page;
	uint8_t by_id[1 << 16]; /* 1 + its place in layouts; 0: not known */
	struct layout layouts[RECORDER_SOURCES];
	size_t layout_count;
	struct reason reasons[REASONS];
	size_t reason_count;
};

/* formats_open - read the format of the pages. directory: a tracefs or an instance of it.
 * All these return 0 or an errno; EPROTO where the kernel's text is not understood. */
int formats_open(struct formats *formats, int directory);

/* formats_add - read how the events of one source are laid out */
int formats_add(struct formats *formats, int directory, const struct source *source);

/* formats_add_reasons - read the texts of ipi:ipi_entry. directory: the top of tracefs */
int formats_add_reasons(struct formats *formats, int directory);

#endif
