// SPDX-License-Identifier: MIT
#include "wakeup_windows.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "failure.h"
#include "wire/send.h"

/* No activation runs this much before it is due. */
#define EARLY_NS 1000000u
/* How long a window waits for a stack. */
#define AWAIT_NS (100 * (uint64_t)NS_PER_MS)

/* ask_threads - let the measuring threads ask for windows to be held */
static void ask_threads(struct wakeup_windows *windows)
{
	const struct wire_recorder *request = &windows->flight->request;
	struct recorder *recorder = &windows->flight->recorder;

	for (size_t i = 0; i < windows->threads->count; i++) {
		struct wakeup_cpu *cpu = &windows->threads->cpus[i];

		if (cpu->cpu >= recorder->cpu_limit || !recorder->cpus[cpu->cpu])
			continue;
		cpu->want = &recorder->cpus[cpu->cpu]->want;
		cpu->want->above_ns = UINT64_MAX;
		cpu->want->control_every = request->control_every;
		cpu->late = &windows->cpus[i].late;
		threshold_open(cpu->late, request->threshold_ns, request->tail_ppm);
	}
}

/* start_recorder - record the threads from now on, or note why not */
static void start_recorder(struct wakeup_windows *windows)
{
	struct wakeup_threads *threads = windows->threads;
	struct flight *flight = windows->flight;
	struct recorder_thread *recorded = calloc(threads->count, sizeof(*recorded));
	char text[FAILURE_TEXT] = "no memory for the flight recorder";
	int error = -1;

	windows->cpus = calloc(threads->count, sizeof(*windows->cpus));
	for (size_t i = 0; recorded && i < threads->count; i++)
		recorded[i] = (struct recorder_thread){.pid = threads->cpus[i].tid,
						       .cpu = threads->cpus[i].cpu};
	if (recorded && windows->cpus)
		error = flight_start(flight, recorded, threads->count, NULL, text);
	free(recorded);
	if (error) {
		send_note(flight->sender, "no-recorder", "%s", text);
		return;
	}
	if (text[0])
		send_note(flight->sender, "recorder-declined", "%s", text);
	ask_threads(windows);
	flight_report_started(flight);
}

/* too_late - called by a measuring thread whose latency ends the workload */
static void too_late(void *context, const struct wakeup_cpu *cpu, uint64_t index)
{
	struct wakeup_windows *windows = context;
	struct flight *flight = windows->flight;
	uint32_t none = 0, place = (uint32_t)(cpu - windows->threads->cpus) + 1;

	if (!atomic_compare_exchange_strong(&windows->deciding, &none, place))
		return;
	if (flight->recording)
		flight->recorder.engine->freeze(&flight->recorder);
	windows->stopped_index = index;
	windows->stopped_ns = clock_ns();
	atomic_store(&windows->stopped, place);
}

void windows_start(struct wakeup_windows *windows, struct flight *flight,
		   struct wakeup_threads *threads)
{
	windows->flight = flight;
	windows->threads = threads;
	if (!flight->wanted)
		return;
	start_recorder(windows);
	/* The first activation that is too late ends the workload, recorded or not. */
	for (size_t i = 0; i < threads->count; i++) {
		threads->cpus[i].too_late = too_late;
		threads->cpus[i].too_late_context = windows;
		threads->cpus[i].stop_above_ns = flight->request.stop_above_ns;
	}
}

void windows_go(struct wakeup_windows *windows, int priority)
{
	struct flight *flight = windows->flight;
	int error;

	if (!flight->recording) {
		flight->detaching.count = 0;
		return;
	}
	error = detaching_start(&flight->detaching, &flight->recorder, flight->guardian,
				windows->threads->cpus[0].start_ns, priority);
	if (error)
		send_note(flight->sender, "not-detached",
			  "the recorder stays attached, and what it adds is not known: %s",
			  strerror(error));
}

/* end_workload - end the workload, and report which activation did it */
static void end_workload(struct wakeup_windows *windows, uint32_t stopped)
{
	windows->stop_reported = true;
	wakeup_threads_stop(windows->threads);
	flight_report_stop(windows->flight, windows->threads->cpus[stopped - 1].cpu,
			   windows->stopped_index);
}

static uint64_t due_ns_of(const struct wakeup_cpu *cpu, const struct activation *activation)
{
	return cpu->start_ns + activation->index * cpu->interval_ns;
}

static uint64_t run_ns_of(const struct wakeup_cpu *cpu, const struct activation *activation)
{
	return due_ns_of(cpu, activation) + (uint64_t)activation->latency_ns;
}

/* reason_for - whether this activation's window is wanted, and why */
static enum window_reason reason_for(struct wakeup_windows *windows, size_t i,
				     const struct activation *activation)
{
	const struct wakeup_cpu *cpu = &windows->threads->cpus[i];
	struct flight *flight = windows->flight;
	/* In any case: the threshold counts every latency. */
	bool late = threshold_is_late(&flight->threshold, activation->latency_ns);
	uint32_t stopped = atomic_load(&windows->stopped);

	if (stopped == i + 1 && activation->index == windows->stopped_index)
		return REASON_STOP;
	/* Recording has stopped: no events does not mean that nothing happened. */
	if (stopped && run_ns_of(cpu, activation) > windows->stopped_ns)
		return REASON_NONE;
	if (late)
		return REASON_LATE;
	return recorder_is_drawn(cpu->cpu, activation->index, flight->request.control_every)
		   ? REASON_CONTROL
		   : REASON_NONE;
}

/* examine - look at one activation: its stages, and whether its window is wanted */
static void examine(struct wakeup_windows *windows, size_t i, struct activation *activation)
{
	struct flight *flight = windows->flight;
	const struct wakeup_cpu *cpu = &windows->threads->cpus[i];
	const struct recorder_cpu *recorded = flight->recorder.cpus[cpu->cpu];
	struct watched_cpu *at = &windows->cpus[i];
	uint64_t due_ns = due_ns_of(cpu, activation);
	uint64_t run_ns = run_ns_of(cpu, activation);
	struct recorder_stage before = {0}, stage;
	enum window_reason reason = reason_for(windows, i, activation);

	if (detaching_hides(&flight->detaching, due_ns, run_ns)) {
		for (size_t stage_number = 0; stage_number < STAGE_COUNT; stage_number++)
			activation->stages_ns[stage_number] = WIRE_NOT_SEEN;
		at->run_ns = run_ns;
		return;
	}
	/* The wakeup before the first activation is no stage; a timer may be slightly early. */
	if (!at->run_ns)
		at->run_ns = cpu->start_ns - EARLY_NS;
	stage = stage_find(recorded, &at->stage, at->run_ns, run_ns);
	if (stage.switched_ns && at->stage)
		before = recorded->stage[(at->stage - 1) & (STAGES - 1)];
	/* Sums do not go on from before it was attached. */
	if (before.switched_ns < detaching_since(&flight->detaching, due_ns))
		before = (struct recorder_stage){0};
	activation->stages_ns[0] = stage_since(stage.timer_ns, due_ns);
	activation->stages_ns[1] = stage_since(stage.waking_ns, due_ns);
	activation->stages_ns[2] = stage_since(stage.switched_ns, due_ns);
	at->run_ns = run_ns;
	if (reason == REASON_NONE)
		return;
	flight_send_window(flight,
			   &(struct flight_subject){
			       .cpu = cpu->cpu,
			       .prio = (uint8_t)(cpu->priority ? 99 - cpu->priority : 120),
			       .tid = cpu->tid,
			       .index = activation->index,
			       .due_ns = due_ns,
			       .run_ns = run_ns,
			   },
			   reason, &stage, &before);
}

/* is_awaited - whether the stack of who delayed an activation may still come: where a kernel finds
 * no task by its pid, that thread must run again first */
static bool is_awaited(const struct recorder *recorder, const struct recorder_cpu *recorded,
		       uint64_t run_ns)
{
	uint64_t since_ns = __atomic_load_n(&recorded->awaited_ns, __ATOMIC_RELAXED);

	return since_ns && run_ns >= since_ns && recorder->gathered_ns < since_ns + AWAIT_NS;
}

/* is_complete - whether all is recorded of an activation that ran at run_ns: what delayed it may be
 * recorded only when its thread leaves the CPU */
static bool is_complete(const struct flight *flight, const struct recorder_cpu *recorded,
			uint64_t due_ns, uint64_t run_ns)
{
	uint64_t left_ns = __atomic_load_n(&recorded->left_ns, __ATOMIC_RELAXED);
	bool still_runs =
	    left_ns && left_ns < run_ns && !detaching_hides(&flight->detaching, due_ns, run_ns);

	return run_ns <= flight->recorder.gathered_ns && !still_runs &&
	       !is_awaited(&flight->recorder, recorded, run_ns);
}

/* examine_cpu - examine the activations of a CPU that are completely recorded */
static void examine_cpu(struct wakeup_windows *windows, size_t i, bool ended)
{
	struct flight *flight = windows->flight;
	struct wakeup_cpu *cpu = &windows->threads->cpus[i];
	struct recorder_cpu *recorded = NULL;
	uint64_t held = 0, written;

	if (cpu->cpu < flight->recorder.cpu_limit)
		recorded = flight->recorder.cpus[cpu->cpu];
	/* In this order: the activations whose windows are held are written by then. */
	if (recorded)
		held = __atomic_load_n(&recorded->holds, __ATOMIC_ACQUIRE);
	written = ring_written(&cpu->ring);
	if (!recorded) {
		cpu->ring.offered = written;
		return;
	}
	for (; cpu->ring.offered < written; cpu->ring.offered++) {
		struct activation *activation = ring_at(&cpu->ring, cpu->ring.offered);

		if (!ended && !is_complete(flight, recorded, due_ns_of(cpu, activation),
					   run_ns_of(cpu, activation)))
			break;
		examine(windows, i, activation);
	}
	flight_looked_at(flight, recorded, held,
			 cpu->ring.offered < written
			     ? run_ns_of(cpu, ring_at(&cpu->ring, cpu->ring.offered))
			     : UINT64_MAX);
}

void windows_examine(struct wakeup_windows *windows, bool ended)
{
	struct wakeup_threads *threads = windows->threads;
	struct flight *flight = windows->flight;
	uint32_t stopped = atomic_load(&windows->stopped);
	uint64_t before_ns = clock_thread_ns();

	if (stopped && !windows->stop_reported)
		end_workload(windows, stopped);
	if (!flight->recording) {
		for (size_t i = 0; i < threads->count; i++)
			threads->cpus[i].ring.offered = ring_written(&threads->cpus[i].ring);
		return;
	}
	flight_gather(flight);
	for (size_t i = 0; i < threads->count; i++)
		examine_cpu(windows, i, ended);
	flight->gather_ns += clock_thread_ns() - before_ns;
}

void windows_end(struct wakeup_windows *windows)
{
	flight_end(windows->flight);
	free(windows->cpus);
	windows->cpus = NULL;
}
