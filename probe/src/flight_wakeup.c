// SPDX-License-Identifier: MIT
/* The flight recorder and the wakeup workload: what is recorded of which activation. */
#include "clock.h"
#include "flight_windows.h"
#include "recorder/want.h"
#include "session_parts.h"

/* Nothing runs so much earlier than it is due. */
#define EARLY_NS 1000000u

void flight_tell_threads(struct session *session)
{
	const struct wire_recorder *asked = &session->flight.asked;
	struct recorder *recorder = &session->flight.recorder;

	for (size_t i = 0; i < session->wakeup.count; i++) {
		struct wakeup_cpu *cpu = &session->wakeup.cpus[i];

		if (cpu->cpu >= recorder->cpu_limit || !recorder->cpus[cpu->cpu])
			continue;
		cpu->want = &recorder->cpus[cpu->cpu]->want;
		cpu->want->above_ns = UINT64_MAX;
		cpu->want->body_every = asked->body_every;
		cpu->late = &session->flight.cpus[i].late;
		threshold_open(cpu->late, asked->threshold_ns, asked->tail_ppm);
	}
}

/* too_late - a measuring thread is later than the workload may go on after */
static void too_late(void *context, const struct wakeup_cpu *cpu, uint64_t index)
{
	struct session *session = context;
	struct flight *flight = &session->flight;
	uint32_t none = 0, place = (uint32_t)(cpu - session->wakeup.cpus) + 1;

	if (!atomic_compare_exchange_strong(&flight->deciding, &none, place))
		return;
	if (flight->recording)
		flight->recorder.engine->freeze(&flight->recorder);
	flight->stopped_index = index;
	flight->stopped_ns = clock_ns();
	atomic_store(&flight->stopped, place);
}

void flight_watch(struct session *session)
{
	struct flight *flight = &session->flight;

	atomic_store(&flight->deciding, 0);
	atomic_store(&flight->stopped, 0);
	flight->stop_told = false;
	for (size_t i = 0; i < session->wakeup.count; i++) {
		session->wakeup.cpus[i].too_late = too_late;
		session->wakeup.cpus[i].too_late_context = session;
		session->wakeup.cpus[i].stop_above_ns = flight->asked.stop_above_ns;
	}
}

/* end_workload - tell that it ends, and which activation does it */
static void end_workload(struct session *session, uint32_t stopped)
{
	struct flight *flight = &session->flight;
	const struct wakeup_cpu *cpu = &session->wakeup.cpus[stopped - 1];

	flight->stop_told = true;
	wakeup_stop(&session->wakeup);
	flight_tell_stopped(session, cpu->cpu, flight->stopped_index);
}

static uint64_t due_of(const struct wakeup_cpu *cpu, const struct activation *activation)
{
	return cpu->start_ns + activation->index * cpu->interval_ns;
}

static uint64_t run_of(const struct wakeup_cpu *cpu, const struct activation *activation)
{
	return due_of(cpu, activation) + (uint64_t)activation->latency_ns;
}

/* why_recorded - is this activation's window wanted? */
static enum why why_recorded(struct flight *flight, const struct wakeup_cpu *cpu, size_t i,
			     const struct activation *activation, bool late)
{
	uint32_t stopped = atomic_load(&flight->stopped);

	if (stopped == i + 1 && activation->index == flight->stopped_index)
		return WHY_STOP;
	/* What is not recorded any more did not happen without events. */
	if (stopped && run_of(cpu, activation) > flight->stopped_ns)
		return WHY_NOT;
	if (late)
		return WHY_LATE;
	return recorder_is_drawn(cpu->cpu, activation->index, flight->body_every) ? WHY_DRAWN
										  : WHY_NOT;
}

/* examine - look at one activation: its stages, and whether its window is wanted */
static void examine(struct session *session, size_t i, struct activation *activation)
{
	struct flight *flight = &session->flight;
	const struct wakeup_cpu *cpu = &session->wakeup.cpus[i];
	const struct recorder_cpu *recorded = flight->recorder.cpus[cpu->cpu];
	struct flight_cpu *at = &flight->cpus[i];
	uint64_t due_ns = due_of(cpu, activation);
	uint64_t run_ns = run_of(cpu, activation);
	struct recorder_stage before = {0}, stage;
	bool late = threshold_is_late(&flight->threshold, activation->latency_ns);
	enum why why;

	/* What woke the thread to begin with is nobody's stage; a timer may be early by a little.
	 */
	if (!at->run_ns)
		at->run_ns = cpu->start_ns - EARLY_NS;
	stage = stage_find(recorded, &at->stage, at->run_ns, run_ns);
	if (stage.switched_ns && at->stage)
		before = recorded->stage[(at->stage - 1) & (STAGES - 1)];
	/* A waking before it was due is of another time. */
	activation->stages_ns[0] = stage_since(stage.timer_ns, due_ns);
	activation->stages_ns[1] = stage_since(stage.waking_ns, due_ns);
	activation->stages_ns[2] = stage_since(stage.switched_ns, due_ns);
	at->run_ns = run_ns;
	why = why_recorded(flight, cpu, i, activation, late);
	if (why == WHY_NOT)
		return;
	flight_window(session,
		      &(struct flight_subject){
			  .cpu = cpu->cpu,
			  .prio = (uint8_t)(cpu->priority ? 99 - cpu->priority : 120),
			  .tid = cpu->tid,
			  .index = activation->index,
			  .due_ns = due_ns,
			  .run_ns = run_ns,
		      },
		      why, &stage, &before);
}

/* examine_cpu - look at the activations of a CPU until what was recorded does not reach */
static void examine_cpu(struct session *session, size_t i, bool ended)
{
	struct flight *flight = &session->flight;
	struct wakeup_cpu *cpu = &session->wakeup.cpus[i];
	struct recorder_cpu *recorded = NULL;
	uint64_t held = 0, written;

	if (cpu->cpu < flight->recorder.cpu_limit)
		recorded = flight->recorder.cpus[cpu->cpu];
	/* First what is held: the activations for which that was done are written by then. */
	if (recorded)
		held = __atomic_load_n(&recorded->holds, __ATOMIC_ACQUIRE);
	written = ring_written(&cpu->ring);
	if (!recorded) {
		cpu->ring.offered = written;
		return;
	}
	for (; cpu->ring.offered < written; cpu->ring.offered++) {
		struct activation *activation = ring_at(&cpu->ring, cpu->ring.offered);

		if (!ended && run_of(cpu, activation) > flight->recorder.gathered_ns)
			break;
		examine(session, i, activation);
	}
	flight_looked_at(flight, recorded, held,
			 cpu->ring.offered < written
			     ? run_of(cpu, ring_at(&cpu->ring, cpu->ring.offered))
			     : UINT64_MAX);
}

void flight_examine(struct session *session, bool ended)
{
	struct flight *flight = &session->flight;
	uint32_t stopped = atomic_load(&flight->stopped);
	uint64_t before_ns = clock_thread_ns();

	if (stopped && !flight->stop_told)
		end_workload(session, stopped);
	if (!flight->recording) {
		for (size_t i = 0; i < session->wakeup.count; i++)
			session->wakeup.cpus[i].ring.offered =
			    ring_written(&session->wakeup.cpus[i].ring);
		return;
	}
	flight_gather(flight);
	for (size_t i = 0; i < session->wakeup.count; i++)
		examine_cpu(session, i, ended);
	flight->gather_ns += clock_thread_ns() - before_ns;
}
