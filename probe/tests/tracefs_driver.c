// SPDX-License-Identifier: MIT
/*
 * tracefs_driver SECONDS [RING_BYTES [PERIOD_US]] - record with the tracefs engine what one thread
 * on each CPU, SCHED_FIFO 90 and woken every millisecond or so, meets
 *
 * Prints "thread CPU PID", "source NAME ERROR" (0: attached) and "recording", and then as they
 * come "event TIME CPU SEQ KIND A B C D E F" (e and f in hexadecimal), "gap CPU EVENTS" for those
 * that were overwritten before they were read, and "stage CPU SWITCHED WAKING TIMER SUM...". At
 * the end "missed CPU EVENTS", "cost RUNS NS MISSED" and "gather CALLS CPU_NS WALL_NS". It exits
 * with 3 and "refused ERROR TEXT" where the engine does not start.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "event_lines.h"
#include "failure.h"
#include "guardian/guardian.h"
#include "recorder/engine.h"

#define MOST_CPUS 64
#define STEP_NS	  1000000u
#define LOOK_NS	  50000000u

static struct sleeper {
	pthread_t thread;
	uint16_t cpu;
	_Atomic uint32_t pid;
} sleepers[MOST_CPUS];

static struct recorder_thread measured[MOST_CPUS];
static size_t sleeper_count;
static uint64_t period_ns = 1000000;
static _Atomic bool ending;

/* What was printed of each CPU, and when it was first and last found to be too late. */
static uint64_t next_event[MOST_CPUS], next_stage[MOST_CPUS];

static void *sleep_often(void *argument)
{
	struct sleeper *sleeper = argument;
	uint64_t due_ns = clock_ns();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sleeper->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0 ||
	    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 90}) < 0)
		perror("SCHED_FIFO");
	atomic_store(&sleeper->pid, (uint32_t)gettid());
	while (!atomic_load(&ending))
		clock_sleep_until(due_ns += period_ns);
	return NULL;
}

static void start_sleepers(void)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	for (uint16_t cpu = 0; cpu < MOST_CPUS; cpu++) {
		struct sleeper *sleeper = &sleepers[sleeper_count];

		if (!CPU_ISSET(cpu, &set))
			continue;
		sleeper->cpu = cpu;
		pthread_create(&sleeper->thread, NULL, sleep_often, sleeper);
		while (!atomic_load(&sleeper->pid))
			clock_sleep_until(clock_ns() + STEP_NS);
		measured[sleeper_count++] =
		    (struct recorder_thread){.pid = atomic_load(&sleeper->pid), .cpu = cpu};
		printf("thread %u %u\n", cpu, atomic_load(&sleeper->pid));
	}
}

/* print_new - what came into the rings since the last look */
static void print_new(const struct recorder *recorder)
{
	for (uint16_t cpu = 0; cpu < recorder->cpu_limit; cpu++) {
		const struct recorder_cpu *state = recorder->cpus[cpu];

		if (!state)
			continue;
		if (state->events - next_event[cpu] > recorder->ring_size) {
			uint64_t first = state->events - recorder->ring_size;

			printf("gap %u %" PRIu64 "\n", cpu, first - next_event[cpu]);
			next_event[cpu] = first;
		}
		for (; next_event[cpu] < state->events; next_event[cpu]++)
			print_event(
			    cpu,
			    &recorder->events[cpu][next_event[cpu] & (recorder->ring_size - 1)]);
		for (; next_stage[cpu] < state->stages; next_stage[cpu]++)
			print_stage(cpu, &state->stage[next_stage[cpu] & (STAGES - 1)]);
	}
}

static uint64_t used_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void record(struct recorder *recorder, uint64_t seconds)
{
	uint64_t begun_ns = clock_ns(), cpu_ns = 0, calls = 0;
	struct recorder_cost cost;

	for (uint64_t at_ns = begun_ns; at_ns < begun_ns + seconds * NS_PER_S; calls++) {
		uint64_t before_ns;

		clock_sleep_until(at_ns += LOOK_NS);
		before_ns = used_ns();
		recorder->engine->gather(recorder);
		cpu_ns += used_ns() - before_ns;
		print_new(recorder);
	}
	recorder->engine->cost(recorder, &cost);
	for (uint16_t cpu = 0; cpu < recorder->cpu_limit; cpu++)
		if (recorder->cpus[cpu])
			printf("missed %u %" PRIu64 "\n", cpu,
			       (uint64_t)recorder->cpus[cpu]->missed);
	printf("cost %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", cost.runs, cost.run_ns, cost.missed);
	printf("gather %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", calls, cpu_ns,
	       clock_ns() - begun_ns);
}

int main(int argc, char **argv)
{
	struct recorder recorder = {0};
	struct recorder_plan plan = {.threads = measured, .ring_bytes = 4 << 20};
	struct guardian guardian;
	char text[FAILURE_TEXT];
	int error;

	if (argc < 2)
		return 2;
	if (argc > 2)
		plan.ring_bytes = strtoull(argv[2], NULL, 10);
	if (argc > 3)
		period_ns = strtoull(argv[3], NULL, 10) * 1000;
	if (guardian_open(&guardian) != 0 || guardian_tracing(&guardian, text) != 0)
		return 2;
	start_sleepers();
	plan.thread_count = sleeper_count;
	plan.cpu_limit = (uint16_t)sysconf(_SC_NPROCESSORS_CONF);
	error = recorder_tracefs.start(&recorder, &plan, text);
	if (error) {
		printf("refused %d %s\n", error, text);
		return 3;
	}
	for (size_t i = 0; i < recorder.source_count; i++)
		printf("source %s %d\n", recorder.sources[i].name, recorder.sources[i].error);
	printf("recording\n");
	fflush(stdout);
	record(&recorder, strtoull(argv[1], NULL, 10));
	recorder.engine->stop(&recorder);
	atomic_store(&ending, true);
	for (size_t i = 0; i < sleeper_count; i++)
		pthread_join(sleepers[i].thread, NULL);
	return 0;
}
