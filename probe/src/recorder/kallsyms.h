// SPDX-License-Identifier: MIT
/* The kernel's symbols: /proc/kallsyms, read once for all addresses that want a name. */
#ifndef WHYLATE_RECORDER_KALLSYMS_H
#define WHYLATE_RECORDER_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODULE_NAME 56 /* the kernel's own limit (MODULE_NAME_LEN), on 64 bits */

struct symbol {
	uint64_t address;
	uint64_t start; /* of the nearest symbol at or below it */
	uint32_t id;
	bool data;		  /* it is an object's, as a lock's, and not in a function */
	char type;		  /* of the nearest symbol, as in nm(1) */
	char name[128];		  /* "function+0x12 [module]"; empty: not known */
	char module[MODULE_NAME]; /* empty: it is in the kernel itself */
};

/* kallsyms_resolve - name symbols, which are sorted by address; false where the kernel hides
 * where its symbols are
 *
 * An object has no name where the kernel lists functions alone (no CONFIG_KALLSYMS_ALL). */
bool kallsyms_resolve(struct symbol *symbols, size_t count);

/* kallsyms_each - give each symbol of the kernel itself whose address is shown */
void kallsyms_each(void (*take)(void *context, const char *name, uint64_t address), void *context);

#endif
