// SPDX-License-Identifier: MIT
/* Reading the kernel's memory, a word at a time: for what is looked at once in a run. */
#ifndef WHYLATE_BPF_PEEK_H
#define WHYLATE_BPF_PEEK_H

#include <stdbool.h>
#include <stdint.h>

/* bpf_peek_open - load the program that reads; returns its descriptor, -1 where that is refused */
int bpf_peek_open(void);

/* bpf_peek - read 8 bytes from an address of the kernel; false where it was not asked. What cannot
 * be read is 0. */
bool bpf_peek(int program, uint64_t address, uint64_t *value);

#endif
