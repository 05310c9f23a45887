// SPDX-License-Identifier: MIT
/* USDT probes: places in code that a note of the file (.note.stapsdt) names. */
#ifndef WHYLATE_SECTION_USDT_H
#define WHYLATE_SECTION_USDT_H

#include <stddef.h>
#include <stdint.h>

#include "section/elf.h"

struct usdt_place {
	uint64_t address;
	uint64_t semaphore; /* the address of a counter of those who watch it; 0: it has none */
};

/* usdt_find - find all places of PROVIDER:NAME, at most `most`; returns 0, or an errno with the
 * text, which lacks the file's name */
int usdt_find(const struct elf *elf, const char *name, struct usdt_place *places, size_t most,
	      size_t *count, char *text);

/* usdt_each - give each place of all probes, of which a file may have none; returns 0 or an errno
 */
int usdt_each(const struct elf *elf,
	      void (*give)(void *context, const char *provider, const char *name), void *context);

#endif
