// SPDX-License-Identifier: MIT
/*
 * The trace of a ring's switches: sched:sched_switch, and tlb:tlb_flush where the kernel has it, as
 * the text of ftrace, which simulations of other policies read.
 */
#ifndef WHYLATE_BENCHMARK_SWITCH_TRACE_H
#define WHYLATE_BENCHMARK_SWITCH_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "child.h"
#include "tracefs/instance.h"

struct switch_trace {
	struct instance instance;
};

/* switch_trace_begin - trace the first `count` of these CPUs, all without any, with room for so
 * many bytes of text; changes of translations are traced on all CPUs. Returns 0 or an errno: E2BIG
 * where the CPUs are more ranges than a filter of the kernel's has room for. */
int switch_trace_begin(struct switch_trace *trace, struct wire_list cpus, size_t count,
		       uint32_t bytes);

/* switch_trace_end - report the lines of the trace, at most `bytes`, as switch_trace messages;
 * returns 0, or an errno with nothing reported */
int switch_trace_end(struct switch_trace *trace, struct child_context *context, uint32_t bytes);

#endif
