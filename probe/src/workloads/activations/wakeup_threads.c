// SPDX-License-Identifier: MIT
#include "wakeup_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "recorder/threshold.h"
#include "thread.h"

/* How long a ring lasts while the sending thread gets no CPU time. */
#define RING_NS	 (10u * (uint64_t)NS_PER_S)
#define RING_MIN 1024u
#define RING_MAX (1u << 19)
/* From the go to the first deadline: long enough for every thread to be asleep by then. */
#define HEAD_START_NS (20 * NS_PER_MS)
/* A stop takes effect this much later: see wakeup_threads_stop(). */
#define STOP_AHEAD_NS (50 * NS_PER_MS)

/*
 * came_due - count the activations after that of due_ns that came due before now_ns
 *
 * Strictly before: one that is due at now_ns is slept for, and seen. Those due at end_ns or later
 * are not expected, and so no overruns.
 */
static uint64_t came_due(uint64_t due_ns, uint64_t now_ns, uint64_t end_ns, uint64_t interval_ns)
{
	uint64_t before = now_ns < end_ns ? now_ns : end_ns;
	uint64_t count = before > due_ns ? (before - due_ns - 1) / interval_ns : 0;

	/* The rest of a stall of days counts as another stall. */
	return count < UINT32_MAX ? count : UINT32_MAX;
}

/* measure - the measuring loop: it sleeps, reads the clock and stores to locked memory, and calls
 * too_late() once where that ends the workload */
static void measure(struct wakeup_cpu *cpu)
{
	uint64_t due_ns = cpu->start_ns;
	uint64_t index = 0;

	while (due_ns < atomic_load_explicit(cpu->end_ns, memory_order_relaxed)) {
		uint64_t now_ns, end_ns, overruns;

		clock_sleep_until(due_ns);
		now_ns = clock_ns();
		end_ns = atomic_load_explicit(cpu->end_ns, memory_order_relaxed);
		if (due_ns >= end_ns)
			break; /* the end was moved while this thread slept */

		if (cpu->stop_above_ns && (int64_t)(now_ns - due_ns) > (int64_t)cpu->stop_above_ns)
			cpu->too_late(cpu->too_late_context, cpu, index);
		if (cpu->want)
			threshold_want(cpu->want, cpu->late, cpu->cpu, index, due_ns,
				       (int64_t)(now_ns - due_ns));
		overruns = came_due(due_ns, now_ns, end_ns, cpu->interval_ns);
		if (ring_put(&cpu->ring,
			     (struct activation){.index = index,
						 .latency_ns = (int64_t)(now_ns - due_ns),
						 .overruns = (uint32_t)overruns})) {
			cpu->count.seen++;
			cpu->count.overrun += overruns;
		} else {
			cpu->count.dropped += 1 + overruns;
		}
		index += 1 + overruns;
		due_ns += (1 + overruns) * cpu->interval_ns;
		atomic_store_explicit(&cpu->next, index, memory_order_release);
	}
}

/* is_bound_to - whether this thread may run on that CPU alone: an offline CPU lets its threads go
 */
static bool is_bound_to(uint16_t cpu)
{
	uint16_t cpus[2];
	size_t count = thread_cpus(cpus, 2);

	return count == 0 || (count == 1 && cpus[0] == cpu);
}

/* How the thread that starts and stops the measuring threads was scheduled. */
struct scheduling {
	int policy;
	struct sched_param param;
};

/* set_priority - set SCHED_FIFO, so that no load preempts this thread; returns what was before */
static struct scheduling set_priority(int priority)
{
	struct sched_param param = {.sched_priority = priority};
	struct scheduling before = {.policy = sched_getscheduler(0)};

	sched_getparam(0, &before.param);
	/* Where it is refused, the measuring threads have no real-time priority either. The flag
	 * stays: not everybody who may set it may clear it. */
	sched_setscheduler(0, SCHED_FIFO | (before.policy & SCHED_RESET_ON_FORK), &param);
	return before;
}

static void restore_priority(const struct scheduling *before)
{
	sched_setscheduler(0, before->policy, &before->param);
}

static void *thread_main(void *argument)
{
	struct wakeup_cpu *cpu = argument;
	struct sched_param param = {.sched_priority = cpu->asked_priority};

	/* Where the priority is refused, the run continues and reports the actual one. */
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	pthread_getschedparam(pthread_self(), &cpu->policy, &param);
	cpu->priority = param.sched_priority;
	cpu->tid = (uint32_t)gettid();

	sem_post(cpu->ready);
	while (sem_wait(cpu->go) == -1)
		;
	/* A thread that is let go too late would measure its own start. */
	cpu->began_late = atomic_load(cpu->end_ns) && clock_ns() >= cpu->start_ns;
	measure(cpu);
	cpu->was_moved = !is_bound_to(cpu->cpu);
	atomic_store_explicit(&cpu->ended, true, memory_order_release);
	return NULL;
}

/* ring_slots - choose a power of two that lasts RING_NS, or the whole run where that is less */
static uint64_t ring_slots(const struct wakeup_plan *plan)
{
	uint64_t lasting = RING_NS < plan->duration_ns ? RING_NS : plan->duration_ns;
	uint64_t wanted = lasting / plan->interval_ns + 1;
	uint64_t slots = RING_MIN;

	while (slots < wanted && slots < RING_MAX)
		slots *= 2;
	return slots;
}

/* hold_idle - keep CPUs out of idle states that take long to leave, until the fd is closed */
static void hold_idle(struct wakeup_threads *threads)
{
	int32_t microseconds = 0;

	threads->idle_fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	if (threads->idle_fd < 0) {
		threads->idle_error = errno;
		return;
	}
	if (write(threads->idle_fd, &microseconds, sizeof(microseconds)) < 0) {
		threads->idle_error = errno;
		close(threads->idle_fd);
		threads->idle_fd = -1;
	}
}

static int prepare_cpu(struct wakeup_threads *threads, size_t i, uint16_t number)
{
	struct wakeup_cpu *cpu = &threads->cpus[i];

	cpu->cpu = number;
	cpu->interval_ns = threads->plan.interval_ns;
	cpu->end_ns = &threads->end_ns;
	cpu->ready = &threads->ready;
	cpu->go = &threads->go;
	cpu->asked_priority = threads->plan.priority;
	cpu->ring.size = ring_slots(&threads->plan);
	cpu->ring.slots = malloc(cpu->ring.size * sizeof(*cpu->ring.slots));
	if (!cpu->ring.slots)
		return ENOMEM;
	/* Touch every page now: no page may fault after the first deadline. */
	memset(cpu->ring.slots, 0xA5, cpu->ring.size * sizeof(*cpu->ring.slots));
	return 0;
}

int wakeup_threads_start(struct wakeup_threads *threads, const struct wakeup_plan *plan,
			 const uint16_t *cpus, size_t count, const char **step)
{
	int error = ENOMEM;

	memset(threads, 0, sizeof(*threads));
	threads->plan = *plan;
	threads->idle_fd = -1;
	sem_init(&threads->ready, 0, 0);
	sem_init(&threads->go, 0, 0);

	*step = "make room for the samples";
	threads->cpus = aligned_alloc(_Alignof(struct wakeup_cpu), count * sizeof(*threads->cpus));
	if (!threads->cpus)
		goto failed;
	memset(threads->cpus, 0, count * sizeof(*threads->cpus));
	threads->count = count;
	for (size_t i = 0; i < count; i++) {
		error = prepare_cpu(threads, i, cpus[i]);
		if (error)
			goto failed;
	}
	threads->memory_locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
	if (plan->hold_idle)
		hold_idle(threads);

	*step = "start a thread on the CPU";
	for (; threads->started < count; threads->started++) {
		struct wakeup_cpu *cpu = &threads->cpus[threads->started];

		error = thread_start(&cpu->thread, cpu->cpu, thread_main, cpu);
		if (error)
			goto failed;
	}
	for (size_t i = 0; i < count; i++)
		while (sem_wait(&threads->ready) == -1)
			;
	return 0;

failed:
	/* end_ns is still 0: threads that wait for the go end at once. */
	for (size_t i = 0; i < threads->started; i++)
		sem_post(&threads->go);
	for (size_t i = 0; i < threads->started; i++)
		pthread_join(threads->cpus[i].thread, NULL);
	threads->started = 0;
	wakeup_threads_free(threads);
	return error;
}

void wakeup_threads_go(struct wakeup_threads *threads)
{
	const struct wakeup_plan *plan = &threads->plan;
	struct scheduling before = set_priority(plan->priority);
	uint64_t first_ns;

	first_ns = clock_ns() + HEAD_START_NS + plan->phase_ns;
	for (size_t i = 0; i < threads->count; i++)
		threads->cpus[i].start_ns = first_ns + i * plan->interval_ns / threads->count;
	/* After every first deadline: no thread ends before it began. */
	atomic_store(&threads->end_ns, first_ns + plan->duration_ns);
	for (size_t i = 0; i < threads->count; i++)
		sem_post(&threads->go);
	restore_priority(&before);
}

void wakeup_threads_stop(struct wakeup_threads *threads)
{
	struct scheduling before = set_priority(threads->plan.priority);
	uint64_t stop_ns;

	/* Later than any clock reading of a thread that does not see the new end yet: no overrun
	 * that is already counted lies beyond it. */
	stop_ns = clock_ns() + STOP_AHEAD_NS;
	if (stop_ns < atomic_load(&threads->end_ns))
		atomic_store(&threads->end_ns, stop_ns);
	restore_priority(&before);
}

bool wakeup_threads_ended(struct wakeup_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		if (!atomic_load_explicit(&threads->cpus[i].ended, memory_order_acquire))
			return false;
	for (size_t i = 0; i < threads->started; i++)
		pthread_join(threads->cpus[i].thread, NULL);
	threads->started = 0;
	return true;
}

void wakeup_threads_free(struct wakeup_threads *threads)
{
	if (threads->idle_fd >= 0)
		close(threads->idle_fd);
	threads->idle_fd = -1;
	for (size_t i = 0; i < threads->count && threads->cpus; i++)
		free(threads->cpus[i].ring.slots);
	free(threads->cpus);
	threads->cpus = NULL;
	threads->count = 0;
	munlockall();
	sem_destroy(&threads->ready);
	sem_destroy(&threads->go);
}
