/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What one CPU asks of others: interprocessor interrupts, and the functions called by them. */
#ifndef WHYLATE_RECORDER_BPF_IPI_H
#define WHYLATE_RECORDER_BPF_IPI_H

#include "cpu.h"

#define WORDS 8 /* as much of a mask is looked at: 512 CPUs */

PROGRAM("raw_tp/ipi_send_cpu", ipi_send)
{
	record(cpu, now, EVENT_IPI_SEND, 0, context[0], 0, 0, context[2] ? context[2] : context[1],
	       0);
}

/* send_to_mask - an event for each word of a mask that has CPUs in it */
ALWAYS_INLINE void send_to_mask(struct recorder_bpf_cpu *cpu, struct cpumask *mask, __u64 cause,
				__u64 now)
{
	__u64 word;

	for (__u32 i = 0; i < WORDS; i++) {
		if (i * sizeof(word) >= kernel_size_for(mask->bits))
			break;
		word = 0;
		bpf_probe_read_kernel(&word, sizeof(word), &mask->bits[0] + i);
		if (word)
			record(cpu, now, EVENT_IPI_SEND, 0, 64 * i, 0, 0, cause, word);
	}
}

PROGRAM("raw_tp/ipi_send_cpumask", ipi_send_mask)
{
	send_to_mask(cpu, (void *)context[0], context[2] ? context[2] : context[1], now);
}

/* What arm and arm64 have instead in kernels before 6.4. */
PROGRAM("raw_tp/ipi_raise", ipi_raise)
{
	send_to_mask(cpu, (void *)context[0], 0, now);
}

PROGRAM("raw_tp/csd_function_entry", call_entry)
{
	record(cpu, now, EVENT_CALL_ENTRY, 0, 0, 0, 0, context[0], 0);
}

PROGRAM("raw_tp/csd_function_exit", call_exit)
{
	record(cpu, now, EVENT_CALL_EXIT, 0, 0, 0, 0, context[0], 0);
}

#endif
