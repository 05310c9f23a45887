/* SPDX-License-Identifier: MIT */
/*
 * An injected fault as a program: its arguments, its clock, its log and its end.
 *
 * As fault_module.h has it for modules: the same parameters, the same log, in a file that is
 * mapped, so that an event is logged without a system call. Lines have a fixed width and what
 * follows the last one is zero.
 */
#ifndef WHYLATE_FAULT_PROGRAM_H
#define WHYLATE_FAULT_PROGRAM_H

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

/* As in the modules (fault_module.h). */
#define FAULT_EVENTS 16384
#define FAULT_HEADER "whylate-fault-log 1 dropped 0000000000\n"
#define FAULT_LINE   38
#define FAULT_NS     1000ull
#define FAULT_S	     1000000000ull
/* By so much longer than usual two readings of the clock are apart if something came between. */
#define FAULT_GAP_NS 1000ull

struct fault_parameter {
	const char *name;
	uint64_t value;
};

struct fault {
	struct fault_parameter *parameters;
	char *log;
	uint64_t count;
	uint64_t dropped;
	uint64_t steps;
	uint64_t begin_ns;
	uint64_t grid_ns;
};

static volatile sig_atomic_t fault_ended;

static inline void fault_end(int signal)
{
	(void)signal;
	fault_ended = 1;
}

static inline void fault_fail(const char *what)
{
	fprintf(stderr, "whylate fault: %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline uint64_t fault_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * FAULT_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t fault_spin(uint64_t end_ns)
{
	uint64_t now_ns;

	do
		now_ns = fault_now();
	while (now_ns < end_ns);
	return now_ns;
}

static inline uint64_t fault_get(const struct fault *fault, const char *name)
{
	for (const struct fault_parameter *p = fault->parameters; p->name; p++)
		if (!strcmp(p->name, name))
			return p->value;
	fprintf(stderr, "whylate fault: there is no parameter %s\n", name);
	exit(2);
}

/* fault_number - the digits of a number, right-aligned in a field of zeros */
static inline void fault_number(char *field, int width, uint64_t value)
{
	while (width--) {
		field[width] = (char)('0' + value % 10);
		value /= 10;
	}
}

/* fault_note - one thread at a time; taken: by something else, out of an act */
static inline void fault_note(struct fault *fault, uint64_t start_ns, uint64_t end_ns, uint64_t cpu,
			      bool taken)
{
	char line[FAULT_LINE + 1] = "0000000000000000000 0000000000000 000\n";
	char *at = fault->log + sizeof(FAULT_HEADER) - 1 + fault->count * FAULT_LINE;

	if (fault->count == FAULT_EVENTS) {
		fault_number(fault->log + sizeof(FAULT_HEADER) - 12, 10, ++fault->dropped);
		return;
	}
	fault_number(line, 19, start_ns);
	fault_number(line + 20, 13, end_ns - start_ns);
	fault_number(line + 34, 3, cpu);
	if (taken)
		line[34] = '-';
	/* The first digit comes last: a reader ends at the first zero byte. */
	memcpy(at + 1, line + 1, FAULT_LINE - 1);
	atomic_thread_fence(memory_order_release);
	*at = line[0];
	fault->count++;
}

static inline void fault_log(struct fault *fault, uint64_t start_ns, uint64_t end_ns, uint64_t cpu)
{
	fault_note(fault, start_ns, end_ns, cpu, false);
}

/* fault_busy_since - until that time; what interrupts take meanwhile is logged, and is not ours.
 * start_ns: the reading of the clock that the act begins with
 */
static inline uint64_t fault_busy_since(struct fault *fault, uint64_t start_ns, uint64_t end_ns,
					uint64_t cpu)
{
	static uint64_t least_ns = UINT64_MAX;
	uint64_t before_ns = start_ns, now_ns;

	do {
		now_ns = fault_now();
		if (now_ns - before_ns < least_ns)
			least_ns = now_ns - before_ns;
		if (now_ns - before_ns > least_ns + FAULT_GAP_NS) {
			fault_note(fault, before_ns, now_ns - least_ns, cpu, true);
			/* Noting takes a 32-bit CPU longer than a gap is. */
			now_ns = fault_now();
		}
		before_ns = now_ns;
	} while (now_ns < end_ns);
	return now_ns;
}

static inline uint64_t fault_busy(struct fault *fault, uint64_t end_ns, uint64_t cpu)
{
	return fault_busy_since(fault, fault_now(), end_ns, cpu);
}

/* fault_random - of the numbers below `below`; SplitMix64 as in fault_module.h */
static inline uint64_t fault_random(struct fault *fault, uint64_t below)
{
	uint64_t z = (fault_get(fault, "seed") + ++fault->steps) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return below ? z % below : 0;
}

static inline void fault_sleep(uint64_t until_ns)
{
	struct timespec at = {(time_t)(until_ns / FAULT_S), (long)(until_ns % FAULT_S)};

	while (!fault_ended && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/* fault_wait - until it is to act again (as in fault_module.h); false when it is to end */
static inline bool fault_wait(struct fault *fault)
{
	uint64_t period_ns = fault_get(fault, "period_us") * FAULT_NS;
	uint64_t limit_ns = fault_get(fault, "seconds") * FAULT_S;
	uint64_t now_ns = fault_now();

	if (!fault->grid_ns) {
		fault->begin_ns = now_ns;
		/* Counted from the clock's zero, as in the modules. */
		fault->grid_ns =
		    now_ns / period_ns * period_ns + fault_get(fault, "phase_us") * FAULT_NS;
	}
	do
		fault->grid_ns += period_ns;
	while (fault->grid_ns <= now_ns);
	if (limit_ns && fault->grid_ns - fault->begin_ns > limit_ns)
		return false;
	fault_sleep(fault->grid_ns + fault_random(fault, fault_get(fault, "jitter_us") * FAULT_NS));
	return !fault_ended;
}

/* fault_become - a real-time thread on one CPU */
static inline void fault_become(uint64_t cpu, int priority)
{
	struct sched_param wanted = {.sched_priority = priority};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((int)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		fault_fail("the CPU cannot be used");
	if (sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &wanted) != 0)
		fault_fail("no real-time priority");
}

static inline char *fault_map(const char *path)
{
	size_t size = sizeof(FAULT_HEADER) - 1 + (size_t)FAULT_EVENTS * FAULT_LINE;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	char *log = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		log = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (log == MAP_FAILED)
		fault_fail(path);
	close(fd);
	memcpy(log, FAULT_HEADER, sizeof(FAULT_HEADER) - 1);
	return log;
}

/* fault_open - from `name=value` words, log=FILE among them, to a fault that can act */
static inline void fault_open(struct fault *fault, struct fault_parameter *parameters, char **words)
{
	const char *log = NULL;

	fault->parameters = parameters;
	while (*++words) {
		struct fault_parameter *p = parameters;
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
		fprintf(stderr, "whylate fault: log=FILE is needed\n");
		exit(2);
	}
	fault->log = fault_map(log);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		fault_fail("memory cannot be locked");
	struct sigaction end = {.sa_handler = fault_end};

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	return;
wrong:
	fprintf(stderr, "whylate fault: '%s' is not a parameter with a number\n", *words);
	exit(2);
}

/* The parameters that every fault has; the catalogue knows their defaults. */
#define FAULT_PARAMETERS                                                                           \
	{"period_us", 10000}, {"size_us", 300}, {"jitter_us", 1000}, {"phase_us", 0}, {"seed", 1}, \
	    {"cpu", 0}, {"seconds", 0}

#endif
