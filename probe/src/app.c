// SPDX-License-Identifier: MIT
#include "app.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "app_samples.h"
#include "clock.h"
#include "flight_windows.h"
#include "leb128.h"
#include "samples.h"
#include "session_parts.h"

/* Stages that may be written to while they are read. */
#define STAGES_GUARD 64u
/* Room that the blocks of a look should find in the link. */
#define BLOCKS_ROOM (8u * WIRE_MAX_PAYLOAD)
/* Bytes of one activation in any of a block's three parts. */
#define LONGEST_PART (3u * LEB128_LONGEST)

/* What was due before the end is waited for so long. */
#define LAST_NS 100000000u

/* A CPU, and the block of its activations that is being filled. */
struct app_cpu {
	uint64_t base; /* stages before the start */
	uint64_t next; /* the stage to look at */
	uint64_t seen;
	uint64_t dropped;
	uint64_t first;
	uint16_t count;
	int64_t latency_ns; /* of the last in the block */
	uint64_t due_ns;
	size_t lengths[3];
	uint8_t parts[3][WIRE_MAX_PAYLOAD];
};

/* ---------------------------------------------------------------- blocks */

static void ship_block(struct session *session, uint16_t number)
{
	struct app_cpu *cpu = &session->app.cpus[number];

	if (!cpu->count)
		return;
	KEEP(session, samples, SAMPLES, .cpu = number, .count = cpu->count, .first = cpu->first,
	     .data = {cpu->parts[0], (uint16_t)cpu->lengths[0]});
	KEEP(session, sample_stages, SAMPLE_STAGES, .cpu = number, .count = cpu->count,
	     .first = cpu->first, .data = {cpu->parts[1], (uint16_t)cpu->lengths[1]});
	KEEP(session, sample_threads, SAMPLE_THREADS, .cpu = number, .count = cpu->count,
	     .first = cpu->first, .data = {cpu->parts[2], (uint16_t)cpu->lengths[2]});
	cpu->count = 0;
}

/* block_limit - how long a part of a block may become */
static size_t block_limit(const struct session *session)
{
	return session->spooling ? SPOOL_BLOCK : flight_part_limit(session);
}

static void put(struct session *session, uint16_t number, uint64_t index,
		const struct recorder_stage *stage)
{
	struct app_cpu *cpu = &session->app.cpus[number];
	int64_t latency_ns = (int64_t)(stage->switched_ns - stage->due_ns);
	struct activation activation = {
	    .stages_ns = {stage_since(stage->timer_ns, stage->due_ns),
			  stage_since(stage->waking_ns, stage->due_ns),
			  stage_since(stage->switched_ns, stage->due_ns)}};
	bool full;

	if (cpu->count && cpu->first + cpu->count != index)
		ship_block(session, number);
	if (!cpu->count) {
		memset(cpu->lengths, 0, sizeof(cpu->lengths));
		cpu->first = index;
		cpu->latency_ns = 0;
		cpu->due_ns = session->app.start_ns;
	}
	cpu->lengths[0] += leb128_put(cpu->parts[0] + cpu->lengths[0],
				      leb128_zigzag(latency_ns - cpu->latency_ns));
	cpu->lengths[1] += samples_put_stages(cpu->parts[1] + cpu->lengths[1], &activation);
	cpu->lengths[2] += app_sample_put(cpu->parts[2] + cpu->lengths[2], stage, cpu->due_ns);
	cpu->latency_ns = latency_ns;
	cpu->due_ns = stage->due_ns;
	full = ++cpu->count == 4096;
	for (size_t i = 0; i < 3; i++)
		full |= cpu->lengths[i] + LONGEST_PART > block_limit(session);
	if (full)
		ship_block(session, number);
}

/* ---------------------------------------------------------------- names */

/* name_thread - tell a thread's name when it is met first */
static void name_thread(struct session *session, uint32_t pid)
{
	struct app *app = &session->app;
	uint32_t slot = pid * 0x9E3779B1u % (2 * APP_THREADS);
	char path[64], text[64] = "";
	FILE *file;

	while (app->named[slot] && app->named[slot] != pid)
		slot = (slot + 1) % (2 * APP_THREADS);
	if (app->named[slot] || app->named_count == APP_THREADS)
		return;
	app->named[slot] = pid;
	app->named_count++;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = '\0';
		KEEP(session, name, NAME, .table = NAMES_PID, .id = pid, .text = wire_text(text));
	}
	fclose(file);
}

/* ---------------------------------------------------------------- activations */

/* end_at - one is later than the workload may go on after */
static void end_at(struct session *session, uint16_t number, uint64_t index)
{
	struct flight *flight = &session->flight;

	flight->recorder.engine->freeze(&flight->recorder);
	session->app.ending = true;
	app_stop(session);
	flight_tell_stopped(session, number, index);
}

static void examine(struct session *session, uint16_t number, uint64_t index,
		    const struct recorder_stage *stage)
{
	struct flight *flight = &session->flight;
	int64_t latency_ns = (int64_t)(stage->switched_ns - stage->due_ns);
	struct flight_subject subject = {
	    .cpu = number,
	    .prio = (uint8_t)stage->prio,
	    .tid = stage->pid,
	    .index = index,
	    .due_ns = stage->due_ns,
	    .run_ns = stage->switched_ns,
	};
	enum why why = WHY_NOT;

	if (threshold_is_late(&flight->threshold, latency_ns))
		why = WHY_LATE;
	else if (recorder_is_drawn(number, index + session->app.cpus[number].base,
				   flight->body_every))
		why = WHY_DRAWN;
	if (flight->asked.stop_above_ns && !session->app.ending &&
	    latency_ns > (int64_t)flight->asked.stop_above_ns) {
		end_at(session, number, index);
		why = WHY_STOP;
	} else if (session->app.ending) {
		why = WHY_NOT;
	}
	put(session, number, index, stage);
	name_thread(session, stage->pid);
	if (why != WHY_NOT)
		flight_window(session, &subject, why, stage, NULL);
}

/* take_cpu - the activations of a CPU, as far as all is recorded of them; whether that was all */
static bool take_cpu(struct session *session, uint16_t number)
{
	struct recorder_cpu *recorded = session->flight.recorder.cpus[number];
	struct app_cpu *cpu = &session->app.cpus[number];
	/* First what is held: the stages for which that was done are there by then. */
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
		room = session->spooling || link_has_room(&session->link, BLOCKS_ROOM);
		if (waiting_ns > session->flight.recorder.gathered_ns || !room)
			break;
		waiting_ns = UINT64_MAX;
		/* It may be on its way already when the end is set. */
		if (stage.due_ns < session->app.start_ns || stage.due_ns >= session->app.end_ns) {
			cpu->base++;
			continue;
		}
		examine(session, number, cpu->next - cpu->base, &stage);
		cpu->seen++;
	}
	flight_looked_at(&session->flight, recorded, held, waiting_ns);
	return room;
}

/* ---------------------------------------------------------------- start and end */

static void send_started(struct session *session)
{
	const struct app *app = &session->app;

	for (uint16_t i = 0; i < session->flight.recorder.cpu_limit; i++)
		if (session->flight.recorder.cpus[i])
			SEND(session, cpu_started, CPU_STARTED, .cpu = i, .start_ns = app->start_ns,
			     .end_ns = app->end_ns);
}

int app_start(struct session *session, const struct wire_app *command, char *text)
{
	struct app *app = &session->app;
	struct recorder *recorder = &session->flight.recorder;
	int error;

	memset(app, 0, sizeof(*app));
	error = target_open(&app->target, command, text, RECORDER_MESSAGE);
	if (error)
		return error;
	error = flight_start(session, &app->target.watch, text);
	if (error) {
		target_close(&app->target);
		return error;
	}
	app->cpus = calloc(recorder->cpu_limit, sizeof(*app->cpus));
	error = app->cpus ? target_go(&app->target) : ENOMEM;
	if (error) {
		snprintf(text, RECORDER_MESSAGE, "the program cannot be run: %s", strerror(error));
		flight_end(session);
		target_close(&app->target);
		free(app->cpus);
		app->cpus = NULL;
		return error;
	}
	app->start_ns = clock_ns();
	app->end_ns = app->start_ns + command->duration_ns;
	for (uint16_t i = 0; i < recorder->cpu_limit; i++) {
		if (!recorder->cpus[i])
			continue;
		app->cpus[i].next = app->cpus[i].base = recorder->cpus[i]->stages;
		recorder->cpus[i]->want.above_ns = UINT64_MAX;
		recorder->cpus[i]->want.body_every = session->flight.body_every;
	}
	app->running = true;
	send_started(session);
	return 0;
}

void app_stop(struct session *session)
{
	uint64_t now_ns = clock_ns();

	if (now_ns < session->app.end_ns)
		session->app.end_ns = now_ns;
}

static void send_results(struct session *session)
{
	const struct app *app = &session->app;

	for (uint16_t i = 0; i < session->flight.recorder.cpu_limit; i++)
		if (session->flight.recorder.cpus[i])
			SEND(session, cpu_result, CPU_RESULT, .cpu = i, .start_ns = app->start_ns,
			     .end_ns = app->end_ns, .seen = app->cpus[i].seen,
			     .dropped = app->cpus[i].dropped);
}

/* send_losses - say what lost wakings of which nobody knows how many there were */
static void send_losses(struct session *session)
{
	const struct recorder *recorder = &session->flight.recorder;
	char text[160];

	if (recorder->hides_idle)
		SEND(session, note, NOTE, .code = wire_text("hides-idle"),
		     .text = wire_text("this kernel does not trace switches from the idle thread: "
				       "wakeups on an idle CPU are missing, use --recorder bpf"));
	if (recorder->gaps) {
		snprintf(text, sizeof(text),
			 "events were lost %" PRIu64 " times, and with them wakeups that nobody "
			 "counted: measure again",
			 recorder->gaps);
		SEND(session, note, NOTE, .code = wire_text("gaps"), .text = wire_text(text));
	}
}

static void end(struct session *session)
{
	struct app *app = &session->app;

	for (uint16_t i = 0; i < session->flight.recorder.cpu_limit; i++)
		if (session->flight.recorder.cpus[i])
			ship_block(session, i);
	if (app->target.child && app->target.is_over)
		SEND(session, app_ended, APP_ENDED,
		     .status =
			 (uint8_t)(WIFEXITED(app->target.status) ? WEXITSTATUS(app->target.status)
								 : 0),
		     .signal =
			 (uint8_t)(WIFSIGNALED(app->target.status) ? WTERMSIG(app->target.status)
								   : 0));
	shipping_unspool(session);
	send_losses(session);
	send_results(session);
	flight_end(session);
	target_close(&app->target);
	shipping_result(session);
	free(app->cpus);
	app->cpus = NULL;
	app->running = false;
	session->measuring = false;
}

void app_tick(struct session *session, uint64_t now_ns)
{
	struct app *app = &session->app;
	uint64_t before_ns = clock_thread_ns();
	bool over, all = true;

	if (target_is_over(&app->target))
		app_stop(session);
	/* Asked before gathering: what ran until then is in the rings. */
	over = now_ns >= app->end_ns + LAST_NS;
	flight_gather(&session->flight);
	for (uint16_t i = 0; i < session->flight.recorder.cpu_limit; i++) {
		if (!session->flight.recorder.cpus[i])
			continue;
		all &= take_cpu(session, i);
		if (now_ns - session->shipped_ns >= SHIP_NS)
			ship_block(session, i);
	}
	if (now_ns - session->shipped_ns >= SHIP_NS)
		session->shipped_ns = now_ns;
	session->flight.gather_ns += clock_thread_ns() - before_ns;
	if (over && all)
		end(session);
}
