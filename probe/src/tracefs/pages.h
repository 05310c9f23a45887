/* SPDX-License-Identifier: MIT */
/*
 * A page of the kernel's ring buffer, as per_cpu/cpuN/trace_pipe_raw gives it (the kernel's
 * kernel/trace/ring_buffer.c): a time stamp, a commit word, and records with their time
 * since the preceding record.
 */
#ifndef WHYLATE_TRACEFS_PAGES_H
#define WHYLATE_TRACEFS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a page is laid out: of events/header_page. */
struct page_format {
	uint32_t page_size;
	uint32_t commit_offset;
	uint32_t commit_size; /* of a long: 4 or 8 */
	uint32_t data_offset;
};

struct page {
	const uint8_t *data;
	uint32_t at, end;
	uint64_t time_ns; /* of the last record */
	uint64_t lost;	/* records overwritten before this page; 1 where their number is unknown */
	bool malformed; /* it ended where no record can end */
};

struct page_record {
	uint64_t time_ns;
	const uint8_t *data;
	uint32_t size;
};

/* page_format_read - read how pages are laid out. directory: a tracefs or an instance of it.
 * Returns 0 or an errno; EPROTO where the kernel's text is not understood. */
int page_format_read(struct page_format *format, int directory);

/* page_open - open a page; bytes: what one read gave, at least data_offset, or it has no record */
void page_open(struct page *page, const struct page_format *format, const uint8_t *bytes,
	       size_t size);

/* page_next - read the next record; false at the end. Nothing outside the page is ever read */
bool page_next(struct page *page, struct page_record *record);

#endif
