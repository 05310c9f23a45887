// SPDX-License-Identifier: MIT
#include "build_id.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/* A kernel has a handful of notes, a module two. */
#define NOTES_MOST 8192u

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

size_t build_id_of_notes(const uint8_t *notes, size_t size, uint8_t *id)
{
	while (size >= sizeof(Elf32_Nhdr)) {
		Elf32_Nhdr header; /* the same in 64-bit files */
		const uint8_t *name, *value;

		memcpy(&header, notes, sizeof(header));
		notes += sizeof(header);
		size -= sizeof(header);
		if (header.n_namesz > size || padded(header.n_namesz) > size)
			return 0;
		name = notes;
		notes += padded(header.n_namesz);
		size -= padded(header.n_namesz);
		if (header.n_descsz > size)
			return 0;
		value = notes;
		if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof("GNU") &&
		    !memcmp(name, "GNU", sizeof("GNU"))) {
			if (header.n_descsz > BUILD_ID_MOST)
				return 0;
			memcpy(id, value, header.n_descsz);
			return header.n_descsz;
		}
		/* The last one need not be padded. */
		if (padded(header.n_descsz) > size)
			return 0;
		notes += padded(header.n_descsz);
		size -= padded(header.n_descsz);
	}
	return 0;
}

size_t build_id_read(const char *module, uint8_t *id)
{
	char path[128];
	uint8_t notes[NOTES_MOST];
	size_t size;
	FILE *file;

	/* The module's name in brackets becomes a path: nothing that leads out of /sys/module. */
	if (module[0] == '.' || strchr(module, '/'))
		return 0;
	if (module[0])
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", module);
	else
		snprintf(path, sizeof(path), "/sys/kernel/notes");
	file = fopen(path, "re");
	if (!file)
		return 0;
	size = fread(notes, 1, sizeof(notes), file);
	fclose(file);
	return build_id_of_notes(notes, size, id);
}
