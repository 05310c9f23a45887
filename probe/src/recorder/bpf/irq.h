/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Interrupts of every kind: of devices, vectors and IPIs, NMIs; and softirqs. */
#ifndef WHYLATE_RECORDER_BPF_IRQ_H
#define WHYLATE_RECORDER_BPF_IRQ_H

#include "irq_work.h"
#include "maxima.h"
#include "watch.h"

/* place: of its maxima */
ALWAYS_INLINE void interrupt_entered(struct recorder_bpf_cpu *cpu, __u32 place, __u64 now)
{
	account(cpu, now);
	if (!cpu->interrupts++)
		cpu->interrupt_ns = now;
	interrupt_came(cpu, place, now);
}

ALWAYS_INLINE void interrupt_left(struct recorder_bpf_cpu *cpu, __u32 place, __u64 now)
{
	account(cpu, now);
	interrupt_is_done(cpu, place, now);
	/* The first exit may belong to an interrupt from before the start. */
	if (likely(cpu->interrupts))
		cpu->interrupts--;
}

PROGRAM("raw_tp/irq_handler_entry", irq_entry)
{
	interrupt_entered(cpu, device_place(cpu, context[0]), now);
	record(cpu, now, EVENT_IRQ_ENTRY, 0, 0, context[0], 0, 0, 0);
}

PROGRAM("raw_tp/irq_handler_exit", irq_exit)
{
	interrupt_left(cpu, device_place(cpu, context[0]), now);
	record(cpu, now, EVENT_IRQ_EXIT, 0, 0, context[0], 0, 0, 0);
}

/* x86_vector - which vector it is, by its number in the kernel's asm/irq_vectors.h */
ALWAYS_INLINE __u8 x86_vector(__u32 number)
{
	switch (number) {
	case 0xec:
		return VECTOR_LOCAL_TIMER;
	case 0xf4:
		return VECTOR_DEFERRED_ERROR;
	case 0xf6:
		return VECTOR_IRQ_WORK;
	case 0xf7:
		return VECTOR_PLATFORM_IPI;
	case 0xf9:
		return VECTOR_THRESHOLD;
	case 0xfa:
		return VECTOR_THERMAL;
	case 0xfb:
		return VECTOR_CALL_FUNCTION_SINGLE;
	case 0xfc:
		return VECTOR_CALL_FUNCTION;
	case 0xfd:
		return VECTOR_RESCHEDULE;
	case 0xfe:
		return VECTOR_ERROR;
	case 0xff:
		return VECTOR_SPURIOUS;
	}
	return VECTOR_OTHER;
}

/* One program for all of irq_vectors: each has its vector as an argument. */
PROGRAM("raw_tp/local_timer_entry", vector_entry)
{
	__u8 vector = x86_vector(context[0]);

	interrupt_entered(cpu, vector_place(vector), now);
	record(cpu, now, EVENT_VECTOR_ENTRY, vector, 0, 0, 0, 0, 0);
}

/* What one function did in it has the name of that. */
PROGRAM("raw_tp/irq_work_entry", irq_work_entry)
{
	(void)context;
	interrupt_entered(cpu, vector_place(VECTOR_IRQ_WORK), now);
	record(cpu, now, EVENT_VECTOR_ENTRY, VECTOR_IRQ_WORK, 0, 0, 0, 0, 0);
	record_irq_work(cpu, now);
}

PROGRAM("raw_tp/local_timer_exit", vector_exit)
{
	__u8 vector = x86_vector(context[0]);

	interrupt_left(cpu, vector_place(vector), now);
	record(cpu, now, EVENT_VECTOR_EXIT, vector, 0, 0, 0, 0, 0);
}

/* start - the first 8 bytes of a text, as arm64 has them in memory */
#define start(a, b, c, d, e, f, g, h)                                                              \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)

/* ipi_vector - which vector an IPI of arm64 is, by its reason as /proc/interrupts spells it */
ALWAYS_INLINE __u8 ipi_vector(const void *reason)
{
	__u64 start_of_reason = 0;

	bpf_probe_read_kernel(&start_of_reason, sizeof(start_of_reason), reason);
	if (start_of_reason == start('R', 'e', 's', 'c', 'h', 'e', 'd', 'u'))
		return VECTOR_RESCHEDULE;
	if (start_of_reason == start('F', 'u', 'n', 'c', 't', 'i', 'o', 'n'))
		return VECTOR_CALL_FUNCTION;
	if (start_of_reason == start('C', 'P', 'U', ' ', 's', 't', 'o', 'p'))
		return VECTOR_CPU_STOP;
	if (start_of_reason == start('T', 'i', 'm', 'e', 'r', ' ', 'b', 'r'))
		return VECTOR_TIMER_BROADCAST;
	if (start_of_reason == start('I', 'R', 'Q', ' ', 'w', 'o', 'r', 'k'))
		return VECTOR_IRQ_WORK;
	return VECTOR_OTHER;
}

PROGRAM("raw_tp/ipi_entry", ipi_entry)
{
	__u8 vector = ipi_vector((void *)context[0]);

	interrupt_entered(cpu, vector_place(vector), now);
	record(cpu, now, EVENT_VECTOR_ENTRY, vector, 0, 0, 0, 0, 0);
}

PROGRAM("raw_tp/ipi_exit", ipi_exit)
{
	__u8 vector = ipi_vector((void *)context[0]);

	interrupt_left(cpu, vector_place(vector), now);
	record(cpu, now, EVENT_VECTOR_EXIT, vector, 0, 0, 0, 0, 0);
}

/* It comes when the handler is done, and only x86 has it. Nothing is masked that we could mask. */
PROGRAM("raw_tp/nmi_handler", nmi)
{
	cpu->sums[SUM_NMI] += context[1];
	record(cpu, now, EVENT_NMI, 0, 0, 0, 0, context[1], context[0]);
}

PROGRAM("raw_tp/softirq_raise", softirq_raise)
{
	softirq_raised(cpu, context[0], now);
	record(cpu, now, EVENT_SOFTIRQ_RAISE, context[0], 0, 0, 0, 0, 0);
}

/* With PREEMPT_RT a thread that handles softirqs can be switched away from: see sched.h. */
PROGRAM("raw_tp/softirq_entry", softirq_entry)
{
	account_preemptible(cpu, now);
	softirq_begins(cpu, context[0], now);
	softirq_came(cpu, context[0], now);
	cpu->in_softirq = 1;
	cpu->softirq_thread = 1 + (__u32)bpf_get_current_pid_tgid();
	record(cpu, now, EVENT_SOFTIRQ_ENTRY, context[0], 0, 0, 0, 0, 0);
}

PROGRAM("raw_tp/softirq_exit", softirq_exit)
{
	account_preemptible(cpu, now);
	softirq_is_done(cpu, context[0]);
	cpu->in_softirq = 0;
	cpu->softirq_thread = 0;
	record(cpu, now, EVENT_SOFTIRQ_EXIT, context[0], 0, 0, 0, 0, 0);
}

#endif
