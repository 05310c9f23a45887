// SPDX-License-Identifier: MIT
/* From the threads' rings to the host: all an ordinary thread's work. */
#include <stdio.h>
#include <sys/resource.h>

#include "clock.h"
#include "samples.h"
#include "session_parts.h"

/* ship_block - one block to the host, or to the spool; false where there is no room now */
static bool ship_block(struct session *session, struct wakeup_cpu *cpu)
{
	size_t limit = session->link.frame_limit - (session->link.frame_limit > 256 ? 64 : 0);
	uint8_t data[WIRE_MAX_PAYLOAD], stages[WIRE_MAX_PAYLOAD];
	bool staged = session->flight.recording;
	struct sample_block block;

	if (session->spooling)
		limit = SPOOL_BLOCK;
	else if (!link_has_room(&session->link, 2 * WIRE_MAX_PAYLOAD))
		return false;
	block = samples_take(&cpu->ring, data, staged ? stages : NULL, limit < 64 ? 64 : limit);
	if (!block.count)
		return false;
	KEEP(session, samples, SAMPLES, .cpu = cpu->cpu, .count = block.count, .first = block.first,
	     .data = {data, (uint16_t)block.length});
	if (staged)
		KEEP(session, sample_stages, SAMPLE_STAGES, .cpu = cpu->cpu, .count = block.count,
		     .first = block.first, .data = {stages, (uint16_t)block.stages_length});
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

void session_keep(struct session *session, uint8_t kind, const struct wire_writer *writer)
{
	if (!session->spooling)
		session_send(session, kind, writer);
	else if (!writer->failed)
		/* Samples that find no room are missing from the indices, and so are counted. */
		spool_put(&session->spool, kind, writer->data, writer->length);
}

static void ship(struct session *session, uint64_t now_ns, bool ended)
{
	uint8_t next[8 * MAX_CPUS];

	for (size_t i = 0; i < session->wakeup.count; i++)
		wire_store(
		    next + 8 * i,
		    atomic_load_explicit(&session->wakeup.cpus[i].next, memory_order_acquire), 8);
	flight_examine(session, ended);
	for (size_t i = 0; i < session->wakeup.count; i++)
		while (ship_block(session, &session->wakeup.cpus[i]))
			;
	if (!session->spooling)
		send_progress(session, now_ns, next);
}

static bool rings_empty(struct session *session)
{
	for (size_t i = 0; i < session->wakeup.count; i++)
		if (ring_written(&session->wakeup.cpus[i].ring) !=
		    atomic_load_explicit(&session->wakeup.cpus[i].ring.taken, memory_order_relaxed))
			return false;
	return true;
}

/* send_faults - what makes the samples of a CPU worthless, in words */
static void send_faults(struct session *session)
{
	char text[120];

	for (size_t i = 0; i < session->wakeup.count; i++) {
		const struct wakeup_cpu *cpu = &session->wakeup.cpus[i];

		if (cpu->began_late) {
			snprintf(text, sizeof(text),
				 "the thread of CPU %u was let go after its first deadline",
				 cpu->cpu);
			SEND(session, note, NOTE, .code = wire_text("late-start"),
			     .text = wire_text(text));
		}
		if (cpu->was_moved) {
			snprintf(text, sizeof(text),
				 "the thread of CPU %u was moved away: the CPU went offline",
				 cpu->cpu);
			SEND(session, note, NOTE, .code = wire_text("moved"),
			     .text = wire_text(text));
		}
	}
}

void shipping_result(struct session *session)
{
	struct rusage usage;
	uint64_t cpu_time_ns;

	getrusage(RUSAGE_SELF, &usage);
	cpu_time_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_S +
		      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
	SEND(session, result, RESULT, .cpu_time_ns = cpu_time_ns,
	     .peak_memory = (uint64_t)usage.ru_maxrss * 1024u);
}

static void send_results(struct session *session)
{
	for (size_t i = 0; i < session->wakeup.count; i++) {
		const struct wakeup_cpu *cpu = &session->wakeup.cpus[i];

		SEND(session, cpu_result, CPU_RESULT, .cpu = cpu->cpu,
		     .policy = (uint8_t)cpu->policy, .priority = (uint8_t)cpu->priority,
		     .locked = session->wakeup.memory_locked, .start_ns = cpu->start_ns,
		     .end_ns = atomic_load(cpu->end_ns), .seen = cpu->count.seen,
		     .overrun = cpu->count.overrun, .dropped = cpu->count.dropped);
	}
	events_tell(session);
	send_faults(session);
	shipping_result(session);
}

void shipping_unspool(struct session *session)
{
	struct spool_reader reader = spool_read(&session->spool);
	struct wire_writer writer = {0};
	uint8_t kind;

	if (!session->spooling)
		return;
	while (spool_next(&reader, &kind, &writer.data, &writer.length))
		session_send(session, kind, &writer);
	spool_release(&session->spool);
	session->spooling = false;
}

void shipping_tick(struct session *session, uint64_t now_ns)
{
	bool ended;

	if (session->app.running) {
		app_tick(session, now_ns);
		return;
	}
	/* Asked before shipping: what a thread put last is in its ring when it has ended. */
	ended = wakeup_ended(&session->wakeup);

	if (!ended && now_ns - session->shipped_ns < SHIP_NS) {
		if (session->flight.recording)
			flight_examine(session, false);
		return;
	}
	session->shipped_ns = now_ns;
	ship(session, now_ns, ended);
	if (!ended || !rings_empty(session))
		return;
	shipping_unspool(session);
	flight_end(session);
	send_results(session);
	wakeup_release(&session->wakeup);
	session->measuring = false;
}
