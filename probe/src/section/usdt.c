// SPDX-License-Identifier: MIT
#include "usdt.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"

#define NOTES_MOST ((uint64_t)16 << 20)
#define OWNER	   "stapsdt"
#define TYPE	   3u
/* What an error lists. */
#define LISTED_MOST    5u
#define LISTED_LONGEST 60u

/* A note: three addresses, provider, name and arguments. */
struct note {
	uint64_t address;
	uint64_t base; /* where .stapsdt.base was as the note was written: prelink moves it */
	uint64_t semaphore;
	const char *provider;
	const char *name;
};

static uint64_t padded(uint64_t size)
{
	return (size + 3) & ~(uint64_t)3;
}

/* text_in - a string that ends within that size; NULL: it does not */
static const char *text_in(const char *data, size_t size)
{
	return size && memchr(data, '\0', size) ? data : NULL;
}

static uint64_t address_at(const struct elf *elf, const char *data, size_t number)
{
	uint32_t narrow;
	uint64_t wide;

	if (elf->is_64) {
		memcpy(&wide, data + number * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, data + number * sizeof(narrow), sizeof(narrow));
	return narrow;
}

/* read_value - read what a note says; false: it is damaged */
static bool read_value(const struct elf *elf, const char *value, size_t size, struct note *note)
{
	size_t addresses = 3 * (elf->is_64 ? sizeof(uint64_t) : sizeof(uint32_t)), length;

	if (size < addresses)
		return false;
	note->address = address_at(elf, value, 0);
	note->base = address_at(elf, value, 1);
	note->semaphore = address_at(elf, value, 2);
	value += addresses;
	size -= addresses;
	note->provider = text_in(value, size);
	if (!note->provider)
		return false;
	length = strlen(note->provider) + 1;
	note->name = text_in(value + length, size - length);
	return note->name != NULL;
}

/* next_note - read the next note of a USDT probe, and go on behind it; false: there are no more */
static bool next_note(const struct elf *elf, const char **data, size_t *size, struct note *note)
{
	while (*size >= sizeof(Elf32_Nhdr)) {
		const char *name = *data + sizeof(Elf32_Nhdr), *value;
		Elf32_Nhdr header; /* the same in 64-bit files */
		uint64_t whole;

		memcpy(&header, *data, sizeof(header));
		whole = sizeof(header) + padded(header.n_namesz) + header.n_descsz;
		if (whole > *size)
			return false;
		value = name + padded(header.n_namesz);
		/* The last one need not be padded. */
		whole = padded(whole) < *size ? padded(whole) : *size;
		*data += whole;
		*size -= whole;
		if (header.n_type == TYPE && header.n_namesz == sizeof(OWNER) &&
		    !memcmp(name, OWNER, sizeof(OWNER)) &&
		    read_value(elf, value, header.n_descsz, note))
			return true;
	}
	return false;
}

/* is_shown - whether an error may show that name */
static bool is_shown(const char *name)
{
	if (strlen(name) > LISTED_LONGEST)
		return false;
	for (; *name; name++)
		if (!isgraph((unsigned char)*name))
			return false;
	return true;
}

/* list_note - add a probe to a list of at most LISTED_MOST */
static void list_note(const struct note *note, char *list, size_t *listed)
{
	char entry[2 * LISTED_LONGEST + 4];
	size_t length = strlen(list);

	if (*listed >= LISTED_MOST || !is_shown(note->provider) || !is_shown(note->name))
		return;
	snprintf(entry, sizeof(entry), "%s:%s", note->provider, note->name);
	if (strstr(list, entry) || length + strlen(entry) + 3 > FAILURE_TEXT)
		return;
	sprintf(list + length, "%s%s", *listed ? ", " : "", entry);
	++*listed;
}

int usdt_find(const struct elf *elf, const char *name, struct usdt_place *places, size_t most,
	      size_t *count, char *text)
{
	const struct elf_section *section = elf_section(elf, ".note.stapsdt", SHT_NOTE);
	const struct elf_section *base = elf_section(elf, ".stapsdt.base", SHT_PROGBITS);
	const char *colon = strchr(name, ':'), *data;
	size_t provider = colon ? (size_t)(colon - name) : 0, size, listed = 0;
	char *notes, list[FAILURE_TEXT] = "";
	struct note note;
	int error = 0;

	*count = 0;
	if (!section)
		return fail(text, ENOENT,
			    "it has no USDT probes: its section .note.stapsdt is "
			    "missing");
	notes = elf_load(elf, section, NOTES_MOST);
	if (!notes)
		return fail(text, errno, "its USDT probes cannot be read: %s", strerror(errno));
	data = notes;
	size = (size_t)section->size;
	while (colon && !error && next_note(elf, &data, &size, &note)) {
		uint64_t moved = base && note.base ? base->address - note.base : 0;

		list_note(&note, list, &listed);
		if (strlen(note.provider) != provider || memcmp(note.provider, name, provider) ||
		    strcmp(note.name, colon + 1) != 0)
			continue;
		if (*count == most)
			error = fail(text, E2BIG, "%.200s is at more than %zu places of it", name,
				     most);
		else
			places[(*count)++] = (struct usdt_place){
			    note.address + moved, note.semaphore ? note.semaphore + moved : 0};
	}
	free(notes);
	if (!error && !*count)
		error = fail(text, ENOENT, "no USDT probe %.200s; it has %s%s", name,
			     listed ? list : "none", listed == LISTED_MOST ? ", …" : "");
	return error;
}

int usdt_each(const struct elf *elf,
	      void (*give)(void *context, const char *provider, const char *name), void *context)
{
	const struct elf_section *section = elf_section(elf, ".note.stapsdt", SHT_NOTE);
	struct note note;
	const char *data;
	char *notes;
	size_t size;

	if (!section)
		return 0;
	notes = elf_load(elf, section, NOTES_MOST);
	if (!notes)
		return errno;
	data = notes;
	size = (size_t)section->size;
	while (next_note(elf, &data, &size, &note))
		give(context, note.provider, note.name);
	free(notes);
	return 0;
}
