// SPDX-License-Identifier: MIT
#include "session.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "clock.h"
#include "files.h"
#include "frequency.h"
#include "identity.h"
#include "loads/room.h"
#include "samples.h"
#include "spool.h"
#include "wakeup.h"
#include "wire/link.h"
#include "wire/pack.h"

#define STORE_SIZE     (2u * 1024 * 1024)
#define SHIP_NS	       100000000u
#define LOAD_REPORT_NS 500000000u
#define MAX_LOADS      64
#define MAX_CPUS       1024
#define MIN_INTERVAL   50000u
#define READ_LIMIT     (1024u * 1024)
/* Memory that samples may take on the board with --spool: never more than half of what is free. */
#define SPOOL_MOST ((uint64_t)1 << 30)

struct load_range {
	size_t first; /* slot */
	size_t count;
};

struct session {
	struct link link;
	struct guardian *guardian;
	struct wakeup wakeup;
	bool measuring;
	bool spooling;
	struct spool spool;
	uint64_t shipped_ns;
	uint64_t loads_ns;
	struct load_range loads[MAX_LOADS];
	size_t slots_used;
	uint64_t host_timeout_ns; /* 0: a silent host is waited for */
	uint64_t host_heard_ns;
	uint64_t frames_heard;
};

/* ---------------------------------------------------------------- sending */

/* pump - one turn of reading and writing; timeout as for poll() */
static void pump(struct session *session, int timeout_ms)
{
	struct link *link = &session->link;
	struct pollfd fds[2] = {
	    {.fd = link->input_ended ? -1 : link->input, .events = POLLIN},
	    {.fd = link->output, .events = link->out_start < link->out_end ? POLLOUT : 0},
	};

	if (poll(fds, 2, timeout_ms) < 0)
		return;
	if (fds[0].revents)
		link_read(link);
	/* A reader that went away shows here even while there is nothing to write. */
	if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
		link->output_broken = true;
	link_write(link);
}

static bool host_is_gone(const struct session *session)
{
	return session->link.input_ended || session->link.output_broken;
}

/* send_message - send when there is room; commands of the host wait meanwhile */
static void send_message(struct session *session, uint8_t kind, const struct wire_writer *writer)
{
	struct frame frame;

	if (writer->failed)
		return; /* every message is built to fit: see the callers */
	while (!link_has_room(&session->link, writer->length)) {
		if (host_is_gone(session))
			return;
		pump(session, 20);
		link_next(&session->link, &frame, true);
		link_tick(&session->link, clock_ns());
	}
	link_send(&session->link, kind, writer->data, writer->length);
}

#define SEND(session, name, NAME, ...)                                                             \
	do {                                                                                       \
		uint8_t payload[WIRE_MAX_PAYLOAD];                                                 \
		struct wire_writer writer = {payload, sizeof(payload), 0, false};                  \
		struct wire_##name message = {__VA_ARGS__};                                        \
		wire_pack_##name(&writer, &message);                                               \
		send_message(session, WIRE_##NAME, &writer);                                       \
	} while (0)

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

/* ---------------------------------------------------------------- commands */

static void do_hello(struct session *session)
{
	struct identity identity;
	uint8_t cpus[2 * MAX_CPUS];
	struct wire_list list = {.data = cpus};

	identity_read(&identity, MAX_CPUS);
	for (size_t i = 0; i < identity.cpu_count; i++)
		wire_store_u16(cpus + 2 * i, identity.cpus[i]);
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
	return !host_is_gone(context->session);
}

static void do_read(struct session *session, uint32_t number, const struct wire_read *read)
{
	struct read_context context = {session, number};
	char pattern[256];
	size_t piece = session->link.frame_limit < 512 ? 128 : WIRE_MAX_PAYLOAD - 512;

	if (!wire_copy_text(read->pattern, pattern, sizeof(pattern)) || pattern[0] != '/' ||
	    read->limit > READ_LIMIT || read->how > FILES_LIST) {
		send_failed(session, number, EINVAL, "a read that this probe does not do");
		return;
	}
	send_outcome(session, number,
		     files_read((enum files_how)read->how, pattern, read->offset, read->limit,
				piece, send_piece, &context),
		     "no memory for what the pattern matches");
}

/* join_argv - a list of strings as NUL-separated text; false where it does not fit */
static bool join_argv(struct wire_list list, char *text, size_t room, size_t *length)
{
	*length = 0;
	while (list.count) {
		struct wire_bytes word = wire_list_next_str(&list);

		if (!wire_copy_text(word, text + *length, room - *length))
			return false;
		*length += word.length + 1u;
	}
	return true;
}

static void do_load_start(struct session *session, uint32_t number,
			  const struct wire_load_start *start)
{
	char kind[32], argv[GUARDIAN_TEXT], text[GUARDIAN_MESSAGE];
	size_t length;
	int error = 0;

	if (start->load >= MAX_LOADS || session->loads[start->load].count ||
	    start->count > MAX_INSTANCES - session->slots_used ||
	    !wire_copy_text(start->kind, kind, sizeof(kind)) ||
	    !join_argv(start->argv, argv, sizeof(argv), &length)) {
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

static void do_wakeup(struct session *session, uint32_t number, const struct wire_wakeup *command)
{
	struct wakeup_plan plan = {.interval_ns = command->interval_ns,
				   .duration_ns = command->duration_ns,
				   .priority = command->priority,
				   .hold_idle = command->hold_idle};
	uint16_t cpus[MAX_CPUS];
	const char *step;
	char text[160];
	int error;

	if (session->measuring || command->cpus.count == 0 || command->cpus.count > MAX_CPUS ||
	    plan.interval_ns < MIN_INTERVAL || plan.interval_ns > plan.duration_ns ||
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
	error = wakeup_start(&session->wakeup, &plan, cpus, command->cpus.count, &step);
	if (error) {
		snprintf(text, sizeof(text), "cannot %s: %s", step, strerror(error));
		send_failed(session, number, error, text);
		return;
	}
	session->measuring = true;
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

static void do_frequency(struct session *session, uint32_t number,
			 const struct wire_frequency *command)
{
	for (size_t i = 0; i < command->cpus.count && !host_is_gone(session); i++) {
		uint16_t cpu = wire_list_u16(command->cpus, i);

		SEND(session, cpu_frequency, CPU_FREQUENCY, .cpu = cpu,
		     .hz = frequency_measure(cpu));
	}
	send_done(session, number);
}

static void do_finish(struct session *session, uint32_t number)
{
	char text[GUARDIAN_MESSAGE];
	int error = guardian_restore(session->guardian, text);

	session->slots_used = 0;
	memset(session->loads, 0, sizeof(session->loads));
	send_outcome(session, number, error, text);
}

static void dispatch(struct session *session, const struct frame *frame)
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
	} u;

	if (frame->kind == WIRE_HELLO && wire_unpack_hello(payload, length, &u.hello)) {
		do_hello(session);
	} else if (frame->kind == WIRE_READ && wire_unpack_read(payload, length, &u.read)) {
		do_read(session, frame->number, &u.read);
	} else if (frame->kind == WIRE_LOAD_START &&
		   wire_unpack_load_start(payload, length, &u.load_start)) {
		do_load_start(session, frame->number, &u.load_start);
	} else if (frame->kind == WIRE_SETTING &&
		   wire_unpack_setting(payload, length, &u.setting)) {
		do_setting(session, frame->number, &u.setting);
	} else if (frame->kind == WIRE_WAKEUP && wire_unpack_wakeup(payload, length, &u.wakeup)) {
		do_wakeup(session, frame->number, &u.wakeup);
	} else if (frame->kind == WIRE_FREQUENCY &&
		   wire_unpack_frequency(payload, length, &u.frequency)) {
		do_frequency(session, frame->number, &u.frequency);
	} else if (frame->kind == WIRE_KEEPALIVE &&
		   wire_unpack_keepalive(payload, length, &u.keepalive)) {
		session->host_timeout_ns = (uint64_t)u.keepalive.timeout_ms * 1000000u;
	} else if (frame->kind == WIRE_STOP) {
		if (session->measuring)
			wakeup_stop(&session->wakeup);
		send_done(session, frame->number);
	} else if (frame->kind == WIRE_FINISH) {
		do_finish(session, frame->number);
	} else {
		send_failed(session, frame->number, EBADMSG,
			    "a command that this probe does not know");
	}
}

/* ---------------------------------------------------------------- shipping */

/* ship_block - one block to the host, or to the spool; false where there is no room now */
static bool ship_block(struct session *session, struct wakeup_cpu *cpu)
{
	size_t limit = session->link.frame_limit - (session->link.frame_limit > 256 ? 64 : 0);
	uint8_t data[WIRE_MAX_PAYLOAD], payload[WIRE_MAX_PAYLOAD];
	struct wire_writer writer = {payload, sizeof(payload), 0, false};
	struct wire_samples message = {.cpu = cpu->cpu};
	struct sample_block block;

	if (session->spooling)
		limit = SPOOL_BLOCK;
	else if (!link_has_room(&session->link, WIRE_MAX_PAYLOAD))
		return false;
	block = samples_take(&cpu->ring, data, limit < 64 ? 64 : limit);
	if (!block.count)
		return false;
	message.count = block.count;
	message.first = block.first;
	message.data = (struct wire_bytes){data, (uint16_t)block.length};
	wire_pack_samples(&writer, &message);
	if (session->spooling)
		/* What finds no room is missing from the indices, and so is counted as dropped. */
		spool_put(&session->spool, payload, writer.length);
	else
		link_send(&session->link, WIRE_SAMPLES, payload, writer.length);
	return true;
}

/* send_progress - what the threads have done, read before their rings are emptied */
static void send_progress(struct session *session, uint64_t now_ns, const uint8_t *next)
{
	size_t count = session->wakeup.count;
	struct wire_list list = {next, 8 * count, (uint16_t)count};

	if (8 * count + 16 <= WIRE_MAX_PAYLOAD && link_has_room(&session->link, WIRE_MAX_PAYLOAD))
		SEND(session, progress, PROGRESS, .now_ns = now_ns, .next = list);
}

static void ship(struct session *session, uint64_t now_ns)
{
	uint8_t next[8 * MAX_CPUS];

	for (size_t i = 0; i < session->wakeup.count; i++)
		wire_store_u64(next + 8 * i, atomic_load_explicit(&session->wakeup.cpus[i].next,
								  memory_order_acquire));
	for (size_t i = 0; i < session->wakeup.count; i++)
		while (ship_block(session, &session->wakeup.cpus[i]))
			;
	if (!session->spooling)
		send_progress(session, now_ns, next);
}

static bool rings_empty(struct session *session)
{
	for (size_t i = 0; i < session->wakeup.count; i++)
		if (ring_peek(&session->wakeup.cpus[i].ring))
			return false;
	return true;
}

static void send_results(struct session *session)
{
	struct rusage usage;
	uint64_t cpu_time_ns;

	for (size_t i = 0; i < session->wakeup.count; i++) {
		const struct wakeup_cpu *cpu = &session->wakeup.cpus[i];

		SEND(session, cpu_result, CPU_RESULT, .cpu = cpu->cpu,
		     .policy = (uint8_t)cpu->policy, .priority = (uint8_t)cpu->priority,
		     .locked = session->wakeup.memory_locked, .start_ns = cpu->start_ns,
		     .end_ns = atomic_load(cpu->end_ns), .seen = cpu->count.seen,
		     .overrun = cpu->count.overrun, .dropped = cpu->count.dropped);
	}
	getrusage(RUSAGE_SELF, &usage);
	cpu_time_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_S +
		      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
	SEND(session, result, RESULT, .cpu_time_ns = cpu_time_ns,
	     .peak_memory = (uint64_t)usage.ru_maxrss * 1024u);
}

/* unspool - what was kept on the board goes out now that nothing is measured any more */
static void unspool(struct session *session)
{
	struct spool_reader reader = spool_read(&session->spool);
	struct wire_writer writer = {0};

	while (spool_next(&reader, &writer.data, &writer.length))
		send_message(session, WIRE_SAMPLES, &writer);
	spool_release(&session->spool);
}

/* measure_tick - ship, and see whether the workload has ended */
static void measure_tick(struct session *session, uint64_t now_ns)
{
	/* Asked before shipping: what a thread put last is in its ring when it has ended. */
	bool ended = wakeup_ended(&session->wakeup);

	if (!ended && now_ns - session->shipped_ns < SHIP_NS)
		return;
	session->shipped_ns = now_ns;
	ship(session, now_ns);
	if (!ended || !rings_empty(session))
		return;
	if (session->spooling)
		unspool(session);
	send_results(session);
	wakeup_release(&session->wakeup);
	session->measuring = false;
}

/* ---------------------------------------------------------------- loads */

/* send_load - the work of all instances; the worst of their states */
static void send_load(struct session *session, uint16_t load, uint64_t now_ns)
{
	const struct load_range *range = &session->loads[load];
	int state = LOAD_RUNNING;
	uint64_t work = 0;
	char text[sizeof(session->guardian->slots->message) + 1] = "";

	for (size_t i = range->first; i < range->first + range->count; i++) {
		struct load_slot *slot = &session->guardian->slots[i];
		int one = atomic_load(&slot->state);

		work += atomic_load_explicit(&slot->work, memory_order_relaxed);
		if (one == LOAD_FAILED || (one == LOAD_ENDED && state != LOAD_FAILED)) {
			state = one;
			memcpy(text, slot->message, sizeof(slot->message));
			text[sizeof(slot->message)] = '\0';
		}
	}
	SEND(session, load_work, LOAD_WORK, .load = load, .state = (uint8_t)state, .now_ns = now_ns,
	     .work = work, .message = wire_text(text));
}

static void loads_tick(struct session *session, uint64_t now_ns)
{
	if (!session->slots_used || now_ns - session->loads_ns < LOAD_REPORT_NS)
		return;
	session->loads_ns = now_ns;
	for (uint16_t i = 0; i < MAX_LOADS; i++)
		if (session->loads[i].count && link_has_room(&session->link, WIRE_MAX_PAYLOAD))
			send_load(session, i, clock_ns());
}

/* ---------------------------------------------------------------- the session */

/* wait_ms - how long nothing needs to be done unless the host says something */
static int wait_ms(const struct session *session)
{
	if (session->measuring)
		return SHIP_NS / 1000000u;
	if (!link_idle(&session->link) || session->link.highest >= session->link.expected)
		return 50;
	return session->slots_used ? 250 : 1000;
}

/* host_is_silent - whether the host has said nothing for longer than it asked to be given */
static bool host_is_silent(struct session *session, uint64_t now_ns)
{
	if (session->frames_heard != session->link.decoder.counts.good || !session->host_heard_ns) {
		session->frames_heard = session->link.decoder.counts.good;
		session->host_heard_ns = now_ns;
	}
	return session->host_timeout_ns &&
	       now_ns - session->host_heard_ns > session->host_timeout_ns;
}

int session_run(struct guardian *guardian, int input, int output)
{
	/* Not on the stack: with its buffers it is larger than some stacks are. */
	struct session *session = calloc(1, sizeof(*session));
	struct frame frame;

	if (!session || !link_open(&session->link, input, output, STORE_SIZE))
		return 1;
	session->guardian = guardian;
	for (;;) {
		uint64_t now_ns;

		pump(session, wait_ms(session));
		while (link_next(&session->link, &frame, false)) {
			struct frame command = frame;
			uint8_t payload[WIRE_MAX_PAYLOAD];

			/* Answering may read on, into the buffer that the command lies in. */
			if (frame.length)
				memcpy(payload, frame.payload, frame.length);
			command.payload = payload;
			dispatch(session, &command);
		}
		now_ns = clock_ns();
		if (host_is_gone(session) || host_is_silent(session, now_ns))
			break;
		if (session->measuring)
			measure_tick(session, now_ns);
		loads_tick(session, now_ns);
		link_tick(&session->link, now_ns);
		link_write(&session->link);
	}
	/* Measuring threads die with the process, the guardian does the rest. */
	return host_is_gone(session) ? 0 : 2;
}
