// SPDX-License-Identifier: MIT
/* The running kernel's BTF, the description of its types: where in it a name is. */
#ifndef WHYLATE_BPF_KERNEL_BTF_H
#define WHYLATE_BPF_KERNEL_BTF_H

#include <stddef.h>
#include <stdint.h>

struct kernel_name {
	const char *prefix;
	const char *name; /* what follows the prefix */
	uint32_t kind;	  /* BTF_KIND_ of linux/btf.h */
	uint32_t id;	  /* set; 0: the kernel has no such */
	uint32_t offset;  /* set, of a variable in its section, or of the member; 0 for want of one
			     as well */
	const char *member; /* of a struct: whose offset is wanted; NULL */
};

/* kernel_btf_find - look all names up at once; returns 0 or an errno, ENOENT without BTF */
int kernel_btf_find(struct kernel_name *names, size_t count);

/* An argument of a tracepoint. */
struct kernel_argument {
	uint32_t number; /* from 0 */
	uint32_t bytes;	 /* 1, 2, 4 or 8 */
};

/* kernel_btf_argument - find an argument of a tracepoint by its name, or by its number; returns 0
 * or an errno, ENOENT without BTF, ESRCH where it has none of that name */
int kernel_btf_argument(const char *tracepoint, const char *name, struct kernel_argument *argument);

#endif
