// SPDX-License-Identifier: MIT
/* Where the running kernel's functions are (/proc/kallsyms). */
#ifndef WHYLATE_RECORDER_KERNEL_CODE_H
#define WHYLATE_RECORDER_KERNEL_CODE_H

#include <stdint.h>

struct kernel_code {
	uint64_t begin; /* 0: not there, or addresses are hidden from us */
	uint64_t end;	/* of what follows it */
};

struct kernel_code kernel_code_find(const char *name);

#endif
