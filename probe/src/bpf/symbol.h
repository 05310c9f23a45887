// SPDX-License-Identifier: MIT
/* Where a function of the kernel lies. */
#ifndef WHYLATE_BPF_SYMBOL_H
#define WHYLATE_BPF_SYMBOL_H

#include <stdint.h>

/* symbol_find - find the address of a function of the kernel's or a module's; returns how many
 * have that name, 0 also where the kernel hides where its symbols are */
unsigned symbol_find(const char *name, uint64_t *address);

#endif
