// SPDX-License-Identifier: MIT
/*
 * app - the wakeup latency of a program's own threads
 *
 * The recorder notes each time that such a thread was woken and then switched to. A SCHED_OTHER
 * thread reads these activations, sends them, and copies the windows of late activations.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "activations/app_target.h"
#include "activations/thread_names.h"
#include "activations/waits.h"
#include "clock.h"
#include "recorder/flight.h"
#include "wire/block.h"
#include "wire/send.h"
#include "workload.h"

/* Stages that may be written to while they are read. */
#define STAGES_GUARD 64u
/* Room that the blocks of one examination should find in the link. */
#define BLOCKS_ROOM (8u * WIRE_MAX_PAYLOAD)

/* How long activations that were due before the end are awaited. */
#define LAST_NS (100 * NS_PER_MS)
/* Activations in a block. */
#define MOST_IN_BLOCK 4096u

/* A CPU, and the block of its activations that is being filled. */
struct app_cpu {
	uint64_t base; /* stages before the start */
	uint64_t next; /* the stage to look at */
	uint64_t seen;
	uint64_t dropped;
	uint64_t first;
	uint16_t count;
	int64_t before[3][WIRE_MOST_COLUMNS]; /* the last in each part of the block */
	size_t lengths[3];
	uint8_t parts[3][WIRE_MAX_PAYLOAD];
};

struct app {
	struct sender *sender;
	struct flight *flight;
	bool ending; /* an activation above the limit has ended it */
	struct app_target target;
	struct app_cpu *cpus; /* by CPU number */
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t shipped_ns;
	struct thread_names names;
	struct waits waits;
};

/* ---------------------------------------------------------------- blocks */

static void ship_block(struct app *app, uint16_t number)
{
	struct app_cpu *cpu = &app->cpus[number];

	if (!cpu->count)
		return;
	KEEP(app->sender, samples, SAMPLES, .cpu = number, .count = cpu->count, .first = cpu->first,
	     .data = {cpu->parts[0], (uint16_t)cpu->lengths[0]});
	KEEP(app->sender, sample_stages, SAMPLE_STAGES, .cpu = number, .count = cpu->count,
	     .first = cpu->first, .data = {cpu->parts[1], (uint16_t)cpu->lengths[1]});
	KEEP(app->sender, sample_threads, SAMPLE_THREADS, .cpu = number, .count = cpu->count,
	     .first = cpu->first, .data = {cpu->parts[2], (uint16_t)cpu->lengths[2]});
	cpu->count = 0;
}

/* put - append an activation to its CPU's block */
static void put(struct app *app, uint16_t number, uint64_t index,
		const struct recorder_stage *stage)
{
	static const enum wire_block blocks[] = {BLOCK_SAMPLES, BLOCK_STAGES, BLOCK_THREADS};
	const int64_t rows[3][WIRE_MOST_COLUMNS] = {
	    {(int64_t)(stage->switched_ns - stage->due_ns)},
	    {stage_since(stage->timer_ns, stage->due_ns),
	     stage_since(stage->waking_ns, stage->due_ns),
	     stage_since(stage->switched_ns, stage->due_ns)},
	    {stage->pid, (int64_t)(stage->due_ns - app->start_ns), stage->origin},
	};
	struct app_cpu *cpu = &app->cpus[number];
	bool full;

	if (cpu->count && cpu->first + cpu->count != index)
		ship_block(app, number);
	if (!cpu->count) {
		memset(cpu->lengths, 0, sizeof(cpu->lengths));
		memset(cpu->before, 0, sizeof(cpu->before));
		cpu->first = index;
	}
	full = ++cpu->count == MOST_IN_BLOCK;
	for (size_t i = 0; i < 3; i++) {
		cpu->lengths[i] +=
		    block_put(cpu->parts[i] + cpu->lengths[i], blocks[i], rows[i], cpu->before[i]);
		full |= cpu->lengths[i] + block_longest_row(blocks[i]) >
			sender_block_limit(app->sender);
	}
	if (full)
		ship_block(app, number);
}

/* ---------------------------------------------------------------- activations */

static void end_now(struct app *app)
{
	uint64_t now_ns = clock_ns();

	if (now_ns < app->end_ns)
		app->end_ns = now_ns;
}

/* end_at - end the workload at an activation above the limit */
static void end_at(struct app *app, uint16_t number, uint64_t index)
{
	struct flight *flight = app->flight;

	flight->recorder.engine->freeze(&flight->recorder);
	app->ending = true;
	end_now(app);
	flight_report_stop(flight, number, index);
}

static void examine(struct app *app, uint16_t number, uint64_t index,
		    const struct recorder_stage *stage)
{
	struct flight *flight = app->flight;
	int64_t latency_ns = (int64_t)(stage->switched_ns - stage->due_ns);
	struct flight_subject subject = {
	    .cpu = number,
	    .prio = (uint8_t)stage->prio,
	    .tid = stage->pid,
	    .index = index,
	    .due_ns = stage->due_ns,
	    .run_ns = stage->switched_ns,
	};
	enum window_reason reason = REASON_NONE;

	if (threshold_is_late(&flight->threshold, latency_ns))
		reason = REASON_LATE;
	else if (recorder_is_drawn(number, index + app->cpus[number].base,
				   flight->request.control_every))
		reason = REASON_CONTROL;
	if (flight->request.stop_above_ns && !app->ending &&
	    latency_ns > (int64_t)flight->request.stop_above_ns) {
		end_at(app, number, index);
		reason = REASON_STOP;
	} else if (app->ending) {
		reason = REASON_NONE;
	}
	put(app, number, index, stage);
	waits_add(&app->waits, stage);
	thread_names_send(&app->names, app->sender, stage->pid);
	thread_names_send(&app->names, app->sender, stage->waker);
	if (reason != REASON_NONE)
		flight_send_window(flight, &subject, reason, stage, NULL);
}

/* examine_cpu - examine the activations of a CPU that are completely recorded; true: all of them */
static bool examine_cpu(struct app *app, uint16_t number)
{
	struct recorder *recorder = &app->flight->recorder;
	struct recorder_cpu *recorded = recorder->cpus[number];
	struct app_cpu *cpu = &app->cpus[number];
	/* In this order: the stages whose windows are held are there by then. */
	uint64_t held = __atomic_load_n(&recorded->holds, __ATOMIC_ACQUIRE);
	uint64_t written = __atomic_load_n(&recorded->stages, __ATOMIC_ACQUIRE);
	uint64_t waiting_ns = UINT64_MAX;
	bool room = true;

	for (; cpu->next < written; cpu->next++) {
		struct recorder_stage stage = recorded->stage[cpu->next % STAGES];
		uint64_t newest = __atomic_load_n(&recorded->stages, __ATOMIC_ACQUIRE);

		if (newest - cpu->next > STAGES - STAGES_GUARD) {
			cpu->dropped += newest - (STAGES - STAGES_GUARD) - cpu->next;
			cpu->next = newest - (STAGES - STAGES_GUARD) - 1;
			continue;
		}
		waiting_ns = stage.switched_ns;
		room = sender_has_room(app->sender, BLOCKS_ROOM);
		if (waiting_ns > app->flight->recorder.gathered_ns || !room)
			break;
		waiting_ns = UINT64_MAX;
		/* Its timer may have been armed when the end was set. */
		if (stage.due_ns < app->start_ns || stage.due_ns >= app->end_ns) {
			cpu->base++;
			continue;
		}
		examine(app, number, cpu->next - cpu->base, &stage);
		cpu->seen++;
	}
	flight_looked_at(app->flight, recorded, held, waiting_ns);
	return room;
}

/* ---------------------------------------------------------------- start and end */

/* watch_from_now - start on all CPUs that are recorded */
static void watch_from_now(struct app *app, uint64_t duration_ns)
{
	struct recorder *recorder = &app->flight->recorder;

	app->start_ns = app->shipped_ns = clock_ns();
	app->end_ns = app->start_ns + duration_ns;
	for (uint16_t i = 0; i < recorder->cpu_limit; i++) {
		if (!recorder->cpus[i])
			continue;
		app->cpus[i].next = app->cpus[i].base = recorder->cpus[i]->stages;
		recorder->cpus[i]->want.above_ns = UINT64_MAX;
		recorder->cpus[i]->want.control_every = app->flight->request.control_every;
		SEND(app->sender, cpu_started, CPU_STARTED, .cpu = i, .start_ns = app->start_ns,
		     .end_ns = app->end_ns);
	}
	flight_report_started(app->flight);
}

/* open_target - find or fork the program, and start the recorder; returns 0, or an errno */
static int open_target(struct workload *workload, const struct wire_app *asked)
{
	struct app *app = workload->state;
	char text[FAILURE_TEXT];
	int error = target_open(&app->target, asked, text);

	if (error)
		return fail(workload->text, error, "%s", text);
	error = flight_start(app->flight, NULL, 0, &app->target.watch, text);
	if (error) {
		target_close(&app->target);
		return fail(workload->text, error, "%s", text);
	}
	app->cpus = calloc(app->flight->recorder.cpu_limit, sizeof(*app->cpus));
	error = app->cpus && waits_open(&app->waits) ? target_go(&app->target) : ENOMEM;
	if (!error)
		return 0;
	waits_close(&app->waits);
	flight_end(app->flight);
	target_close(&app->target);
	free(app->cpus);
	return fail(workload->text, error, "the program cannot be run: %s", strerror(error));
}

static int start(struct workload *workload, const union wire_command *command)
{
	const struct wire_app *asked = &command->app;
	struct sender *sender = workload->context.sender;
	struct app *app;
	int error;

	if (!workload->context.flight->wanted || !asked->duration_ns ||
	    asked->duration_ns > INT64_MAX / 2)
		return fail(workload->text, EINVAL,
			    "a program can be watched only with the recorder");
	workload->context.flight->wanted = false;
	app = calloc(1, sizeof(*app));
	if (!app)
		return fail(workload->text, ENOMEM, "no memory to watch a program");
	*app = (struct app){.sender = sender, .flight = workload->context.flight};
	workload->state = app;
	error = asked->spool ? workload_spool(workload) : 0;
	if (!error)
		error = open_target(workload, asked);
	if (error) {
		sender_unspool(sender);
		free(app);
		return error;
	}
	watch_from_now(app, asked->duration_ns);
	return 0;
}

/* send_losses - note losses of wakeups whose number is not known */
static void send_losses(const struct app *app)
{
	const struct recorder *recorder = &app->flight->recorder;

	if (recorder->hides_idle)
		send_note(app->sender, "hides-idle",
			  "this kernel does not trace switches from the idle thread: "
			  "wakeups on an idle CPU are missing, use --recorder bpf");
	if (recorder->gaps)
		send_note(app->sender, "gaps",
			  "events were lost %" PRIu64 " times, and with them an unknown number of "
			  "wakeups: measure again",
			  recorder->gaps);
}

static void send_end(const struct app *app)
{
	int status = app->target.status;

	if (app->target.child && app->target.is_over)
		SEND(app->sender, app_ended, APP_ENDED,
		     .status = (uint8_t)(WIFEXITED(status) ? WEXITSTATUS(status) : 0),
		     .signal = (uint8_t)(WIFSIGNALED(status) ? WTERMSIG(status) : 0));
}

static void end(struct app *app)
{
	const struct recorder *recorder = &app->flight->recorder;

	for (uint16_t i = 0; i < recorder->cpu_limit; i++)
		if (recorder->cpus[i])
			ship_block(app, i);
	waits_send(&app->waits, app->sender);
	send_end(app);
	sender_unspool(app->sender);
	send_losses(app);
	for (uint16_t i = 0; i < recorder->cpu_limit; i++)
		if (recorder->cpus[i])
			SEND(app->sender, cpu_result, CPU_RESULT, .cpu = i,
			     .start_ns = app->start_ns, .end_ns = app->end_ns,
			     .seen = app->cpus[i].seen, .dropped = app->cpus[i].dropped);
	flight_end(app->flight);
	target_close(&app->target);
	workload_send_result(app->sender);
	waits_close(&app->waits);
	free(app->cpus);
	free(app);
}

static bool poll(struct workload *workload, uint64_t now_ns)
{
	struct app *app = workload->state;
	struct flight *flight = app->flight;
	bool over, all = true, ship = now_ns - app->shipped_ns >= SHIP_NS;
	uint64_t before_ns = clock_thread_ns();

	if (target_is_over(&app->target))
		end_now(app);
	/* Before gathering: what ran until then is in the rings. */
	over = now_ns >= app->end_ns + LAST_NS;
	flight_gather(flight);
	for (uint16_t i = 0; i < flight->recorder.cpu_limit; i++) {
		if (!flight->recorder.cpus[i])
			continue;
		all &= examine_cpu(app, i);
		if (ship)
			ship_block(app, i);
	}
	if (ship)
		app->shipped_ns = now_ns;
	flight->gather_ns += clock_thread_ns() - before_ns;
	if (!over || !all)
		return false;
	end(app);
	return true;
}

static void stop(struct workload *workload)
{
	end_now(workload->state);
}

static void abandon(struct workload *workload)
{
	target_close(&((struct app *)workload->state)->target);
}

const struct workload_ops workload_app = {.command = WIRE_APP,
					  .start = start,
					  .poll = poll,
					  .stop = stop,
					  .abandon = abandon,
					  .wait_ms = workload_look_ms};
