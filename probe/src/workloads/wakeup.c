// SPDX-License-Identifier: MIT
/*
 * wakeup - the wakeup latency of periodic real-time threads
 *
 * The measuring threads are in activations/wakeup_threads.c. This file runs in the thread that
 * starts them, sends what they measured, and detects their end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "activations/samples.h"
#include "activations/wakeup_threads.h"
#include "activations/wakeup_windows.h"
#include "benchmark/counters.h"
#include "clock.h"
#include "thread.h"
#include "wire/send.h"
#include "workload.h"

/* The lowest real-time priority, for the thread that sends what the measuring threads have
 * measured, and the one that detaches the recorder.
 *
 * A SCHED_OTHER thread may wait for seconds beside loads, whatever its niceness: on two CPUs with
 * Linux 6.18, the loads' autogroup kept every other one from running for up to 19 s. Then samples
 * are dropped, events are overwritten, and blocks are over before the recorder is detached. */
#define SENDING_PRIORITY 1

struct wakeup {
	struct wakeup_threads threads;
	struct wakeup_windows windows;
	struct counters *counters; /* of each thread; NULL */
	uint64_t shipped_ns;
};

/* sending_priority - return the priority for SCHED_FIFO; 0: it could delay a measuring thread */
static int sending_priority(const struct wakeup *wakeup)
{
	for (size_t i = 0; i < wakeup->threads.count; i++)
		if (wakeup->threads.cpus[i].priority <= SENDING_PRIORITY)
			return 0;
	return SENDING_PRIORITY;
}

/* set_sending - give the sending thread its priority, or take it away */
static void set_sending(const struct wakeup *wakeup, bool measuring)
{
	int priority = sending_priority(wakeup);

	/* Where it is refused, the measuring threads have no priority either. */
	if (priority)
		thread_schedule(measuring ? SCHED_FIFO : SCHED_OTHER, measuring ? priority : 0);
}

static void send_started(struct workload *workload)
{
	struct wakeup *wakeup = workload->state;
	struct sender *sender = workload->context.sender;

	for (size_t i = 0; i < wakeup->threads.count; i++) {
		const struct wakeup_cpu *cpu = &wakeup->threads.cpus[i];

		SEND(sender, cpu_started, CPU_STARTED, .cpu = cpu->cpu,
		     .policy = (uint8_t)cpu->policy, .priority = (uint8_t)cpu->priority,
		     .locked = wakeup->threads.memory_locked, .start_ns = cpu->start_ns,
		     .end_ns = atomic_load(cpu->end_ns), .interval_ns = cpu->interval_ns);
	}
	if (wakeup->threads.idle_error)
		send_note(sender, "idle-states", "/dev/cpu_dma_latency could not be held at 0: %s",
			  strerror(wakeup->threads.idle_error));
}

/* ---------------------------------------------------------------- counters of the threads */

static void free_counters(struct wakeup *wakeup)
{
	for (size_t i = 0; wakeup->counters && i < wakeup->threads.count; i++)
		counters_close(&wakeup->counters[i]);
	free(wakeup->counters);
	wakeup->counters = NULL;
}

/* start_counters - count what the threads do, which wait for their go, or note why not */
static void start_counters(struct workload *workload)
{
	const struct counter_set *set = workload->context.counters;
	struct wakeup *wakeup = workload->state;
	size_t bad;

	if (set->count)
		wakeup->counters = calloc(wakeup->threads.count, sizeof(*wakeup->counters));
	for (size_t i = 0; wakeup->counters && i < wakeup->threads.count; i++) {
		if (!counters_open(&wakeup->counters[i], set, (pid_t)wakeup->threads.cpus[i].tid,
				   &bad))
			continue;
		send_note(workload->context.sender, "counters",
			  "nothing was counted: the counters that the probe can open cannot be "
			  "opened for its threads");
		free_counters(wakeup);
	}
	for (size_t i = 0; wakeup->counters && i < wakeup->threads.count; i++)
		counters_begin(&wakeup->counters[i]);
}

/* send_counters - send what was counted, and count no more */
static void send_counters(struct wakeup *wakeup, struct sender *sender)
{
	uint64_t values[WIRE_MOST_COUNTERS];
	uint8_t room[sizeof(values)];
	size_t bad;

	for (size_t i = 0; wakeup->counters && i < wakeup->threads.count; i++) {
		struct counters *counters = &wakeup->counters[i];
		uint16_t cpu = wakeup->threads.cpus[i].cpu;

		counters_end(counters);
		if (counters_read(counters, values, &bad))
			SEND(sender, cpu_events, CPU_EVENTS, .cpu = cpu,
			     .values = wire_list_of_u64(room, values, counters->count));
		else
			send_note(sender, "counters", "counter %zu of CPU %u " COUNTERS_SHARED,
				  bad + 1, cpu);
	}
	free_counters(wakeup);
}

/* ---------------------------------------------------------------- start */

/* start_threads - prepare the threads; returns 0, or an errno with the text */
static int start_threads(struct workload *workload, const struct wire_wakeup *asked)
{
	struct wakeup_plan plan = {.interval_ns = asked->interval_ns,
				   .duration_ns = asked->duration_ns,
				   .phase_ns = workload->context.phase_ns,
				   .priority = asked->priority,
				   .hold_idle = asked->hold_idle};
	struct wakeup *wakeup = workload->state;
	uint16_t cpus[WIRE_MOST_CPUS];
	const char *step;
	int error;

	if (asked->cpus.count == 0 || asked->cpus.count > WIRE_MOST_CPUS ||
	    plan.interval_ns < WIRE_LEAST_INTERVAL_NS || plan.phase_ns > WIRE_LONGEST_PHASE_NS ||
	    plan.interval_ns > plan.duration_ns || plan.priority < 1 || plan.priority > 99)
		return fail(workload->text, EINVAL,
			    "invalid wakeup workload: expected 1 to 1024 CPUs, an interval of "
			    "50 us or more within the duration, priority 1 to 99");
	for (size_t i = 0; i < asked->cpus.count; i++)
		cpus[i] = wire_list_u16(asked->cpus, i);
	error = asked->spool ? workload_spool(workload) : 0;
	if (error)
		return error;
	error = wakeup_threads_start(&wakeup->threads, &plan, cpus, asked->cpus.count, &step);
	if (!error)
		return 0;
	sender_unspool(workload->context.sender);
	return fail(workload->text, error, "cannot %s: %s", step, strerror(error));
}

static int start(struct workload *workload, const union wire_command *command)
{
	/* The counters of the rings lie in cache lines of their own. */
	struct wakeup *wakeup = aligned_alloc(64, (sizeof(*wakeup) + 63) / 64 * 64);
	int error;

	if (!wakeup)
		return fail(workload->text, ENOMEM, "no memory for a wakeup workload");
	memset(wakeup, 0, sizeof(*wakeup));
	workload->state = wakeup;
	error = start_threads(workload, &command->wakeup);
	if (error) {
		free(wakeup);
		return error;
	}
	windows_start(&wakeup->windows, workload->context.flight, &wakeup->threads);
	start_counters(workload);
	/* From the threads' go on, this one could be kept waiting by the loads. */
	set_sending(wakeup, true);
	wakeup_threads_go(&wakeup->threads);
	windows_go(&wakeup->windows, sending_priority(wakeup));
	wakeup->shipped_ns = clock_ns();
	send_started(workload);
	return 0;
}

/* ---------------------------------------------------------------- activations */

/* ship_block - send or spool one block; false where there is no room now */
static bool ship_block(struct workload *workload, struct wakeup_cpu *cpu)
{
	struct sender *sender = workload->context.sender;
	uint8_t data[WIRE_MAX_PAYLOAD], stages[WIRE_MAX_PAYLOAD];
	bool staged = workload->context.flight->recording;
	struct sample_block block;

	if (!sender_has_room(sender, 2 * WIRE_MAX_PAYLOAD))
		return false;
	block = samples_pack(&cpu->ring, data, staged ? stages : NULL, sender_block_limit(sender));
	if (!block.count)
		return false;
	KEEP(sender, samples, SAMPLES, .cpu = cpu->cpu, .count = block.count, .first = block.first,
	     .data = {data, (uint16_t)block.length});
	if (staged)
		KEEP(sender, sample_stages, SAMPLE_STAGES, .cpu = cpu->cpu, .count = block.count,
		     .first = block.first, .data = {stages, (uint16_t)block.stages_length});
	return true;
}

/* ship - send what is in the rings, and then how far the threads had come before that */
static void ship(struct workload *workload, uint64_t now_ns, bool ended)
{
	struct wakeup *wakeup = workload->state;
	struct sender *sender = workload->context.sender;
	size_t count = wakeup->threads.count;
	struct wakeup_cpu *cpus = wakeup->threads.cpus;
	uint64_t next[WIRE_MOST_CPUS];
	uint8_t room[sizeof(next)];

	for (size_t i = 0; i < count; i++)
		next[i] = atomic_load_explicit(&cpus[i].next, memory_order_acquire);
	windows_examine(&wakeup->windows, ended);
	for (size_t i = 0; i < count; i++)
		while (ship_block(workload, &cpus[i]))
			;
	if (!sender_is_spooling(sender) && 8 * count + 16 <= WIRE_MAX_PAYLOAD &&
	    sender_has_room(sender, WIRE_MAX_PAYLOAD))
		SEND(sender, progress, PROGRESS, .now_ns = now_ns,
		     .next = wire_list_of_u64(room, next, count));
}

static bool rings_empty(struct wakeup_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		if (!ring_is_empty(&threads->cpus[i].ring))
			return false;
	return true;
}

static void send_results(struct workload *workload)
{
	struct wakeup *wakeup = workload->state;
	struct sender *sender = workload->context.sender;

	for (size_t i = 0; i < wakeup->threads.count; i++) {
		const struct wakeup_cpu *cpu = &wakeup->threads.cpus[i];

		SEND(sender, cpu_result, CPU_RESULT, .cpu = cpu->cpu,
		     .policy = (uint8_t)cpu->policy, .priority = (uint8_t)cpu->priority,
		     .locked = wakeup->threads.memory_locked, .start_ns = cpu->start_ns,
		     .end_ns = atomic_load(cpu->end_ns), .seen = cpu->count.seen,
		     .overrun = cpu->count.overrun, .dropped = cpu->count.dropped);
	}
	send_counters(wakeup, sender);
	/* What invalidates the samples of a CPU. */
	for (size_t i = 0; i < wakeup->threads.count; i++) {
		const struct wakeup_cpu *cpu = &wakeup->threads.cpus[i];

		if (cpu->began_late)
			send_note(sender, "late-start",
				  "the thread of CPU %u was let go after its first deadline",
				  cpu->cpu);
		if (cpu->was_moved)
			send_note(sender, "moved",
				  "the thread of CPU %u was moved away: the CPU went offline",
				  cpu->cpu);
	}
	workload_send_result(sender);
}

static bool poll(struct workload *workload, uint64_t now_ns)
{
	struct wakeup *wakeup = workload->state;
	/* Before shipping: when a thread has ended, its last activation is in its ring. */
	bool ended = wakeup_threads_ended(&wakeup->threads);

	if (!ended && now_ns - wakeup->shipped_ns < SHIP_NS) {
		if (workload->context.flight->recording)
			windows_examine(&wakeup->windows, false);
		return false;
	}
	wakeup->shipped_ns = now_ns;
	ship(workload, now_ns, ended);
	if (!ended || !rings_empty(&wakeup->threads))
		return false;
	set_sending(wakeup, false);
	sender_unspool(workload->context.sender);
	windows_end(&wakeup->windows);
	send_results(workload);
	wakeup_threads_free(&wakeup->threads);
	free(wakeup);
	return true;
}

static void stop(struct workload *workload)
{
	wakeup_threads_stop(&((struct wakeup *)workload->state)->threads);
}

const struct workload_ops workload_wakeup = {.command = WIRE_WAKEUP,
					     .start = start,
					     .poll = poll,
					     .stop = stop,
					     .wait_ms = workload_look_ms};
