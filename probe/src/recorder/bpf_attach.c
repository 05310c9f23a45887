// SPDX-License-Identifier: MIT
/*
 * A program is attached for as long as its link is open: no flag in it would do, for a tracepoint
 * that calls a program which returns at once costs nearly as much.
 */
#include "bpf_attach.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf_hooks.h"
#include "bpf_maps.h"
#include "bpf/program.h"

int bpf_attach(const struct bpf_engine *engine, const struct bpf_source *source)
{
	/* A typed program has its tracepoint. */
	const char *name =
	    bpf_programs[source->program].kind == KIND_TYPED ? NULL : strchr(source->name, ':') + 1;

	return bpf_tracepoint_attach(engine->programs[source->program], name);
}

/*
 * forget - let a CPU begin anew, while no program is attached
 *
 * What its programs knew is of before: the time since then would go into a sum, and an interrupt
 * whose end was not seen would never end.
 */
static void forget(struct recorder_bpf_cpu *cpu)
{
	cpu->since_ns = 0;
	cpu->in_softirq = 0;
	cpu->softirq_thread = 0;
	cpu->softirq = 0;
	cpu->interrupts = 0;
	cpu->in_idle_state = 0;
	cpu->callback = 0;
	cpu->hooks_open = 0;
	cpu->waking_ns = 0;
	cpu->timer_ns = 0;
	/* It was wanted of what was not recorded. */
	__atomic_store_n(&cpu->shared.want.due_ns, 0, __ATOMIC_RELAXED);
}

/* attach_again - attach what was attached, in the same order */
static int attach_again(struct recorder *recorder)
{
	struct bpf_engine *engine = recorder->state;
	int error = 0;

	for (uint16_t i = 0; i < recorder->cpu_limit; i++)
		if (recorder->cpus[i])
			forget(bpf_cpu_at(engine, i));
	for (size_t i = 0; i < bpf_source_count; i++) {
		if (engine->links[i] != LINK_DETACHED)
			continue;
		engine->links[i] = bpf_attach(engine, &bpf_sources[i]);
		if (engine->links[i] >= 0)
			continue;
		if (!error)
			error = errno;
		/* The next time is another attempt. */
		engine->links[i] = LINK_DETACHED;
	}
	bpf_hooks_attach(recorder);
	return error;
}

int bpf_detach(struct recorder *recorder, bool detached)
{
	struct bpf_engine *engine = recorder->state;

	if (!detached)
		return attach_again(recorder);
	bpf_hooks_detach(recorder);
	/* Entries before exits, so that no exit is missed. */
	for (size_t i = bpf_source_count; i-- > 0;) {
		if (engine->links[i] < 0)
			continue;
		close(engine->links[i]);
		engine->links[i] = LINK_DETACHED;
	}
	return 0;
}
