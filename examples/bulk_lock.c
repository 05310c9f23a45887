// SPDX-License-Identifier: MIT
/*
 * bulk_lock LINES CHUNK [ROUNDS [SETS]] - clean a set of dirty lines of the cache SETS times, CHUNK
 * lines at a time under one lock
 *
 * The lock is a signal that is blocked, as a lock that disables interrupts blocks those: a timer
 * sends it every 200 us, and from when it expired to when the handler ran is the delay. Those count
 * that expire while lines are cleaned, and not while they are made dirty again without the lock;
 * where the rounds saw too few, more are made. With CHUNK above LINES the lock is held over several
 * sets, and over making them dirty.
 *
 * Each round also cleans the set twice under the lock, once dirty and once with the same lines in
 * the cache and unmodified: only where the first takes clearly longer were dirty lines cleaned.
 *
 * Prints "delay p50 A us", "delay p99 B us", "bulk C us" (cleaning all lines of all sets), "hold D
 * us" (one lock), "dirty E ns a line" and "clean F ns a line". The file that CHECKS in the
 * environment names gets them as a line of JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 200000
#define LINE	  64
#define MOST	  100000
/* Lines whose cleaning is timed at once, for the cost of one. */
#define BLOCK 64
/* So many delays at least are wanted, and for so many times the rounds they are waited for. */
#define DELAYS	 50
#define PATIENCE 1000

struct job {
	volatile uint8_t *memory;
	size_t lines, chunk, sets;
	sigset_t lock;
	uint64_t *blocks; /* for their times */
};

struct round {
	/* All sets, one lock, and a line: dirty, and unmodified. */
	uint64_t bulk_ns, hold_ns, dirty_ps, clean_ps;
};

static uint64_t due_ns, delays[MOST];
static volatile size_t seen;
/* When the cleaning began; the largest number while none goes on. */
static volatile uint64_t began_ns = UINT64_MAX;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* expired - the first of the expirations that this signal stands for was the one that waited */
static void expired(int number, siginfo_t *info, void *context)
{
	uint64_t now = now_ns();

	(void)number;
	(void)context;
	if (seen < MOST && due_ns >= began_ns)
		delays[seen++] = now > due_ns ? now - due_ns : 0;
	due_ns += (uint64_t)(1 + info->si_overrun) * PERIOD_NS;
}

static void clean_line(volatile uint8_t *line)
{
#if defined(__x86_64__)
	__asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#else
#error "no instruction for programs to clean a line of the cache"
#endif
}

static void wait_for_memory(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb ish" : : : "memory");
#endif
}

static void clean_lines(const struct job *job, size_t from, size_t end)
{
	for (size_t i = from; i < end; i++)
		clean_line(job->memory + i * LINE);
	wait_for_memory();
}

/* make_dirty - by a store to each line: memset() may write past the cache */
static void make_dirty(const struct job *job)
{
	for (size_t i = 0; i < job->lines; i++)
		job->memory[i * LINE]++;
	wait_for_memory();
}

/* make_unmodified - the lines are in the cache and as memory has them */
static void make_unmodified(const struct job *job)
{
	clean_lines(job, 0, job->lines);
	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < job->lines; i++)
			(void)job->memory[i * LINE];
	wait_for_memory();
}

static int ascending(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

/* line_ps - what it takes to clean a line of the set, timed by small blocks of lines: so much or
 * less takes the given quarter of them */
static uint64_t line_ps(const struct job *job, size_t quarter)
{
	size_t blocks = 0;

	for (size_t at = 0, end; at < job->lines; at = end) {
		uint64_t start = now_ns();

		end = at + BLOCK < job->lines ? at + BLOCK : job->lines;
		clean_lines(job, at, end);
		if (end - at == BLOCK || !blocks)
			job->blocks[blocks++] = (now_ns() - start) * 1000 / (end - at);
	}
	qsort(job->blocks, blocks, sizeof(*job->blocks), ascending);
	return job->blocks[blocks * quarter / 4];
}

/* clean_sets - clean all sets by chunks, each under the lock; the lock's time is that of the chunks
 * that begin with a set */
static void clean_sets(const struct job *job, struct round *round)
{
	size_t left = 0, locks = 0;
	uint64_t locked_ns = 0, start;

	for (size_t set = 0; set < job->sets; set++) {
		bool last = set + 1 == job->sets;

		make_dirty(job);
		start = now_ns();
		if (!left)
			began_ns = start;
		for (size_t at = 0, end; at < job->lines; at = end) {
			if (!left) {
				sigprocmask(SIG_BLOCK, &job->lock, NULL);
				left = job->chunk;
				locked_ns = at ? 0 : start;
			}
			end = left < job->lines - at ? at + left : job->lines;
			clean_lines(job, at, end);
			left = last && end == job->lines ? 0 : left - (end - at);
			if (left)
				continue;
			if (locked_ns) {
				round->hold_ns += now_ns() - locked_ns;
				locks++;
			}
			sigprocmask(SIG_UNBLOCK, &job->lock, NULL);
		}
		round->bulk_ns += now_ns() - start;
		if (!left)
			began_ns = UINT64_MAX;
	}
	round->hold_ns /= locks;
}

static struct round one_round(const struct job *job)
{
	struct round round = {0};

	sigprocmask(SIG_BLOCK, &job->lock, NULL);
	make_dirty(job);
	/* Three quarters of the set take so long at least: what was evicted meanwhile takes less.
	 */
	round.dirty_ps = line_ps(job, 1);
	make_unmodified(job);
	round.clean_ps = line_ps(job, 2);
	sigprocmask(SIG_UNBLOCK, &job->lock, NULL);
	clean_sets(job, &round);
	return round;
}

/* median_of - of a field of all rounds; field: its offset */
static double median_of(const struct round *rounds, size_t count, size_t field, uint64_t *room)
{
	for (size_t i = 0; i < count; i++)
		memcpy(&room[i], (const char *)&rounds[i] + field, sizeof(*room));
	qsort(room, count, sizeof(*room), ascending);
	return (double)room[count / 2];
}

/* keep_others_off - let nobody who may be preempted run between making lines dirty and cleaning
 * them: in a driver the lock does that. Without the right to do so the costs of lines decide */
static void keep_others_off(void)
{
	struct sched_param least = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &least))
		fprintf(stderr, "no real-time priority: other programs may evict the lines\n");
}

static int start_timer(void)
{
	struct sigaction action = {.sa_sigaction = expired, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct itimerspec times = {{0, PERIOD_NS}, {0, 0}};
	timer_t timer;

	if (sigaction(SIGALRM, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer))
		return errno;
	due_ns = now_ns() + 10 * PERIOD_NS;
	times.it_value.tv_sec = (time_t)(due_ns / 1000000000u);
	times.it_value.tv_nsec = (long)(due_ns % 1000000000u);
	return timer_settime(timer, TIMER_ABSTIME, &times, NULL) ? errno : 0;
}

/* write_checks - one line, in one write: runs of a study share the file */
static int write_checks(const char *path, const struct job *job, double dirty, double clean,
			double hold_us)
{
	char line[256];
	int length, fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	bool written;

	if (fd < 0)
		return errno;
	length = snprintf(line, sizeof(line),
			  "{\"chunk\": %zu, \"lines\": %zu, \"sets\": %zu, \"delays\": %zu, "
			  "\"dirty_ns\": %.3f, \"clean_ns\": %.3f, \"hold_us\": %.3f}\n",
			  job->chunk, job->lines, job->sets, seen, dirty, clean, hold_us);
	written = write(fd, line, (size_t)length) == length;
	return close(fd) || !written ? EIO : 0;
}

static int report(const struct job *job, const struct round *rounds, size_t count, uint64_t *room)
{
	const char *checks = getenv("CHECKS");
	double dirty = median_of(rounds, count, offsetof(struct round, dirty_ps), room) / 1e3;
	double clean = median_of(rounds, count, offsetof(struct round, clean_ps), room) / 1e3;
	double hold = median_of(rounds, count, offsetof(struct round, hold_ns), room) / 1e3;
	double bulk = median_of(rounds, count, offsetof(struct round, bulk_ns), room) / 1e3;

	qsort(delays, seen, sizeof(*delays), ascending);
	printf("delay p50 %.3f us\ndelay p99 %.3f us\nbulk %.3f us\nhold %.3f us\n"
	       "dirty %.3f ns a line\nclean %.3f ns a line\n",
	       (double)delays[seen / 2] / 1e3, (double)delays[seen * 99 / 100] / 1e3, bulk, hold,
	       dirty, clean);
	return checks ? write_checks(checks, job, dirty, clean, hold) : 0;
}

int main(int count, char **words)
{
	size_t rounds = count > 3 ? strtoul(words[3], NULL, 10) : 100;
	struct job job = {.lines = count > 2 ? strtoul(words[1], NULL, 10) : 0,
			  .chunk = count > 2 ? strtoul(words[2], NULL, 10) : 0,
			  .sets = count > 4 ? strtoul(words[4], NULL, 10) : 1};
	struct round *round = calloc(rounds ? rounds : 1, sizeof(*round));
	uint64_t *room = calloc(rounds ? rounds : 1, sizeof(*room));
	int error;

	job.blocks = calloc(job.lines / BLOCK + 1, sizeof(*job.blocks));
	if (!job.lines || !job.chunk || !job.sets || !rounds || !round || !room || !job.blocks) {
		fprintf(stderr, "usage: bulk_lock LINES CHUNK [ROUNDS [SETS]]\n");
		return 2;
	}
	job.memory = mmap(NULL, job.lines * LINE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (job.memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	mlockall(MCL_CURRENT | MCL_FUTURE);
	sigemptyset(&job.lock);
	sigaddset(&job.lock, SIGALRM);
	keep_others_off();
	error = start_timer();
	if (error) {
		fprintf(stderr, "timer: %s\n", strerror(error));
		return 1;
	}
	for (size_t i = 0; i < rounds || (seen < DELAYS && i / PATIENCE < rounds); i++)
		round[i % rounds] = one_round(&job);
	sigprocmask(SIG_BLOCK, &job.lock, NULL);
	if (!seen) {
		fprintf(stderr, "the timer never expired\n");
		return 1;
	}
	error = report(&job, round, rounds, room);
	if (error)
		fprintf(stderr, "CHECKS: %s\n", strerror(error));
	return error ? 1 : 0;
}
