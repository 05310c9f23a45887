// SPDX-License-Identifier: MIT
#include "watch.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/origin.h"

#define WOKEN	 8192u /* threads that were woken and did not run yet; a power of two */
#define WAYS	 8u    /* places where one of them, or a timer, is looked for */
#define TIMERS	 8192u /* timers that were started; a power of two */
#define THREADS	 4096u /* of one process */
#define SOFTIRQS 16u
/* A timer of another clock expires at a time that is farther away. */
#define LATEST_NS 10000000000

struct woken {
	uint32_t pid; /* 0: nobody */
	uint16_t cpu;
	uint16_t origin;
	uint32_t waker;
	uint64_t waking_ns;
	uint64_t due_ns;
	uint64_t timer_ns;
};

/* A thread that left the CPU to wait. */
struct left {
	uint32_t pid; /* 0: nobody */
	uint8_t state;
	uint64_t left_ns;
};

struct timer {
	uint64_t address; /* 0: none */
	uint64_t started_ns;
	uint64_t expires_ns;
};

struct watch_cpu {
	uint64_t next; /* number of the event to look at */
	uint32_t interrupts;
	uint64_t interrupt_ns;	 /* when the outermost was entered */
	uint32_t softirq_thread; /* 1 + pid of the thread that is in one; 0: none */
	bool in_softirq;
	uint64_t softirq_ns;
	uint64_t raised_ns[SOFTIRQS];
	uint64_t expired_ns; /* when the timer was due whose function runs; 0: none does */
	uint32_t expired_in;
	uint32_t current;
	/* Since the start. */
	uint64_t to_idle;
	uint64_t from_idle;
};

/* Of a kernel that traces idle CPUs, switches to idle and from idle differ by less. */
#define IDLE_LEAST     20u
#define IDLE_TOLERANCE 50u

struct watch {
	struct recorder_watch wanted;
	struct watch_cpu *cpus;
	uint16_t cpu_limit;
	bool lost;
	uint32_t threads[THREADS];
	size_t thread_count;
	struct woken woken[WOKEN];
	struct left left[WOKEN];
	struct timer timers[TIMERS];
};

struct watch *watch_open(const struct recorder_watch *wanted, uint16_t cpu_limit)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->wanted = *wanted;
	watch->cpu_limit = cpu_limit;
	watch->cpus = calloc(cpu_limit, sizeof(*watch->cpus));
	if (!watch->cpus) {
		free(watch);
		return NULL;
	}
	return watch;
}

void watch_close(struct watch *watch)
{
	if (!watch)
		return;
	free(watch->cpus);
	free(watch);
}

void watch_lost(struct watch *watch)
{
	watch->lost = true;
}

/* forget - drop all open state and wakings, but not the position in the rings */
static void forget(struct watch *watch)
{
	memset(watch->woken, 0, sizeof(watch->woken));
	memset(watch->left, 0, sizeof(watch->left));
	memset(watch->timers, 0, sizeof(watch->timers));
	for (uint16_t i = 0; i < watch->cpu_limit; i++)
		watch->cpus[i] = (struct watch_cpu){.next = watch->cpus[i].next,
						    .to_idle = watch->cpus[i].to_idle,
						    .from_idle = watch->cpus[i].from_idle};
}

/* ---------------------------------------------------------------- who is watched */

/* read_threads - read the threads that the process has now; a process that is gone keeps those it
 * had */
static void read_threads(struct watch *watch)
{
	char path[64];
	struct dirent *entry;
	size_t count = 0;
	DIR *tasks;

	if (!watch->wanted.pid)
		return;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", watch->wanted.pid);
	tasks = opendir(path);
	if (!tasks)
		return;
	while (count < THREADS && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			watch->threads[count++] = (uint32_t)strtoul(entry->d_name, NULL, 10);
	closedir(tasks);
	watch->thread_count = count;
}

/* is_watched - whether the thread that is switched to is watched */
static bool is_watched(const struct watch *watch, const struct recorder_event *event)
{
	char comm[16];

	if (!watch->wanted.pid) {
		memcpy(comm, &event->e, sizeof(event->e));
		memcpy(comm + sizeof(event->e), &event->f, sizeof(event->f));
		return !strncmp(comm, watch->wanted.comm, sizeof(comm));
	}
	for (size_t i = 0; i < watch->thread_count; i++)
		if (watch->threads[i] == event->d)
			return true;
	return false;
}

/* ---------------------------------------------------------------- who was woken */

/* find_woken - return the entry of a thread, or NULL */
static struct woken *find_woken(struct watch *watch, uint32_t pid)
{
	for (uint32_t i = 0; i < WAYS; i++)
		if (watch->woken[(pid + i) % WOKEN].pid == pid)
			return &watch->woken[(pid + i) % WOKEN];
	return NULL;
}

/* keep_woken - store a waking in its entry, in an empty one, or in place of the oldest */
static void keep_woken(struct watch *watch, struct woken woken)
{
	struct woken *place = find_woken(watch, woken.pid), *other;

	/* An empty entry is the oldest. */
	for (uint32_t i = 0; i < WAYS && (!place || place->pid != woken.pid); i++) {
		other = &watch->woken[(woken.pid + i) % WOKEN];
		if (!place || other->waking_ns < place->waking_ns)
			place = other;
	}
	*place = woken;
}

static void waking(struct watch *watch, uint16_t number, const struct recorder_event *event)
{
	const struct watch_cpu *cpu = &watch->cpus[number];
	struct recorder_waker at = {
	    .expired_ns = cpu->expired_ns,
	    .expired_in = cpu->expired_in,
	    .interrupts = cpu->interrupts,
	    .interrupt_ns = cpu->interrupt_ns,
	    .softirq_ns = cpu->in_softirq ? cpu->softirq_ns : 0,
	};
	struct recorder_due due = recorder_origin(at, event->time_ns);
	struct woken woken = {
	    .pid = event->c,
	    .cpu = number,
	    .origin = (uint16_t)due.origin,
	    .waker = due.origin == ORIGIN_THREAD ? cpu->current : 0,
	    .waking_ns = event->time_ns,
	    .due_ns = due.due_ns,
	    .timer_ns = due.timer_ns,
	};

	keep_woken(watch, woken);
}

/* ---------------------------------------------------------------- who waits */

/* keep_left - store when a thread left the CPU in its entry, or in place of the oldest */
static void keep_left(struct watch *watch, struct left left)
{
	struct left *place = &watch->left[left.pid % WOKEN], *other;

	for (uint32_t i = 1; i < WAYS && place->pid != left.pid; i++) {
		other = &watch->left[(left.pid + i) % WOKEN];
		if (other->pid == left.pid || other->left_ns < place->left_ns)
			place = other;
	}
	*place = left;
}

/* put_wait - add to a stage how long its thread was off the CPU before it was due. These events
 * do not show in which system call. */
static void put_wait(struct watch *watch, struct recorder_stage *stage)
{
	for (uint32_t i = 0; i < WAYS; i++) {
		struct left *left = &watch->left[(stage->pid + i) % WOKEN];

		if (left->pid != stage->pid)
			continue;
		/* One that is due on its way off the CPU has not waited. */
		stage->waited_ns = 1;
		if (stage->due_ns > left->left_ns)
			stage->waited_ns += stage->due_ns - left->left_ns;
		stage->wait_state = left->state;
		*left = (struct left){0};
		return;
	}
}

/* ---------------------------------------------------------------- events */

/* timer_slot - return one of the slots where a timer is looked for */
static struct timer *timer_slot(struct watch *watch, uint64_t address, uint32_t way)
{
	return &watch->timers[((address * 0x9E3779B97F4A7C15u >> 40) + way) % TIMERS];
}

/* timer_starts - store a timer in its own slot, or in that of the one that was started first: an
 * empty one was at no time */
static void timer_starts(struct watch *watch, const struct recorder_event *event)
{
	struct timer *place = timer_slot(watch, event->f, 0), *other;

	for (uint32_t i = 1; i < WAYS && place->address != event->f; i++) {
		other = timer_slot(watch, event->f, i);
		if (other->address == event->f || other->started_ns < place->started_ns)
			place = other;
	}
	*place = (struct timer){event->f, event->time_ns, event->e};
}

/* timer_expires - note that a timer was due when it was started for. Where its start was not seen
 * the due time is unknown, and the thread that it wakes counts as woken by an interrupt. */
static void timer_expires(struct watch *watch, struct watch_cpu *cpu,
			  const struct recorder_event *event)
{
	cpu->expired_in = cpu->interrupts;
	cpu->expired_ns = 0;
	for (uint32_t i = 0; i < WAYS; i++) {
		struct timer *timer = timer_slot(watch, event->f, i);

		if (timer->address != event->f)
			continue;
		if (timer->expires_ns <= event->time_ns &&
		    event->time_ns - timer->expires_ns < LATEST_NS)
			cpu->expired_ns = timer->expires_ns;
		/* A periodic timer is started again. */
		*timer = (struct timer){0};
	}
}

static void switch_threads(struct watch *watch, struct recorder *recorder, uint16_t number,
			   const struct recorder_event *event)
{
	struct watch_cpu *cpu = &watch->cpus[number];
	struct recorder_cpu *out = recorder->cpus[number];
	struct recorder_stage *stage = &out->stage[out->stages % STAGES];
	struct woken *woken;

	cpu->to_idle += !event->d;
	cpu->from_idle += !event->c;
	cpu->interrupts = 0;
	cpu->expired_ns = 0;
	cpu->in_softirq = cpu->softirq_thread == 1 + event->d;
	cpu->current = event->d;
	/* Preempted: it was woken before it could sleep, which does not belong to its next run. */
	woken = event->a == SWITCH_PREEMPTED ? find_woken(watch, event->c) : NULL;
	if (woken)
		*woken = (struct woken){0};
	if (event->a != SWITCH_PREEMPTED && event->c)
		keep_left(watch, (struct left){event->c, event->a, event->time_ns});
	woken = event->d ? find_woken(watch, event->d) : NULL;
	if (!woken)
		return;
	if (is_watched(watch, event)) {
		*stage = (struct recorder_stage){
		    .switched_ns = event->time_ns,
		    .waking_ns = woken->waking_ns,
		    .timer_ns = woken->timer_ns,
		    .waking_cpu = woken->cpu,
		    .due_ns = woken->due_ns,
		    .pid = event->d,
		    .prio = event->b >> 8,
		    .origin = woken->origin,
		    .waker = woken->waker,
		};
		put_wait(watch, stage);
		__atomic_store_n(&out->stages, out->stages + 1, __ATOMIC_RELEASE);
	}
	*woken = (struct woken){0};
}

static void follow_event(struct watch *watch, struct recorder *recorder, uint16_t number,
			 const struct recorder_event *event)
{
	struct watch_cpu *cpu = &watch->cpus[number];
	uint64_t *raised_ns = &cpu->raised_ns[event->a % SOFTIRQS];

	switch (event->kind) {
	case EVENT_IRQ_ENTRY:
	case EVENT_VECTOR_ENTRY:
		if (!cpu->interrupts++)
			cpu->interrupt_ns = event->time_ns;
		break;
	case EVENT_IRQ_EXIT:
	case EVENT_VECTOR_EXIT:
		cpu->interrupts -= cpu->interrupts > 0;
		break;
	case EVENT_SOFTIRQ_RAISE:
		*raised_ns = *raised_ns ? *raised_ns : event->time_ns;
		break;
	case EVENT_SOFTIRQ_ENTRY:
		cpu->softirq_ns = *raised_ns ? *raised_ns : event->time_ns;
		*raised_ns = 0;
		cpu->in_softirq = true;
		cpu->softirq_thread = 1 + cpu->current;
		break;
	case EVENT_SOFTIRQ_EXIT:
		cpu->in_softirq = false;
		cpu->softirq_thread = 0;
		break;
	case EVENT_TIMER_START:
		timer_starts(watch, event);
		break;
	case EVENT_TIMER_ENTRY:
		timer_expires(watch, cpu, event);
		break;
	case EVENT_TIMER_EXIT:
		cpu->expired_ns = 0;
		break;
	case EVENT_WAKING:
		waking(watch, number, event);
		break;
	case EVENT_SWITCH:
		switch_threads(watch, recorder, number, event);
		break;
	default:
		break;
	}
}

/* ---------------------------------------------------------------- all CPUs, in order */

/* next_event - return the next event of a CPU that was not looked at, until that time; NULL: there
 * is none
 */
static const struct recorder_event *next_event(struct watch *watch, const struct recorder *recorder,
					       uint16_t number, uint64_t until_ns)
{
	struct watch_cpu *cpu = &watch->cpus[number];
	const struct recorder_event *event;
	uint64_t written;

	if (!recorder->cpus[number])
		return NULL;
	written = recorder->cpus[number]->events;
	/* More came than the ring holds. */
	if (written - cpu->next > recorder->ring_size) {
		cpu->next = written - recorder->ring_size;
		watch->lost = true;
	}
	if (cpu->next == written)
		return NULL;
	event = &recorder->events[number][cpu->next & (recorder->ring_size - 1)];
	return event->time_ns <= until_ns ? event : NULL;
}

/* hides_idle - whether a CPU reports switches to its idle thread, and not those from it: then
 * who was woken there while it was idle is never seen to run */
static bool hides_idle(const struct watch *watch)
{
	for (uint16_t i = 0; i < watch->cpu_limit; i++) {
		const struct watch_cpu *cpu = &watch->cpus[i];

		if (cpu->to_idle > IDLE_LEAST &&
		    cpu->from_idle + cpu->to_idle / IDLE_TOLERANCE + 1 < cpu->to_idle)
			return true;
	}
	return false;
}

void watch_publish(struct watch *watch, struct recorder *recorder, uint64_t until_ns)
{
	bool was_lost = watch->lost;

	read_threads(watch);
	if (was_lost)
		forget(watch);
	for (;;) {
		const struct recorder_event *first = NULL;
		uint16_t number = 0;

		for (uint16_t i = 0; i < watch->cpu_limit; i++) {
			const struct recorder_event *event =
			    next_event(watch, recorder, i, until_ns);

			if (event && (!first || event->time_ns < first->time_ns)) {
				first = event;
				number = i;
			}
		}
		if (!first)
			break;
		follow_event(watch, recorder, number, first);
		watch->cpus[number].next++;
	}
	/* The lost events lay among these: a thread that they woke may have run already. */
	if (was_lost || watch->lost) {
		forget(watch);
		recorder->gaps++;
	}
	watch->lost = false;
	recorder->hides_idle = hides_idle(watch);
}
