// SPDX-License-Identifier: MIT
#include "functions.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "section/symbols.h"
#include "failure.h"

/* What an error lists. */
#define LISTED_MOST    5u
#define LISTED_LONGEST 90u

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

/* is_shown - whether an error may show a name that a file holds */
static bool is_shown(const char *name)
{
	if (strlen(name) > LISTED_LONGEST)
		return false;
	for (; *name; name++)
		if (!isgraph((unsigned char)*name))
			return false;
	return true;
}

/* add_similar - list a function whose name has the name that is looked for in it */
static void add_similar(struct search *search, const struct symbol *symbol)
{
	char word[LISTED_LONGEST + 1], entry[2 * LISTED_LONGEST + 2];
	bool has_version = symbol->version && is_shown(symbol->version);

	if (search->similar_count == LISTED_MOST || search->length > LISTED_LONGEST ||
	    !is_shown(symbol->name))
		return;
	snprintf(word, sizeof(word), "%.*s", (int)search->length, search->name);
	if (!strstr(symbol->name, word))
		return;
	snprintf(entry, sizeof(entry), "%s%s%s", symbol->name, has_version ? "@" : "",
		 has_version ? symbol->version : "");
	if (strstr(search->similar, entry) ||
	    search->similar_length + strlen(entry) + 3 > sizeof(search->similar))
		return;
	search->similar_length += (size_t)sprintf(search->similar + search->similar_length, "%s%s",
						  search->similar_count ? ", " : "", entry);
	search->similar_count++;
}

static int search_table(const struct elf *elf, uint32_t type, struct search *search)
{
	struct symbols *symbols;
	struct symbol symbol;
	int error = symbols_open(elf, type, &symbols);

	if (error)
		return error == ENOENT ? 0 : error;
	search->has_table |= type == SHT_SYMTAB;
	while (symbols_next(symbols, &symbol)) {
		struct elf_function function = function_of(elf, &symbol);

		if (!symbol.is_defined)
			continue;
		if (symbol.type == STT_GNU_IFUNC && matches(search, &symbol))
			search->is_chosen_at_start = true;
		if (symbol.type != STT_FUNC)
			continue;
		if (matches(search, &symbol))
			add_function(search, &function);
		else
			add_similar(search, &symbol);
	}
	symbols_close(symbols);
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
		struct symbols *symbols;
		struct symbol symbol;

		if (symbols_open(elf, types[i], &symbols))
			continue;
		while (symbols_next(symbols, &symbol)) {
			struct elf_function here = function_of(elf, &symbol);

			if (!symbol.is_defined || symbol.type != STT_FUNC ||
			    address < here.address ||
			    (address != here.address && address - here.address >= here.size))
				continue;
			/* One that begins there is the best answer. */
			if (is_known && function->address >= here.address)
				continue;
			is_known = true;
			*function = here;
			snprintf(name, ELF_NAME_MOST, "%s",
				 is_shown(symbol.name) ? symbol.name : "a function");
		}
		symbols_close(symbols);
	}
	return is_known;
}

/* is_of_unwinding - whether a symbol is what such languages need; what a C library has as well
 * counts only where another file's is used */
static bool is_of_unwinding(const struct symbol *symbol)
{
	static const char *const names[] = {"__gxx_personality_v0", "rust_eh_personality",
					    "_Unwind_Resume"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t length = strlen(names[i]);

		/* In .symtab the version is behind it. */
		if (!strncmp(symbol->name, names[i], length) &&
		    (!symbol->name[length] || symbol->name[length] == '@'))
			return i < 2 || !symbol->is_defined;
	}
	return false;
}

bool elf_unwinds(const struct elf *elf)
{
	static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
	bool unwinds = false;

	for (size_t i = 0; i < 2 && !unwinds; i++) {
		struct symbols *symbols;
		struct symbol symbol;

		if (symbols_open(elf, types[i], &symbols))
			continue;
		while (!unwinds && symbols_next(symbols, &symbol))
			unwinds = is_of_unwinding(&symbol);
		symbols_close(symbols);
	}
	return unwinds;
}
