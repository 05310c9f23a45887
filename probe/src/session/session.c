// SPDX-License-Identifier: MIT
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "facts/files.h"
#include "facts/frequency.h"
#include "facts/identity.h"
#include "failure.h"
#include "load_reports.h"
#include "put.h"
#include "recorder/flight.h"
#include "section/listing/listing.h"
#include "wire/send.h"
#include "workloads/benchmark/counters.h"
#include "workloads/hits.h"
#include "workloads/workload.h"

/* The longest wait for one part of a pause. */
#define LONGEST_PAUSE_NS (100 * (uint64_t)NS_PER_MS)
/* Of a handler whose command is answered later, or never. */
#define NO_ANSWER (-1)

struct session {
	struct sender sender;
	struct guardian *guardian;
	struct workload workload;
	struct flight flight;
	struct counter_set counters; /* counted in what is measured from now on */
	struct hits hits;
	struct load_reports loads;
	struct put put;
	struct tried_hooks tried_hooks;
	uint32_t command;	 /* the number of the command that is carried out */
	uint64_t phase_ns;	 /* of the next workload */
	uint64_t pause_until_ns; /* 0: no pause */
	uint32_t pause_command;
};

extern const struct workload_ops run_ops;

/* ---------------------------------------------------------------- commands */

/* Returns 0, an errno with the text, or NO_ANSWER. */
typedef int command_handler(struct session *session, const union wire_command *command, char *text);

/* Every command but those that start a workload has a function of its name here. */
#define DECLARE(name, NAME) static command_handler do_##name;
#define ENTRY(name, NAME)   [WIRE_##NAME] = do_##name,
WIRE_SESSION_COMMANDS(DECLARE)

static command_handler *const handlers[WIRE_FIRST_ANSWER] = {WIRE_SESSION_COMMANDS(ENTRY)};

static int do_hello(struct session *session, const union wire_command *command, char *text)
{
	(void)command;
	(void)text;
	identity_send(&session->sender);
	if (session->guardian->recovered)
		send_note(&session->sender, "recovered-settings",
			  "%zu settings that a killed run had left changed were put back",
			  session->guardian->recovered);
	session->guardian->recovered = 0;
	return NO_ANSWER;
}

static int do_read(struct session *session, const union wire_command *command, char *text)
{
	const struct wire_read *read = &command->read;
	char pattern[256];
	struct files_request request = {(enum read_method)read->method, pattern, read->offset,
					read->limit};

	if (!wire_copy_text(read->pattern, pattern, sizeof(pattern)) || pattern[0] != '/' ||
	    read->limit > WIRE_MOST_READ_BYTES || read->method >= FILES_COUNT)
		return fail(
		    text, EINVAL,
		    "invalid read: expected an absolute pattern, at most 1 MiB and a known method");
	return fail(text, files_send(&session->sender, session->command, &request),
		    "no memory for what the pattern matches");
}

static int do_load_start(struct session *session, const union wire_command *command, char *text)
{
	return load_reports_start(&session->loads, &command->load_start, text);
}

static int do_setting(struct session *session, const union wire_command *command, char *text)
{
	char path[256], value[512];

	if (!wire_copy_text(command->setting.path, path, sizeof(path)) ||
	    !wire_copy_text(command->setting.value, value, sizeof(value)))
		return fail(text, EINVAL, "the setting's path or value is too long");
	return guardian_set(session->guardian, path, value, text);
}

static int do_put(struct session *session, const union wire_command *command, char *text)
{
	return put_piece(&session->put, &command->put, text);
}

static int do_frequency(struct session *session, const union wire_command *command, char *text)
{
	struct sender *sender = &session->sender;
	struct wire_list cpus = command->frequency.cpus;

	(void)text;
	for (size_t i = 0; i < cpus.count && !sender_look(sender); i++) {
		uint16_t cpu = wire_list_u16(cpus, i);
		struct counts counts;
		uint64_t hz = frequency_measure(cpu, &counts);

		SEND(sender, cpu_frequency, CPU_FREQUENCY, .cpu = cpu, .hz = hz);
		if (!hz)
			continue;
		SEND(sender, cpu_counts, CPU_COUNTS, .cpu = cpu, .chain = FREQUENCY_CHAIN,
		     .cycles_error = counts.cycles.error, .cycles = counts.cycles.value,
		     .instructions_error = counts.instructions.error,
		     .instructions = counts.instructions.value);
	}
	return 0;
}

static int do_finish(struct session *session, const union wire_command *command, char *text)
{
	(void)command;
	session->flight.wanted = false;
	session->flight.detaching.count = 0;
	hits_close(&session->hits);
	load_reports_init(&session->loads, &session->sender, session->guardian);
	return guardian_restore(session->guardian, text);
}

/* do_keepalive - set the host's timeout; not answered, to save a frame on the line */
static int do_keepalive(struct session *session, const union wire_command *command, char *text)
{
	(void)text;
	session->sender.host_timeout_ns = command->keepalive.timeout_ms * (uint64_t)NS_PER_MS;
	return NO_ANSWER;
}

static int do_pause(struct session *session, const union wire_command *command, char *text)
{
	if (session->pause_until_ns)
		return fail(text, EBUSY, "a pause is running");
	session->pause_command = session->command;
	session->pause_until_ns = clock_ns() + command->pause.duration_ms * (uint64_t)NS_PER_MS;
	return NO_ANSWER;
}

static int do_phase(struct session *session, const union wire_command *command, char *text)
{
	(void)text;
	session->phase_ns = command->phase.phase_ns;
	return 0;
}

static int do_recorder(struct session *session, const union wire_command *command, char *text)
{
	return fail(text,
		    session->workload.ops ? EBUSY
					  : flight_request(&session->flight, &command->recorder),
		    "invalid recorder, or a workload runs");
}

static int do_detach(struct session *session, const union wire_command *command, char *text)
{
	return fail(text,
		    session->workload.ops
			? EBUSY
			: detaching_request(&session->flight.detaching, &command->detach),
		    "invalid blocks, or a workload runs");
}

static int do_counters(struct session *session, const union wire_command *command, char *text)
{
	return counters_choose(&session->counters, &command->counters, text);
}

static int do_hits(struct session *session, const union wire_command *command, char *text)
{
	return hits_start(&session->hits, &command->hits, &session->sender, text);
}

static int do_hits_end(struct session *session, const union wire_command *command, char *text)
{
	(void)command;
	(void)text;
	hits_end(&session->hits, &session->sender);
	return 0;
}

static int do_list_places(struct session *session, const union wire_command *command, char *text)
{
	if (session->workload.ops)
		return fail(text, EBUSY, "a workload runs");
	return listing_send(&session->sender, &session->tried_hooks, &command->list_places, text);
}

static int do_stop(struct session *session, const union wire_command *command, char *text)
{
	(void)command;
	(void)text;
	if (session->workload.ops)
		session->workload.ops->stop(&session->workload);
	return 0;
}

static int do_accounting(struct session *session, const union wire_command *command, char *text)
{
	(void)command;
	(void)text;
	workload_send_result(&session->sender);
	return 0;
}

/* start - start a workload, one at a time */
static int start(struct session *session, const struct workload_ops *ops,
		 const union wire_command *command, char *text)
{
	struct workload *workload = &session->workload;
	int error;

	if (workload->ops)
		return fail(text, EBUSY, "another workload runs");
	*workload = (struct workload){.command = session->command,
				      .context = {.sender = &session->sender,
						  .flight = &session->flight,
						  .counters = &session->counters,
						  .phase_ns = session->phase_ns}};
	error = ops->start(workload, command);
	if (error)
		return fail(text, error, "%s", workload->text);
	workload->ops = ops;
	session->phase_ns = 0;
	return ops->answered_at_end ? NO_ANSWER : 0;
}

static int do_run(struct session *session, const union wire_command *command, char *text)
{
	return start(session, &run_ops, command, text);
}

/* run_command - carry out one command and answer it */
static void run_command(struct session *session, const struct frame *frame)
{
	const struct workload_ops *workload = workload_of(frame->kind);
	union wire_command command;
	char text[FAILURE_TEXT] = "";
	const char *field;
	int error;

	session->command = frame->number;
	if (frame->kind >= WIRE_FIRST_ANSWER || (!workload && !handlers[frame->kind]) ||
	    !wire_unpack(frame->kind, frame->payload, frame->length, &command))
		error = fail(text, EBADMSG, "unknown command");
	else if ((field = wire_out_of_range(frame->kind, &command)) != NULL)
		error = fail(text, EINVAL, "invalid %s: %s is out of its range",
			     wire_layouts[frame->kind].name, field);
	else if (workload)
		error = start(session, workload, &command, text);
	else
		error = handlers[frame->kind](session, &command, text);
	if (error != NO_ANSWER)
		send_outcome(&session->sender, frame->number, error, text);
}

/* ---------------------------------------------------------------- the loop */

/* is_waiting - whether the next command of a plan waits for a pause, or for the workload */
static bool is_waiting(const struct session *session)
{
	return session->sender.link.one_way && (session->pause_until_ns || session->workload.ops);
}

/* is_plan_done - whether a plan was carried out to its end, and all of it was reported */
static bool is_plan_done(const struct session *session)
{
	const struct link *link = &session->sender.link;

	return link->one_way && link_drained(link) && !is_waiting(session) &&
	       link->out_start == link->out_end;
}

/* wait_ms - how long input alone may end the wait */
static int wait_ms(const struct session *session)
{
	const struct link *link = &session->sender.link;
	const struct workload *workload = &session->workload;
	uint64_t until_ns = session->pause_until_ns, now_ns = clock_ns();
	int ms = workload->ops ? workload->ops->wait_ms(workload) : -1;

	if (is_plan_done(session))
		return 0;
	if (until_ns)
		return until_ns < now_ns + LONGEST_PAUSE_NS
			   ? (int)((until_ns > now_ns ? until_ns - now_ns : 0) / NS_PER_MS) + 1
			   : (int)(LONGEST_PAUSE_NS / NS_PER_MS);
	if (ms >= 0)
		return ms;
	if (!link_idle(link) || link->highest >= link->expected)
		return 50;
	return session->loads.slots_used ? 250 : 1000;
}

static void run_commands(struct session *session)
{
	struct frame frame;

	while (!is_waiting(session) && !sender_look(&session->sender) &&
	       link_next(&session->sender.link, &frame, false)) {
		uint8_t payload[WIRE_MAX_PAYLOAD];

		/* An answer may read on, into the buffer that the command lies in. */
		if (frame.length)
			memcpy(payload, frame.payload, frame.length);
		frame.payload = payload;
		run_command(session, &frame);
	}
}

/* poll_workload - answer a pause that is over, and continue the workload */
static void poll_workload(struct session *session, uint64_t now_ns)
{
	struct workload *workload = &session->workload;
	const struct workload_ops *ops = workload->ops;

	if (session->pause_until_ns && now_ns >= session->pause_until_ns) {
		session->pause_until_ns = 0;
		send_outcome(&session->sender, session->pause_command, 0, "");
	}
	if (!ops || !ops->poll(workload, now_ns))
		return;
	workload->ops = NULL;
	if (ops->answered_at_end)
		send_outcome(&session->sender, workload->command, workload->error, workload->text);
}

int session_run(struct guardian *guardian, int input, int output, bool is_plan)
{
	/* Not on the stack: with its buffers it is larger than some stacks are. */
	struct session *session = calloc(1, sizeof(*session));
	struct sender *sender;
	bool gone;

	if (!session || !sender_open(&session->sender, input, output))
		return 1;
	sender = &session->sender;
	session->guardian = guardian;
	flight_init(&session->flight, sender, guardian);
	load_reports_init(&session->loads, sender, guardian);
	sender->link.one_way = is_plan;
	do {
		const struct workload *workload = &session->workload;
		uint64_t now_ns;

		sender_turn(sender,
			    workload->ops && workload->ops->input ? workload->ops->input(workload)
								  : -1,
			    is_waiting(session), wait_ms(session));
		run_commands(session);
		now_ns = clock_ns();
		gone = sender_host_gone(sender);
		if (gone || sender_host_silent(sender, now_ns) || is_plan_done(session))
			break;
		poll_workload(session, now_ns);
		load_reports_poll(&session->loads, now_ns);
		link_tick(&sender->link, now_ns);
		link_write(&sender->link);
	} while (true);
	/* Measuring threads end with the process, and the guardian restores the board; but a child
	 * that a workload started must be ended here. */
	if (session->workload.ops && session->workload.ops->abandon)
		session->workload.ops->abandon(&session->workload);
	put_abort(&session->put);
	return gone || is_plan ? 0 : 2;
}
