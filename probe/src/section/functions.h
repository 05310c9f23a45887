// SPDX-License-Identifier: MIT
/* Functions of an ELF file, by their names in .symtab and .dynsym. */
#ifndef WHYLATE_SECTION_FUNCTIONS_H
#define WHYLATE_SECTION_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "section/elf.h"

struct elf_function {
	uint64_t address;
	uint64_t size; /* 0: unknown */
	bool is_thumb;
};

/* elf_function_named - find the function that name means, or NAME@VERSION or NAME@@VERSION; returns
 * 0, or an errno with the text, which lacks the file's name */
int elf_function_named(const struct elf *elf, const char *name, struct elf_function *function,
		       char *text);

/* elf_function_at - find the function that an address is in; name: has ELF_NAME_MOST bytes. false:
 * in none that is known */
bool elf_function_at(const struct elf *elf, uint64_t address, struct elf_function *function,
		     char *name);

/* elf_unwinds - whether its code is of a language whose exceptions, or panics, leave functions */
bool elf_unwinds(const struct elf *elf);

#endif
