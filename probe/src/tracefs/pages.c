// SPDX-License-Identifier: MIT
#include "pages.h"

#include <errno.h>
#include <string.h>

#include "fields.h"
#include "small_file.h"

#define LONGEST_HEADER 4096

/* Flags of the commit word beside the length: records were lost, and their number follows. */
#define LOST	    (1u << 31)
#define LOST_STORED (1u << 30)
#define LENGTH_MASK (LOST_STORED - 1)

/* The word before each record: 5 bits of type or length, 27 bits of time. */
#define TYPE_MASK    31u
#define TYPE_PADDING 29u
#define TYPE_EXTEND  30u
#define TYPE_STAMP   31u
#define TIME_SHIFT   5
#define EXTEND_SHIFT 27
#define HEADER	     4u
/* An absolute time stamp has 59 bits: the others are those of the time before it. */
#define STAMP_HIGH (~(uint64_t)0 << 59)

static uint32_t load_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t load_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

int page_format_read(struct page_format *format, int directory)
{
	char text[LONGEST_HEADER], *rest = text, *line;
	struct trace_field field;
	uint32_t data_size = 0;
	int error = small_file_read(directory, "events/header_page", text, sizeof(text));

	*format = (struct page_format){0};
	if (error)
		return error;
	while ((line = trace_next_line(&rest)) != NULL) {
		if (!trace_field_parse(line, &field))
			continue;
		if (!strcmp(field.name, "timestamp") && (field.offset != 0 || field.size != 8))
			return EPROTO;
		if (!strcmp(field.name, "commit")) {
			format->commit_offset = field.offset;
			format->commit_size = field.size;
		}
		if (!strcmp(field.name, "data")) {
			format->data_offset = field.offset;
			data_size = field.size;
		}
	}
	if ((format->commit_size != 4 && format->commit_size != 8) || format->commit_offset < 8 ||
	    format->data_offset < format->commit_offset + format->commit_size || !data_size)
		return EPROTO;
	format->page_size = format->data_offset + data_size;
	return 0;
}

void page_open(struct page *page, const struct page_format *format, const uint8_t *bytes,
	       size_t size)
{
	uint32_t commit, length, room;

	*page = (struct page){.data = bytes + format->data_offset};
	if (size < format->data_offset) {
		page->malformed = true;
		return;
	}
	room = (uint32_t)(size - format->data_offset);
	page->time_ns = load_u64(bytes);
	/* Little-endian like all our boards: the low half of a long comes first. */
	commit = load_u32(bytes + format->commit_offset);
	length = commit & LENGTH_MASK;
	page->malformed = length > room;
	page->end = length < room ? length : room;
	if (!(commit & LOST))
		return;
	page->lost = 1;
	if ((commit & LOST_STORED) && room - page->end >= format->commit_size)
		page->lost = format->commit_size == 8 ? load_u64(page->data + page->end)
						      : load_u32(page->data + page->end);
	/* More than a kernel can have: believe only that there were some. */
	if (page->lost > UINT32_MAX || page->lost == 0)
		page->lost = 1;
}

/* fail - skip the rest of the page, which cannot be decoded any more */
static bool fail(struct page *page)
{
	page->malformed = true;
	page->at = page->end;
	return false;
}

/* absolute - complete a time stamp (rb_fix_abs_ts() in the kernel) */
static uint64_t absolute(uint64_t stamp, uint64_t before)
{
	uint64_t full = stamp | (before & STAMP_HIGH);

	return full < before && (before & STAMP_HIGH) ? full + (~STAMP_HIGH + 1) : full;
}

/* skip - skip a record of one word and `length` bytes */
static bool skip(struct page *page, uint32_t length)
{
	if (length > page->end - page->at - HEADER)
		return false;
	page->at += HEADER + length;
	return true;
}

bool page_next(struct page *page, struct page_record *record)
{
	while (page->end - page->at >= HEADER) {
		const uint8_t *here = page->data + page->at;
		uint32_t word = load_u32(here), type = word & TYPE_MASK;
		uint32_t delta = word >> TIME_SHIFT, length = type * 4, skipped = HEADER;

		/* A null: the rest of the page was never used. */
		if (type == TYPE_PADDING && delta == 0)
			break;
		/* All but short records have another word: a length or a time. */
		if (type == 0 || type >= TYPE_PADDING) {
			if (page->end - page->at < 2 * HEADER)
				return fail(page);
			length = load_u32(here + HEADER);
			skipped = 2 * HEADER;
		}
		if (type == TYPE_EXTEND || type == TYPE_STAMP) {
			uint64_t high = (uint64_t)length << EXTEND_SHIFT;

			page->time_ns = type == TYPE_STAMP ? absolute(high + delta, page->time_ns)
							   : page->time_ns + high + delta;
			page->at += skipped;
			continue;
		}
		/* A length in a word of its own counts that word. */
		if (skipped == 2 * HEADER && length < HEADER)
			return fail(page);
		if (!skip(page, length))
			return fail(page);
		if (type == TYPE_PADDING) {
			/* Discarded. 1 stands for no time: 0 would make it a null. */
			page->time_ns += delta == 1 ? 0 : delta;
			continue;
		}
		page->time_ns += delta;
		record->time_ns = page->time_ns;
		record->data = here + skipped;
		record->size = length + HEADER - skipped;
		return true;
	}
	page->at = page->end;
	return false;
}
