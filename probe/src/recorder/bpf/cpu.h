/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Recording an event on this CPU, and the accounting of its time. */
#ifndef WHYLATE_RECORDER_BPF_CPU_H
#define WHYLATE_RECORDER_BPF_CPU_H

#include "../../bpf/kernel.h"
#include "layout.h"

/* The sum of the measured thread's own time, which is never read. */
#define SUM_OWN RECORDER_SUMS

const volatile struct recorder_config config SECTION(".rodata") = {};

/* The array of struct recorder_bpf_cpu; the loader puts the map in its place. */
char cpus SECTION("maps");
/* The same for the hash of struct recorder_woken. */
char woken SECTION("maps");
/* And for that of struct recorder_left. */
char left SECTION("maps");

ALWAYS_INLINE struct recorder_bpf_cpu *cpu_at(__u32 number)
{
	return bpf_map_lookup_elem(&cpus, &number);
}

ALWAYS_INLINE struct recorder_bpf_cpu *cpu_here(void)
{
	return cpu_at(bpf_get_smp_processor_id());
}

/* Per-CPU variables of the kernel; their ids are put in their place. */
char raised_list SECTION("maps");
char lazy_list SECTION("maps");
char return_list SECTION("maps");

#include "chunks.h"

/* PROGRAM - a program for a tracepoint, whose body has cpu, context and now */
#define PROGRAM(tracepoint, name)                                                                  \
	ALWAYS_INLINE void name##_body(struct recorder_bpf_cpu *cpu, __u64 *context, __u64 now);   \
	SECTION(tracepoint) int name(__u64 *context)                                               \
	{                                                                                          \
		struct recorder_bpf_cpu *cpu = cpu_here();                                         \
		__u64 now = bpf_ktime_get_ns();                                                    \
                                                                                                   \
		if (cpu)                                                                           \
			name##_body(cpu, context, now);                                            \
		return 0;                                                                          \
	}                                                                                          \
	ALWAYS_INLINE void name##_body(struct recorder_bpf_cpu *cpu, __u64 *context, __u64 now)

/* reserve - reserve the numbers of this many events; returns the first */
ALWAYS_INLINE __u64 reserve(struct recorder_bpf_cpu *cpu, __u64 count)
{
	return __sync_fetch_and_add(&cpu->shared.events, count);
}

/* struct recorder_event in words: field by field, the compiler makes single bytes of the zeros. */
struct event_words {
	__u64 time_ns;
	__u32 seq;
	__u32 kind_a_b;
	__u64 c_d;
	__u64 e;
	__u64 f;
};

ALWAYS_INLINE void fill(struct recorder_bpf_cpu *cpu, __u64 number, __u64 now, __u8 kind, __u8 a,
			__u16 b, __u32 c, __u32 d, __u64 e, __u64 f)
{
	struct event_words *event = (void *)(cpu + 1);
	__u64 chunk = number / CHUNK_EVENTS;

	if (unlikely(cpu->open[chunk & 1].number != 1 + chunk) && !open_chunk(cpu, chunk, now)) {
		if (!cpu->shared.frozen)
			__sync_fetch_and_add(&cpu->shared.missed, 1);
		return;
	}
	event += (number + cpu->open[chunk & 1].shift) & config.ring_mask;
	/* Otherwise each store computes its own address from the beginning of the map. */
	opaque(event);
	event->time_ns = now;
	event->kind_a_b = kind | (__u32)a << 8 | (__u32)b << 16;
	event->c_d = c | (__u64)d << 32;
	event->e = e;
	event->f = f;
	barrier();
	event->seq = number + 1;
}

ALWAYS_INLINE void record(struct recorder_bpf_cpu *cpu, __u64 now, __u8 kind, __u8 a, __u16 b,
			  __u32 c, __u32 d, __u64 e, __u64 f)
{
	fill(cpu, reserve(cpu, 1), now, kind, a, b, c, d, e, f);
}

/* What took less is not recorded: there may be thousands in one softirq, one in each switch. */
#define SPAN_LEAST_NS 2000

/* record_span - record a function at its end, where it took long, and in which thread */
ALWAYS_INLINE void record_span(struct recorder_bpf_cpu *cpu, __u64 now, __u8 kind, __u64 since_ns,
			       __u64 function)
{
	__u64 took_ns = now - since_ns;

	if (unlikely(took_ns > SPAN_LEAST_NS))
		record(cpu, now, kind, 0, 0, bpf_get_current_pid_tgid(),
		       took_ns >> 32 ? 0xffffffff : took_ns, function, 0);
}

/* is_watching - whether a program is watched; the verifier drops that code where none is */
ALWAYS_INLINE bool is_watching(void)
{
	return config.watch_pid || config.watch_comm[0];
}

/* place - what the CPU is doing, as one of the sums */
ALWAYS_INLINE __u64 place(const struct recorder_bpf_cpu *cpu)
{
	if (cpu->interrupts)
		return SUM_IRQ;
	return cpu->in_softirq ? SUM_SOFTIRQ : cpu->thread;
}

/*
 * account - add the time until now to the sum of where the CPU was; interrupts are off
 *
 * All is modulo 2^64: the next call corrects what an NMI adds in between.
 */
ALWAYS_INLINE void account(struct recorder_bpf_cpu *cpu, __u64 now)
{
	__u64 nmi_ns = cpu->sums[SUM_NMI];
	__u64 since_ns = cpu->since_ns;

	if (unlikely(!since_ns))
		return;
	cpu->sums[place(cpu) % SUMS_ROOM] += now - since_ns - (nmi_ns - cpu->nmi_ns);
	cpu->nmi_ns = nmi_ns;
	cpu->since_ns = now;
}

/*
 * account_preemptible - the same where an interrupt may come in between
 *
 * The interrupt may have accounted for a time after now. Then the difference is negative, and takes
 * back from this sum what is counted again.
 */
ALWAYS_INLINE void account_preemptible(struct recorder_bpf_cpu *cpu, __u64 now)
{
	__u64 nmi_ns = cpu->sums[SUM_NMI];
	__u64 since_ns, before_ns;

	if (unlikely(!cpu->since_ns))
		return;
	since_ns = __sync_lock_test_and_set(&cpu->since_ns, now);
	before_ns = __sync_lock_test_and_set(&cpu->nmi_ns, nmi_ns);
	__sync_fetch_and_add(&cpu->sums[place(cpu) % SUMS_ROOM],
			     now - since_ns - (nmi_ns - before_ns));
}

#endif
