// SPDX-License-Identifier: MIT
#include "flight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "failure.h"
#include "guardian/guardian.h"
#include "loads/memory_size.h"
#include "maxima.h"
#include "sample_cost.h"
#include "small_file.h"
#include "symbols.h"
#include "wire/send.h"

#define ENGINES (ENGINE_COUNT - 1)

/* Memory for the events of one CPU, where the host does not choose. */
#define RING_LEAST ((uint64_t)256 * 1024)
#define RING_MOST  ((uint64_t)4 * 1024 * 1024)
/* All rings together get 1 / this of the available memory. */
#define RING_PART 32u

/* The time between two examinations of the rings. */
#define LOOK_LEAST_NS (4 * NS_PER_MS)
#define LOOK_MOST_NS  (50 * NS_PER_MS)
/* The thread that starts the engine and reads the rings must run beside loads: starting the engine
 * beside four loads took 35 s once. It is SCHED_OTHER until the engine has started. */
#define LOOKING_NICE -20

static const struct recorder_engine *const engines[ENGINES] = {&recorder_bpf, &recorder_tracefs};

void flight_init(struct flight *flight, struct sender *sender, struct guardian *guardian)
{
	*flight = (struct flight){.sender = sender, .guardian = guardian};
}

int flight_request(struct flight *flight, const struct wire_recorder *request)
{
	if (request->engine > ENGINES || request->tail_ppm > WIRE_MOST_TAIL_PPM ||
	    request->stop_above_ns > INT64_MAX)
		return EINVAL;
	flight->request = *request;
	flight->wanted = true;
	return 0;
}

static void send_name(void *context, enum name_table table, uint64_t id, const char *text)
{
	KEEP(context, name, NAME, .table = (uint8_t)table, .id = id, .text = wire_text(text));
}

static uint64_t ring_bytes_for(uint64_t asked, uint16_t cpus)
{
	uint64_t part = memory_available_bytes() / RING_PART / (cpus ? cpus : 1);

	if (asked)
		return asked;
	if (part < RING_LEAST)
		return RING_LEAST;
	return part < RING_MOST ? part : RING_MOST;
}

/*
 * stack_after_ns - return how long a stage must take to get a stack
 *
 * Half of the threshold: an activation that is barely late lost most of its time in one stage, and
 * activations that are not late stay below.
 */
static uint64_t stack_after_ns(uint64_t threshold_ns)
{
	return threshold_ns && threshold_ns / 2 < WIRE_STACK_AFTER_NS ? threshold_ns / 2
								      : WIRE_STACK_AFTER_NS;
}

/*
 * set_nice - set the niceness of this thread
 *
 * Where the scheduler groups by session (autogroup, sched(7)), niceness counts within a session
 * alone, and the probe would starve for seconds beside other sessions. So the group gets the
 * niceness too, where the probe leads the session: it ends with the probe. Where that is refused,
 * events may be overwritten before they are read, and are then not observed.
 */
static void set_nice(int nice)
{
	char text[8];

	setpriority(PRIO_PROCESS, 0, nice);
	if (getsid(0) != getpid())
		return;
	snprintf(text, sizeof(text), "%d", nice);
	small_file_write(AT_FDCWD, "/proc/self/autogroup", text);
}

static int start_best(struct flight *flight, unsigned engine, char *text)
{
	char why[FAILURE_TEXT] = "";
	int error = 0;

	for (unsigned i = 0; i < ENGINES; i++) {
		if (engine && engine != i + 1)
			continue;
		/* The guardian removes what it makes on the board when the probe is gone. */
		error = guardian_tracing(flight->guardian, why);
		if (!error)
			error = engines[i]->start(&flight->recorder, &flight->plan, why);
		if (!error) {
			flight->recorder.engine = engines[i];
			return 0;
		}
		/* All reasons: the remedy may be that of the other engine. */
		snprintf(text + strlen(text), FAILURE_TEXT - strlen(text), "%s%s: %s",
			 text[0] ? "; " : "", engines[i]->name, why);
	}
	return error ? error : EINVAL;
}

/* release - free what belongs to one workload */
static void release(struct flight *flight)
{
	names_release(&flight->names);
	free(flight->window);
	free(flight->at_last_look);
	flight->window = NULL;
	flight->at_last_look = NULL;
}

int flight_start(struct flight *flight, const struct recorder_thread *threads, size_t count,
		 const struct recorder_watch *watch, char *text)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct symbols_view symbols;
	int error;

	flight->wanted = false;
	text[0] = '\0';
	flight->plan = (struct recorder_plan){
	    .threads = threads,
	    .thread_count = count,
	    .watch = watch,
	    .cpu_limit = (uint16_t)(cpus < (long)WIRE_MOST_CPUS ? cpus : (long)WIRE_MOST_CPUS),
	    .stack_after_ns = stack_after_ns(flight->request.threshold_ns)};
	flight->plan.ring_bytes =
	    ring_bytes_for(flight->request.ring_bytes, flight->plan.cpu_limit);
	flight->window = malloc(sizeof(*flight->window));
	flight->at_last_look = calloc(flight->plan.cpu_limit, sizeof(*flight->at_last_look));
	if (!names_open(&flight->names, send_name, flight->sender) || !flight->window ||
	    !flight->at_last_look) {
		release(flight);
		return fail(text, ENOMEM, "no memory for the flight recorder");
	}
	set_nice(LOOKING_NICE);
	/* One engine looks for the kernel's entry from its timer. */
	symbols_show(flight->guardian, &symbols);
	error = start_best(flight, flight->request.engine, text);
	symbols_hide(flight->guardian, &symbols);
	if (error) {
		set_nice(0);
		release(flight);
		return error;
	}
	sample_cost(&flight->recorder, &flight->sampled);
	/* While the kernel measures the programs, interrupts take longer. */
	maxima_clear(&flight->recorder);
	flight->gather_ns = 0;
	flight->recording = true;
	flight->look_ns = LOOK_LEAST_NS;
	threshold_open(&flight->threshold, flight->request.threshold_ns, flight->request.tail_ppm);
	flight->windows = flight->rate_limited = 0;
	flight->tokens = FLIGHT_BURST;
	flight->refilled_ns = clock_ns();
	flight->plan.threads = NULL; /* they were for the start alone */
	flight->plan.watch = NULL;
	return 0;
}

/*
 * pace - choose when to examine the rings again: before a quarter of a ring is overwritten
 *
 * Windows are copied before they are overwritten, and an idle board is rarely interrupted.
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

void flight_report_started(const struct flight *flight)
{
	const struct recorder *recorder = &flight->recorder;

	for (size_t i = 0; i < recorder->source_count; i++)
		SEND(flight->sender, recorder_source, RECORDER_SOURCE,
		     .name = wire_text(recorder->sources[i].name),
		     .error = recorder->sources[i].attached ? 0 : recorder->sources[i].error);
	for (size_t i = 0; i < recorder->hook_count; i++)
		SEND(flight->sender, hook, HOOK, .known = 1, .timed = recorder->hooks[i].is_timed,
		     .at = wire_text(recorder->hooks[i].at),
		     .name = wire_text(recorder->hooks[i].name));
	SEND(flight->sender, hook, HOOK, .known = recorder->shows_hooks, .at = wire_text(""),
	     .name = wire_text(""));
	SEND(flight->sender, recorder_started, RECORDER_STARTED,
	     .engine = wire_text(recorder->engine->name), .ring_events = recorder->ring_size);
}

void flight_gather(struct flight *flight)
{
	flight->recorder.engine->gather(&flight->recorder);
	detaching_count(&flight->detaching);
	detaching_send(&flight->detaching, flight->sender);
	pace(flight);
}

void flight_end(struct flight *flight)
{
	struct recorder_cost cost = {0};
	uint64_t events = 0, missed = 0;
	bool measured;

	if (!flight->recording)
		return;
	detaching_end(&flight->detaching, flight->sender);
	flight->recorder.engine->cost(&flight->recorder, &cost);
	for (uint16_t cpu = 0; cpu < flight->recorder.cpu_limit; cpu++) {
		if (!flight->recorder.cpus[cpu])
			continue;
		events += flight->recorder.cpus[cpu]->events;
		missed += flight->recorder.cpus[cpu]->missed;
	}
	maxima_send(&flight->recorder, flight->sender);
	flight->recorder.engine->stop(&flight->recorder);
	flight->recording = false;
	/* Another user may have measured it for a part of the run: the whole is then not known. */
	measured =
	    cost.run_ns > flight->sampled.run_ns && cost.runs - flight->sampled.runs > events / 2;
	set_nice(0);
	symbols_send(flight);
	KEEP(flight->sender, recorder_cost, RECORDER_COST, .sampled_runs = flight->sampled.runs,
	     .sampled_ns = flight->sampled.run_ns, .gather_ns = flight->gather_ns);
	KEEP(flight->sender, recorder_result, RECORDER_RESULT, .windows = flight->windows,
	     .rate_limited = flight->rate_limited, .events = events, .missed = missed + cost.missed,
	     .runs = measured ? cost.runs - flight->sampled.runs : events,
	     .run_ns = measured ? cost.run_ns - flight->sampled.run_ns : 0);
	release(flight);
}
