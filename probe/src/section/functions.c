// SPDX-License-Identifier: MIT
#include "functions.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"

#define NAMES_MOST    ((uint64_t)512 << 20)
#define VERSIONS_MOST ((uint64_t)16 << 20)
/* Symbols that are read at a time. */
#define CHUNK 1024u
/* What an error lists. */
#define LISTED_MOST	    5u
#define LISTED_LONGEST	    90u
#define VERSION_HIDDEN	    0x8000u
#define VERSION_DEFINITIONS 4096u

/* A symbol that is defined: its name is within the table's names. */
struct symbol {
	const char *name;
	const char *version; /* NULL: none */
	bool is_hidden;	     /* by its version: whoever links names another */
	uint8_t type;
	uint64_t address;
	uint64_t size;
};

/* A table of symbols that is being read. */
struct table {
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
	uint64_t held; /* the first in the chunk */
	union {
		Elf32_Sym narrow[CHUNK];
		Elf64_Sym wide[CHUNK];
	} chunk;
};

static void table_close(struct table *table)
{
	free(table->names);
	free(table->versions);
	free(table->version_names);
	free(table);
}

/* load_versions - read which symbol has which version; a table without them is as good */
static void load_versions(struct table *table)
{
	const struct elf_section *numbers = elf_section(table->elf, ".gnu.version", SHT_GNU_versym);
	const struct elf_section *names = elf_section(table->elf, ".gnu.version_d", SHT_GNU_verdef);
	char *data;
	uint64_t at = 0;

	if (!numbers || !names || table->section->type != SHT_DYNSYM)
		return;
	data = elf_load(table->elf, names, VERSIONS_MOST);
	table->versions = elf_load(table->elf, numbers, VERSIONS_MOST);
	table->version_names = calloc(VERSION_HIDDEN, sizeof(*table->version_names));
	if (!data || !table->versions || !table->version_names) {
		free(data);
		return;
	}
	table->version_count = numbers->size / sizeof(Elf64_Half);
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
		if (name.vda_name < table->names_size && definition.vd_ndx < VERSION_HIDDEN)
			table->version_names[definition.vd_ndx] = name.vda_name;
		if (!definition.vd_next)
			break;
		at += definition.vd_next;
	}
	free(data);
}

/* table_open - begin to read a table; returns 0, or an errno: ENOENT where the file has none */
static int table_open(const struct elf *elf, uint32_t type, struct table **opened)
{
	size_t size = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	const struct elf_section *section = NULL;
	struct table *table;

	for (size_t i = 0; i < elf->section_count && !section; i++)
		if (elf->sections[i].type == type)
			section = &elf->sections[i];
	if (!section)
		return ENOENT;
	if (section->link >= elf->section_count || section->offset > elf->size ||
	    section->size > elf->size - section->offset)
		return EBADMSG;
	table = calloc(1, sizeof(*table));
	if (!table)
		return ENOMEM;
	table->elf = elf;
	table->section = section;
	table->count = section->size / size;
	table->names = elf_load(elf, &elf->sections[section->link], NAMES_MOST);
	if (!table->names) {
		free(table);
		return errno;
	}
	table->names_size = elf->sections[section->link].size;
	load_versions(table);
	*opened = table;
	return 0;
}

static void add_version(const struct table *table, uint64_t number, struct symbol *symbol)
{
	Elf64_Half version;
	uint32_t name;

	if (number >= table->version_count)
		return;
	memcpy(&version, table->versions + number * sizeof(version), sizeof(version));
	symbol->is_hidden = version & VERSION_HIDDEN;
	name = table->version_names[version & (VERSION_HIDDEN - 1)];
	if (name)
		symbol->version = table->names + name;
}

/* table_next - read the next symbol that is defined and has a name; false: there are no more, or
 * the file is damaged */
static bool table_next(struct table *table, struct symbol *symbol)
{
	size_t size = table->elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);

	while (table->next < table->count) {
		uint64_t number = table->next++, at = number % CHUNK, rest = table->count - number;
		uint32_t name;
		uint16_t section;

		if (!at && elf_read(table->elf, table->section->offset + number * size,
				    &table->chunk, (rest < CHUNK ? rest : CHUNK) * size))
			return false;
		*symbol = (struct symbol){0};
		if (table->elf->is_64) {
			const Elf64_Sym *wide = &table->chunk.wide[at];

			name = wide->st_name;
			section = wide->st_shndx;
			symbol->type = ELF64_ST_TYPE(wide->st_info);
			symbol->address = wide->st_value;
			symbol->size = wide->st_size;
		} else {
			const Elf32_Sym *narrow = &table->chunk.narrow[at];

			name = narrow->st_name;
			section = narrow->st_shndx;
			symbol->type = ELF32_ST_TYPE(narrow->st_info);
			symbol->address = narrow->st_value;
			symbol->size = narrow->st_size;
		}
		if (section == SHN_UNDEF || !name || name >= table->names_size)
			continue;
		symbol->name = table->names + name;
		add_version(table, number, symbol);
		return true;
	}
	return false;
}

/* ---------------------------------------------------------------- what a name means */

/* A search by name through all tables. */
struct search {
	const char *name;
	size_t length;	     /* of the name without its version */
	const char *version; /* NULL: the one that is the default */
	struct elf_function functions[LISTED_MOST];
	size_t count; /* of different addresses, more than are kept */
	bool is_chosen_at_start;
	bool has_table;
	char similar[FAILURE_TEXT];
	size_t similar_length;
	size_t similar_count;
};

static struct elf_function function_of(const struct elf *elf, const struct symbol *symbol)
{
	bool is_thumb = elf->machine == EM_ARM && symbol->address & 1;

	return (struct elf_function){symbol->address - is_thumb, symbol->size, is_thumb};
}

/* matches - whether that symbol is meant; names in .symtab have their versions behind an @ */
static bool matches(const struct search *search, const struct symbol *symbol)
{
	const char *at = strchr(symbol->name, '@'), *version = symbol->version;
	size_t length = at ? (size_t)(at - symbol->name) : strlen(symbol->name);
	bool is_hidden = symbol->is_hidden;

	if (length != search->length || memcmp(symbol->name, search->name, length) != 0)
		return false;
	if (at) {
		is_hidden = at[1] != '@';
		version = at + (is_hidden ? 1 : 2);
	}
	if (!search->version)
		return !is_hidden;
	return version && !strcmp(version, search->version);
}

static void add_function(struct search *search, const struct elf_function *function)
{
	for (size_t i = 0; i < search->count && i < LISTED_MOST; i++)
		if (search->functions[i].address == function->address)
			return;
	if (search->count < LISTED_MOST)
		search->functions[search->count] = *function;
	search->count++;
}

/* add_similar - list a function whose name has the name that is looked for in it */
static void add_similar(struct search *search, const struct symbol *symbol)
{
	char word[ELF_NAME_MOST], entry[2 * LISTED_LONGEST];
	size_t length = strlen(symbol->name);

	if (search->similar_count == LISTED_MOST || length > LISTED_LONGEST ||
	    search->length >= sizeof(word))
		return;
	memcpy(word, search->name, search->length);
	word[search->length] = '\0';
	if (!strstr(symbol->name, word))
		return;
	for (size_t i = 0; i < length; i++)
		if (!isgraph((unsigned char)symbol->name[i]))
			return;
	snprintf(entry, sizeof(entry), "%s%s%s", symbol->name,
		 symbol->version && strlen(symbol->version) < LISTED_LONGEST ? "@" : "",
		 symbol->version && strlen(symbol->version) < LISTED_LONGEST ? symbol->version
									     : "");
	if (strstr(search->similar, entry) ||
	    search->similar_length + strlen(entry) + 3 > sizeof(search->similar))
		return;
	search->similar_length += (size_t)sprintf(search->similar + search->similar_length, "%s%s",
						  search->similar_count ? ", " : "", entry);
	search->similar_count++;
}

static int search_table(const struct elf *elf, uint32_t type, struct search *search)
{
	struct table *table;
	struct symbol symbol;
	int error = table_open(elf, type, &table);

	if (error)
		return error == ENOENT ? 0 : error;
	search->has_table |= type == SHT_SYMTAB;
	while (table_next(table, &symbol)) {
		struct elf_function function = function_of(elf, &symbol);

		if (symbol.type == STT_GNU_IFUNC && matches(search, &symbol))
			search->is_chosen_at_start = true;
		if (symbol.type != STT_FUNC)
			continue;
		if (matches(search, &symbol))
			add_function(search, &function);
		else
			add_similar(search, &symbol);
	}
	table_close(table);
	return 0;
}

/* explain_absence - say why a file has no such function, and what to do; returns an errno */
static int explain_absence(const struct search *search, char *text)
{
	if (search->is_chosen_at_start)
		return fail(text, ENOENT,
			    "%.200s is chosen from several functions as a program starts (an "
			    "IFUNC): name the chosen one, or its 0xOFFSET",
			    search->name);
	if (search->similar_count)
		return fail(text, ENOENT, "no function %.200s; its symbols with that word: %s",
			    search->name, search->similar);
	if (!search->has_table)
		return fail(text, ENOENT,
			    "no function %.200s among those it exports, and it is stripped: use a "
			    "build with symbols, or name the function's 0xOFFSET in the file",
			    search->name);
	return fail(text, ENOENT,
		    "no function %.200s: it may be inlined everywhere (declare it "
		    "__attribute__((noinline))), or in another file",
		    search->name);
}

/* explain_several - say where the functions of one name are; returns an errno */
static int explain_several(const struct elf *elf, const struct search *search, char *text)
{
	char places[LISTED_MOST * 24] = "";
	size_t length = 0;

	for (size_t i = 0; i < search->count && i < LISTED_MOST; i++) {
		uint64_t offset;

		if (elf_offset(elf, search->functions[i].address, true, &offset))
			length += (size_t)sprintf(places + length, "%s0x%" PRIx64,
						  length ? ", " : "", offset);
	}
	return fail(text, EINVAL,
		    "%zu functions are named %.200s: name the offset of one instead: %s%s",
		    search->count, search->name, places, search->count > LISTED_MOST ? ", …" : "");
}

int elf_function_named(const struct elf *elf, const char *name, struct elf_function *function,
		       char *text)
{
	const char *at = strchr(name, '@');
	struct search search = {.name = name,
				.length = at ? (size_t)(at - name) : strlen(name),
				.version = at ? at + 1 + (at[1] == '@') : NULL};
	int error = search_table(elf, SHT_SYMTAB, &search);

	if (!error)
		error = search_table(elf, SHT_DYNSYM, &search);
	if (error)
		return fail(text, error, "its symbols cannot be read: %s", strerror(error));
	if (!search.count)
		return explain_absence(&search, text);
	if (search.count > 1)
		return explain_several(elf, &search, text);
	*function = search.functions[0];
	return 0;
}

bool elf_function_at(const struct elf *elf, uint64_t address, struct elf_function *function,
		     char *name)
{
	static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
	bool is_known = false;

	for (size_t i = 0; i < 2 && !is_known; i++) {
		struct table *table;
		struct symbol symbol;

		if (table_open(elf, types[i], &table))
			continue;
		while (table_next(table, &symbol)) {
			struct elf_function here = function_of(elf, &symbol);

			if (symbol.type != STT_FUNC || address < here.address ||
			    (address != here.address && address - here.address >= here.size))
				continue;
			/* One that begins there is the best answer. */
			if (is_known && function->address >= here.address)
				continue;
			is_known = true;
			*function = here;
			snprintf(name, ELF_NAME_MOST, "%s", symbol.name);
		}
		table_close(table);
	}
	return is_known;
}
