// SPDX-License-Identifier: MIT
#include "token_ring.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "loads/memory_size.h"
#include "thread.h"

/* Tokens. A task that gets one of the first two counts its switches in one place or the other. */
enum { COUNT_BEFORE = 1, COUNT_AFTER, GO, END };

/* Between two words that a task reads: each is in its own cache line. */
#define STRIDE 64
/* Descriptors of the process besides those of the channels. */
#define OTHER_FILES 64
/* More than any CPU that assigns identifiers in turn has of them: six on x86. */
#define OTHER_SPACES 16
/* What a task needs beside its set: its kernel stack, page tables, its own pages. */
#define TASK_BYTES ((uint64_t)96 << 10)
/* Memory that the board keeps. */
#define LEFT_FREE ((uint64_t)16 << 20)
#define CANNOT	  "a task is refused its CPU, its priority or its memory: %s"

struct task {
	struct token_ring *ring;
	size_t index;
	const uint8_t *set; /* of a thread; a process makes its own */
	pthread_t thread;
	pid_t process;
};

/* In memory that all tasks share, processes too. */
struct task_words {
	_Alignas(64) _Atomic uint32_t token;
	uint64_t switches[2];
};

struct token_ring {
	struct wire_bench_switch plan;
	struct channel *channels; /* the k-th task waits on the k-th; the last is nobody's */
	struct task *tasks;
	struct task_words *words;
	const uint8_t *set; /* of the first task, which is ourselves */
	size_t opened, started;
	struct child_context *context;
};

/* own_switches - count how often this thread has left a CPU, voluntarily or not */
static uint64_t own_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static void read_set(const uint8_t *set, uint64_t bytes)
{
	const volatile uint8_t *at = set;

	for (uint64_t i = 0; i < bytes; i += STRIDE)
		(void)at[i];
}

/* new_set - allocate and write memory of a task's own, so that no two tasks read the same */
static const uint8_t *new_set(uint64_t bytes)
{
	void *set;

	if (!bytes)
		return NULL;
	set = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (set == MAP_FAILED)
		return NULL;
	memset(set, 0x5A, bytes);
	return set;
}

/* settle - go to the CPU and the priority of a task; returns 0, or an errno */
static int settle(const struct wire_bench_switch *plan, size_t index)
{
	struct sched_param param = {.sched_priority = plan->priority};
	int error =
	    plan->cpus.count ? thread_pin(wire_list_u16(plan->cpus, index % plan->cpus.count)) : 0;

	if (error)
		return error;
	/*
	 * A woken SCHED_OTHER task may preempt its waker, which then runs again only to wait: one
	 * more switch in some of the hops. A woken SCHED_BATCH task never preempts.
	 */
	return pthread_setschedparam(pthread_self(), plan->priority ? SCHED_FIFO : SCHED_BATCH,
				     &param);
}

static void run_task(struct task *task)
{
	struct token_ring *ring = task->ring;
	const struct wire_bench_switch *plan = &ring->plan;
	const struct channel *in = &ring->channels[task->index];
	const struct channel *out = &ring->channels[(task->index + 1) % plan->tasks];
	const uint8_t *set = plan->threads ? task->set : new_set(plan->set_bytes);
	uint8_t token;
	int error;

	error = plan->set_bytes && !set ? ENOMEM : settle(plan, task->index);
	if (error) {
		fail(ring->context->text, error, CANNOT, strerror(error));
		child_report_failure(ring->context, error);
		_exit(1); /* a process that ends is noticed: task_ended() */
	}
	do {
		token = channel_wait(in);
		if (token == COUNT_BEFORE || token == COUNT_AFTER)
			ring->words[task->index].switches[token - COUNT_BEFORE] = own_switches();
		read_set(set, plan->set_bytes);
	} while (token && channel_pass(out, token) && token != END);
}

static void *thread_main(void *task)
{
	run_task(task);
	return NULL;
}

static int start_thread(struct task *task)
{
	task->set = new_set(task->ring->plan.set_bytes);
	if (task->ring->plan.set_bytes && !task->set)
		return ENOMEM;
	return thread_start(&task->thread, THREAD_ANY_CPU, thread_main, task);
}

static int start_process(struct task *task)
{
	pid_t parent = getpid();

	task->process = fork();
	if (task->process < 0)
		return errno;
	if (task->process == 0) {
		signal(SIGCHLD, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			run_task(task);
		_exit(0);
	}
	return 0;
}

/* allow_files - each channel takes two descriptors; what the hard limit does not allow fails later
 */
static void allow_files(size_t tasks)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= 2 * tasks + OTHER_FILES)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* The others would wait for ever for the token of a dead task. */
static struct child_context *ring_context;

static void task_ended(int number)
{
	(void)number;
	child_report_failure(ring_context, ECHILD);
	_exit(1);
}

/* notice_deaths - end the benchmark when a process dies; a thread ends with all others anyway */
static void notice_deaths(struct child_context *context)
{
	struct sigaction action = {.sa_handler = task_ended, .sa_flags = SA_NOCLDSTOP};

	ring_context = context;
	fail(context->text, ECHILD, "a task of the ring was killed: is there memory enough?");
	sigaction(SIGCHLD, &action, NULL);
}

/* end_processes - reap all processes that were started */
static void end_processes(struct token_ring *ring, bool by_force)
{
	signal(SIGCHLD, SIG_DFL);
	for (size_t i = 1; i < ring->started && !ring->plan.threads; i++) {
		pid_t process = ring->tasks[i].process;

		if (by_force)
			kill(process, SIGKILL);
		while (waitpid(process, NULL, 0) < 0 && errno == EINTR)
			;
	}
}

static int start_tasks(struct token_ring *ring, struct child_context *context)
{
	const struct wire_bench_switch *plan = &ring->plan;
	int error;

	if (!plan->threads)
		notice_deaths(context);
	for (ring->started = 1; ring->started < plan->tasks; ring->started++) {
		struct task *task = &ring->tasks[ring->started];

		*task = (struct task){.ring = ring, .index = ring->started};
		error = plan->threads ? start_thread(task) : start_process(task);
		if (error) {
			end_processes(ring, true);
			return fail(context->text, error,
				    "only %zu of %u tasks could be started: %s (a limit on "
				    "processes, or memory)",
				    ring->started, plan->tasks, strerror(error));
		}
	}
	error = settle(plan, 0);
	if (error)
		return fail(context->text, error, CANNOT, strerror(error));
	return 0;
}

static int open_channels(struct token_ring *ring, struct child_context *context)
{
	const struct wire_bench_switch *plan = &ring->plan;

	allow_files(plan->tasks);
	for (; ring->opened <= plan->tasks; ring->opened++) {
		int error =
		    channel_open(&ring->channels[ring->opened], (enum channel_kind)plan->channel,
				 &ring->words[ring->opened].token);

		if (error)
			return fail(context->text, error,
				    "only %zu channels for %u tasks could be opened: %s",
				    ring->opened, plan->tasks, strerror(error));
	}
	return 0;
}

/* estimate_bytes - estimate the memory of the tasks; each process has a table of all descriptors */
static uint64_t estimate_bytes(const struct wire_bench_switch *plan)
{
	uint64_t files = OTHER_FILES;

	while (files < 2u * plan->tasks + OTHER_FILES)
		files *= 2;
	return plan->tasks *
	       (plan->set_bytes + TASK_BYTES + (plan->threads ? 0 : files * sizeof(void *)));
}

int ring_open(struct token_ring **opened, struct child_context *context,
	      const struct wire_bench_switch *plan)
{
	struct token_ring *ring = calloc(1, sizeof(*ring));
	size_t bytes = (plan->tasks + 1u) * sizeof(*ring->words);
	uint64_t there = memory_available_bytes();
	int error;

	if (plan->set_bytes > there / plan->tasks || estimate_bytes(plan) + LEFT_FREE > there)
		return fail(
		    context->text, ENOMEM,
		    "%u tasks with sets of %llu bytes are more than the %llu MiB of free memory",
		    plan->tasks, (unsigned long long)plan->set_bytes,
		    (unsigned long long)(there >> 20));
	if (!ring)
		return fail(context->text, ENOMEM, "no memory for a ring of tasks");
	*opened = ring;
	ring->plan = *plan;
	ring->context = context;
	ring->channels = calloc(plan->tasks + 1u, sizeof(*ring->channels));
	ring->tasks = calloc(plan->tasks, sizeof(*ring->tasks));
	ring->words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ring->set = new_set(plan->set_bytes);
	if (!ring->channels || !ring->tasks || ring->words == MAP_FAILED ||
	    (plan->set_bytes && !ring->set))
		return fail(context->text, ENOMEM, "no memory for a ring of %u tasks", plan->tasks);
	error = open_channels(ring, context);
	return error ? error : start_tasks(ring, context);
}

/*
 * drop_identifiers - let other address spaces use up all identifiers (ASID, PCID) of this CPU
 *
 * Identifiers are assigned in turn. In a ring that is one too large, the order of the first
 * assignments decides whether no task or half of the tasks keep theirs: so all begin without.
 */
static void drop_identifiers(const struct token_ring *ring)
{
	for (int i = 0; i < OTHER_SPACES && ring->plan.cpus.count == 1; i++) {
		/* Its end sends no signal: it is no task of the ring. */
		pid_t child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);

		if (child == 0)
			_exit(0);
		while (child > 0 && waitpid(child, NULL, __WCLONE) < 0 && errno == EINTR)
			;
	}
}

/* pass_round - pass a token round once, from the first task to itself */
static bool pass_round(struct token_ring *ring, uint8_t token)
{
	const struct channel *next = &ring->channels[1 % ring->plan.tasks];

	read_set(ring->set, ring->plan.set_bytes);
	return channel_pass(next, token) && channel_wait(&ring->channels[0]) == token;
}

bool ring_begin(struct token_ring *ring)
{
	/* When the token has been with each task, all of them wait. */
	if (!pass_round(ring, GO))
		return false;
	drop_identifiers(ring);
	return true;
}

/* pass_counted - pass the token round so often, while `go` is not 0 (NULL: all rounds) */
static bool pass_counted(struct token_ring *ring, uint64_t rounds, const _Atomic int *go,
			 struct ring_block *block, struct counters *counters)
{
	struct task_words *own = &ring->words[0];
	uint64_t start_ns, passed = 1;

	/*
	 * Each task reads its switches when the first token passes and when the last one does: the
	 * switches between the two are those of the rounds that were passed, as is the time.
	 */
	own->switches[0] = own_switches();
	counters_begin(counters);
	start_ns = clock_ns();
	if (!pass_round(ring, COUNT_BEFORE))
		return false;
	for (; passed < rounds && (!go || atomic_load_explicit(go, memory_order_relaxed)); passed++)
		if (!pass_round(ring, GO))
			return false;
	block->ns = clock_ns() - start_ns;
	counters_end(counters);
	own->switches[1] = own_switches();
	if (!pass_round(ring, COUNT_AFTER))
		return false;
	block->hops = passed * ring->plan.tasks;
	block->switches = own->switches[1] - own->switches[0];
	for (size_t i = 1; i < ring->plan.tasks; i++)
		block->switches += ring->words[i].switches[1] - ring->words[i].switches[0];
	return true;
}

bool ring_round(struct token_ring *ring, uint64_t rounds, struct ring_block *block,
		struct counters *counters)
{
	return pass_counted(ring, rounds, NULL, block, counters);
}

bool ring_while(struct token_ring *ring, const _Atomic int *go, struct ring_block *block)
{
	struct counters none = {.count = 0};

	return pass_counted(ring, UINT64_MAX, go, block, &none);
}

bool ring_alone(struct token_ring *ring, uint64_t rounds, struct ring_block *block)
{
	const struct channel *own = &ring->channels[ring->plan.tasks];
	uint64_t before = own_switches();
	uint64_t start_ns = clock_ns();

	block->hops = rounds * ring->plan.tasks;
	for (uint64_t i = 0; i < block->hops; i++) {
		read_set(ring->set, ring->plan.set_bytes);
		if (!channel_pass(own, GO) || channel_wait(own) != GO)
			return false;
	}
	block->ns = clock_ns() - start_ns;
	block->switches = own_switches() - before;
	return true;
}

void ring_end(struct token_ring *ring)
{
	signal(SIGCHLD, SIG_DFL);
	if (ring->plan.tasks > 1)
		pass_round(ring, END);
	for (size_t i = 1; i < ring->started && ring->plan.threads; i++)
		pthread_join(ring->tasks[i].thread, NULL);
	end_processes(ring, false);
	/* Memory and channels end with the process. */
}
