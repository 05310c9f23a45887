/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* irq_work: functions that a CPU runs in an interrupt which it sends itself. Part of irq.h. */
#ifndef WHYLATE_RECORDER_BPF_IRQ_WORK_H
#define WHYLATE_RECORDER_BPF_IRQ_WORK_H

#include "cpu.h"

/*
 * only_work - return the work that the interrupt is going to run, NULL: none, or several
 *
 * No event says when a function of irq_work begins, and its file is compiled without hooks. But
 * all work that an interrupt runs is in its lists when it begins: the time is that of the function
 * where there is one. Of several nobody knows which took it.
 */
ALWAYS_INLINE struct llist_node *only_work(void)
{
	struct llist_head *raised = bpf_this_cpu_ptr(&raised_list);
	struct llist_head *lazy = bpf_this_cpu_ptr(&lazy_list);
	struct llist_node *first = raised->first;

	if (!first || lazy->first || first->next)
		return 0;
	return first;
}

/* record_irq_work - record that the function of the only work begins; it ends with the interrupt */
ALWAYS_INLINE void record_irq_work(struct recorder_bpf_cpu *cpu, __u64 now)
{
	struct irq_work *work;
	__u64 function = 0;

	if (!config.shows_irq_work)
		return;
	work = (void *)only_work();
	if (!work)
		return;
	bpf_probe_read_kernel(&function, sizeof(function), &work->func);
	if (function)
		record(cpu, now, EVENT_CALL_ENTRY, 0, 0, 0, 0, function, 0);
}

#endif
