/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Functions that wait for a grace period of RCU. */
#ifndef WHYLATE_RECORDER_BPF_RCU_H
#define WHYLATE_RECORDER_BPF_RCU_H

#include "cpu.h"

/*
 * callback_over - the next callback begins, or none: record the preceding one where it took long
 *
 * RCU reports beginnings alone. Interrupts that came meanwhile are in its time, and are recorded.
 */
ALWAYS_INLINE void callback_over(struct recorder_bpf_cpu *cpu, __u64 next, __u64 now)
{
	__u64 function = cpu->callback, since_ns = cpu->callback_ns;

	cpu->callback = next;
	cpu->callback_ns = now;
	if (function)
		record_span(cpu, now, EVENT_CALLBACK, since_ns, function);
}

SECTION("tp_btf/rcu_invoke_callback")
int rcu_callback(__u64 *context)
{
	struct recorder_bpf_cpu *cpu = cpu_here();
	struct callback_head *head = (void *)context[1];

	if (cpu)
		callback_over(cpu, (__u64)head->func, bpf_ktime_get_ns());
	return 0;
}

/* RCU itself frees memory: that is a function of none. */
PROGRAM("raw_tp/rcu_invoke_kvfree_callback", rcu_frees)
{
	(void)context;
	callback_over(cpu, 0, now);
}

PROGRAM("raw_tp/rcu_batch_end", rcu_batch_end)
{
	(void)context;
	callback_over(cpu, 0, now);
}

#endif
