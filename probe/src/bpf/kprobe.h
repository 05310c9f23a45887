// SPDX-License-Identifier: MIT
/* Running BPF programs in code of the kernel (kprobes) and of programs (uprobes). */
#ifndef WHYLATE_BPF_KPROBE_H
#define WHYLATE_BPF_KPROBE_H

#include <stdbool.h>
#include <stdint.h>

/* Where a program runs. */
struct bpf_kprobe {
	uint32_t type; /* bpf_kprobe_type() or bpf_uprobe_type() */
	/* Of the kernel a function's name, NULL: by the address; of user code the file's path. */
	const char *name;
	uint64_t address; /* of user code the offset in the file */
	bool at_return;
	/* Of user code alone: where the file has a counter that is raised meanwhile; 0: none, */
	uint32_t counter;
	uint32_t pid; /* and in this process alone; 0: in all */
};

/* bpf_kprobe_type, bpf_uprobe_type - return the number of the kernel's events of that kind; 0: it
 * has none */
uint32_t bpf_kprobe_type(void);
uint32_t bpf_uprobe_type(void);

/* bpf_uprobe_raises - whether this kernel can raise a counter: Linux 4.20 and later */
bool bpf_uprobe_raises(void);

/* bpf_kprobe_attach - run a program there, for as long as the returned descriptor is open; -1 with
 * errno */
int bpf_kprobe_attach(const struct bpf_kprobe *at, int program);

#endif
