// SPDX-License-Identifier: MIT
/*
 * Running BPF programs at functions of the kernel by fprobes (kprobe_multi): they are called by
 * ftrace, without a breakpoint.
 */
#ifndef WHYLATE_BPF_MULTI_H
#define WHYLATE_BPF_MULTI_H

#include <stdbool.h>
#include <stdint.h>

/* What programs are loaded as: linux/bpf.h has the former since 5.18, the latter since 6.10. */
#define ATTACH_MULTI   42u /* BPF_TRACE_KPROBE_MULTI */
#define ATTACH_SESSION 56u /* BPF_TRACE_KPROBE_SESSION */

/* What a kernel has of them. */
struct bpf_multi {
	bool is_there;
	/* It keeps what watches for returns in a pool, twice as many as CPUs for each address; and
	 * a return has the stack pointer as kretprobes have it (rethook: to Linux 6.13). */
	bool has_pool;
	/* Functions of the kernel's own, by their ids in its BTF; 0: there is none. */
	uint32_t cookie;
	uint32_t is_return;
};

/* bpf_multi_find - look up what the running kernel has; returns 0 or an errno, ENOENT without BTF
 */
int bpf_multi_find(struct bpf_multi *multi);

struct bpf_multi_place {
	const char *name;
	uint64_t address; /* 0: by the name */
	uint32_t times; /* that the address is given, which makes the pool so many times as large */
	uint32_t attach_type;
	bool at_return; /* of ATTACH_MULTI */
};

/* bpf_multi_attach - run a program there for as long as the returned descriptor is open; -1 with
 * errno */
int bpf_multi_attach(const struct bpf_multi_place *place, int program);

/* bpf_link_missed - how often the kernel did not run the program of a link that this made, or did
 * not watch for a return; 0 of others, and before Linux 6.7, which does not report it */
uint64_t bpf_link_missed(int link);

#endif
