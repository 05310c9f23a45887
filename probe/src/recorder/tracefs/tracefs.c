// SPDX-License-Identifier: MIT
/*
 * The engine for kernels without BTF or BPF: trace events in an instance of the probe's own.
 *
 * It records no stacks: a trigger records one at an event, but only two events show that a wakeup
 * was late. Histogram triggers could compare two events, but cost every wakeup a map lookup and
 * need a synthetic event, which all instances would see.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "detach.h"
#include "failure.h"
#include "gather.h"
#include "tracefs/buffers.h"
#include "tracefs/instance.h"
#include "tracefs/mount.h"
#include "recorder/engine.h"
#include "rings.h"
#include "small_file.h"
#include "sources.h"

/* The kernel's buffer of one CPU bridges the time between two calls of gather. */
#define LEAST_KERNEL_BYTES (256u << 10)
#define MOST_KERNEL_BYTES  (16u << 20)
/* trace_clock mono and CLOCK_MONOTONIC are one clock, but for what its adjustment does. */
#define CLOCK_SLACK_NS 1000000u
#define LONGEST_FILTER 2048

struct tracefs {
	struct gather gather;
	struct instance instance;
	int *raw; /* trace_pipe_raw, by CPU number; -1 where there is none */
	uint16_t cpu_limit;
	uint8_t *page;
	uint64_t pages_at_once; /* of one CPU in one call, which must end under a flood of events */
};

/* ---------------------------------------------------------------- CPUs */

/* read_online - read which CPUs run now; returns 0 or an errno */
static int read_online(bool *present, uint16_t cpu_limit)
{
	char text[4096], *rest = text;
	int error = small_file_read(AT_FDCWD, "/sys/devices/system/cpu/online", text, sizeof(text));

	while (!error && *rest >= '0' && *rest <= '9') {
		unsigned long first = strtoul(rest, &rest, 10), last = first;

		if (*rest == '-')
			last = strtoul(rest + 1, &rest, 10);
		for (unsigned long i = first; i <= last && i < cpu_limit; i++)
			present[i] = true;
		rest += *rest == ',';
	}
	return error;
}

/* ---------------------------------------------------------------- sources */

/* write_filter - limit a source to the measured threads' events */
static int write_filter(int instance, const char *path, const struct recorder_plan *plan)
{
	char filter[LONGEST_FILTER];
	size_t length = 0;

	for (size_t i = 0; i < plan->thread_count; i++) {
		length +=
		    (size_t)snprintf(filter + length, sizeof(filter) - length,
				     "%scommon_pid==%" PRIu32, i ? "||" : "", plan->threads[i].pid);
		if (length >= sizeof(filter))
			return E2BIG;
	}
	return plan->thread_count ? small_file_write(instance, path, filter) : ENODATA;
}

/* enable - read the format of a source's events, then switch it on */
static int enable(struct tracefs *state, const struct source *source,
		  const struct recorder_plan *plan)
{
	const char *event = strchr(source->name, ':') + 1;
	int system = (int)(event - source->name - 1), instance = state->instance.directory;
	char path[128];
	int error = formats_add(&state->gather.formats, instance, source);

	if (!error && source->only_measured) {
		snprintf(path, sizeof(path), "events/%.*s/%s/filter", system, source->name, event);
		error = write_filter(instance, path, plan);
	}
	return error ? error : event_enable(instance, source->name, true);
}

/* enable_all - enable all sources; returns an errno where the first, which all depends on, is
 * missing */
static int enable_all(struct recorder *recorder, const struct recorder_plan *plan, char *text)
{
	struct tracefs *state = recorder->state;

	recorder->source_count = 0;
	for (size_t i = 0; i < source_count && i < RECORDER_SOURCES; i++) {
		int error;

		if (!source_is_for_us(&sources[i]) || (sources[i].only_watching && !plan->watch) ||
		    (sources[i].only_measured && plan->watch))
			continue;
		error = enable(state, &sources[i], plan);
		recorder->sources[recorder->source_count++] = (struct recorder_source){
		    .name = sources[i].name, .attached = !error, .error = error};
		if (i == 0 && error)
			return fail(text, error, "the trace event %s cannot be enabled: %s",
				    sources[i].name, strerror(error));
	}
	return 0;
}

/* ---------------------------------------------------------------- start */

/* set_up - set the clock and the size of the buffers */
static int set_up(struct tracefs *state, const struct recorder_plan *plan, char *text)
{
	struct formats *formats = &state->gather.formats;
	uint64_t bytes = plan->ring_bytes;
	int error;

	bytes = bytes < LEAST_KERNEL_BYTES ? LEAST_KERNEL_BYTES : bytes;
	bytes = bytes > MOST_KERNEL_BYTES ? MOST_KERNEL_BYTES : bytes;
	memset(formats, 0, sizeof(*formats));
	error = buffers_set_up(&state->instance, bytes, &formats->page, text);
	if (!error)
		state->pages_at_once = 2 * bytes / formats->page.page_size + 8;
	return error;
}

/* open_raw - open the buffers of all CPUs that are there */
static int open_raw(struct tracefs *state, const bool *present)
{
	for (uint16_t i = 0; i < state->cpu_limit; i++) {
		if (!present[i])
			continue;
		state->raw[i] = buffers_open(&state->instance, i);
		if (state->raw[i] < 0)
			return errno;
	}
	return 0;
}

/* allocate - allocate all that is per CPU; returns 0 or an errno */
static int allocate(struct recorder *recorder, const struct recorder_plan *plan,
		    const bool *present)
{
	struct tracefs *state = recorder->state;
	int error;

	state->gather.recorder = recorder;
	state->gather.last_ns = calloc(plan->cpu_limit, sizeof(*state->gather.last_ns));
	state->page = calloc(1, state->gather.formats.page.page_size);
	state->raw = malloc(plan->cpu_limit * sizeof(*state->raw));
	if (!state->raw || !state->page || !state->gather.last_ns)
		return ENOMEM;
	state->cpu_limit = plan->cpu_limit;
	for (uint16_t i = 0; i < state->cpu_limit; i++)
		state->raw[i] = -1;
	if (plan->watch) {
		state->gather.watch = watch_open(plan->watch, plan->cpu_limit);
		if (!state->gather.watch)
			return ENOMEM;
	}
	error = rings_open(recorder, present, plan->cpu_limit, plan->ring_bytes);
	if (error)
		return error;
	return stages_open(&state->gather.stages, recorder->cpus, plan->cpu_limit, plan->threads,
			   plan->thread_count);
}

/* free_all - free all that start allocated so far; the instance only where there is one */
static void free_all(struct recorder *recorder)
{
	struct tracefs *state = recorder->state;

	for (uint16_t i = 0; i < state->cpu_limit; i++)
		if (state->raw[i] >= 0)
			close(state->raw[i]);
	if (state->instance.name[0])
		instance_remove(&state->instance);
	stages_close(&state->gather.stages);
	watch_close(state->gather.watch);
	rings_close(recorder);
	free(state->raw);
	free(state->page);
	free(state->gather.last_ns);
	free(state);
	recorder->state = NULL;
}

/* make_instance - make an instance, with the names of IPIs, which only the top directory has */
static int make_instance(struct tracefs *state, const struct recorder_plan *plan, char *text)
{
	int root, error = mount_open(&root, text);

	if (error)
		return error;
	error = instance_make(&state->instance, root, text);
	if (error)
		state->instance.name[0] = '\0';
	else
		error = set_up(state, plan, text);
	if (!error)
		formats_add_reasons(&state->gather.formats, root);
	close(root);
	return error;
}

static int start(struct recorder *recorder, const struct recorder_plan *plan, char *text)
{
	struct tracefs *state = calloc(1, sizeof(*state));
	bool *present = calloc(plan->cpu_limit, sizeof(*present));
	int error;

	*text = '\0';
	if (!state || !present) {
		free(state);
		free(present);
		return fail(text, ENOMEM, "no memory for the recorder");
	}
	recorder->engine = &recorder_tracefs;
	recorder->state = state;
	error = make_instance(state, plan, text);
	if (!error)
		error = read_online(present, plan->cpu_limit);
	if (!error)
		error = allocate(recorder, plan, present);
	if (!error)
		error = enable_all(recorder, plan, text);
	if (!error)
		error = open_raw(state, present);
	if (!error)
		error = small_file_write(state->instance.directory, "tracing_on", "1");
	if (error)
		free_all(recorder);
	free(present);
	if (error && !*text)
		fail(text, error, "tracing cannot be started: %s", strerror(error));
	return error;
}

/* ---------------------------------------------------------------- gather */

/* read_pages - read all that a CPU has recorded; false: there is more than in one call */
static bool read_pages(struct tracefs *state, uint16_t cpu)
{
	for (uint64_t i = 0; i < state->pages_at_once; i++) {
		ssize_t got =
		    read(state->raw[cpu], state->page, state->gather.formats.page.page_size);

		if (got <= 0)
			return true;
		gather_page(&state->gather, cpu, state->page, (size_t)got,
			    clock_ns() + CLOCK_SLACK_NS);
	}
	return false;
}

static void gather(struct recorder *recorder)
{
	struct tracefs *state = recorder->state;
	/* Whatever happened before now is in the buffers that are read from now on. */
	uint64_t until_ns = clock_ns();
	bool all = true;

	for (uint16_t i = 0; i < state->cpu_limit; i++)
		if (state->raw[i] >= 0)
			all &= read_pages(state, i);
	if (!all)
		return;
	if (state->gather.watch)
		watch_publish(state->gather.watch, recorder, until_ns);
	else
		stages_publish(&state->gather.stages, until_ns);
	recorder->gathered_ns = until_ns;
}

/* freeze - stop recording; the kernel's buffers are read to their end afterwards */
static void freeze(struct recorder *recorder)
{
	const struct tracefs *state = recorder->state;

	small_file_write(state->instance.directory, "tracing_on", "0");
}

/* cost - nothing: the kernel does not report how long an event took (see sample_cost.h) */
static void cost(struct recorder *recorder, struct recorder_cost *cost)
{
	*cost = (struct recorder_cost){0};
	for (uint16_t i = 0; i < recorder->cpu_limit; i++) {
		if (!recorder->cpus[i])
			continue;
		cost->runs += recorder->cpus[i]->events + recorder->cpus[i]->missed;
		cost->missed += recorder->cpus[i]->missed;
	}
}

static int pause_tracing(struct recorder *recorder, bool paused)
{
	const struct tracefs *state = recorder->state;

	return small_file_write(state->instance.directory, "tracing_on", paused ? "0" : "1");
}

static int detach(struct recorder *recorder, bool detached)
{
	const struct tracefs *state = recorder->state;

	return detach_events(recorder, state->instance.directory, detached);
}

const struct recorder_engine recorder_tracefs = {
    .name = "tracefs",
    .start = start,
    .gather = gather,
    .freeze = freeze,
    .cost = cost,
    .pause = pause_tracing,
    .detach = detach,
    .stop = free_all,
};
