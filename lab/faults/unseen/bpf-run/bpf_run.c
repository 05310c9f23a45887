// SPDX-License-Identifier: MIT
/*
 * A system call that takes size_us: bpf() runs a program in the kernel, which reads the clock until
 * it is time. A kernel without full preemption lets nobody come meanwhile.
 */
#include <linux/bpf.h>

#include "fault_beside.h"

/* Of the clock: what a pass reads it, and how many passes there may be. */
#define READINGS 100
#define PASSES	 500

#define INSN(c, d, s, o, i)                                                                        \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)                \
	}

static int bpf(int command, union bpf_attr *attributes, uint32_t size)
{
	return (int)syscall(SYS_bpf, command, attributes, size);
}

/* load - r6: the time to end at; r7: passes left; r8: the begin, of which it returns the low half
 */
static int load(uint64_t size_ns)
{
	static const char license[] = "GPL";
	struct bpf_insn code[READINGS + 16];
	union bpf_attr attributes;
	int n = 0, top;

	code[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns);
	code[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 0, 0, 0);
	code[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 8, 0, 0, 0);
	code[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_K, 6, 0, 0, (int32_t)size_ns);
	code[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 7, 0, 0, PASSES);
	top = n;
	for (int i = 0; i < READINGS; i++)
		code[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns);
	code[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_K, 7, 0, 0, -1);
	code[n++] = INSN(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 1, 0);
	code[n] = INSN(BPF_JMP | BPF_JLT | BPF_X, 0, 6, (int16_t)(top - n - 1), 0);
	n++;
	code[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 8, 0, 0);
	code[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	memset(&attributes, 0, sizeof(attributes));
	attributes.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attributes.insns = (uintptr_t)code;
	attributes.insn_cnt = (uint32_t)n;
	attributes.license = (uintptr_t)license;
	return bpf(BPF_PROG_LOAD, &attributes, sizeof(attributes));
}

/* size_of - before fault_open(): the first program of a board makes the kernel busy for a while,
 * and a fault is waited for until it has its log */
static uint64_t size_of(char **words)
{
	while (*++words)
		if (!strncmp(*words, "size_us=", 8))
			return strtoull(*words + 8, NULL, 10) * FAULT_NS;
	return 0;
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {0}};
	static struct fault_worker bystander = {.end = "_b"};
	static char packet[64];
	union bpf_attr attributes;
	struct fault fault = {0};
	uint64_t size_ns, cpu;
	int program;

	(void)argc;
	program = load(size_of(argv));
	if (program < 0)
		fault_fail("no program in the kernel");
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	cpu = fault_get(&fault, "cpu");
	bystander.cpu = cpu;
	fault_worker_start(&bystander);
	fault_become(cpu, 1);
	while (fault_wait(&fault)) {
		uint64_t start_ns;

		fault_beside(&bystander, size_ns);
		memset(&attributes, 0, sizeof(attributes));
		attributes.test.prog_fd = (uint32_t)program;
		attributes.test.data_in = (uintptr_t)packet;
		attributes.test.data_size_in = sizeof(packet);
		start_ns = fault_now();
		if (bpf(BPF_PROG_TEST_RUN, &attributes, sizeof(attributes)) != 0)
			fault_fail("the program does not run");
		/* What it began at, by its own reading of the same clock. */
		start_ns += (uint32_t)(attributes.test.retval - (uint32_t)start_ns);
		fault_log(&fault, start_ns, start_ns + attributes.test.duration, cpu);
	}
	return 0;
}
