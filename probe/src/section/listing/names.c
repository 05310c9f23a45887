// SPDX-License-Identifier: MIT
#include "names.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/constants.h"

/* is_printed - whether a name is of characters that names have, and of no more than are named */
static bool is_printed(const char *name)
{
	size_t length = 0;

	for (; name[length]; length++)
		if (length == WIRE_LONGEST_PLACE || !isgraph((unsigned char)name[length]))
			return false;
	return true;
}

int names_add(struct listed_names *names, const char *name, const char *detail, uint64_t address,
	      uint8_t flags)
{
	size_t length = strlen(name) + 1, more;
	char *copy;

	if (!is_printed(name))
		return 0;
	if (!is_printed(detail))
		detail = "";
	more = strlen(detail) + 1;
	if (names->count == NAMES_MOST)
		return E2BIG;
	if (names->count == names->room) {
		size_t room = names->room ? 2 * names->room : 256;
		struct listed_name *larger = reallocarray(names->at, room, sizeof(*larger));

		if (!larger)
			return ENOMEM;
		names->at = larger;
		names->room = room;
	}
	copy = malloc(length + more);
	if (!copy)
		return ENOMEM;
	memcpy(copy, name, length);
	memcpy(copy + length, detail, more);
	names->at[names->count++] = (struct listed_name){
	    .name = copy, .detail = copy + length, .address = address, .same = 1, .flags = flags};
	return 0;
}

static int compare(const void *first, const void *second)
{
	const struct listed_name *a = first, *b = second;
	int order = strcmp(a->name, b->name);

	return order ? order : (a->address > b->address) - (a->address < b->address);
}

static void free_name(const struct listed_name *name)
{
	/* The detail is behind it. */
	free((void *)(uintptr_t)name->name);
}

/* merge - keep the first of so many that have one name, or each that has an address of its own;
 * returns how many are kept */
static size_t merge(struct listed_name *to, struct listed_name *from, size_t count, bool is_unique)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (!i || (!is_unique && from[i].address != to[kept - 1].address)) {
			to[kept++] = from[i];
			continue;
		}
		to[kept - 1].flags |= from[i].flags;
		free_name(&from[i]);
	}
	for (size_t i = 0; i < kept; i++)
		to[i].same = (uint32_t)(is_unique ? count : kept);
	return kept;
}

void names_sort(struct listed_names *names, bool is_unique)
{
	size_t kept = 0, end;

	if (names->count)
		qsort(names->at, names->count, sizeof(*names->at), compare);
	for (size_t begin = 0; begin < names->count; begin = end) {
		for (end = begin + 1; end < names->count; end++)
			if (strcmp(names->at[begin].name, names->at[end].name) != 0)
				break;
		kept += merge(names->at + kept, names->at + begin, end - begin, is_unique);
	}
	names->count = kept;
}

struct listed_name *names_find(const struct listed_names *names, const char *name, size_t length)
{
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strncmp(names->at[middle].name, name, length);

		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* Names that it begins come behind it. */
	if (low < names->count && !strncmp(names->at[low].name, name, length) &&
	    !names->at[low].name[length])
		return &names->at[low];
	return NULL;
}

void names_close(struct listed_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free_name(&names->at[i]);
	free(names->at);
	*names = (struct listed_names){0};
}
