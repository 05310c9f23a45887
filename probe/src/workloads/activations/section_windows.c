// SPDX-License-Identifier: MIT
#include "section_windows.h"

#include "clock.h"
#include "failure.h"
#include "wire/send.h"

/* Where the host leaves it to the probe: beside WIRE_LATE_PER_S, controls a second. Both together
 * are fewer than the recorder copies at the most. */
#define CONTROL_PER_S 20u
/* More controls in a second, and fewer are drawn from then on. */
#define CONTROLS_MOST (2u * CONTROL_PER_S)
/* No more than that part of a million is late: the slowest of 500. */
#define TAIL_PPM 2000u
#define PPM	 1000000u
/* The priority of a thread of which none is known, as the kernel counts: SCHED_OTHER, nice 0. */
#define PRIO_OTHER 120u

/* choose - choose how many executions get a window, before the first: which do must not depend on
 * what comes */
static void choose(struct wire_recorder *request, uint64_t per_s)
{
	uint64_t tail_ppm = (uint64_t)WIRE_LATE_PER_S * PPM / (per_s ? per_s : 1);

	if (!request->tail_ppm)
		request->tail_ppm = (uint32_t)(tail_ppm < TAIL_PPM ? tail_ppm : TAIL_PPM);
	if (!request->control_every)
		request->control_every = (uint32_t)(per_s / CONTROL_PER_S + 1);
}

/*
 * thin_out - draw fewer controls from now on where more come than was tried
 *
 * They must leave room for late executions. By their number alone: how long one took does not
 * count.
 */
static void thin_out(struct section_windows *windows)
{
	struct flight *flight = windows->flight;
	uint64_t took_ns = flight->recorder.gathered_ns - windows->since_ns;
	uint64_t every = flight->request.control_every;

	/* A stretch begins with its first control: none may come for long. */
	if (windows->controls && windows->controls <= CONTROLS_MOST && took_ns < NS_PER_S)
		return;
	if (windows->controls > CONTROLS_MOST) {
		every *= windows->controls * NS_PER_S / (CONTROL_PER_S * (took_ns + 1)) + 1;
		flight->request.control_every = every < UINT32_MAX ? (uint32_t)every : UINT32_MAX;
	}
	windows->controls = 0;
	windows->since_ns = flight->recorder.gathered_ns;
}

void section_windows_start(struct section_windows *windows, struct flight *flight, uint64_t per_s)
{
	char text[FAILURE_TEXT];

	*windows =
	    (struct section_windows){.flight = flight, .thins = !flight->request.control_every};
	if (!flight->wanted)
		return;
	choose(&flight->request, per_s);
	if (flight_start(flight, NULL, 0, NULL, text)) {
		send_note(flight->sender, "no-recorder", "%s", text);
		return;
	}
	if (text[0])
		send_note(flight->sender, "recorder-declined", "%s", text);
	flight_report_started(flight);
	windows->since_ns = clock_ns();
}

void section_windows_gather(struct section_windows *windows)
{
	uint64_t before_ns = clock_thread_ns();

	if (!windows->flight->recording)
		return;
	flight_gather(windows->flight);
	if (windows->thins)
		thin_out(windows);
	windows->flight->gather_ns += clock_thread_ns() - before_ns;
}

bool section_windows_are_gathered(const struct section_windows *windows,
				  const struct section_row *row)
{
	const struct flight *flight = windows->flight;

	return !flight->recording ||
	       row->begin_ns + row->duration_ns <= flight->recorder.gathered_ns;
}

/* reason_for - whether the window of an execution is wanted, and why */
static enum window_reason reason_for(struct flight *flight, uint16_t cpu, uint64_t number,
				     const struct section_row *row)
{
	/* In any case: the threshold counts every duration. */
	if (threshold_is_late(&flight->threshold, (int64_t)row->duration_ns))
		return REASON_LATE;
	return recorder_is_drawn(cpu, number, flight->request.control_every) ? REASON_CONTROL
									     : REASON_NONE;
}

void section_windows_examine(struct section_windows *windows, uint16_t cpu, uint64_t number,
			     const struct section_row *row)
{
	struct flight *flight = windows->flight;
	const struct recorder_stage none = {0};
	struct flight_subject subject = {
	    .cpu = cpu,
	    .prio = PRIO_OTHER,
	    .tid = row->pid,
	    .index = number,
	    .due_ns = row->begin_ns,
	    .run_ns = row->begin_ns + row->duration_ns,
	};
	enum window_reason reason;
	uint64_t before_ns;

	if (!flight->recording || cpu >= flight->recorder.cpu_limit || !flight->recorder.cpus[cpu])
		return;
	reason = reason_for(flight, cpu, number, row);
	if (reason == REASON_NONE)
		return;
	/* What is left of this look goes without them. */
	if (reason == REASON_CONTROL && windows->controls++ > CONTROLS_MOST && windows->thins)
		return;
	before_ns = clock_thread_ns();
	if (flight_send_window(flight, &subject, reason, &none, NULL))
		flight_send_travels(flight, &subject, row->begin_cpu);
	flight->gather_ns += clock_thread_ns() - before_ns;
}

void section_windows_end(struct section_windows *windows)
{
	flight_end(windows->flight);
}
