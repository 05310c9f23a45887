// SPDX-License-Identifier: MIT
#include "stages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- where time goes */

/* sum_now - return the sum that the running time belongs to; NULL for the measured thread's own */
static __u64 *sum_now(struct stages_cpu *cpu, __u64 *sums)
{
	if (cpu->irqs)
		return &sums[SUM_IRQ];
	/* With PREEMPT_RT a thread in a softirq may be preempted: others run outside of it. */
	if (cpu->in_softirq && cpu->softirq == cpu->current)
		return &sums[SUM_SOFTIRQ];
	if (cpu->current == 0)
		return &sums[SUM_IDLE];
	return cpu->current == cpu->out->measured ? NULL : &sums[SUM_THREAD];
}

/* advance - add the time until now to its sum, less what an NMI took of it */
static void advance(struct stages_cpu *cpu, __u64 *sums, uint64_t now_ns, uint64_t nmi_ns)
{
	uint64_t passed_ns = now_ns - cpu->known_ns;
	__u64 *sum = sum_now(cpu, sums);

	if (nmi_ns > passed_ns)
		nmi_ns = passed_ns;
	sums[SUM_NMI] += nmi_ns;
	if (sum)
		*sum += passed_ns - nmi_ns;
	cpu->known_ns = now_ns;
}

static void open_irq(struct stages_cpu *cpu, uint64_t now_ns)
{
	if (cpu->irqs++ == 0)
		cpu->irq_ns = now_ns;
}

/* ---------------------------------------------------------------- wakings */

static struct stages_slot *find_slot(struct stages *stages, uint32_t pid)
{
	uint32_t at = pid;

	/* There are twice as many slots as threads: an empty one ends the search. */
	while (stages->slots[at % STAGES_SLOTS].cpu && stages->slots[at % STAGES_SLOTS].pid != pid)
		at++;
	return &stages->slots[at % STAGES_SLOTS];
}

/* note_waking - insert a waking in order: those of another CPU come when that CPU is read */
static void note_waking(struct stages_cpu *cpu, struct waking waking)
{
	uint64_t at = cpu->next_waking++;

	if (cpu->next_waking - cpu->first_waking > WAKINGS)
		cpu->first_waking++;
	for (; at > cpu->first_waking; at--) {
		const struct waking *before = &cpu->wakings[(at - 1) % WAKINGS];

		if (before->waking_ns <= waking.waking_ns)
			break;
		cpu->wakings[at % WAKINGS] = *before;
	}
	cpu->wakings[at % WAKINGS] = waking;
}

/* publish_one - publish the oldest stage: its waking is the last before it that can be */
static void publish_one(struct stages_cpu *cpu)
{
	uint64_t number = cpu->out->stages;
	struct recorder_stage *stage = &cpu->out->stage[number % STAGES];

	while (cpu->first_waking < cpu->next_waking) {
		const struct waking *waking = &cpu->wakings[cpu->first_waking % WAKINGS];

		if (waking->waking_ns > stage->switched_ns)
			break;
		if (waking->waking_ns >= cpu->after_ns[number % STAGES]) {
			stage->waking_ns = waking->waking_ns;
			stage->timer_ns = waking->timer_ns;
			stage->waking_cpu = waking->cpu;
		}
		cpu->first_waking++;
	}
	__atomic_store_n(&cpu->out->stages, number + 1, __ATOMIC_RELEASE);
}

/* begin_stage - note that the measured thread was switched to */
static void begin_stage(struct stages_cpu *cpu, const __u64 *sums, uint64_t now_ns)
{
	struct recorder_stage *stage = &cpu->out->stage[cpu->begun % STAGES];

	if (cpu->begun - cpu->out->stages == STAGES)
		publish_one(cpu);
	memset(stage, 0, sizeof(*stage));
	stage->switched_ns = now_ns;
	memcpy(stage->sums, sums, sizeof(stage->sums));
	cpu->after_ns[cpu->begun % STAGES] = cpu->next_after_ns;
	cpu->begun++;
}

/* switch_threads - note a switch; the sums are as of now */
static void switch_threads(struct stages_cpu *cpu, const struct recorder_event *event,
			   const __u64 *sums)
{
	/* No interrupt switches threads: the exit of one that seems open was lost. */
	cpu->irqs = 0;
	cpu->current = event->d;
	if (!cpu->out->measured)
		return;
	if (event->c == cpu->out->measured) {
		cpu->out->left_ns = event->time_ns;
		cpu->next_after_ns = event->a == SWITCH_PREEMPTED ? event->time_ns : 0;
		memcpy(cpu->out->left_sums, sums, sizeof(cpu->out->left_sums));
	}
	if (event->d == cpu->out->measured)
		begin_stage(cpu, sums, event->time_ns);
}

/* ---------------------------------------------------------------- events */

void stages_event(struct stages *stages, struct stages_cpu *cpu, const struct recorder_event *event,
		  uint32_t pid)
{
	__u64 *sums = cpu->sums;
	const struct stages_slot *slot;

	if (!cpu->known_ns)
		cpu->known_ns = event->time_ns;
	if (cpu->current != pid) {
		/* A switch was lost: the time of an interrupt is still its own, but it is not known
		 * which thread ran until when. */
		if (!cpu->irqs)
			cpu->known_ns = event->time_ns;
		cpu->current = pid;
	}
	switch (event->kind) {
	case EVENT_IRQ_ENTRY:
	case EVENT_VECTOR_ENTRY:
		advance(cpu, sums, event->time_ns, 0);
		open_irq(cpu, event->time_ns);
		break;
	case EVENT_IRQ_EXIT:
	case EVENT_VECTOR_EXIT:
		advance(cpu, sums, event->time_ns, 0);
		cpu->irqs -= cpu->irqs > 0;
		break;
	case EVENT_SOFTIRQ_ENTRY:
		advance(cpu, sums, event->time_ns, 0);
		cpu->in_softirq = true;
		cpu->softirq = pid;
		break;
	case EVENT_SOFTIRQ_EXIT:
		advance(cpu, sums, event->time_ns, 0);
		cpu->in_softirq = false;
		break;
	case EVENT_NMI:
		advance(cpu, sums, event->time_ns, event->e);
		break;
	case EVENT_SWITCH:
		advance(cpu, sums, event->time_ns, 0);
		switch_threads(cpu, event, sums);
		break;
	case EVENT_WAKING:
		slot = find_slot(stages, event->c);
		if (slot->cpu)
			note_waking(stages->cpus[slot->cpu - 1],
				    (struct waking){event->time_ns, cpu->irqs ? cpu->irq_ns : 0,
						    cpu->number});
		break;
	default:
		break;
	}
}

void stages_lost(struct stages_cpu *cpu)
{
	cpu->known_ns = 0;
	cpu->irqs = 0;
	cpu->in_softirq = false;
}

void stages_publish(struct stages *stages, uint64_t until_ns)
{
	for (uint16_t i = 0; i < stages->cpu_limit; i++) {
		struct stages_cpu *cpu = stages->cpus[i];

		while (cpu && cpu->out->stages < cpu->begun &&
		       cpu->out->stage[cpu->out->stages % STAGES].switched_ns <= until_ns)
			publish_one(cpu);
	}
}

/* ---------------------------------------------------------------- making them */

static int add_thread(struct stages *stages, const struct recorder_thread *thread)
{
	struct stages_cpu *cpu = thread->cpu < stages->cpu_limit ? stages->cpus[thread->cpu] : NULL;

	if (!cpu || cpu->out->measured || !thread->pid)
		return EINVAL;
	cpu->out->measured = thread->pid;
	*find_slot(stages, thread->pid) =
	    (struct stages_slot){.pid = thread->pid, .cpu = thread->cpu + 1u};
	return 0;
}

int stages_open(struct stages *stages, struct recorder_cpu **out, uint16_t cpu_limit,
		const struct recorder_thread *threads, size_t thread_count)
{
	int error = 0;

	memset(stages, 0, sizeof(*stages));
	if (thread_count > STAGES_SLOTS / 2)
		return E2BIG;
	stages->cpus = calloc(cpu_limit, sizeof(struct stages_cpu *));
	if (!stages->cpus)
		return ENOMEM;
	stages->cpu_limit = cpu_limit;
	for (uint16_t i = 0; i < cpu_limit && !error; i++) {
		if (!out[i])
			continue;
		stages->cpus[i] = calloc(1, sizeof(struct stages_cpu));
		if (stages->cpus[i])
			*stages->cpus[i] = (struct stages_cpu){.out = out[i], .number = i};
		else
			error = ENOMEM;
	}
	for (size_t i = 0; i < thread_count && !error; i++)
		error = add_thread(stages, &threads[i]);
	if (error)
		stages_close(stages);
	return error;
}

void stages_close(struct stages *stages)
{
	for (uint16_t i = 0; i < stages->cpu_limit && stages->cpus; i++)
		free(stages->cpus[i]);
	free(stages->cpus);
	stages->cpus = NULL;
	stages->cpu_limit = 0;
}
