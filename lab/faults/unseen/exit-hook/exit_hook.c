// SPDX-License-Identifier: MIT
/*
 * A program in the kernel that is called at the end of every system call (bpf() at the tracepoint
 * sys_exit), and reads the clock for size_us at the end of the measured thread's sleep.
 */
#include <linux/bpf.h>
#include <stddef.h>

#include "fault_beside.h"

/* Of the clock: what a pass reads it, and how many passes there may be. */
#define READINGS 100
#define PASSES	 500
/* So long it waits for the measured thread, and the bystander has the CPU. */
#define AROUND_NS 600000ull

#define INSN(c, d, s, o, i)                                                                        \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)                \
	}

/* What we and the program in the kernel have in common. */
struct common {
	uint64_t thread, size_ns;
	_Atomic uint64_t armed, start_ns, end_ns;
};

static int bpf(int command, union bpf_attr *attributes)
{
	return (int)syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static int create(void)
{
	union bpf_attr attributes = {
	    .map_type = BPF_MAP_TYPE_ARRAY,
	    .key_size = 4,
	    .value_size = sizeof(struct common),
	    .max_entries = 1,
	    .map_flags = BPF_F_MMAPABLE,
	};

	return bpf(BPF_MAP_CREATE, &attributes);
}

/* load - r6: what is common; r7: the thread, then passes left; r9: the time to end at */
static int load(int map)
{
	static const char license[] = "GPL";
	struct bpf_insn code[READINGS + 40];
	union bpf_attr attributes;
	int n = 0, top, leave[3];

	code[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_pid_tgid);
	code[n++] = INSN(BPF_ALU | BPF_MOV | BPF_X, 7, 0, 0, 0);
	code[n++] = INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0);
	code[n++] = INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map);
	code[n++] = INSN(0, 0, 0, 0, 0);
	code[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0);
	code[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4);
	code[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem);
	leave[0] = n;
	code[n++] = INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0);
	code[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 0, 0, 0);
	code[n++] = INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 6, offsetof(struct common, thread), 0);
	leave[1] = n;
	code[n++] = INSN(BPF_JMP | BPF_JNE | BPF_X, 1, 7, 0, 0);
	code[n++] = INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 6, offsetof(struct common, armed), 0);
	leave[2] = n;
	code[n++] = INSN(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0, 0);
	code[n++] = INSN(BPF_ST | BPF_MEM | BPF_DW, 6, 0, offsetof(struct common, armed), 0);
	code[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns);
	code[n++] = INSN(BPF_STX | BPF_MEM | BPF_DW, 6, 0, offsetof(struct common, start_ns), 0);
	code[n++] = INSN(BPF_LDX | BPF_MEM | BPF_DW, 9, 6, offsetof(struct common, size_ns), 0);
	code[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_X, 9, 0, 0, 0);
	code[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 7, 0, 0, PASSES);
	top = n;
	for (int i = 0; i < READINGS; i++)
		code[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns);
	code[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_K, 7, 0, 0, -1);
	code[n++] = INSN(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 1, 0);
	code[n] = INSN(BPF_JMP | BPF_JLT | BPF_X, 0, 9, (int16_t)(top - n - 1), 0);
	n++;
	code[n++] = INSN(BPF_STX | BPF_MEM | BPF_DW, 6, 0, offsetof(struct common, end_ns), 0);
	for (int i = 0; i < 3; i++)
		code[leave[i]].off = (int16_t)(n - leave[i] - 1);
	code[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	code[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	memset(&attributes, 0, sizeof(attributes));
	attributes.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attributes.insns = (uintptr_t)code;
	attributes.insn_cnt = (uint32_t)n;
	attributes.license = (uintptr_t)license;
	snprintf(attributes.prog_name, sizeof(attributes.prog_name), "%.12s_f",
		 program_invocation_short_name);
	return bpf(BPF_PROG_LOAD, &attributes);
}

/* attach - before fault_open(), as in bpf-run: the first program makes the kernel busy */
static struct common *attach(void)
{
	union bpf_attr attributes;
	int map = create(), program;
	void *common;

	if (map < 0)
		fault_fail("no memory in common with the kernel");
	program = load(map);
	if (program < 0)
		fault_fail("no program in the kernel");
	memset(&attributes, 0, sizeof(attributes));
	attributes.raw_tracepoint.name = (uintptr_t)"sys_exit";
	attributes.raw_tracepoint.prog_fd = (uint32_t)program;
	if (bpf(BPF_RAW_TRACEPOINT_OPEN, &attributes) < 0)
		fault_fail("sys_exit");
	common = mmap(NULL, sizeof(struct common), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (common == MAP_FAILED)
		fault_fail("no memory in common with the kernel");
	return common;
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {"measured", 95}, {0}};
	static struct fault_worker bystander = {.end = "_b"};
	struct fault_measured measured = {0};
	struct common *common = attach();
	struct fault fault = {0};
	uint64_t cpu;

	(void)argc;
	fault_open(&fault, parameters, argv);
	common->size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	measured.cpu = cpu;
	measured.priority = (int)fault_get(&fault, "measured");
	bystander.cpu = cpu;
	fault_worker_start(&bystander);
	while (fault_wait(&fault)) {
		uint64_t until_ns;

		fault_become(cpu, 0);
		if (!fault_find(&measured))
			continue;
		fault_become(cpu, 1);
		common->thread = (uint64_t)measured.thread;
		until_ns = fault_now() + AROUND_NS;
		fault_worker_go(&bystander, until_ns);
		atomic_store(&common->armed, 1);
		fault_sleep(until_ns);
		if (!atomic_exchange(&common->armed, 0))
			fault_log(&fault, atomic_load(&common->start_ns),
				  atomic_load(&common->end_ns), cpu);
	}
	return 0;
}
