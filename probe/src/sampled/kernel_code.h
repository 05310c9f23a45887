// SPDX-License-Identifier: MIT
/* The kernel's own code: a BPF program reads it, which needs no BTF, or it is in the kernel's image
 * of memory (/proc/kcore), which 32-bit ARM has not. */
#ifndef WHYLATE_SAMPLED_KERNEL_CODE_H
#define WHYLATE_SAMPLED_KERNEL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_PARTS 64

struct kernel_code {
	int peek; /* the program; -1: none */
	int fd;	  /* the image; -1: none */
	struct {
		uint64_t address, offset, size;
	} parts[CODE_PARTS];
	size_t count;
};

/* kernel_code_open - returns 0 or an errno */
int kernel_code_open(struct kernel_code *code);

/* kernel_code_read - read bytes at an address; false where there are none */
bool kernel_code_read(const struct kernel_code *code, uint64_t address, void *to, size_t size);

void kernel_code_close(struct kernel_code *code);

#endif
