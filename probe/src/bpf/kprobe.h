// SPDX-License-Identifier: MIT
/* Running BPF programs at the entry and at the return of a function of the kernel (kprobes). */
#ifndef WHYLATE_BPF_KPROBE_H
#define WHYLATE_BPF_KPROBE_H

#include <stdbool.h>
#include <stdint.h>

/* bpf_kprobe_type - return the number of the kernel's events of that kind; 0: it has none */
uint32_t bpf_kprobe_type(void);

/* bpf_kprobe_attach - run a program at the function at that address, for as long as the returned
 * descriptor is open; -1 with errno */
int bpf_kprobe_attach(uint32_t type, uint64_t address, bool at_return, int program);

#endif
