/* SPDX-License-Identifier: MIT */
/*
 * A program in the kernel (BPF) that reads the clock for size_us, once each time it is armed, in
 * any thread or in a given one, and otherwise returns at once. Its name is the fault's with _f.
 */
#ifndef WHYLATE_FAULT_BPF_H
#define WHYLATE_FAULT_BPF_H

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "fault_program.h"

/* Of the clock: what a pass reads it, and how many passes there may be. */
#define FAULT_BPF_READINGS 100
#define FAULT_BPF_PASSES   500

#define FAULT_INSN(c, d, s, o, i)                                                                  \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)                \
	}

/* What we and the program in the kernel have in common. */
struct fault_common {
	uint64_t size_ns;
	uint64_t thread; /* 0: any */
	_Atomic uint64_t armed, start_ns, end_ns;
};

struct fault_bpf {
	struct fault_common *common;
	int program;
};

static inline int fault_bpf_call(int command, union bpf_attr *attributes)
{
	return (int)syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static inline int fault_bpf_map(void)
{
	union bpf_attr attributes = {
	    .map_type = BPF_MAP_TYPE_ARRAY,
	    .key_size = 4,
	    .value_size = sizeof(struct fault_common),
	    .max_entries = 1,
	    .map_flags = BPF_F_MMAPABLE,
	};

	return fault_bpf_call(BPF_MAP_CREATE, &attributes);
}

/* fault_bpf_program - r6: what is common; r7: the thread, then passes left; r9: the time to end at
 */
static inline int fault_bpf_program(enum bpf_prog_type type, int map)
{
	static const char license[] = "GPL";
	struct bpf_insn code[FAULT_BPF_READINGS + 40];
	union bpf_attr attributes;
	int n = 0, top, leave[3];

	code[n++] = FAULT_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_pid_tgid);
	code[n++] = FAULT_INSN(BPF_ALU | BPF_MOV | BPF_X, 7, 0, 0, 0);
	code[n++] = FAULT_INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0);
	code[n++] = FAULT_INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map);
	code[n++] = FAULT_INSN(0, 0, 0, 0, 0);
	code[n++] = FAULT_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0);
	code[n++] = FAULT_INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4);
	code[n++] = FAULT_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem);
	leave[0] = n;
	code[n++] = FAULT_INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0);
	code[n++] = FAULT_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 0, 0, 0);
	code[n++] =
	    FAULT_INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 6, offsetof(struct fault_common, armed), 0);
	leave[1] = n;
	code[n++] = FAULT_INSN(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0, 0);
	code[n++] =
	    FAULT_INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 6, offsetof(struct fault_common, thread), 0);
	code[n++] = FAULT_INSN(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1, 0);
	leave[2] = n;
	code[n++] = FAULT_INSN(BPF_JMP | BPF_JNE | BPF_X, 1, 7, 0, 0);
	code[n++] =
	    FAULT_INSN(BPF_ST | BPF_MEM | BPF_DW, 6, 0, offsetof(struct fault_common, armed), 0);
	code[n++] = FAULT_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns);
	code[n++] = FAULT_INSN(BPF_STX | BPF_MEM | BPF_DW, 6, 0,
			       offsetof(struct fault_common, start_ns), 0);
	code[n++] =
	    FAULT_INSN(BPF_LDX | BPF_MEM | BPF_DW, 9, 6, offsetof(struct fault_common, size_ns), 0);
	code[n++] = FAULT_INSN(BPF_ALU64 | BPF_ADD | BPF_X, 9, 0, 0, 0);
	code[n++] = FAULT_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 7, 0, 0, FAULT_BPF_PASSES);
	top = n;
	for (int i = 0; i < FAULT_BPF_READINGS; i++)
		code[n++] = FAULT_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns);
	code[n++] = FAULT_INSN(BPF_ALU64 | BPF_ADD | BPF_K, 7, 0, 0, -1);
	code[n++] = FAULT_INSN(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 1, 0);
	code[n] = FAULT_INSN(BPF_JMP | BPF_JLT | BPF_X, 0, 9, (int16_t)(top - n - 1), 0);
	n++;
	code[n++] =
	    FAULT_INSN(BPF_STX | BPF_MEM | BPF_DW, 6, 0, offsetof(struct fault_common, end_ns), 0);
	for (int i = 0; i < 3; i++)
		code[leave[i]].off = (int16_t)(n - leave[i] - 1);
	code[n++] = FAULT_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	code[n++] = FAULT_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	memset(&attributes, 0, sizeof(attributes));
	attributes.prog_type = type;
	attributes.insns = (uintptr_t)code;
	attributes.insn_cnt = (uint32_t)n;
	attributes.license = (uintptr_t)license;
	snprintf(attributes.prog_name, sizeof(attributes.prog_name), "%.12s_f",
		 program_invocation_short_name);
	return fault_bpf_call(BPF_PROG_LOAD, &attributes);
}

/* fault_bpf_load - before fault_open(): the first program of a board makes the kernel busy for a
 * while, and a fault is waited for until it has its log */
static inline struct fault_bpf fault_bpf_load(enum bpf_prog_type type)
{
	int map = fault_bpf_map();
	struct fault_bpf bpf;
	void *common;

	if (map < 0)
		fault_fail("no memory in common with the kernel");
	bpf.program = fault_bpf_program(type, map);
	if (bpf.program < 0)
		fault_fail("no program in the kernel");
	common =
	    mmap(NULL, sizeof(struct fault_common), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (common == MAP_FAILED)
		fault_fail("no memory in common with the kernel");
	bpf.common = common;
	return bpf;
}

/* fault_bpf_event - opens an event and has the program called at each of its overflows or hits */
static inline int fault_bpf_event(const struct fault_bpf *bpf, struct perf_event_attr *attr,
				  pid_t thread, int cpu)
{
	int event = (int)syscall(SYS_perf_event_open, attr, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (event >= 0 && ioctl(event, PERF_EVENT_IOC_SET_BPF, bpf->program) != 0) {
		close(event);
		return -1;
	}
	return event;
}

#endif
