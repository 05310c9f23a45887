// SPDX-License-Identifier: MIT
#include "fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LARGEST_FIELD 4096

bool trace_field_parse(const char *line, struct trace_field *field)
{
	size_t end;

	if (sscanf(line, " field:%127[^;]; offset:%" SCNu32 "; size:%" SCNu32 ";",
		   field->declaration, &field->offset, &field->size) != 3)
		return false;
	end = strlen(field->declaration);
	if (end && field->declaration[end - 1] == ']')
		while (end && field->declaration[end] != '[')
			end--;
	/* "char[] name" has them at the type, "char name[16]" at the name. */
	field->declaration[end] = '\0';
	while (end && field->declaration[end - 1] != ' ' && field->declaration[end - 1] != '*')
		end--;
	field->name = field->declaration + end;
	return field->offset < LARGEST_FIELD && field->size <= LARGEST_FIELD;
}

char *trace_next_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	if (*line == '\0')
		return NULL;
	if (end)
		*end = '\0';
	*text = end ? end + 1 : line + strlen(line);
	return line;
}
