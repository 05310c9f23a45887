// SPDX-License-Identifier: MIT
#include "caller_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/kallsyms.h"
#include "section/user_files.h"
#include "wire/send.h"

bool caller_names_open(struct caller_names *names, size_t room)
{
	*names =
	    (struct caller_names){.symbols = calloc(room, sizeof(*names->symbols)), .room = room};
	return names->symbols;
}

static void add(struct caller_names *names, uint64_t address, bool data)
{
	struct symbol *symbol = &names->symbols[names->count];

	if (names->count == names->room)
		return;
	symbol->address = address;
	symbol->data = data;
	names->count++;
}

void caller_names_add_lock(struct caller_names *names, uint64_t lock)
{
	add(names, lock, true);
}

void caller_names_add_all(struct caller_names *names, const uint64_t *callers, size_t most)
{
	for (size_t i = 0; i < most && callers[i]; i++)
		add(names, callers[i], false);
}

static int compare(const void *first, const void *second)
{
	const struct symbol *a = first, *b = second;

	return (a->address > b->address) - (a->address < b->address);
}

void caller_names_resolve(struct caller_names *names)
{
	size_t count = 0;

	/* The kernel's symbols are read to the last. */
	if (!names->count)
		return;
	qsort(names->symbols, names->count, sizeof(*names->symbols), compare);
	for (size_t i = 0; i < names->count; i++)
		if (!count || names->symbols[i].address != names->symbols[count - 1].address)
			names->symbols[count++] = names->symbols[i];
	names->count = count;
	kallsyms_resolve(names->symbols, names->count);
}

static void name(void *context, size_t number, const char *function, uint64_t behind)
{
	struct symbol *symbol = &((struct caller_names *)context)->symbols[number];

	snprintf(symbol->name, sizeof(symbol->name), "%.100s+0x%" PRIx64, function, behind);
}

void caller_names_resolve_user(struct caller_names *names, const struct user_files *files)
{
	uint64_t *places = calloc(names->count + 1, sizeof(*places));

	qsort(names->symbols, names->count, sizeof(*names->symbols), compare);
	for (size_t i = 0; places && i < names->count; i++)
		places[i] = names->symbols[i].address;
	if (places)
		user_files_name(files, places, names->count, name, names);
	free(places);
}

static const struct symbol *find(const struct caller_names *names, uint64_t address)
{
	const struct symbol wanted = {.address = address};

	return names->count ? bsearch(&wanted, names->symbols, names->count,
				      sizeof(*names->symbols), compare)
			    : NULL;
}

const char *caller_name(const struct caller_names *names, uint64_t address)
{
	const struct symbol *symbol = find(names, address);

	return symbol ? symbol->name : "";
}

uint64_t caller_start(const struct caller_names *names, uint64_t address)
{
	const struct symbol *symbol = find(names, address);

	return symbol ? symbol->start : 0;
}

struct wire_list caller_names_list(const struct caller_names *names, const uint64_t *callers,
				   size_t most, uint8_t *room, size_t size)
{
	struct wire_list list = {room, 0, 0};

	for (size_t i = 0; i < most && callers[i]; i++) {
		const char *name = caller_name(names, callers[i]);
		size_t length = strlen(name);

		if (list.size + 2 + length > size)
			break;
		wire_store(room + list.size, length, 2);
		memcpy(room + list.size + 2, name, length);
		list.size = (uint16_t)(list.size + 2 + length);
		list.count++;
	}
	return list;
}

void caller_names_close(struct caller_names *names)
{
	free(names->symbols);
	*names = (struct caller_names){0};
}
