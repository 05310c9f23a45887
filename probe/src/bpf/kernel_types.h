// SPDX-License-Identifier: MIT
/* The running kernel's BTF as a whole: all its names, and the types that they stand for. */
#ifndef WHYLATE_BPF_KERNEL_TYPES_H
#define WHYLATE_BPF_KERNEL_TYPES_H

#include "btf_text.h"

struct kernel_types {
	struct btf_text text;
	uint32_t *places; /* of entries, by their ids */
	uint32_t count;
};

/* kernel_types_open - read it; returns 0 or an errno, ENOENT without BTF. kernel_types_close is
 * needed in either case. */
int kernel_types_open(struct kernel_types *types);
void kernel_types_close(struct kernel_types *types);

/* kernel_types_prototype - find the prototype of a function, or of the pointer to a function that a
 * typedef is; false: there is none */
bool kernel_types_prototype(const struct kernel_types *types, uint32_t id,
			    struct btf_entry *prototype);

/* kernel_types_argument - write TYPE NAME of a parameter, from 0; false: there is no such */
bool kernel_types_argument(const struct kernel_types *types, const struct btf_entry *prototype,
			   uint32_t number, char *text, size_t room);

#endif
