/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What one CPU asks of others: interprocessor interrupts, and the functions called by them. */
#ifndef WHYLATE_RECORDER_BPF_IPI_H
#define WHYLATE_RECORDER_BPF_IPI_H

#include "cpu.h"

#define WORDS 8 /* as much of a mask is looked at: 512 CPUs */

SECTION("raw_tp/ipi_send_cpu")
int ipi_send(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();

	if (cpu)
		record(cpu, bpf_ktime_get_ns(), EVENT_IPI_SEND, 0, context[0], 0, 0,
		       context[2] ? context[2] : context[1], 0);
	return 0;
}

/* send_to_mask - an event for each word of a mask that has CPUs in it */
ALWAYS_INLINE void send_to_mask(struct recorder_bpf_cpu *cpu, struct cpumask *mask, __u64 cause)
{
	__u64 now = bpf_ktime_get_ns(), word;

	for (__u32 i = 0; i < WORDS; i++) {
		if (i * sizeof(word) >= kernel_size_for(mask->bits))
			break;
		word = 0;
		bpf_probe_read_kernel(&word, sizeof(word), &mask->bits[0] + i);
		if (word)
			record(cpu, now, EVENT_IPI_SEND, 0, 64 * i, 0, 0, cause, word);
	}
}

SECTION("raw_tp/ipi_send_cpumask")
int ipi_send_mask(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();

	if (cpu)
		send_to_mask(cpu, (void *)context[0], context[2] ? context[2] : context[1]);
	return 0;
}

/* What arm and arm64 have instead in kernels before 6.4. */
SECTION("raw_tp/ipi_raise")
int ipi_raise(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();

	if (cpu)
		send_to_mask(cpu, (void *)context[0], 0);
	return 0;
}

SECTION("raw_tp/csd_function_entry")
int call_entry(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();

	if (cpu)
		record(cpu, bpf_ktime_get_ns(), EVENT_CALL_ENTRY, 0, 0, 0, 0, context[0], 0);
	return 0;
}

SECTION("raw_tp/csd_function_exit")
int call_exit(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();

	if (cpu)
		record(cpu, bpf_ktime_get_ns(), EVENT_CALL_EXIT, 0, 0, 0, 0, context[0], 0);
	return 0;
}

#endif
