// SPDX-License-Identifier: MIT
#include "detaching.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "failure.h"
#include "guardian/guardian.h"
#include "small_file.h"
#include "thread.h"
#include "wire/send.h"

/* Programs that run while the last of them is detached may still count an event. */
#define SETTLE_NS (5 * (uint64_t)NS_PER_MS)

#define EXPEDITED "/sys/kernel/rcu_expedited"

int detaching_request(struct detaching *detaching, const struct wire_detach *request)
{
	detaching->count = 0;
	if (request->blocks.count > WIRE_MOST_DETACHED)
		return EINVAL;
	for (size_t i = 0; i < request->blocks.count; i++) {
		detaching->blocks[i] = wire_list_u16(request->blocks, i);
		if (i && detaching->blocks[i] <= detaching->blocks[i - 1])
			return EINVAL;
		if (request->block_ns > WIRE_LONGEST_RUN_NS / (detaching->blocks[i] + 1u))
			return EINVAL;
	}
	detaching->block_ns = request->block_ns;
	detaching->count = request->blocks.count;
	return 0;
}

/* plan - join adjacent blocks, and set when each stretch is due; returns 0 or an errno */
static int plan(struct detaching *detaching, uint64_t start_ns)
{
	detaching->stretches = calloc(detaching->count, sizeof(*detaching->stretches));
	detaching->stretch_count = 0;
	if (!detaching->stretches)
		return ENOMEM;
	for (size_t i = 0; i < detaching->count; i++) {
		uint64_t due_ns = start_ns + detaching->blocks[i] * detaching->block_ns;
		struct detached *last = &detaching->stretches[detaching->stretch_count];

		if (detaching->stretch_count && last[-1].end_ns == due_ns) {
			last[-1].end_ns += detaching->block_ns;
			continue;
		}
		last->due_ns = due_ns;
		last->end_ns = due_ns + detaching->block_ns;
		detaching->stretch_count++;
	}
	return 0;
}

/* wait_until - wait until that time; false: no more is to be done */
static bool wait_until(struct detaching *detaching, uint64_t time_ns)
{
	struct timespec time = clock_timespec(time_ns);
	bool stop;

	pthread_mutex_lock(&detaching->lock);
	while (!detaching->stop &&
	       pthread_cond_timedwait(&detaching->stopped, &detaching->lock, &time) != ETIMEDOUT)
		;
	stop = detaching->stop;
	pthread_mutex_unlock(&detaching->lock);
	return !stop;
}

/*
 * find_expedited - open the kernel's setting by which all RCU grace periods are expedited
 *
 * Before a program is attached where none was, the kernel waits until one has ended
 * (synchronize_rcu() in tracepoint_add_func()). The kernel thread that ends it is SCHED_OTHER:
 * beside loads that took tens of milliseconds, and up to 20 s. An expedited one needs no such
 * thread, but interrupts the CPUs, so it is asked for only while the recorder is being switched.
 * The guardian notes the setting before it is changed. A kernel whose real-time setting
 * (rcu_normal) comes before it expedites none.
 */
static void find_expedited(struct detaching *detaching, struct guardian *guardian)
{
	char text[FAILURE_TEXT];

	detaching->expedited_fd = -1;
	if (!small_file_line(AT_FDCWD, EXPEDITED, text, sizeof(text)) || strcmp(text, "0") != 0 ||
	    guardian_set(guardian, EXPEDITED, "0", text))
		return;
	detaching->expedited_fd = open(EXPEDITED, O_WRONLY | O_CLOEXEC);
}

static void expedite(const struct detaching *detaching, bool on)
{
	/* Where it fails, switching takes as long as it takes. */
	if (detaching->expedited_fd >= 0 &&
	    pwrite(detaching->expedited_fd, on ? "1" : "0", 1, 0) != 1)
		return;
}

/* detach - detach the recorder or attach it again; returns 0 or an errno */
static int detach(const struct detaching *detaching, bool detached)
{
	struct recorder *recorder = detaching->recorder;
	int error;

	/* Of an interrupt that had begun the end, or another's beginning, may not be seen. */
	for (uint16_t cpu = 0; !detached && cpu < recorder->cpu_limit; cpu++)
		if (recorder->cpus[cpu])
			__atomic_store_n(&recorder->cpus[cpu]->attached_ns, clock_ns(),
					 __ATOMIC_RELAXED);
	expedite(detaching, true);
	error = recorder->engine->detach(recorder, detached);
	expedite(detaching, false);
	return error;
}

/* carry_out - detach and attach for one stretch; false: no more is to be done */
static bool carry_out(struct detaching *detaching, struct detached *stretch)
{
	int error;

	if (!wait_until(detaching, stretch->due_ns))
		return false;
	/* The stretch before took so long that this one is over. */
	if (clock_ns() >= stretch->end_ns)
		return true;
	atomic_store(&stretch->begin_ns, clock_ns());
	stretch->error = detach(detaching, true);
	atomic_store(&stretch->from_ns, clock_ns());
	if (!wait_until(detaching, stretch->end_ns))
		return false;
	atomic_store(&stretch->to_ns, clock_ns());
	error = detach(detaching, false);
	if (!stretch->error)
		stretch->error = error;
	atomic_store(&stretch->until_ns, clock_ns());
	return true;
}

static void *thread_main(void *argument)
{
	struct detaching *detaching = argument;

	for (size_t i = 0; i < detaching->stretch_count; i++)
		if (!carry_out(detaching, &detaching->stretches[i]))
			break;
	return NULL;
}

/* release - forget the workload; the next one is not detached unless that is requested again */
static void release(struct detaching *detaching)
{
	if (detaching->expedited_fd >= 0)
		close(detaching->expedited_fd);
	free(detaching->stretches);
	detaching->stretches = NULL;
	detaching->stretch_count = 0;
	detaching->sent = 0;
	detaching->count = 0;
}

/*
 * set_priority - let the thread switch in time beside loads
 *
 * As SCHED_OTHER it may wait for seconds, and then the blocks are over before it switches. The
 * starting thread sets it: a new thread may have to wait as long before it runs at all. To switch
 * is little work: about a millisecond of its own. Where the priority is refused, the measuring
 * threads have none either.
 */
static void set_priority(pthread_t thread, int priority)
{
	struct sched_param param = {.sched_priority = priority};

	if (priority)
		pthread_setschedparam(thread, SCHED_FIFO, &param);
}

int detaching_start(struct detaching *detaching, struct recorder *recorder,
		    struct guardian *guardian, uint64_t start_ns, int priority)
{
	pthread_condattr_t monotonic;
	int error;

	if (!detaching->count || !recorder->engine->detach)
		return detaching->count ? ENOTSUP : 0;
	error = plan(detaching, start_ns);
	if (error)
		return error;
	detaching->recorder = recorder;
	detaching->stop = false;
	find_expedited(detaching, guardian);
	pthread_mutex_init(&detaching->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&detaching->stopped, &monotonic);
	pthread_condattr_destroy(&monotonic);
	error = thread_start(&detaching->thread, THREAD_ANY_CPU, thread_main, detaching);
	detaching->running = !error;
	if (error)
		release(detaching);
	else
		set_priority(detaching->thread, priority);
	return error;
}

static uint64_t events_of(const struct recorder *recorder)
{
	uint64_t events = 0;

	for (uint16_t cpu = 0; cpu < recorder->cpu_limit; cpu++)
		if (recorder->cpus[cpu])
			events += __atomic_load_n(&recorder->cpus[cpu]->events, __ATOMIC_RELAXED);
	return events;
}

void detaching_count(struct detaching *detaching)
{
	uint64_t gathered_ns, events;

	if (!detaching->running)
		return;
	gathered_ns = detaching->recorder->gathered_ns;
	events = events_of(detaching->recorder);
	for (size_t i = detaching->stretch_count; i-- > 0;) {
		struct detached *stretch = &detaching->stretches[i];
		uint64_t from_ns = atomic_load(&stretch->from_ns);

		if (!from_ns)
			continue;
		/* Read after the events: they were counted before it began to be attached. */
		if (gathered_ns < from_ns + SETTLE_NS || atomic_load(&stretch->to_ns))
			return;
		if (!stretch->has_before)
			stretch->before = events;
		else
			stretch->after = events;
		stretch->has_after = stretch->has_before;
		stretch->has_before = true;
		return;
	}
}

bool detaching_hides(const struct detaching *detaching, uint64_t due_ns, uint64_t run_ns)
{
	for (size_t i = detaching->stretch_count; i-- > 0;) {
		const struct detached *stretch = &detaching->stretches[i];
		uint64_t begin_ns = atomic_load(&stretch->begin_ns);
		uint64_t until_ns = atomic_load(&stretch->until_ns);

		if (!begin_ns)
			continue;
		if (until_ns && due_ns >= until_ns)
			return false;
		if (run_ns > begin_ns)
			return true;
	}
	return false;
}

uint64_t detaching_since(const struct detaching *detaching, uint64_t time_ns)
{
	for (size_t i = detaching->stretch_count; i-- > 0;) {
		uint64_t until_ns = atomic_load(&detaching->stretches[i].until_ns);

		if (until_ns && until_ns <= time_ns)
			return until_ns;
	}
	return 0;
}

/* send_stretch - send what was done; what was under way at the end ended then */
static void send_stretch(const struct detached *stretch, struct sender *sender, uint64_t end_ns)
{
	uint64_t to_ns = atomic_load(&stretch->to_ns), until_ns = atomic_load(&stretch->until_ns);

	if (!atomic_load(&stretch->begin_ns))
		return;
	KEEP(sender, recorder_detached, RECORDER_DETACHED,
	     .begin_ns = atomic_load(&stretch->begin_ns), .from_ns = atomic_load(&stretch->from_ns),
	     .to_ns = to_ns ? to_ns : end_ns, .until_ns = until_ns ? until_ns : end_ns,
	     .error = stretch->error, .counted = stretch->has_after, .before = stretch->before,
	     .after = stretch->after);
}

void detaching_send(struct detaching *detaching, struct sender *sender)
{
	if (!detaching->running)
		return;
	for (size_t i = detaching->sent; i < detaching->stretch_count; i++) {
		const struct detached *stretch = &detaching->stretches[i];

		/* Not begun: it is to come, or was skipped. */
		if (!atomic_load(&stretch->begin_ns))
			continue;
		if (!atomic_load(&stretch->until_ns) ||
		    !sender_has_room(sender, sizeof(struct wire_recorder_detached)))
			return;
		send_stretch(stretch, sender, 0);
		detaching->sent = i + 1;
	}
}

void detaching_end(struct detaching *detaching, struct sender *sender)
{
	uint64_t end_ns;

	if (!detaching->running) {
		detaching->count = 0;
		return;
	}
	pthread_mutex_lock(&detaching->lock);
	detaching->stop = true;
	pthread_cond_signal(&detaching->stopped);
	pthread_mutex_unlock(&detaching->lock);
	pthread_join(detaching->thread, NULL);
	pthread_cond_destroy(&detaching->stopped);
	pthread_mutex_destroy(&detaching->lock);
	detaching->running = false;
	end_ns = clock_ns();
	for (; detaching->sent < detaching->stretch_count; detaching->sent++)
		send_stretch(&detaching->stretches[detaching->sent], sender, end_ns);
	release(detaching);
}
