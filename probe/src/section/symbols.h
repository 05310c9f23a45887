// SPDX-License-Identifier: MIT
/* Symbols of an ELF file, table by table. */
#ifndef WHYLATE_SECTION_SYMBOLS_H
#define WHYLATE_SECTION_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "section/elf.h"

/* A symbol: its name is within the table's names. */
struct symbol {
	const char *name;
	bool is_defined;     /* and not another file's */
	const char *version; /* NULL: none */
	bool is_hidden;	     /* by its version: whoever links names another */
	uint8_t type;
	uint64_t address;
	uint64_t size;
};

struct symbols;

/* symbols_open - begin to read the first table of a type, SHT_SYMTAB or SHT_DYNSYM; returns 0, or
 * an errno: ENOENT where the file has none */
int symbols_open(const struct elf *elf, uint32_t type, struct symbols **opened);

/* symbols_next - read the next symbol that has a name; false: there are no more, or the file is
 * damaged */
bool symbols_next(struct symbols *symbols, struct symbol *symbol);

void symbols_close(struct symbols *symbols);

#endif
