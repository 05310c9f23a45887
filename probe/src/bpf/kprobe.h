// SPDX-License-Identifier: MIT
/* Running BPF programs at the entry and at the return of a function of the kernel (kprobes). */
#ifndef WHYLATE_BPF_KPROBE_H
#define WHYLATE_BPF_KPROBE_H

#include <stdbool.h>
#include <stdint.h>

/* Where a program runs. */
struct bpf_kprobe {
	uint32_t type;	      /* bpf_kprobe_type() */
	const char *function; /* its name; NULL: by the address */
	uint64_t address;
	bool at_return;
};

/* bpf_kprobe_type - return the number of the kernel's events of that kind; 0: it has none */
uint32_t bpf_kprobe_type(void);

/* bpf_kprobe_attach - run a program there, for as long as the returned descriptor is open; -1 with
 * errno */
int bpf_kprobe_attach(const struct bpf_kprobe *at, int program);

#endif
