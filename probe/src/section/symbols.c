// SPDX-License-Identifier: MIT
#include "symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MOST    ((uint64_t)512 << 20)
#define VERSIONS_MOST ((uint64_t)16 << 20)
/* Symbols that are read at a time. */
#define CHUNK		    1024u
#define VERSION_HIDDEN	    0x8000u
#define VERSION_DEFINITIONS 4096u

/* A table of symbols that is being read. */
struct symbols {
	const struct elf *elf;
	const struct elf_section *section;
	char *names;
	size_t names_size;
	/* By symbol: the number of its version; by that number: its name in `names`. */
	char *versions;
	size_t version_count;
	uint32_t *version_names;
	uint64_t count;
	uint64_t next;
	union {
		Elf32_Sym narrow[CHUNK];
		Elf64_Sym wide[CHUNK];
	} chunk;
};

void symbols_close(struct symbols *symbols)
{
	free(symbols->names);
	free(symbols->versions);
	free(symbols->version_names);
	free(symbols);
}

/* name_at - a name of the table; NULL: there is none of a length that is read */
static const char *name_at(const struct symbols *symbols, uint32_t offset)
{
	const char *name = symbols->names + offset;
	size_t rest;

	if (!offset || offset >= symbols->names_size)
		return NULL;
	/* A '\0' is behind the last. */
	rest = symbols->names_size - offset + 1;
	return memchr(name, '\0', rest < ELF_NAME_MOST ? rest : ELF_NAME_MOST) ? name : NULL;
}

/* load_versions - read which symbol has which version; a table without them is as good */
static void load_versions(struct symbols *symbols)
{
	const struct elf_section *numbers =
	    elf_section(symbols->elf, ".gnu.version", SHT_GNU_versym);
	const struct elf_section *names =
	    elf_section(symbols->elf, ".gnu.version_d", SHT_GNU_verdef);
	char *data;
	uint64_t at = 0;

	if (!numbers || !names || symbols->section->type != SHT_DYNSYM)
		return;
	data = elf_load(symbols->elf, names, VERSIONS_MOST);
	symbols->versions = elf_load(symbols->elf, numbers, VERSIONS_MOST);
	symbols->version_names = calloc(VERSION_HIDDEN, sizeof(*symbols->version_names));
	if (!data || !symbols->versions || !symbols->version_names) {
		free(data);
		return;
	}
	symbols->version_count = numbers->size / sizeof(Elf64_Half);
	for (size_t i = 0; i < VERSION_DEFINITIONS; i++) {
		Elf64_Verdef definition; /* the same in 32-bit files */
		Elf64_Verdaux name;

		if (at > names->size || names->size - at < sizeof(definition))
			break;
		memcpy(&definition, data + at, sizeof(definition));
		if (definition.vd_aux > names->size - at ||
		    names->size - at - definition.vd_aux < sizeof(name))
			break;
		memcpy(&name, data + at + definition.vd_aux, sizeof(name));
		if (name_at(symbols, name.vda_name) && definition.vd_ndx < VERSION_HIDDEN)
			symbols->version_names[definition.vd_ndx] = name.vda_name;
		if (!definition.vd_next)
			break;
		at += definition.vd_next;
	}
	free(data);
}

int symbols_open(const struct elf *elf, uint32_t type, struct symbols **opened)
{
	size_t size = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	const struct elf_section *section = NULL;
	struct symbols *symbols;

	for (size_t i = 0; i < elf->section_count && !section; i++)
		if (elf->sections[i].type == type)
			section = &elf->sections[i];
	if (!section)
		return ENOENT;
	if (section->link >= elf->section_count || section->offset > elf->size ||
	    section->size > elf->size - section->offset)
		return EBADMSG;
	symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return ENOMEM;
	symbols->elf = elf;
	symbols->section = section;
	symbols->count = section->size / size;
	symbols->names = elf_load(elf, &elf->sections[section->link], NAMES_MOST);
	if (!symbols->names) {
		int error = errno;

		free(symbols);
		return error;
	}
	symbols->names_size = elf->sections[section->link].size;
	load_versions(symbols);
	*opened = symbols;
	return 0;
}

static void add_version(const struct symbols *symbols, uint64_t number, struct symbol *symbol)
{
	Elf64_Half version;
	uint32_t name;

	if (number >= symbols->version_count)
		return;
	memcpy(&version, symbols->versions + number * sizeof(version), sizeof(version));
	symbol->is_hidden = version & VERSION_HIDDEN;
	name = symbols->version_names[version & (VERSION_HIDDEN - 1)];
	if (name)
		symbol->version = symbols->names + name;
}

bool symbols_next(struct symbols *symbols, struct symbol *symbol)
{
	size_t size = symbols->elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);

	while (symbols->next < symbols->count) {
		uint64_t number = symbols->next++, at = number % CHUNK,
			 rest = symbols->count - number;
		uint32_t name;
		uint16_t section;

		if (!at && elf_read(symbols->elf, symbols->section->offset + number * size,
				    &symbols->chunk, (rest < CHUNK ? rest : CHUNK) * size))
			return false;
		*symbol = (struct symbol){0};
		if (symbols->elf->is_64) {
			const Elf64_Sym *wide = &symbols->chunk.wide[at];

			name = wide->st_name;
			section = wide->st_shndx;
			symbol->type = ELF64_ST_TYPE(wide->st_info);
			symbol->address = wide->st_value;
			symbol->size = wide->st_size;
		} else {
			const Elf32_Sym *narrow = &symbols->chunk.narrow[at];

			name = narrow->st_name;
			section = narrow->st_shndx;
			symbol->type = ELF32_ST_TYPE(narrow->st_info);
			symbol->address = narrow->st_value;
			symbol->size = narrow->st_size;
		}
		symbol->name = name_at(symbols, name);
		if (!symbol->name)
			continue;
		symbol->is_defined = section != SHN_UNDEF;
		add_version(symbols, number, symbol);
		return true;
	}
	return false;
}
