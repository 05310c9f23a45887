// SPDX-License-Identifier: MIT
#include "records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "small_file.h"
#include "tracefs/fields.h"

/* note_field - note where a field lies, if it is wanted; returns 0, or EPROTO where it is no number
 */
static int note_field(struct record_layout *layout, const struct trace_field *field,
		      const struct record_wanted *wanted)
{
	bool is_number =
	    field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8;

	if (strcmp(field->name, wanted->name) != 0)
		return 0;
	if (!is_number || !strncmp(field->declaration, "__", 2))
		return EPROTO;
	*wanted->to = (struct record_field){(uint16_t)field->offset, (uint8_t)field->size};
	if (field->offset + field->size > layout->least)
		layout->least = (uint16_t)(field->offset + field->size);
	return 0;
}

/* parse - parse the text of a format; returns 0, or an errno with the text */
static int parse(struct record_layout *layout, char *format, const char *event,
		 const struct record_wanted *wanted, size_t count, char *text)
{
	const struct record_wanted of_thread = {"common_pid", &layout->pid};
	struct trace_field field;
	unsigned id = 0;
	char *line;

	while ((line = trace_next_line(&format)) != NULL) {
		if (sscanf(line, "ID: %u", &id) == 1 || !trace_field_parse(line, &field))
			continue;
		if (note_field(layout, &field, &of_thread))
			return fail(text, EPROTO, "%s: its format is not understood", event);
		for (size_t i = 0; i < count; i++)
			if (note_field(layout, &field, &wanted[i]))
				return fail(text, EINVAL, "%s: its field %s is no number", event,
					    wanted[i].name);
	}
	if (!id || id > UINT16_MAX || layout->pid.size != 4)
		return fail(text, EPROTO, "%s: its format is not understood", event);
	layout->id = (uint16_t)id;
	for (size_t i = 0; i < count; i++)
		if (!wanted[i].to->size)
			return fail(text, ESRCH, "%s has no field %s", event, wanted[i].name);
	return 0;
}

int record_layout_read(struct record_layout *layout, int instance, const char *event,
		       const struct record_wanted *wanted, size_t count, char *text)
{
	char path[160], *format = malloc(TRACE_FORMAT_LONGEST);
	const char *colon = strchr(event, ':');
	int error = format ? 0 : ENOMEM;

	*layout = (struct record_layout){.least = sizeof(uint16_t)};
	if (!colon) {
		free(format);
		return fail(text, EINVAL, "%s is no trace event: write SYSTEM:NAME", event);
	}
	snprintf(path, sizeof(path), "events/%.*s/%s/format", (int)(colon - event), event,
		 colon + 1);
	if (!error)
		error = small_file_read(instance, path, format, TRACE_FORMAT_LONGEST);
	if (error == ENOENT)
		fail(text, error, "this kernel has no trace event %s", event);
	else if (error)
		fail(text, error, "%s: %s", event, strerror(error));
	else
		error = parse(layout, format, event, wanted, count, text);
	free(format);
	return error;
}

bool record_is(const struct record_layout *layout, const struct page_record *record)
{
	return record->size >= layout->least && layout->id &&
	       trace_number(record->data, sizeof(layout->id)) == layout->id;
}

uint64_t record_number(const struct page_record *record, const struct record_field *field)
{
	return trace_number(record->data + field->offset, field->size);
}
