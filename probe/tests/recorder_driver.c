// SPDX-License-Identifier: MIT
/*
 * recorder_driver ENGINE SECONDS [stack=NS] [ring=BYTES] [want=N] [cost] [quiet] - run an engine
 *
 * On each CPU a SCHED_FIFO thread sleeps to absolute deadlines 1 ms apart. After SECONDS the rings
 * are printed, one line for each thing:
 *
 *	cpu CPU pid PID events N stages N missed N ring N
 *	source NAME ERRNO
 *	event CPU TIME_NS SEQ KIND A B C D E F		(not with quiet)
 *	stage CPU SWITCHED_NS WAKING_NS TIMER_NS SUMS...
 *	left CPU LEFT_NS SUMS...
 *	maximum CPU PLACE DEVICE ARRIVALS LONGEST_NS AT_NS TOTAL_OF_4_NS TOTAL_OF_16_NS SPANS...
 *	fault CPU TEXT					(what should not be in a ring)
 *	window CPU DUE_NS RUN_NS OBSERVED_NS EVENTS	(with want, of those that were held)
 *	held CPU HOLDS NOT_HELD				(with want)
 *	program NAME RUNS NS VERIFIED			(with cost)
 *	cost RUNS NS MISSED
 *
 * With want each thread wants every Nth of its activations held, and nobody releases them until
 * half of the time is over. "ready" is printed when the recorder runs. Exits with 1 and
 * the reason where it cannot.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "event_lines.h"
#include "failure.h"
#include "recorder/window.h"

#define CPUS	    256
#define INTERVAL_NS 1000000u
#define PRIORITY    90
#define WANTED	    4096
#define ORDER_NS    100000000u /* interrupts, and a hypervisor that stops the CPU in one */

struct sleeper {
	pthread_t thread;
	uint16_t cpu;
	_Atomic uint32_t pid;
	_Atomic bool *stop;
	struct recorder_want *_Atomic want;
	uint64_t every;
	/* Of those that it wanted held. */
	struct {
		uint64_t due_ns;
		uint64_t run_ns;
	} wanted[WANTED];
	_Atomic size_t wanted_count;
};

/* set_priority - of this thread: threads without one do not keep it waiting; 0 for none */
static void set_priority(int priority)
{
	struct sched_param parameter = {.sched_priority = priority};

	if (sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &parameter))
		perror("recorder_driver: SCHED_FIFO");
}

static void *sleeper_main(void *argument)
{
	struct sleeper *sleeper = argument;
	uint64_t due, count = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sleeper->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return NULL;
	set_priority(PRIORITY);
	sleeper->pid = (uint32_t)syscall(SYS_gettid);
	for (due = clock_ns() + INTERVAL_NS; !*sleeper->stop; due += INTERVAL_NS) {
		struct timespec until = clock_timespec(due);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		if (sleeper->want && ++count % sleeper->every == 0 &&
		    sleeper->wanted_count < WANTED) {
			sleeper->wanted[sleeper->wanted_count].due_ns = due;
			sleeper->wanted[sleeper->wanted_count++].run_ns = clock_ns();
			sleeper->want->due_ns = due;
		}
	}
	return NULL;
}

/* What was in the ring of one CPU at one time; it goes on to be written to. */
struct snapshot {
	struct recorder_cpu *cpu;
	struct recorder_event *events;
	uint64_t first; /* what is before it may have been overwritten meanwhile */
};

/* copy_ring - copy a ring; what was overwritten meanwhile does not count */
static bool copy_ring(const struct recorder *recorder, uint16_t cpu, struct snapshot *snapshot)
{
	size_t bytes = recorder->ring_size * sizeof(struct recorder_event);
	uint64_t after;

	snapshot->cpu = malloc(sizeof(*snapshot->cpu));
	snapshot->events = malloc(bytes);
	if (!snapshot->cpu || !snapshot->events)
		return false;
	memcpy(snapshot->cpu, recorder->cpus[cpu], sizeof(*snapshot->cpu));
	atomic_thread_fence(memory_order_seq_cst);
	memcpy(snapshot->events, recorder->events[cpu], bytes);
	atomic_thread_fence(memory_order_seq_cst);
	/* Of all those events and later ones: memcpy copies a structure in any order. */
	memcpy(snapshot->cpu->maximum, recorder->cpus[cpu]->maximum,
	       sizeof(snapshot->cpu->maximum));
	after = *(volatile __u64 *)&recorder->cpus[cpu]->events / CHUNK_EVENTS + 1;
	snapshot->first = after * CHUNK_EVENTS > recorder->ring_size
			      ? after * CHUNK_EVENTS - recorder->ring_size
			      : 0;
	return true;
}

static void print_events(const struct snapshot *snapshot, uint64_t ring, uint16_t cpu, bool quiet)
{
	struct recorder_cpu *cpus[] = {snapshot->cpu};
	struct recorder_event *rings[] = {snapshot->events}, event;
	struct recorder copy = {.cpus = cpus, .events = rings, .ring_size = ring};
	uint64_t before_ns = 0;
	struct chunks chunks;

	chunks_look(&chunks, &copy, 0);
	for (uint64_t number = snapshot->first; number < chunks.end; number++) {
		if (!chunks_copy(&chunks, number, &event)) {
			printf("fault %u nothing at %" PRIu64 "\n", cpu, number);
			continue;
		}
		/* A program that is interrupted has read the clock before what interrupts it. */
		if (event.time_ns + ORDER_NS < before_ns)
			printf("fault %u time %llu after %" PRIu64 "\n", cpu,
			       (unsigned long long)event.time_ns, before_ns);
		before_ns = event.time_ns;
		if (!quiet)
			printf("event %u %llu %u %u %u %u %u %u %llu %llu\n", cpu,
			       (unsigned long long)event.time_ns, event.seq, event.kind, event.a,
			       event.b, event.c, event.d, (unsigned long long)event.e,
			       (unsigned long long)event.f);
	}
}

/* print_windows - those that were held of one thread, whatever was recorded since */
static void print_windows(const struct recorder *recorder, const struct sleeper *sleeper)
{
	const struct recorder_cpu *cpu = recorder->cpus[sleeper->cpu];
	static struct window window;

	for (size_t i = 0; i < sleeper->wanted_count; i++) {
		window.due_ns = sleeper->wanted[i].due_ns;
		window.run_ns = sleeper->wanted[i].run_ns;
		window_copy(&window, recorder, sleeper->cpu);
		printf("window %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %zu\n", sleeper->cpu,
		       window.due_ns, window.run_ns, window.observed_ns, window.count);
	}
	printf("held %u %llu %llu\n", sleeper->cpu, (unsigned long long)cpu->holds,
	       (unsigned long long)cpu->not_held);
}

/* release_all - half-time: what was held until now is not wanted any more */
static void release_all(const struct recorder *recorder, struct sleeper *sleepers)
{
	for (uint16_t i = 0; i < recorder->cpu_limit; i++) {
		if (!recorder->cpus[i])
			continue;
		sleepers[i].wanted_count = 0;
		chunks_release(recorder->cpus[i], recorder->cpus[i]->holds, UINT64_MAX);
	}
}

static void want_some(const struct recorder *recorder, struct sleeper *sleepers, uint64_t every)
{
	for (uint16_t i = 0; i < recorder->cpu_limit && every; i++) {
		sleepers[i].every = every;
		if (recorder->cpus[i])
			sleepers[i].want = &recorder->cpus[i]->want;
	}
}

static void want_no_more(struct sleeper *sleepers)
{
	for (size_t i = 0; i < CPUS; i++)
		sleepers[i].want = NULL;
	/* Whoever had begun to is done. */
	usleep(100 * INTERVAL_NS / 1000);
}

static void print_stages(const struct recorder_cpu *cpu, uint16_t number)
{
	uint64_t first = cpu->stages > STAGES ? cpu->stages - STAGES : 0;

	for (uint64_t i = first; i < cpu->stages; i++)
		print_stage(number, &cpu->stage[i % STAGES]);
	print_left(number, cpu);
}

static void print_maxima(const struct recorder_cpu *cpu, uint16_t number)
{
	for (unsigned i = 0; i < MAXIMA_MOST; i++) {
		const struct recorder_maximum *maximum = &cpu->maximum[i];

		if (!maximum->arrivals)
			continue;
		printf("maximum %u %u %llu %llu %llu %llu", number, i,
		       (unsigned long long)maximum->device, (unsigned long long)maximum->arrivals,
		       (unsigned long long)maximum->longest_ns,
		       (unsigned long long)maximum->longest_at_ns);
		for (unsigned j = 0; j < MAXIMUM_TOTALS; j++)
			printf(" %llu", (unsigned long long)maximum->longest_total_ns[j]);
		for (unsigned j = 0; j < MAXIMUM_SPANS; j++)
			printf(" %llu", (unsigned long long)maximum->span_ns[j]);
		printf("\n");
	}
}

static void print_cpu(const struct snapshot *snapshot, uint64_t ring, uint16_t number,
		      const struct sleeper *sleeper, bool quiet)
{
	const struct recorder_cpu *cpu = snapshot->cpu;

	printf("cpu %u pid %u events %llu stages %llu missed %llu ring %" PRIu64 "\n", number,
	       sleeper->pid, (unsigned long long)cpu->events, (unsigned long long)cpu->stages,
	       (unsigned long long)cpu->missed, ring);
	print_stages(cpu, number);
	print_maxima(cpu, number);
	print_events(snapshot, ring, number, quiet);
}

/* print_programs - what the kernel counted for each BPF program of a recorder */
static void print_programs(void)
{
	union bpf_attr attr;
	uint32_t id = 0;

	for (;;) {
		struct bpf_prog_info info;
		int fd;

		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
		if (syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof(attr)))
			return;
		id = attr.next_id;
		memset(&attr, 0, sizeof(attr));
		attr.prog_id = id;
		fd = (int)syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		memset(&attr, 0, sizeof(attr));
		attr.info.bpf_fd = (uint32_t)fd;
		attr.info.info_len = sizeof(info);
		attr.info.info = (uintptr_t)&info;
		if (!syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) &&
		    !strncmp(info.name, "wl_", 3))
			printf("program %s %llu %llu %u\n", info.name,
			       (unsigned long long)info.run_cnt,
			       (unsigned long long)info.run_time_ns, info.verified_insns);
		close(fd);
	}
}

static int run(const struct recorder_engine *engine, struct recorder_plan *plan,
	       struct sleeper *sleepers, double seconds, uint64_t every, bool quiet)
{
	static struct snapshot snapshots[CPUS];
	struct recorder recorder;
	struct recorder_cost cost;
	char text[FAILURE_TEXT];
	uint64_t began = clock_ns();
	int error = engine->start(&recorder, plan, text);

	if (error) {
		fprintf(stderr, "recorder_driver: %s: %s (errno %d)\n", engine->name, text, error);
		return 1;
	}
	fprintf(stderr, "started in %.1f ms\n", (double)(clock_ns() - began) / 1e6);
	printf("ready\n");
	fflush(stdout);
	want_some(&recorder, sleepers, every);
	/* A ring is overwritten while its copy waits for a CPU. */
	set_priority(PRIORITY - 1);
	usleep((useconds_t)(seconds * 0.5e6));
	release_all(&recorder, sleepers);
	usleep((useconds_t)(seconds * 0.5e6));
	engine->gather(&recorder);
	engine->cost(&recorder, &cost);
	for (uint16_t i = 0; i < recorder.cpu_limit; i++)
		if (recorder.cpus[i] && !copy_ring(&recorder, i, &snapshots[i]))
			return 1;
	set_priority(0);
	if (plan->measure_cost)
		print_programs();
	for (size_t i = 0; i < recorder.source_count; i++)
		printf("source %s %d\n", recorder.sources[i].name, recorder.sources[i].error);
	for (uint16_t i = 0; i < recorder.cpu_limit; i++)
		if (snapshots[i].cpu)
			print_cpu(&snapshots[i], recorder.ring_size, i, &sleepers[i], quiet);
	want_no_more(sleepers);
	for (uint16_t i = 0; i < recorder.cpu_limit && every; i++)
		if (recorder.cpus[i])
			print_windows(&recorder, &sleepers[i]);
	printf("cost %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", cost.runs, cost.run_ns, cost.missed);
	engine->stop(&recorder);
	return 0;
}

int main(int argc, char **argv)
{
	static struct sleeper sleepers[CPUS];
	static struct recorder_thread threads[CPUS];
	struct recorder_plan plan = {.threads = threads, .ring_bytes = 1u << 20};
	const struct recorder_engine *engine = &recorder_bpf;
	_Atomic bool stop = false;
	uint64_t every = 0;
	bool quiet = false;
	cpu_set_t set;
	int status;

	if (argc < 3 || strcmp(argv[1], engine->name) != 0 ||
	    sched_getaffinity(0, sizeof(set), &set)) {
		fprintf(stderr, "usage: recorder_driver ENGINE SECONDS [stack=NS] [ring=BYTES] "
				"[want=N] [cost] [quiet]\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		if (!strncmp(argv[i], "stack=", 6))
			plan.stack_after_ns = strtoull(argv[i] + 6, NULL, 10);
		else if (!strncmp(argv[i], "ring=", 5))
			plan.ring_bytes = strtoull(argv[i] + 5, NULL, 10);
		else if (!strncmp(argv[i], "want=", 5))
			every = strtoull(argv[i] + 5, NULL, 10);
		else if (!strcmp(argv[i], "cost"))
			plan.measure_cost = true;
		else if (!strcmp(argv[i], "quiet"))
			quiet = true;
	}
	for (uint16_t i = 0; i < CPUS; i++) {
		if (!CPU_ISSET(i, &set))
			continue;
		sleepers[i] = (struct sleeper){.cpu = i, .stop = &stop};
		if (pthread_create(&sleepers[i].thread, NULL, sleeper_main, &sleepers[i]))
			return 1;
		while (!sleepers[i].pid)
			usleep(1000);
		threads[plan.thread_count++] = (struct recorder_thread){sleepers[i].pid, i};
		plan.cpu_limit = (uint16_t)(i + 1);
	}
	status = run(engine, &plan, sleepers, strtod(argv[2], NULL), every, quiet);
	stop = true;
	for (size_t i = 0; i < plan.thread_count; i++)
		pthread_join(sleepers[threads[i].cpu].thread, NULL);
	return status;
}
