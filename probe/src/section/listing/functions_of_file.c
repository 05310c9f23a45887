// SPDX-License-Identifier: MIT
/* Functions of a program or library, by its symbols, and its USDT probes, by its notes. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "failure.h"
#include "glob.h"
#include "kinds.h"
#include "section/elf.h"
#include "section/functions.h"
#include "section/symbols.h"
#include "section/usdt.h"

/* Flags of a name. */
enum { IS_CHOSEN = 1, IS_THUMB = 2, HAS_CODE = 4 };

/* What takes USDT probes. */
struct probe_search {
	struct listed_names *probes;
	const char *pattern;
	int error;
};

/* add_symbol - keep a function that matches: its name as a section is named by it; returns 0 or an
 * errno */
static int add_symbol(struct listed_names *names, const struct elf *elf,
		      const struct symbol *symbol, const char *pattern)
{
	const char *at = strchr(symbol->name, '@');
	/* In .symtab the version is behind the name. */
	bool is_hidden = at ? at[1] != '@' : symbol->is_hidden;
	const char *version = at		? at + (is_hidden ? 1 : 2)
			      : symbol->version ? symbol->version
						: "";
	bool is_thumb = elf->machine == EM_ARM && symbol->address & 1;
	uint64_t address = symbol->address - is_thumb, offset = 0;
	char name[2 * ELF_NAME_MOST + 2];
	uint8_t flags = 0;

	if (!symbol->is_defined || (symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC))
		return 0;
	snprintf(name, sizeof(name), "%.*s",
		 (int)(at ? at - symbol->name : (long)strlen(symbol->name)), symbol->name);
	if (!glob_matches(pattern, name))
		return 0;
	if (is_hidden && *version)
		snprintf(name + strlen(name), sizeof(name) - strlen(name), "@%s", version);
	if (elf_offset(elf, address, true, &offset))
		flags |= HAS_CODE;
	if (symbol->type == STT_GNU_IFUNC)
		flags |= IS_CHOSEN;
	if (is_thumb)
		flags |= IS_THUMB;
	return names_add(names, name, version, offset, flags);
}

/* read_table - keep the functions of a table that match; returns 0 or an errno, ENOENT without it
 */
static int read_table(struct listed_names *names, const struct elf *elf, uint32_t type,
		      const char *pattern)
{
	struct symbols *symbols;
	struct symbol symbol;
	int error = symbols_open(elf, type, &symbols);

	if (error)
		return error;
	while (!error && symbols_next(symbols, &symbol))
		error = add_symbol(names, elf, &symbol, pattern);
	symbols_close(symbols);
	return error;
}

static void add_probe(void *context, const char *provider, const char *name)
{
	struct probe_search *search = context;
	char whole[2 * ELF_NAME_MOST + 2];

	if (search->error || strlen(provider) >= ELF_NAME_MOST || strlen(name) >= ELF_NAME_MOST)
		return;
	snprintf(whole, sizeof(whole), "%s:%s", provider, name);
	if (glob_matches(search->pattern, strchr(search->pattern, ':') ? whole : name))
		search->error = names_add(search->probes, whole, "", 0, 0);
}

/* read_names - keep what matches; returns 0, or an errno with the text */
static int read_names(struct listing *listing, const struct elf *elf, const char *pattern,
		      char *text)
{
	struct probe_search search = {.probes = &listing->probes, .pattern = pattern};
	int error = 0;

	if (!strchr(pattern, ':')) {
		error = read_table(&listing->names, elf, SHT_SYMTAB, pattern);
		if (error == ENOENT)
			listing->lacks |= LACKS_SYMBOL_TABLE;
		if (!error || error == ENOENT)
			error = read_table(&listing->names, elf, SHT_DYNSYM, pattern);
		if (error == ENOENT)
			error = 0;
	}
	if (!error)
		error = usdt_each(elf, add_probe, &search);
	if (!error)
		error = search.error;
	return error ? fail(text, error, "its symbols cannot be read: %s", strerror(error)) : 0;
}

static void judge(struct listed_name *name)
{
	if (name->flags & IS_CHOSEN)
		name->obstacle = OBSTACLE_CHOSEN_AT_START;
	else if (name->flags & IS_THUMB)
		name->obstacle = OBSTACLE_THUMB;
	else if (!(name->flags & HAS_CODE))
		name->obstacle = OBSTACLE_NO_CODE;
	else if (name->same > 1)
		name->obstacle = OBSTACLE_SEVERAL;
	/* Its offset names one of several. */
	if (!name->obstacle || name->obstacle == OBSTACLE_SEVERAL)
		name->hooks = hook_bit(HOOK_UPROBE);
}

int list_file(struct listing *listing, const char *pattern, const char *file, uint32_t pid,
	      char *text)
{
	char reason[FAILURE_TEXT] = "";
	struct user_code code = {.fd = -1};
	struct elf_function function;
	struct elf elf = {.fd = -1};
	int error = user_code_open_file(&code, file, pid, reason);

	if (!error)
		error = elf_open(&elf, code.fd, reason);
	if (!error)
		error = read_names(listing, &elf, pattern, reason);
	if (!error && (elf_section(&elf, ".gopclntab", SHT_PROGBITS) || elf_unwinds(&elf)))
		listing->lacks |= LACKS_RETURNS;
	names_sort(&listing->names, false);
	names_sort(&listing->probes, true);
	for (size_t i = 0; i < listing->names.count; i++)
		judge(&listing->names.at[i]);
	for (size_t i = 0; i < listing->probes.count; i++)
		listing->probes.at[i].hooks = hook_bit(HOOK_UPROBE);
	/* Why a name is not there is known of a function alone. */
	if (!error && !listing->names.count && !listing->probes.count && glob_is_name(pattern) &&
	    !strchr(pattern, ':'))
		error = elf_function_named(&elf, pattern, &function, reason);
	elf_close(&elf);
	user_code_close(&code);
	return error ? fail(text, error, "%.160s: %s", file, reason) : 0;
}
