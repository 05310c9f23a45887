// SPDX-License-Identifier: MIT
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "commands.h"

/* plan_done - whether a plan was carried out to its end, and all of it was reported */
static bool plan_done(const struct session *session)
{
	const struct link *link = &session->sender.link;

	return link->one_way && link_drained(link) && !commands_wait(session) &&
	       link->out_start == link->out_end;
}

static int wait_ms(const struct session *session)
{
	const struct link *link = &session->sender.link;
	int ms = commands_wait_ms(session, clock_ns());

	if (plan_done(session))
		return 0;
	if (ms >= 0)
		return ms;
	if (!link_idle(link) || link->highest >= link->expected)
		return 50;
	return load_reports_any(&session->loads) ? 250 : 1000;
}

static void run_commands(struct session *session)
{
	struct frame frame;

	while (!commands_wait(session) && link_next(&session->sender.link, &frame, false)) {
		uint8_t payload[WIRE_MAX_PAYLOAD];

		/* Answering may read on, into the buffer that the command lies in. */
		if (frame.length)
			memcpy(payload, frame.payload, frame.length);
		frame.payload = payload;
		commands_run(session, &frame);
	}
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
	if (is_plan)
		link_open_plan(&sender->link);
	do {
		const struct workload *workload = &session->workload;
		uint64_t now_ns;

		sender_turn(sender, workload->ops ? workload->ops->input(workload) : -1,
			    commands_wait(session), wait_ms(session));
		run_commands(session);
		now_ns = clock_ns();
		gone = sender_host_gone(sender);
		if (gone || sender_host_silent(sender, now_ns) || plan_done(session))
			break;
		commands_poll(session, now_ns);
		load_reports_poll(&session->loads, now_ns);
		link_tick(&sender->link, now_ns);
		link_write(&sender->link);
	} while (true);
	/* Measuring threads die with the process, the guardian does the rest; but what we started
	 * is our own child. */
	if (session->workload.ops)
		session->workload.ops->abandon(&session->workload);
	put_abort(&session->put);
	return gone || is_plan ? 0 : 2;
}
