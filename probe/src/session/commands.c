// SPDX-License-Identifier: MIT
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "facts/counts.h"
#include "facts/files.h"
#include "facts/frequency.h"
#include "facts/identity.h"
#include "run.h"

/* A pause is waited for in turns of so long. */
#define LONGEST_PAUSE_NS 100000000u

typedef void command_handler(struct session *session, uint32_t number,
			     const union wire_command *command);

/* Every command but those that start a workload has a function of its name here. */
#define DECLARE(name, NAME) static command_handler do_##name;
#define ENTRY(name, NAME)   [WIRE_##NAME] = do_##name,
WIRE_SESSION_COMMANDS(DECLARE)

static command_handler *const handlers[WIRE_FIRST_ANSWER] = {WIRE_SESSION_COMMANDS(ENTRY)};

static void do_hello(struct session *session, uint32_t number, const union wire_command *command)
{
	struct sender *sender = &session->sender;
	struct identity identity;
	uint8_t cpus[2 * WIRE_MOST_CPUS];

	(void)number;
	(void)command;
	identity_read(&identity, WIRE_MOST_CPUS);
	SEND(sender, welcome, WELCOME, .version = wire_text(WHYLATE_VERSION),
	     .arch = wire_text(identity.arch), .sysname = wire_text(identity.names.sysname),
	     .nodename = wire_text(identity.names.nodename),
	     .release = wire_text(identity.names.release),
	     .kernel_version = wire_text(identity.names.version),
	     .machine = wire_text(identity.names.machine), .uid = identity.uid,
	     .capabilities = identity.capabilities, .rtprio_limit = identity.rtprio_limit,
	     .memlock_limit = identity.memlock_limit,
	     .clock_resolution_ns = identity.clock_resolution_ns,
	     .clock_read_ns = identity.clock_read_ns,
	     .cpus = wire_list_of_u16(cpus, identity.cpus, identity.cpu_count));
	identity_release(&identity);
	if (session->guardian->recovered)
		send_note(sender, "recovered-settings",
			  "%zu settings that a killed run had left changed were put back",
			  session->guardian->recovered);
	session->guardian->recovered = 0;
}

struct read_context {
	struct sender *sender;
	uint32_t command;
};

static bool send_piece(void *argument, const struct files_piece *piece)
{
	struct read_context *context = argument;

	SEND(context->sender, file, FILE, .command = context->command, .error = piece->error,
	     .truncated = piece->truncated, .more = piece->more, .path = wire_text(piece->path),
	     .data = {piece->data, (uint16_t)piece->length});
	return !sender_host_gone(context->sender);
}

static void do_read(struct session *session, uint32_t number, const union wire_command *command)
{
	const struct wire_read *read = &command->read;
	struct read_context context = {&session->sender, number};
	char pattern[256];
	size_t piece = session->sender.link.frame_limit < 512 ? 128 : WIRE_MAX_PAYLOAD - 512;

	if (!wire_copy_text(read->pattern, pattern, sizeof(pattern)) || pattern[0] != '/' ||
	    read->limit > WIRE_MOST_READ_BYTES || read->method >= FILES_COUNT) {
		send_outcome(
		    &session->sender, number, EINVAL,
		    "invalid read: expected an absolute pattern, at most 1 MiB and a known method");
		return;
	}
	send_outcome(&session->sender, number,
		     files_read((enum read_method)read->method, pattern, read->offset, read->limit,
				piece, send_piece, &context),
		     "no memory for what the pattern matches");
}

static void do_load_start(struct session *session, uint32_t number,
			  const union wire_command *command)
{
	char text[GUARDIAN_MESSAGE];

	send_outcome(&session->sender, number,
		     load_reports_start(&session->loads, &command->load_start, text), text);
}

static void do_setting(struct session *session, uint32_t number, const union wire_command *command)
{
	char path[256], value[512],
	    text[GUARDIAN_MESSAGE] = "the setting's path or value is too long";
	int error = EINVAL;

	if (wire_copy_text(command->setting.path, path, sizeof(path)) &&
	    wire_copy_text(command->setting.value, value, sizeof(value)))
		error = guardian_set(session->guardian, path, value, text);
	send_outcome(&session->sender, number, error, text);
}

static void do_put(struct session *session, uint32_t number, const union wire_command *command)
{
	char text[PUT_MESSAGE];

	send_outcome(&session->sender, number, put_piece(&session->put, &command->put, text), text);
}

static void do_frequency(struct session *session, uint32_t number,
			 const union wire_command *command)
{
	struct sender *sender = &session->sender;
	struct wire_list cpus = command->frequency.cpus;

	for (size_t i = 0; i < cpus.count && !sender_host_gone(sender); i++) {
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
	send_outcome(sender, number, 0, "");
}

static void do_finish(struct session *session, uint32_t number, const union wire_command *command)
{
	char text[GUARDIAN_MESSAGE];
	int error = guardian_restore(session->guardian, text);

	(void)command;
	session->flight.wanted = false;
	load_reports_clear(&session->loads);
	send_outcome(&session->sender, number, error, text);
}

/* do_keepalive - set the host's timeout; not answered, to save a frame on the line */
static void do_keepalive(struct session *session, uint32_t number,
			 const union wire_command *command)
{
	(void)number;
	session->sender.host_timeout_ns = (uint64_t)command->keepalive.timeout_ms * 1000000u;
}

static void do_pause(struct session *session, uint32_t number, const union wire_command *command)
{
	if (session->pause_until_ns) {
		send_outcome(&session->sender, number, EBUSY, "a pause is running");
		return;
	}
	session->pause_command = number;
	session->pause_until_ns = clock_ns() + command->pause.duration_ms * (uint64_t)1000000;
}

static void do_phase(struct session *session, uint32_t number, const union wire_command *command)
{
	session->phase_ns = command->phase.phase_ns;
	send_outcome(&session->sender, number, 0, "");
}

static void do_recorder(struct session *session, uint32_t number, const union wire_command *command)
{
	int error =
	    session->workload.ops ? EBUSY : flight_request(&session->flight, &command->recorder);

	send_outcome(&session->sender, number, error, "invalid recorder, or a workload runs");
}

static void do_counters(struct session *session, uint32_t number, const union wire_command *command)
{
	char text[COUNTERS_MESSAGE];

	send_outcome(&session->sender, number,
		     counters_choose(&session->counters, &command->counters, text), text);
}

static void do_stop(struct session *session, uint32_t number, const union wire_command *command)
{
	(void)command;
	if (session->workload.ops)
		session->workload.ops->stop(&session->workload);
	send_outcome(&session->sender, number, 0, "");
}

static void do_accounting(struct session *session, uint32_t number,
			  const union wire_command *command)
{
	(void)command;
	workload_send_result(&session->sender);
	send_outcome(&session->sender, number, 0, "");
}

/* start - start a workload, one at a time */
static void start(struct session *session, uint32_t number, const struct workload_ops *ops,
		  const union wire_command *command)
{
	struct workload *workload = &session->workload;
	int error;

	if (workload->ops) {
		send_outcome(&session->sender, number, EBUSY, "another workload runs");
		return;
	}
	*workload = (struct workload){.command = number,
				      .context = {.sender = &session->sender,
						  .flight = &session->flight,
						  .counters = &session->counters,
						  .phase_ns = session->phase_ns}};
	error = ops->start(workload, command);
	if (!error) {
		workload->ops = ops;
		session->phase_ns = 0;
	}
	if (error || !ops->answered_at_end)
		send_outcome(&session->sender, number, error, workload->text);
}

static void do_run(struct session *session, uint32_t number, const union wire_command *command)
{
	start(session, number, &run_ops, command);
}

void commands_run(struct session *session, const struct frame *frame)
{
	const struct workload_ops *workload = workload_of(frame->kind);
	union wire_command command;

	if (frame->kind >= WIRE_FIRST_ANSWER || (!workload && !handlers[frame->kind]) ||
	    !wire_unpack(frame->kind, frame->payload, frame->length, &command))
		send_outcome(&session->sender, frame->number, EBADMSG, "unknown command");
	else if (workload)
		start(session, frame->number, workload, &command);
	else
		handlers[frame->kind](session, frame->number, &command);
}

bool commands_wait(const struct session *session)
{
	return session->sender.link.one_way && (session->pause_until_ns || session->workload.ops);
}

int commands_wait_ms(const struct session *session, uint64_t now_ns)
{
	const struct workload *workload = &session->workload;
	uint64_t until_ns = session->pause_until_ns;

	if (until_ns)
		return until_ns < now_ns + LONGEST_PAUSE_NS
			   ? (int)((until_ns > now_ns ? until_ns - now_ns : 0) / 1000000u) + 1
			   : (int)(LONGEST_PAUSE_NS / 1000000u);
	return workload->ops ? workload->ops->wait_ms(workload) : -1;
}

void commands_poll(struct session *session, uint64_t now_ns)
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
