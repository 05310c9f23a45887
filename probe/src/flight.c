// SPDX-License-Identifier: MIT
#include "flight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "loads/room.h"
#include "recorder/pack_events.h"
#include "session_parts.h"

#define ENGINES 2u

/* Windows a second that are copied at the most, and how many at once after a quiet time. */
#define WINDOWS_PER_S 20u
#define WINDOWS_BURST 200u
#define TOKEN_NS      (NS_PER_S / WINDOWS_PER_S)
/* Room that a window should find in the link before it is copied. */
#define WINDOW_ROOM (64u * 1024)
/* Memory for the events of one CPU, where nobody says how much. */
#define RING_LEAST ((uint64_t)256 * 1024)
#define RING_MOST  ((uint64_t)4 * 1024 * 1024)
/* Of what is free, all rings together take so much. */
#define RING_PART 32u
/* A stage that takes longer than this is worth a stack, unless less is late already. */
#define STACK_AFTER_NS 20000u

/* How long after one look at the rings the next one comes. */
#define LOOK_LEAST_NS 4000000u
#define LOOK_MOST_NS  50000000u
/* The thread that looks must get to it though loads want the CPU; it is an ordinary one still. */
#define LOOKING_NICE -20

static const struct recorder_engine *const engines[ENGINES] = {&recorder_bpf, &recorder_tracefs};

static void send_name(void *context, enum names_table table, uint64_t id, const char *text)
{
	KEEP(context, name, NAME, .table = (uint8_t)table, .id = id, .text = wire_text(text));
}

static uint64_t ring_bytes_for(uint64_t asked, uint16_t cpus)
{
	uint64_t part = room_available_bytes() / RING_PART / (cpus ? cpus : 1);

	if (asked)
		return asked;
	if (part < RING_LEAST)
		return RING_LEAST;
	return part < RING_MOST ? part : RING_MOST;
}

/*
 * stack_after_ns - how long a stage takes that is worth a stack
 *
 * Whoever calls 15 us late wants to know what took 10. Half of the threshold: what is late by so
 * little was late in one stage for the most part, and ordinary activations stay below.
 */
static uint64_t stack_after_ns(uint64_t threshold_ns)
{
	return threshold_ns && threshold_ns / 2 < STACK_AFTER_NS ? threshold_ns / 2
								 : STACK_AFTER_NS;
}

static int start_best(struct session *session, unsigned engine, char *text)
{
	struct flight *flight = &session->flight;
	char why[RECORDER_MESSAGE] = "", guarded[GUARDIAN_MESSAGE];
	int error = 0;

	for (unsigned i = 0; i < ENGINES; i++) {
		if (engine && engine != i + 1)
			continue;
		/* Whatever it makes on the board, the guardian removes when the probe is gone. */
		error = guardian_tracing(session->guardian, guarded);
		if (error)
			snprintf(why, sizeof(why), "%.200s", guarded);
		else
			error = engines[i]->start(&flight->recorder, &flight->plan, why);
		if (!error) {
			flight->recorder.engine = engines[i];
			return 0;
		}
		/* Each says why: what helps may be said of the other one. */
		snprintf(text + strlen(text), RECORDER_MESSAGE - strlen(text), "%s%s: %s",
			 text[0] ? "; " : "", engines[i]->name, why);
	}
	return error ? error : EINVAL;
}

/* release - give back what belongs to one workload; returns error */
static int release(struct flight *flight, int error)
{
	names_release(&flight->names);
	free(flight->window);
	free(flight->cpus);
	free(flight->at_last_look);
	flight->window = NULL;
	flight->cpus = NULL;
	flight->at_last_look = NULL;
	return error;
}

int flight_start(struct session *session, char *text)
{
	struct flight *flight = &session->flight;
	const struct wakeup *wakeup = &session->wakeup;
	struct recorder_thread threads[MAX_CPUS];
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int error;

	for (size_t i = 0; i < wakeup->count; i++)
		threads[i] = (struct recorder_thread){.pid = wakeup->cpus[i].tid,
						      .cpu = wakeup->cpus[i].cpu};
	text[0] = '\0';
	flight->plan =
	    (struct recorder_plan){.threads = threads,
				   .thread_count = wakeup->count,
				   .cpu_limit = (uint16_t)(cpus < MAX_CPUS ? cpus : MAX_CPUS),
				   .stack_after_ns = stack_after_ns(flight->asked.threshold_ns)};
	flight->plan.ring_bytes = ring_bytes_for(flight->asked.ring_bytes, flight->plan.cpu_limit);
	flight->window = malloc(sizeof(*flight->window));
	flight->cpus = calloc(wakeup->count, sizeof(*flight->cpus));
	flight->at_last_look = calloc(flight->plan.cpu_limit, sizeof(*flight->at_last_look));
	if (!names_open(&flight->names, send_name, session) || !flight->window || !flight->cpus ||
	    !flight->at_last_look) {
		snprintf(text, RECORDER_MESSAGE, "no memory for the flight recorder");
		return release(flight, ENOMEM);
	}
	error = start_best(session, flight->asked.engine, text);
	if (error)
		return release(flight, error);
	flight->recording = true;
	flight->look_ns = LOOK_LEAST_NS;
	/* Refused, it is as nice as it was: what is overwritten meanwhile was not observed. */
	setpriority(PRIO_PROCESS, 0, LOOKING_NICE);
	threshold_open(&flight->threshold, flight->asked.threshold_ns, flight->asked.tail_ppm);
	flight->body_every = flight->asked.body_every;
	flight->windows = flight->passed_over = 0;
	flight->tokens = WINDOWS_BURST;
	flight->refilled_ns = clock_ns();
	flight->plan.threads = NULL; /* they were for the start alone */
	/* Always the same: what is drawn in virtual time must repeat. */
	flight->random = 0x9E3779B97F4A7C15u;
	return 0;
}

/* allowed - whether one more window may be copied now */
static bool allowed(struct flight *flight, uint64_t now_ns)
{
	uint64_t come = (now_ns - flight->refilled_ns) / TOKEN_NS;

	flight->refilled_ns += come * TOKEN_NS;
	flight->tokens =
	    come < WINDOWS_BURST - flight->tokens ? flight->tokens + (uint32_t)come : WINDOWS_BURST;
	if (!flight->tokens)
		return false;
	flight->tokens--;
	return true;
}

/* drawn - whether this activation belongs to the random sample (xorshift64*) */
static bool drawn(struct flight *flight)
{
	flight->random ^= flight->random >> 12;
	flight->random ^= flight->random << 25;
	flight->random ^= flight->random >> 27;
	return flight->body_every &&
	       (flight->random * 0x2545F4914F6CDD1Du >> 32) % flight->body_every == 0;
}

static void send_events(struct session *session, uint16_t cpu, const struct window *window)
{
	uint8_t data[WIRE_MAX_PAYLOAD];
	size_t limit =
	    session->link.frame_limit > 256 ? session->link.frame_limit - 64 : LINK_MIN_FRAME * 2;
	size_t i = 0;

	while (i < window->count) {
		uint64_t before_ns = window->due_ns;
		uint16_t count = 0;
		size_t length = 0;

		while (i < window->count && (!count || length + PACKED_EVENT <= limit)) {
			const struct recorder_event *event = &window->events[i++];

			length +=
			    pack_event(data + length, event, before_ns, &session->flight.names);
			before_ns = event->time_ns;
			count++;
		}
		KEEP(session, events, EVENTS, .cpu = cpu, .count = count,
		     .data = {data, (uint16_t)length});
	}
}

static uint64_t due_of(const struct wakeup_cpu *cpu, const struct activation *activation)
{
	return cpu->start_ns + activation->index * cpu->interval_ns;
}

static uint64_t run_of(const struct wakeup_cpu *cpu, const struct activation *activation)
{
	return due_of(cpu, activation) + (uint64_t)activation->latency_ns;
}

static void send_window(struct session *session, const struct wakeup_cpu *cpu, bool late,
			const struct activation *activation, const struct recorder_stage *stage,
			const struct recorder_stage *before)
{
	struct flight *flight = &session->flight;
	struct window *window = flight->window;
	uint8_t sums[8 * RECORDER_SUMS] = {0};
	struct wire_list list = {sums, sizeof(sums), RECORDER_SUMS};

	window->due_ns = due_of(cpu, activation);
	window->run_ns = run_of(cpu, activation);
	window_copy(window, &flight->recorder, cpu->cpu);
	if (stage->switched_ns && before->switched_ns)
		for (size_t i = 0; i < RECORDER_SUMS; i++)
			wire_store_u64(sums + 8 * i, stage->sums[i] - before->sums[i]);
	KEEP(session, window, WINDOW, .cpu = cpu->cpu, .tid = cpu->tid,
	     .prio = (uint8_t)(cpu->priority ? 99 - cpu->priority : 120), .late = late,
	     .activation = activation->index, .due_ns = window->due_ns, .run_ns = window->run_ns,
	     .timer_ns = stage->timer_ns, .waking_ns = stage->waking_ns,
	     .switched_ns = stage->switched_ns, .observed_ns = window->observed_ns,
	     .events = (uint32_t)window->count, .sums = list);
	send_events(session, cpu->cpu, window);
	flight->windows++;
}

static int32_t since(uint64_t time_ns, uint64_t due_ns)
{
	int64_t ns = (int64_t)(time_ns - due_ns);

	return time_ns && ns > INT32_MIN && ns <= INT32_MAX ? (int32_t)ns : NOT_SEEN;
}

/* examine - look at one activation: its stages, and whether its window is wanted */
static void examine(struct session *session, size_t i, struct activation *activation,
		    uint64_t now_ns)
{
	struct flight *flight = &session->flight;
	const struct wakeup_cpu *cpu = &session->wakeup.cpus[i];
	const struct recorder_cpu *recorded = flight->recorder.cpus[cpu->cpu];
	struct flight_cpu *at = &flight->cpus[i];
	uint64_t due_ns = due_of(cpu, activation);
	uint64_t run_ns = run_of(cpu, activation);
	struct recorder_stage before = {0};
	struct recorder_stage stage = stage_find(recorded, &at->stage, at->run_ns, run_ns);
	bool late = threshold_is_late(&flight->threshold, activation->latency_ns);

	if (stage.switched_ns && at->stage)
		before = recorded->stage[(at->stage - 1) & (STAGES - 1)];
	/* A waking before it was due is of another time. */
	activation->stages_ns[0] = since(stage.timer_ns, due_ns);
	activation->stages_ns[1] = since(stage.waking_ns, due_ns);
	activation->stages_ns[2] = since(stage.switched_ns, due_ns);
	at->run_ns = run_ns;
	if (!drawn(flight) && !late)
		return;
	if (allowed(flight, now_ns))
		send_window(session, cpu, late, activation, &stage, &before);
	else if (late)
		flight->passed_over++;
}

static bool has_room(const struct session *session)
{
	return session->spooling || link_has_room(&session->link, WINDOW_ROOM);
}

/*
 * pace - look again before a quarter of a ring was written anew
 *
 * Late windows are copied while they are still there, and an idle board is left in peace.
 */
static void pace(struct flight *flight)
{
	uint64_t most = 1, newest;

	for (uint16_t cpu = 0; cpu < flight->recorder.cpu_limit; cpu++) {
		if (!flight->recorder.cpus[cpu])
			continue;
		newest = __atomic_load_n(&flight->recorder.cpus[cpu]->events, __ATOMIC_RELAXED);
		if (newest - flight->at_last_look[cpu] > most)
			most = newest - flight->at_last_look[cpu];
		flight->at_last_look[cpu] = newest;
	}
	flight->look_ns = flight->look_ns * (flight->recorder.ring_size / 4) / most;
	if (flight->look_ns < LOOK_LEAST_NS)
		flight->look_ns = LOOK_LEAST_NS;
	if (flight->look_ns > LOOK_MOST_NS)
		flight->look_ns = LOOK_MOST_NS;
}

/* examine_cpu - look at the activations of a CPU until what was recorded does not reach */
static void examine_cpu(struct session *session, size_t i, bool ended)
{
	struct flight *flight = &session->flight;
	struct wakeup_cpu *cpu = &session->wakeup.cpus[i];
	uint64_t written = ring_written(&cpu->ring), now_ns = clock_ns();

	if (cpu->cpu >= flight->recorder.cpu_limit || !flight->recorder.cpus[cpu->cpu]) {
		cpu->ring.offered = written;
		return;
	}
	for (; cpu->ring.offered < written && has_room(session); cpu->ring.offered++) {
		struct activation *activation = ring_at(&cpu->ring, cpu->ring.offered);

		if (!ended && run_of(cpu, activation) > flight->recorder.gathered_ns)
			break;
		examine(session, i, activation, now_ns);
	}
}

void flight_examine(struct session *session, bool ended)
{
	struct flight *flight = &session->flight;

	if (!flight->recording) {
		for (size_t i = 0; i < session->wakeup.count; i++)
			session->wakeup.cpus[i].ring.offered =
			    ring_written(&session->wakeup.cpus[i].ring);
		return;
	}
	flight->recorder.engine->gather(&flight->recorder);
	pace(flight);
	for (size_t i = 0; i < session->wakeup.count; i++)
		examine_cpu(session, i, ended);
}

void flight_end(struct session *session)
{
	struct flight *flight = &session->flight;
	struct recorder_cost cost = {0};
	uint64_t events = 0, missed = 0;

	if (!flight->recording)
		return;
	flight->recorder.engine->cost(&flight->recorder, &cost);
	for (uint16_t cpu = 0; cpu < flight->recorder.cpu_limit; cpu++) {
		if (!flight->recorder.cpus[cpu])
			continue;
		events += flight->recorder.cpus[cpu]->events;
		missed += flight->recorder.cpus[cpu]->missed;
	}
	flight->recorder.engine->stop(&flight->recorder);
	flight->recording = false;
	setpriority(PRIO_PROCESS, 0, 0);
	if (!names_resolve(&flight->names))
		KEEP(session, note, NOTE, .code = wire_text("symbols"),
		     .text = wire_text("the functions of the kernel have no names: it hides their "
				       "addresses (kernel.kptr_restrict)"));
	KEEP(session, recorder_result, RECORDER_RESULT, .windows = flight->windows,
	     .passed_over = flight->passed_over, .events = events, .missed = missed + cost.missed,
	     .runs = cost.runs, .run_ns = cost.run_ns);
	release(flight, 0);
}
