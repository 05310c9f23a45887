/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What an interrupt interrupted: the instruction, the code before it, and its caller. */
#ifndef WHYLATE_RECORDER_BPF_INTERRUPTED_H
#define WHYLATE_RECORDER_BPF_INTERRUPTED_H

#include "cpu.h"

/* interrupted_registers - the registers that the running interrupt saved, in the kernel's memory;
 * 0: not known. timer: one that expires in it. Its base is this CPU's, which few kernels show
 * otherwise. */
ALWAYS_INLINE struct pt_regs *interrupted_registers(struct hrtimer *timer)
{
	struct pt_regs *regs = 0;

	if (config.registers_at)
		bpf_probe_read_kernel(&regs, sizeof(regs),
				      timer->base->cpu_base + config.registers_at);
	return regs;
}

/* Of the registers that an interrupt saved, those side by side in struct pt_regs. */
struct registers_x86 {
	__u64 instruction;
	__u64 segment;
	__u64 flags;
	__u64 sp;
};

struct registers_arm64 {
	__u64 frame;
	__u64 link;
	__u64 sp;
	__u64 instruction;
};

struct registers_riscv {
	__u64 instruction;
	__u64 link;
	__u64 frame; /* not beside them */
};

union registers {
	struct registers_x86 x86;
	struct registers_arm64 arm64;
	struct registers_riscv riscv;
};

/* read_interrupted - read what was interrupted; returns the instruction, 0: not known */
ALWAYS_INLINE __u64 read_interrupted(struct pt_regs *regs, union registers *registers)
{
	struct pt_regs___arm64 *arm64 = (void *)regs;
	struct pt_regs___riscv *riscv = (void *)regs;

	if (!regs)
		return 0;
	if (kernel_has(regs->ip)) {
		if (bpf_probe_read_kernel(registers, sizeof(*registers), &regs->ip))
			return 0;
		return registers->x86.instruction;
	}
	if (kernel_has(riscv->epc)) {
		if (bpf_probe_read_kernel(registers, 2 * sizeof(__u64), &riscv->epc) ||
		    bpf_probe_read_kernel(&registers->riscv.frame, sizeof(__u64), &riscv->s0))
			return 0;
		return registers->riscv.instruction;
	}
	if (!kernel_has(arm64->pc) ||
	    bpf_probe_read_kernel(registers, sizeof(*registers), &arm64->regs[29]))
		return 0;
	return registers->arm64.instruction;
}

/* is_on_stack - whether what was interrupted is on an interrupt's stack. On riscv64 it is not:
 * there the kernel's callers end where the interrupt has a stack of its own. */
ALWAYS_INLINE bool is_on_stack(void)
{
	struct pt_regs___riscv *riscv = 0;

	return !kernel_has(riscv->epc);
}

/* Kernel code lies in the upper half of the addresses on all architectures. */
ALWAYS_INLINE bool is_kernel(__u64 address)
{
	return address >> 63;
}

/* has_byte - whether any byte of a word is this one */
ALWAYS_INLINE bool has_byte(__u64 word, __u8 byte)
{
	const __u64 ones = 0x0101010101010101;
	__u64 zero_where_it_is = word ^ ones * byte;

	return (zero_where_it_is - ones) & ~zero_where_it_is & ones << 7;
}

/*
 * may_enable - whether the code before an instruction may have switched interrupts on
 *
 * The host decodes exactly (enables() in raw_events.py); whatever it accepts, this accepts. A stack
 * adds nothing to the instruction where interrupts were enabled before, nor where the thread itself
 * was still on its way to sleep, and it costs more than everything else.
 */
ALWAYS_INLINE bool may_enable(__u64 code)
{
	__u32 word = code >> 32;

	return has_byte(code, 0xfb) || has_byte(code, 0x9d) || (word & 0xfffff0ff) == 0xd50340ff ||
	       (word & 0xffffffe0) == 0xd51b4220 || (word & 0xffffffe0) == 0xd5184600 ||
	       word == 0x10016073 || (word & 0xfff07fff) == 0x10002073;
}

/* code_before - the 8 bytes of kernel code before an instruction, 0: not to be read */
ALWAYS_INLINE __u64 code_before(__u64 instruction)
{
	__u64 code = 0;

	if (config.reads_kernel && is_kernel(instruction))
		bpf_probe_read_kernel(&code, sizeof(code), (void *)(instruction - sizeof(code)));
	return code;
}

/* Functions that switch interrupts on for their callers are shorter. */
#define HELPER_BYTES 512

/* called_x86, called_arm64, called_riscv - which function the code before an address calls; 0:
 * none. Encodings: Intel SDM volume 2 (CALL rel32), Arm ARM DDI 0487 C6.2 (BL), RISC-V ISA volume 1
 * (JAL, AUIPC, JALR). */
ALWAYS_INLINE __u64 called_x86(__u64 address)
{
	__u64 code = code_before(address);

	return (code >> 24 & 0xff) == 0xe8 ? address + (__s64)(__s32)(code >> 32) : 0;
}

ALWAYS_INLINE __u64 called_arm64(__u64 address)
{
	__u32 word = code_before(address) >> 32;

	return word >> 26 == 0x25 ? address - 4 + (__s64)((__s32)(word << 6) >> 4) : 0;
}

ALWAYS_INLINE __u64 called_riscv(__u64 address)
{
	__u64 code = code_before(address);
	__u32 word = code >> 32, before = code;

	/* jal ra */
	if ((word & 0xfff) == 0x0ef)
		return address - 4 + (__s64)(__s32)((__u32)((__s32)word >> 31) << 20) +
		       (word & 0xff000) + (word >> 9 & 0x800) + (word >> 20 & 0x7fe);
	/* auipc ra; jalr ra, ra */
	if ((before & 0xfff) == 0x097 && (word & 0xfffff) == 0x080e7)
		return address - 8 + (__s64)(__s32)(before & 0xfffff000) +
		       (__s64)((__s32)word >> 20);
	return 0;
}

/* The kernel and its modules lie in the last 2 GiB on x86, its data elsewhere. */
ALWAYS_INLINE bool is_code_x86(__u64 address)
{
	return address >> 31 == 0x1ffffffff;
}

/* The bits of an address that hold its signature (pointer authentication) are ones in the kernel.
 */
#define UNSIGNED_ARM64 (0xffffull << 48)

/* copy_frame - copy what may be the interrupted function's return address */
ALWAYS_INLINE void copy_frame(struct recorder_bpf_cpu *cpu, const union registers *registers)
{
	struct pt_regs *regs = 0;
	struct pt_regs___riscv *riscv = 0;

	cpu->late_words[0] = 0;
	if (kernel_has(regs->ip)) {
		bpf_probe_read_kernel(cpu->late_words, sizeof(cpu->late_words),
				      (void *)registers->x86.sp);
		return;
	}
	if (kernel_has(riscv->epc)) {
		cpu->late_words[0] = registers->riscv.link;
		bpf_probe_read_kernel(&cpu->late_words[1], sizeof(cpu->late_words[1]),
				      (void *)(registers->riscv.frame - sizeof(__u64)));
		return;
	}
	cpu->late_words[0] = registers->arm64.link | UNSIGNED_ARM64;
	bpf_probe_read_kernel(&cpu->late_words[1], sizeof(cpu->late_words[1]),
			      (void *)(registers->arm64.frame + sizeof(__u64)));
	cpu->late_words[1] |= UNSIGNED_ARM64;
}

/*
 * caller - where the interrupted function was called from; 0: not known
 *
 * A function that switches interrupts on for its caller is too short to be a place. An address
 * counts only where the code before it calls that function.
 */
ALWAYS_INLINE __u64 caller(const struct recorder_bpf_cpu *cpu)
{
	struct pt_regs *regs = 0;
	struct pt_regs___riscv *riscv = 0;

	if (kernel_has(riscv->epc)) {
		for (__u32 i = 0; i < 2; i++)
			if (cpu->late_instruction - called_riscv(cpu->late_words[i]) < HELPER_BYTES)
				return cpu->late_words[i];
		return 0;
	}
	if (!kernel_has(regs->ip)) {
		for (__u32 i = 0; i < 2; i++)
			if (cpu->late_instruction - called_arm64(cpu->late_words[i]) < HELPER_BYTES)
				return cpu->late_words[i];
		return 0;
	}
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < HELPER_WORDS; i++)
		if (is_code_x86(cpu->late_words[i]) &&
		    cpu->late_instruction - called_x86(cpu->late_words[i]) < HELPER_BYTES)
			return cpu->late_words[i];
	return 0;
}

#endif
