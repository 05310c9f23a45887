// SPDX-License-Identifier: MIT
/*
 * Memory of a stated size and kind of pages, and the evidence that it is backed so.
 *
 * The size of a mapping does not show what backs it: pages that were only read are all the one page
 * of zeros, which stays in the nearest cache however large the mapping is. So the frames are
 * counted. Only the mapping is advised; no setting of the system is changed.
 */
#ifndef WHYLATE_BENCHMARK_BUFFER_H
#define WHYLATE_BENCHMARK_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "child.h"

/* No byte of any content has this value. */
#define ABSENT_BYTE 0xFF

struct buffer {
	uint8_t *bytes;
	size_t size;
	enum buffer_pages pages;
	/* Mapped, with inaccessible memory on both sides: mappings that touch are merged. */
	size_t mapped;
};

/* buffer_open - map a buffer and fill it; returns 0, or an errno with the text */
int buffer_open(struct buffer *buffer, struct child_context *context, size_t size,
		enum buffer_pages pages, enum buffer_content content);

/* What backs the first `size` bytes of a buffer. */
struct backing {
	uint64_t pages;	  /* of the board's base size */
	uint64_t present; /* of them in memory */
	uint64_t frames;  /* different ones behind them */
	uint64_t huge_bytes, hugetlb_bytes;
	int error; /* why frames is not known, or 0 */
};

/* buffer_backing - read what backs a buffer from /proc/self/pagemap and smaps */
void buffer_backing(const struct buffer *buffer, struct backing *backing);

#endif
