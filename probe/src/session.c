// SPDX-License-Identifier: MIT
#include "session.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "session_parts.h"

/* Messages that the host has not acknowledged yet. */
#define STORE_SIZE (2u * 1024 * 1024)

/* pump - one turn of reading and writing; timeout as for poll() */
static void pump(struct session *session, int timeout_ms)
{
	struct link *link = &session->link;
	struct pollfd fds[3] = {
	    {.fd = link->input_ended || commands_wait(session) ? -1 : link->input,
	     .events = POLLIN},
	    {.fd = link->output, .events = link->out_start < link->out_end ? POLLOUT : 0},
	    {.fd = session->trial.child ? session->trial.in : -1, .events = POLLIN},
	};

	if (poll(fds, 3, timeout_ms) < 0)
		return;
	if (fds[0].revents)
		link_read(link);
	/* A reader that went away shows here even while there is nothing to write. */
	if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
		link->output_broken = true;
	link_write(link);
}

bool session_host_gone(const struct session *session)
{
	/* The end of a plan is not the end of who wrote it. */
	return (session->link.input_ended && !session->link.one_way) || session->link.output_broken;
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

void session_send(struct session *session, uint8_t kind, const struct wire_writer *writer)
{
	struct frame frame;

	if (writer->failed)
		return; /* every message is built to fit: see the callers */
	while (!link_has_room(&session->link, writer->length)) {
		/* For good: half an answer is worse than none, should it speak again. */
		if (host_is_silent(session, clock_ns()))
			session->link.output_broken = true;
		if (session_host_gone(session))
			return;
		pump(session, 20);
		/* What is not taken the host says again, but a plan is said only once. */
		if (!session->link.one_way)
			link_next(&session->link, &frame, true);
		link_tick(&session->link, clock_ns());
	}
	link_send(&session->link, kind, writer->data, writer->length);
}

/* plan_done - whether a plan was carried out to its end, and all about it was said */
static bool plan_done(const struct session *session)
{
	const struct link *link = &session->link;

	return link->one_way && link_drained(link) && !commands_wait(session) &&
	       link->out_start == link->out_end;
}

/* wait_ms - how long nothing needs to be done unless the host says something */
static int wait_ms(const struct session *session)
{
	if (plan_done(session))
		return 0;
	if (session->pause_until_ns) {
		uint64_t now_ns = clock_ns();
		uint64_t left_ns =
		    session->pause_until_ns > now_ns ? session->pause_until_ns - now_ns : 0;

		return (int)(left_ns < SHIP_NS ? left_ns / 1000000u + 1 : SHIP_NS / 1000000u);
	}
	if (session->measuring)
		return (int)((session->flight.recording ? session->flight.look_ns : SHIP_NS) /
			     1000000u);
	if (!link_idle(&session->link) || session->link.highest >= session->link.expected)
		return 50;
	return session->slots_used ? 250 : 1000;
}

int session_run(struct guardian *guardian, int input, int output, bool is_plan)
{
	/* Not on the stack: with its buffers it is larger than some stacks are. */
	struct session *session = calloc(1, sizeof(*session));
	struct frame frame;

	if (!session || !link_open(&session->link, input, output, STORE_SIZE))
		return 1;
	session->guardian = guardian;
	if (is_plan)
		link_take_plan(&session->link);
	for (;;) {
		uint64_t now_ns;

		pump(session, wait_ms(session));
		while (!commands_wait(session) && link_next(&session->link, &frame, false)) {
			struct frame command = frame;
			uint8_t payload[WIRE_MAX_PAYLOAD];

			/* Answering may read on, into the buffer that the command lies in. */
			if (frame.length)
				memcpy(payload, frame.payload, frame.length);
			command.payload = payload;
			commands_take(session, &command);
		}
		now_ns = clock_ns();
		if (session_host_gone(session) || host_is_silent(session, now_ns) ||
		    plan_done(session))
			break;
		commands_tick(session, now_ns);
		if (session->measuring)
			shipping_tick(session, now_ns);
		if (session->trial.child)
			trials_tick(session);
		loads_tick(session, now_ns);
		link_tick(&session->link, now_ns);
		link_write(&session->link);
	}
	/* Measuring threads die with the process, the guardian does the rest; but what we started
	 * is our own child. */
	if (session->app.running)
		target_close(&session->app.target);
	trial_stop(&session->trial);
	put_abort(&session->put);
	return session_host_gone(session) || is_plan ? 0 : 2;
}
