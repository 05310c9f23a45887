/* SPDX-License-Identifier: MIT */
/*
 * A known cause as a program: its arguments, its clock, its log and its end.
 *
 * As cause_module.h has it for modules: the same parameters, the same log, in a file that is
 * mapped, so that an event is logged without a system call. Lines have a fixed width and what
 * follows the last one is zero.
 */
#ifndef WHYLATE_CAUSE_PROGRAM_H
#define WHYLATE_CAUSE_PROGRAM_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* As in the modules (cause_module.h). */
#define CAUSE_EVENTS 16384
#define CAUSE_HEADER "whylate-cause-log 1 dropped 0000000000\n"
#define CAUSE_LINE   38
#define CAUSE_NS     1000ull
#define CAUSE_S	     1000000000ull
/* By so much longer than usual two readings of the clock are apart if something came between. */
#define CAUSE_GAP_NS 1000ull

struct cause_parameter {
	const char *name;
	uint64_t value;
};

struct cause {
	struct cause_parameter *parameters;
	char *log;
	uint64_t count;
	uint64_t dropped;
	uint64_t steps;
	uint64_t begin_ns;
	uint64_t grid_ns;
};

static volatile sig_atomic_t cause_ended;

static inline void cause_end(int signal)
{
	(void)signal;
	cause_ended = 1;
}

static inline void cause_fail(const char *what)
{
	fprintf(stderr, "whylate cause: %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline uint64_t cause_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * CAUSE_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t cause_spin(uint64_t end_ns)
{
	uint64_t now_ns;

	do
		now_ns = cause_now();
	while (now_ns < end_ns);
	return now_ns;
}

static inline uint64_t cause_get(const struct cause *cause, const char *name)
{
	for (const struct cause_parameter *p = cause->parameters; p->name; p++)
		if (!strcmp(p->name, name))
			return p->value;
	fprintf(stderr, "whylate cause: there is no parameter %s\n", name);
	exit(2);
}

/* cause_number - the digits of a number, right-aligned in a field of zeros */
static inline void cause_number(char *field, int width, uint64_t value)
{
	while (width--) {
		field[width] = (char)('0' + value % 10);
		value /= 10;
	}
}

/* cause_note - one thread at a time; taken: by something else, out of an act */
static inline void cause_note(struct cause *cause, uint64_t start_ns, uint64_t end_ns, uint64_t cpu,
			      bool taken)
{
	char line[CAUSE_LINE + 1] = "0000000000000000000 0000000000000 000\n";
	char *at = cause->log + sizeof(CAUSE_HEADER) - 1 + cause->count * CAUSE_LINE;

	if (cause->count == CAUSE_EVENTS) {
		cause_number(cause->log + sizeof(CAUSE_HEADER) - 12, 10, ++cause->dropped);
		return;
	}
	cause_number(line, 19, start_ns);
	cause_number(line + 20, 13, end_ns - start_ns);
	cause_number(line + 34, 3, cpu);
	if (taken)
		line[34] = '-';
	/* The first digit comes last: a reader ends at the first zero byte. */
	memcpy(at + 1, line + 1, CAUSE_LINE - 1);
	atomic_thread_fence(memory_order_release);
	*at = line[0];
	cause->count++;
}

static inline void cause_log(struct cause *cause, uint64_t start_ns, uint64_t end_ns, uint64_t cpu)
{
	cause_note(cause, start_ns, end_ns, cpu, false);
}

/* cause_busy - until that time; what interrupts take meanwhile is logged, and is not ours */
static inline uint64_t cause_busy(struct cause *cause, uint64_t end_ns, uint64_t cpu)
{
	static uint64_t least_ns = UINT64_MAX;
	uint64_t before_ns = cause_now(), now_ns = before_ns;

	while (now_ns < end_ns) {
		now_ns = cause_now();
		if (now_ns - before_ns < least_ns)
			least_ns = now_ns - before_ns;
		if (now_ns - before_ns > least_ns + CAUSE_GAP_NS) {
			cause_note(cause, before_ns, now_ns - least_ns, cpu, true);
			/* Noting takes a 32-bit CPU longer than a gap is. */
			now_ns = cause_now();
		}
		before_ns = now_ns;
	}
	return now_ns;
}

/* cause_random - of the numbers below `below`; SplitMix64 as in cause_module.h */
static inline uint64_t cause_random(struct cause *cause, uint64_t below)
{
	uint64_t z = (cause_get(cause, "seed") + ++cause->steps) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return below ? z % below : 0;
}

static inline void cause_sleep(uint64_t until_ns)
{
	struct timespec at = {(time_t)(until_ns / CAUSE_S), (long)(until_ns % CAUSE_S)};

	while (!cause_ended && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/* cause_wait - until it is to act again (as in cause_module.h); false when it is to end */
static inline bool cause_wait(struct cause *cause)
{
	uint64_t period_ns = cause_get(cause, "period_us") * CAUSE_NS;
	uint64_t limit_ns = cause_get(cause, "seconds") * CAUSE_S;
	uint64_t now_ns = cause_now();

	if (!cause->grid_ns) {
		cause->begin_ns = now_ns;
		/* Counted from the clock's zero, as in the modules. */
		cause->grid_ns =
		    now_ns / period_ns * period_ns + cause_get(cause, "phase_us") * CAUSE_NS;
	}
	do
		cause->grid_ns += period_ns;
	while (cause->grid_ns <= now_ns);
	if (limit_ns && cause->grid_ns - cause->begin_ns > limit_ns)
		return false;
	cause_sleep(cause->grid_ns + cause_random(cause, cause_get(cause, "jitter_us") * CAUSE_NS));
	return !cause_ended;
}

/* cause_become - a real-time thread on one CPU */
static inline void cause_become(uint64_t cpu, int priority)
{
	struct sched_param wanted = {.sched_priority = priority};
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((int)cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		cause_fail("the CPU cannot be used");
	if (sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &wanted) != 0)
		cause_fail("no real-time priority");
}

static inline char *cause_map(const char *path)
{
	size_t size = sizeof(CAUSE_HEADER) - 1 + (size_t)CAUSE_EVENTS * CAUSE_LINE;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	char *log = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		log = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (log == MAP_FAILED)
		cause_fail(path);
	close(fd);
	memcpy(log, CAUSE_HEADER, sizeof(CAUSE_HEADER) - 1);
	return log;
}

/* cause_open - from `name=value` words, log=FILE among them, to a cause that can act */
static inline void cause_open(struct cause *cause, struct cause_parameter *parameters, char **words)
{
	const char *log = NULL;

	cause->parameters = parameters;
	while (*++words) {
		struct cause_parameter *p = parameters;
		char *value = strchr(*words, '='), *rest;

		if (!value)
			goto wrong;
		*value++ = '\0';
		if (!strcmp(*words, "log")) {
			log = value;
			continue;
		}
		while (p->name && strcmp(p->name, *words))
			p++;
		p->value = strtoull(value, &rest, 10);
		if (!p->name || *rest || rest == value)
			goto wrong;
	}
	if (!log) {
		fprintf(stderr, "whylate cause: log=FILE is needed\n");
		exit(2);
	}
	cause->log = cause_map(log);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		cause_fail("memory cannot be locked");
	struct sigaction end = {.sa_handler = cause_end};

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	return;
wrong:
	fprintf(stderr, "whylate cause: '%s' is not a parameter with a number\n", *words);
	exit(2);
}

/* The parameters that every cause has; the catalogue knows their defaults. */
#define CAUSE_PARAMETERS                                                                           \
	{"period_us", 10000}, {"size_us", 300}, {"jitter_us", 1000}, {"phase_us", 0}, {"seed", 1}, \
	    {"cpu", 0}, {"seconds", 0}

#endif
