// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The programs at the kernel's tracepoints of interrupts, or preemption, disabled and enabled.
 *
 * The kernel calls them in turn on a CPU: the second time that interrupts are disabled is none. No
 * program runs within another one here, for what they call disables nothing that was enabled.
 */
#include "bpf/bin.h"
#include "layout.h"
#include "bpf/counted.h"

/* A map of struct traced_cpu. */
char traced_cpus SECTION("maps");
const volatile struct traced_config tracing SECTION(".rodata") = {};

static long (*const bpf_get_current_comm)(void *to, __u32 size) = (void *)16;

ALWAYS_INLINE struct traced_cpu *this_cpu(void)
{
	__u32 here = bpf_get_smp_processor_id();
	struct traced_cpu *cpu = bpf_map_lookup_elem(&traced_cpus, &here);

	return cpu && cpu->is_on ? cpu : (struct traced_cpu *)0;
}

ALWAYS_INLINE void begin(struct traced_cpu *cpu, __u64 address, __u64 parent)
{
	cpu->began[0] = address;
	cpu->began[1] = parent;
	cpu->begin_ns = bpf_ktime_get_ns();
	read_counted(&cpu->counted, tracing.counters, cpu->begin_ns);
}

/* group_of - the number of the group of what ends there; 0: there is no room */
ALWAYS_INLINE __u32 group_of(struct traced_cpu *cpu, __u64 address, __u64 parent)
{
	__u64 hash = cpu->began[0] * 3 ^ cpu->began[1] * 5 ^ address * 7 ^ parent * 11;
	__u32 slot;

	hash = (hash ^ hash >> 29) * 0x9E3779B97F4A7C15ULL;
	slot = hash >> 40;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < TRACED_TRIES; i++) {
		__u32 number = (slot + i) & (TRACED_GROUPS - 1);
		struct traced_group *group = &cpu->groups[number];

		if (!number)
			continue;
		if (!group->stretches) {
			group->began[0] = cpu->began[0];
			group->began[1] = cpu->began[1];
			group->ended[0] = address;
			group->ended[1] = parent;
			return number;
		}
		if (group->ended[0] == address && group->ended[1] == parent &&
		    group->began[0] == cpu->began[0] && group->began[1] == cpu->began[1])
			return number;
	}
	return 0;
}

ALWAYS_INLINE void keep(struct traced_cpu *cpu, __u32 group, __u64 now, __u64 took_ns)
{
	__u64 number = cpu->written;
	struct traced_row *row;

	if (number - *(volatile __u64 *)&cpu->read >= TRACED_ROWS) {
		cpu->lost++;
		return;
	}
	row = &cpu->rows[number & (TRACED_ROWS - 1)];
	row->end_ns = now;
	row->took_ns = took_ns;
	row->pid = bpf_get_current_pid_tgid();
	row->group = group;
	bpf_get_current_comm(row->comm, sizeof(row->comm));
	row->counted.time_ns = 0;
	if (tracing.counters) {
		read_counted(&row->counted, tracing.counters, now);
		take_counted(&row->counted, &cpu->counted);
	}
	cpu->written = number + 1;
	__sync_lock_test_and_set(&row->number, number + 1);
}

ALWAYS_INLINE void end(struct traced_cpu *cpu, __u64 address, __u64 parent)
{
	__u64 now = bpf_ktime_get_ns(), took_ns;
	struct traced_group *group;
	__u32 number, bin;

	if (!cpu->begin_ns) {
		cpu->unpaired++;
		return;
	}
	took_ns = now - cpu->begin_ns;
	cpu->begin_ns = 0;
	number = group_of(cpu, address, parent);
	cpu->stretches++;
	cpu->total_ns += took_ns;
	bin = bin_of(took_ns);
	opaque(bin);
	if (bin < WIRE_WAIT_BINS)
		cpu->bins[bin]++;
	group = &cpu->groups[number & (TRACED_GROUPS - 1)];
	group->stretches++;
	group->total_ns += took_ns;
	if (took_ns > group->longest_ns)
		group->longest_ns = took_ns;
	if (took_ns < tracing.keep_ns)
		return;
	group->lasting++;
	group->seen_ns += took_ns;
	keep(cpu, number, now, took_ns);
}

SECTION("raw_tp/irq_disable") int disabled(__u64 *context)
{
	struct traced_cpu *cpu = this_cpu();

	if (cpu)
		begin(cpu, context[0], context[1]);
	return 0;
}

SECTION("raw_tp/irq_enable") int enabled(__u64 *context)
{
	struct traced_cpu *cpu = this_cpu();

	if (cpu)
		end(cpu, context[0], context[1]);
	return 0;
}

ALWAYS_INLINE bool is_idle(__u64 task)
{
	const struct task_struct *thread = (const void *)task;
	int pid = -1;

	bpf_probe_read_kernel(&pid, sizeof(pid), (const char *)thread + kernel_offset(thread->pid));
	return !pid;
}

/* The idle thread has preemption disabled all the time, which delays nobody. */
SECTION("raw_tp/sched_switch") int switched(__u64 *context)
{
	struct traced_cpu *cpu = this_cpu();

	if (cpu && is_idle(context[2]))
		end(cpu, TRACED_IDLE, 0);
	else if (cpu && is_idle(context[1]))
		begin(cpu, TRACED_IDLE, 0);
	return 0;
}
