// SPDX-License-Identifier: MIT
/* The host's commands, and their answers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "counts.h"
#include "files.h"
#include "frequency.h"
#include "identity.h"
#include "loads/room.h"
#include "session_parts.h"

#define MIN_INTERVAL  50000u
#define LONGEST_PHASE (10ull * NS_PER_S)
#define READ_LIMIT    (1024u * 1024)
/* Memory that samples may take on the board with --spool: never more than half of what is free. */
#define SPOOL_MOST ((uint64_t)1 << 30)

static void send_done(struct session *session, uint32_t command)
{
	SEND(session, done, DONE, .command = command);
}

static void send_failed(struct session *session, uint32_t command, int error, const char *text)
{
	SEND(session, failed, FAILED, .command = command, .error = error, .text = wire_text(text));
}

static void send_note(struct session *session, const char *code, const char *text)
{
	SEND(session, note, NOTE, .code = wire_text(code), .text = wire_text(text));
}

/* send_outcome - done, or failed with its text */
static void send_outcome(struct session *session, uint32_t command, int error, const char *text)
{
	if (error)
		send_failed(session, command, error, text);
	else
		send_done(session, command);
}

static void do_hello(struct session *session)
{
	struct identity identity;
	uint8_t cpus[2 * MAX_CPUS];
	struct wire_list list = {.data = cpus};

	identity_read(&identity, MAX_CPUS);
	for (size_t i = 0; i < identity.cpu_count; i++)
		wire_store(cpus + 2 * i, identity.cpus[i], 2);
	list.count = (uint16_t)identity.cpu_count;
	list.size = 2 * identity.cpu_count;
	SEND(session, welcome, WELCOME, .version = wire_text(WHYLATE_VERSION),
	     .arch = wire_text(identity.arch), .sysname = wire_text(identity.names.sysname),
	     .nodename = wire_text(identity.names.nodename),
	     .release = wire_text(identity.names.release),
	     .kernel_version = wire_text(identity.names.version),
	     .machine = wire_text(identity.names.machine), .uid = identity.uid,
	     .capabilities = identity.capabilities, .rtprio_limit = identity.rtprio_limit,
	     .memlock_limit = identity.memlock_limit,
	     .clock_resolution_ns = identity.clock_resolution_ns,
	     .clock_read_ns = identity.clock_read_ns, .cpus = list);
	identity_release(&identity);
	if (session->guardian->recovered) {
		char text[120];

		snprintf(text, sizeof(text),
			 "%zu settings that a killed run had left changed were put back",
			 session->guardian->recovered);
		send_note(session, "recovered-settings", text);
		session->guardian->recovered = 0;
	}
}

struct read_context {
	struct session *session;
	uint32_t command;
};

static bool send_piece(void *argument, const struct files_piece *piece)
{
	struct read_context *context = argument;

	SEND(context->session, file, FILE, .command = context->command, .error = piece->error,
	     .truncated = piece->truncated, .more = piece->more, .path = wire_text(piece->path),
	     .data = {piece->data, (uint16_t)piece->length});
	return !session_host_gone(context->session);
}

static void do_read(struct session *session, uint32_t number, const struct wire_read *read)
{
	struct read_context context = {session, number};
	char pattern[256];
	size_t piece = session->link.frame_limit < 512 ? 128 : WIRE_MAX_PAYLOAD - 512;

	if (!wire_copy_text(read->pattern, pattern, sizeof(pattern)) || pattern[0] != '/' ||
	    read->limit > READ_LIMIT || read->how > FILES_KERNEL_LOG) {
		send_failed(session, number, EINVAL, "a read that this probe does not do");
		return;
	}
	send_outcome(session, number,
		     files_read((enum files_how)read->how, pattern, read->offset, read->limit,
				piece, send_piece, &context),
		     "no memory for what the pattern matches");
}

static void do_load_start(struct session *session, uint32_t number,
			  const struct wire_load_start *start)
{
	char kind[32], argv[GUARDIAN_TEXT], text[GUARDIAN_MESSAGE];
	size_t length;
	int error = 0;

	if (start->load >= MAX_LOADS || start->count == 0 || session->loads[start->load].count ||
	    start->count > MAX_INSTANCES - session->slots_used ||
	    !wire_copy_text(start->kind, kind, sizeof(kind)) ||
	    !wire_copy_argv(start->argv, argv, sizeof(argv), &length)) {
		send_failed(session, number, E2BIG,
			    "more loads, or a longer command, than the probe takes");
		return;
	}
	session->loads[start->load].first = session->slots_used;
	for (size_t i = 0; i < start->count && !error; i++) {
		error =
		    guardian_load(session->guardian, session->slots_used, kind, argv, length, text);
		if (!error) {
			session->slots_used++;
			session->loads[start->load].count++;
		}
	}
	if (!error)
		SEND(session, load_started, LOAD_STARTED, .load = start->load,
		     .count = start->count, .unit = wire_text(load_find(kind)->unit));
	send_outcome(session, number, error, text);
}

static void do_setting(struct session *session, uint32_t number, const struct wire_setting *setting)
{
	char path[256], value[512], text[GUARDIAN_MESSAGE];

	if (!wire_copy_text(setting->path, path, sizeof(path)) ||
	    !wire_copy_text(setting->value, value, sizeof(value))) {
		send_failed(session, number, EINVAL, "the setting's path or value is too long");
		return;
	}
	send_outcome(session, number, guardian_set(session->guardian, path, value, text), text);
}

static void do_put(struct session *session, uint32_t number, const struct wire_put *put)
{
	char text[PUT_MESSAGE];

	send_outcome(session, number, put_piece(&session->put, put, text), text);
}

static void send_cpu_started(struct session *session, const struct wakeup_cpu *cpu)
{
	SEND(session, cpu_started, CPU_STARTED, .cpu = cpu->cpu, .policy = (uint8_t)cpu->policy,
	     .priority = (uint8_t)cpu->priority, .locked = session->wakeup.memory_locked,
	     .start_ns = cpu->start_ns, .end_ns = atomic_load(cpu->end_ns),
	     .interval_ns = cpu->interval_ns);
}

/* spool_limit - what the board can give and still breathe */
static size_t spool_limit(void)
{
	uint64_t half = room_available_bytes() / 2;

	return (size_t)(half < SPOOL_MOST ? half : SPOOL_MOST);
}

static void do_recorder(struct session *session, uint32_t number,
			const struct wire_recorder *command)
{
	if (session->measuring || command->engine > 2 || command->tail_ppm > 500000 ||
	    command->stop_above_ns > INT64_MAX) {
		send_failed(session, number, EINVAL, "a recorder that this probe does not have");
		return;
	}
	session->flight.asked = *command;
	session->flight.wanted = true;
	send_done(session, number);
}

/* send_recorder - what is recorded from now on, and what is not */
static void send_recorder(struct session *session, const struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->source_count; i++)
		SEND(session, recorder_source, RECORDER_SOURCE,
		     .name = wire_text(recorder->sources[i].name),
		     .error = recorder->sources[i].attached ? 0 : recorder->sources[i].error);
	SEND(session, recorder_started, RECORDER_STARTED,
	     .engine = wire_text(recorder->engine->name), .ring_events = recorder->ring_size);
}

/* start_recorder - record what the threads do from here on, or say why not */
static void start_recorder(struct session *session)
{
	const struct recorder *recorder = &session->flight.recorder;
	char text[RECORDER_MESSAGE];

	session->flight.wanted = false;
	if (flight_start(session, NULL, text)) {
		send_note(session, "no-recorder", text);
		return;
	}
	if (text[0])
		send_note(session, "recorder-declined", text);
	flight_tell_threads(session);
	send_recorder(session, recorder);
}

static void do_wakeup(struct session *session, uint32_t number, const struct wire_wakeup *command)
{
	struct wakeup_plan plan = {.interval_ns = command->interval_ns,
				   .duration_ns = command->duration_ns,
				   .phase_ns = session->phase_ns,
				   .priority = command->priority,
				   .hold_idle = command->hold_idle};
	uint16_t cpus[MAX_CPUS];
	const char *step;
	char text[160];
	int error;

	if (session->measuring || session->trial.child || command->cpus.count == 0 ||
	    command->cpus.count > MAX_CPUS || plan.interval_ns < MIN_INTERVAL ||
	    plan.phase_ns > LONGEST_PHASE || plan.interval_ns > plan.duration_ns ||
	    plan.priority < 1 || plan.priority > 99) {
		send_failed(session, number, EINVAL,
			    "a wakeup workload that this probe cannot run");
		return;
	}
	for (size_t i = 0; i < command->cpus.count; i++)
		cpus[i] = wire_list_u16(command->cpus, i);
	if (command->spool && !spool_open(&session->spool, spool_limit())) {
		send_failed(session, number, ENOMEM, "no memory to spool samples in");
		return;
	}
	error = wakeup_prepare(&session->wakeup, &plan, cpus, command->cpus.count, &step);
	if (error) {
		if (command->spool)
			spool_release(&session->spool);
		snprintf(text, sizeof(text), "cannot %s: %s", step, strerror(error));
		send_failed(session, number, error, text);
		return;
	}
	if (session->flight.wanted) {
		start_recorder(session);
		flight_watch(session);
	}
	events_begin(session);
	wakeup_go(&session->wakeup);
	session->measuring = true;
	session->phase_ns = 0;
	session->spooling = command->spool;
	session->shipped_ns = clock_ns();
	for (size_t i = 0; i < session->wakeup.count; i++)
		send_cpu_started(session, &session->wakeup.cpus[i]);
	if (plan.hold_idle && session->wakeup.idle_fd < 0) {
		snprintf(text, sizeof(text), "/dev/cpu_dma_latency could not be held at 0: %s",
			 strerror(session->wakeup.idle_error));
		send_note(session, "idle-states", text);
	}
	send_done(session, number);
}

static void do_app(struct session *session, uint32_t number, const struct wire_app *command)
{
	const struct recorder *recorder = &session->flight.recorder;
	char text[RECORDER_MESSAGE];
	int error = EINVAL;

	if (session->measuring || session->trial.child || !session->flight.wanted ||
	    !command->duration_ns || command->duration_ns > INT64_MAX / 2) {
		send_failed(session, number, EINVAL,
			    "a program can be watched only with the recorder, one at a time");
		return;
	}
	session->flight.wanted = false;
	if (command->spool && !spool_open(&session->spool, spool_limit())) {
		send_failed(session, number, ENOMEM, "no memory to spool samples in");
		return;
	}
	error = app_start(session, command, text);
	if (error) {
		if (command->spool)
			spool_release(&session->spool);
		send_failed(session, number, error, text);
		return;
	}
	session->measuring = true;
	session->spooling = command->spool;
	session->shipped_ns = clock_ns();
	send_recorder(session, recorder);
	send_done(session, number);
}

static void do_frequency(struct session *session, uint32_t number,
			 const struct wire_frequency *command)
{
	for (size_t i = 0; i < command->cpus.count && !session_host_gone(session); i++) {
		uint16_t cpu = wire_list_u16(command->cpus, i);
		struct counts counts;
		uint64_t hz = frequency_measure(cpu, &counts);

		SEND(session, cpu_frequency, CPU_FREQUENCY, .cpu = cpu, .hz = hz);
		if (!hz)
			continue;
		SEND(session, cpu_counts, CPU_COUNTS, .cpu = cpu, .chain = FREQUENCY_CHAIN,
		     .cycles_error = counts.cycles.error, .cycles = counts.cycles.value,
		     .instructions_error = counts.instructions.error,
		     .instructions = counts.instructions.value);
	}
	send_done(session, number);
}

static void do_finish(struct session *session, uint32_t number)
{
	char text[GUARDIAN_MESSAGE];
	int error = guardian_restore(session->guardian, text);

	session->flight.wanted = false;
	session->slots_used = 0;
	memset(session->loads, 0, sizeof(session->loads));
	send_outcome(session, number, error, text);
}

static void do_pause(struct session *session, uint32_t number, const struct wire_pause *pause)
{
	if (session->pause_until_ns) {
		send_failed(session, number, EBUSY, "a pause within a pause");
		return;
	}
	session->pause_command = number;
	session->pause_until_ns = clock_ns() + pause->duration_ms * (uint64_t)1000000;
}

bool commands_wait(const struct session *session)
{
	return session->link.one_way &&
	       (session->pause_until_ns || session->measuring || session->trial.child);
}

void commands_tick(struct session *session, uint64_t now_ns)
{
	if (!session->pause_until_ns || now_ns < session->pause_until_ns)
		return;
	session->pause_until_ns = 0;
	send_done(session, session->pause_command);
}

void commands_take(struct session *session, const struct frame *frame)
{
	const uint8_t *payload = frame->payload;
	size_t length = frame->length;
	union {
		struct wire_hello hello;
		struct wire_read read;
		struct wire_load_start load_start;
		struct wire_setting setting;
		struct wire_wakeup wakeup;
		struct wire_frequency frequency;
		struct wire_keepalive keepalive;
		struct wire_pause pause;
		struct wire_phase phase;
		struct wire_recorder recorder;
		struct wire_app app;
		struct wire_put put;
	} u;

	if (frame->kind == WIRE_HELLO && wire_unpack(WIRE_HELLO, payload, length, &u.hello)) {
		do_hello(session);
	} else if (frame->kind == WIRE_READ && wire_unpack(WIRE_READ, payload, length, &u.read)) {
		do_read(session, frame->number, &u.read);
	} else if (frame->kind == WIRE_LOAD_START &&
		   wire_unpack(WIRE_LOAD_START, payload, length, &u.load_start)) {
		do_load_start(session, frame->number, &u.load_start);
	} else if (frame->kind == WIRE_SETTING &&
		   wire_unpack(WIRE_SETTING, payload, length, &u.setting)) {
		do_setting(session, frame->number, &u.setting);
	} else if (frame->kind == WIRE_WAKEUP &&
		   wire_unpack(WIRE_WAKEUP, payload, length, &u.wakeup)) {
		do_wakeup(session, frame->number, &u.wakeup);
	} else if (frame->kind == WIRE_APP && wire_unpack(WIRE_APP, payload, length, &u.app)) {
		do_app(session, frame->number, &u.app);
	} else if (frame->kind == WIRE_RECORDER &&
		   wire_unpack(WIRE_RECORDER, payload, length, &u.recorder)) {
		do_recorder(session, frame->number, &u.recorder);
	} else if (frame->kind == WIRE_FREQUENCY &&
		   wire_unpack(WIRE_FREQUENCY, payload, length, &u.frequency)) {
		do_frequency(session, frame->number, &u.frequency);
	} else if (frame->kind == WIRE_KEEPALIVE &&
		   wire_unpack(WIRE_KEEPALIVE, payload, length, &u.keepalive)) {
		session->host_timeout_ns = (uint64_t)u.keepalive.timeout_ms * 1000000u;
	} else if (frame->kind == WIRE_PAUSE &&
		   wire_unpack(WIRE_PAUSE, payload, length, &u.pause)) {
		do_pause(session, frame->number, &u.pause);
	} else if (frame->kind == WIRE_PHASE &&
		   wire_unpack(WIRE_PHASE, payload, length, &u.phase)) {
		session->phase_ns = u.phase.phase_ns;
		send_done(session, frame->number);
	} else if (frame->kind == WIRE_STOP) {
		if (session->app.running)
			app_stop(session);
		else if (session->trial.child)
			trial_stop(&session->trial);
		else if (session->measuring)
			wakeup_stop(&session->wakeup);
		send_done(session, frame->number);
	} else if (frame->kind == WIRE_PUT && wire_unpack(WIRE_PUT, payload, length, &u.put)) {
		do_put(session, frame->number, &u.put);
	} else if (frame->kind == WIRE_FINISH) {
		do_finish(session, frame->number);
	} else if (frame->kind == WIRE_ACCOUNT) {
		shipping_result(session);
		send_done(session, frame->number);
	} else if (!trials_take(session, frame)) {
		send_failed(session, frame->number, EBADMSG,
			    "a command that this probe does not know");
	}
}
