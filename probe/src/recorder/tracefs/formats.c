// SPDX-License-Identifier: MIT
#include "formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/event.h"
#include "small_file.h"
#include "tracefs/fields.h"

#define LONGEST_TEXTS (256 << 10)

int formats_open(struct formats *formats, int directory)
{
	memset(formats, 0, sizeof(*formats));
	return page_format_read(&formats->page, directory);
}

/* fits - whether a field of this size fits the target */
static bool fits(const struct trace_field *field, enum target target, bool located)
{
	if (target == TARGET_MASK)
		return located ? field->size == 4 : field->size >= 1;
	if (target == TARGET_COMM)
		return !located && field->size == 16;
	return !located &&
	       (field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8);
}

/* note_field - note where a field lies, if the source wants it */
static int note_field(struct layout *layout, const struct trace_field *field)
{
	bool relative = !strncmp(field->declaration, "__rel_loc", 9);
	bool located = relative || !strncmp(field->declaration, "__data_loc", 10);

	if (!strcmp(field->name, "common_type") && (field->offset != 0 || field->size != 2))
		return EPROTO;
	if (!strcmp(field->name, "common_pid")) {
		if (field->size != 4)
			return EPROTO;
		layout->pid = (uint16_t)field->offset;
	}
	for (size_t i = 0; i < SOURCE_FIELDS && layout->source->fields[i].name; i++) {
		const struct source_field *wanted = &layout->source->fields[i];

		if (strcmp(wanted->name, field->name) != 0)
			continue;
		if (!fits(field, wanted->target, located))
			return EPROTO;
		/* At the place that the source gives it: some depend on the preceding field. */
		layout->fields[i] =
		    (struct layout_field){.offset = (uint16_t)field->offset,
					  .size = (uint8_t)(field->size > 255 ? 255 : field->size),
					  .target = (uint8_t)wanted->target,
					  .located = located,
					  .relative = relative};
		if (field->offset + field->size > layout->least)
			layout->least = (uint16_t)(field->offset + field->size);
	}
	return 0;
}

/* parse_format - parse the format of one source; returns 0 or EPROTO */
static int parse_format(char *text, struct layout *layout, unsigned *id)
{
	struct trace_field field;
	char *line;
	int error;

	*id = 0;
	layout->least = 8;
	while ((line = trace_next_line(&text)) != NULL) {
		if (sscanf(line, "ID: %u", id) == 1 || !trace_field_parse(line, &field))
			continue;
		error = note_field(layout, &field);
		if (error)
			return error;
	}
	for (size_t i = 0; i < SOURCE_FIELDS && layout->source->fields[i].name; i++) {
		if (layout->fields[i].target == TARGET_NONE)
			return EPROTO;
		layout->count = (uint8_t)(i + 1);
	}
	return *id == 0 || *id > UINT16_MAX || layout->pid == 0 || layout->pid + 4u > layout->least
		   ? EPROTO
		   : 0;
}

int formats_add(struct formats *formats, int directory, const struct source *source)
{
	struct layout *layout = &formats->layouts[formats->layout_count];
	char text[TRACE_FORMAT_LONGEST], path[128];
	const char *event = strchr(source->name, ':');
	unsigned id;
	int error;

	if (formats->layout_count == RECORDER_SOURCES)
		return E2BIG;
	snprintf(path, sizeof(path), "events/%.*s/%s/format", (int)(event - source->name),
		 source->name, event + 1);
	error = small_file_read(directory, path, text, sizeof(text));
	if (error)
		return error;
	*layout = (struct layout){.source = source};
	error = parse_format(text, layout, &id);
	if (error)
		return error;
	formats->by_id[id] = (uint8_t)++formats->layout_count;
	return 0;
}

/* find_vector - find the vector that a text of arch/arm{,64}/kernel/smp.c is for */
static uint8_t find_vector(const char *text)
{
	static const struct {
		const char *text;
		uint8_t vector;
	} known[] = {
	    {"Rescheduling interrupts", VECTOR_RESCHEDULE},
	    {"Function call interrupts", VECTOR_CALL_FUNCTION},
	    {"Single function call interrupts", VECTOR_CALL_FUNCTION_SINGLE},
	    {"CPU stop interrupts", VECTOR_CPU_STOP},
	    {"CPU stop (for crash dump) interrupts", VECTOR_CPU_STOP},
	    {"CPU stop NMIs", VECTOR_CPU_STOP},
	    {"Timer broadcast interrupts", VECTOR_TIMER_BROADCAST},
	    {"IRQ work interrupts", VECTOR_IRQ_WORK},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(text, known[i].text))
			return known[i].vector;
	return VECTOR_OTHER;
}

int formats_add_reasons(struct formats *formats, int directory)
{
	char *texts = malloc(LONGEST_TEXTS), *rest = texts, *line;
	int error =
	    texts ? small_file_read(directory, "printk_formats", texts, LONGEST_TEXTS) : ENOMEM;

	while (!error && formats->reason_count < REASONS &&
	       (line = trace_next_line(&rest)) != NULL) {
		struct reason *reason = &formats->reasons[formats->reason_count];
		char text[64];

		if (sscanf(line, "%" SCNx64 " : \"%63[^\"]\"", &reason->address, text) != 2)
			continue;
		reason->vector = find_vector(text);
		formats->reason_count += reason->vector != VECTOR_OTHER;
	}
	free(texts);
	return error;
}
