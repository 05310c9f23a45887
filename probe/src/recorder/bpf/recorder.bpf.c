// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The programs of the flight recorder: each records one event of one tracepoint.
 *
 * The name of a section is the type of a program: tp_btf/NAME reads the kernel's structures
 * directly and belongs to that tracepoint, raw_tp/NAME takes numbers only and fits any tracepoint,
 * kprobe/NAME fits the entry or the return of any function.
 * The loader loads each for itself, so that one which a kernel lacks costs only its own events.
 *
 * They run inside of what they record, with preemption off: no loops but over a bound, no locks,
 * and an atomic addition to make room. A program that interrupts itself on one CPU is left out by
 * the kernel, which counts that.
 */
#include "hook.h"
#include "irq.h"
#include "timer.h"
#include "rcu.h"
#include "sched.h"
#include "ipi.h"

/* A lock that had to be waited for; a semaphore or mutex sleeps meanwhile. */
PROGRAM("raw_tp/contention_begin", lock_begin)
{
	record(cpu, now, EVENT_LOCK_BEGIN, context[1], 0, 0, 0, context[0], 0);
}

PROGRAM("raw_tp/contention_end", lock_end)
{
	record(cpu, now, EVENT_LOCK_END, 0, 0, 0, 0, context[0], 0);
}

#define IDLE_LEFT 0xffffffffu /* the kernel's PWR_EVENT_EXIT */

PROGRAM("raw_tp/cpu_idle", idle)
{
	__u32 state = context[0];

	cpu->in_idle_state = state != IDLE_LEFT;
	if (state == IDLE_LEFT)
		record(cpu, now, EVENT_IDLE_EXIT, 0, 0, 0, 0, 0, 0);
	else
		record(cpu, now, EVENT_IDLE_ENTRY, 0, state, 0, 0, 0, 0);
}

/* Page faults of user code are many; only those of the measured thread can make it late. */
SECTION("tp_btf/page_fault_user")
int fault(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();
	struct pt_regs *regs = (void *)context[1];
	__u32 pid;

	if (!cpu || cpu->thread != SUM_OWN)
		return 0;
	pid = (__u32)bpf_get_current_pid_tgid();
	if (pid == cpu->shared.measured)
		record(cpu, bpf_ktime_get_ns(), EVENT_FAULT, 0, 0, pid, 0, context[0], regs->ip);
	return 0;
}
