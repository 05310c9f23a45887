// SPDX-License-Identifier: MIT
/*
 * bulk_lock LINES CHUNK [ROUNDS] - clean so many lines of the cache, so many at a time under one
 * lock
 *
 * The lock is a signal that is blocked, as a lock that disables interrupts blocks those: a timer
 * sends it every 200 us, and from when it expired to when the handler ran is the delay. Those count
 * that expire while lines are cleaned, and not while they are made dirty again; where the rounds
 * saw too few, more are made. Prints "delay p50 A us", "delay p99 B us" and "bulk C us" (one
 * cleaning of all lines).
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PERIOD_NS 200000
#define LINE	  64
#define MOST	  100000
/* So many delays at least are wanted, and for so many times the rounds they are waited for. */
#define DELAYS	 50
#define PATIENCE 1000

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

static void clean(uint8_t *line)
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

static uint64_t clean_all(uint8_t *lines, size_t count, size_t chunk, const sigset_t *lock)
{
	uint64_t start = now_ns(), end;

	began_ns = start;
	for (size_t at = 0; at < count; at += chunk) {
		sigprocmask(SIG_BLOCK, lock, NULL);
		for (size_t i = at; i < at + chunk && i < count; i++)
			clean(lines + i * LINE);
		wait_for_memory();
		sigprocmask(SIG_UNBLOCK, lock, NULL);
	}
	end = now_ns();
	began_ns = UINT64_MAX;
	return end - start;
}

static int ascending(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
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

int main(int count, char **words)
{
	size_t lines = count > 2 ? strtoul(words[1], NULL, 10) : 0;
	size_t chunk = count > 2 ? strtoul(words[2], NULL, 10) : 0;
	size_t rounds = count > 3 ? strtoul(words[3], NULL, 10) : 100;
	uint64_t *bulk = calloc(rounds ? rounds : 1, sizeof(*bulk));
	uint8_t *memory;
	sigset_t lock;
	int error;

	if (!lines || !chunk || !rounds || !bulk) {
		fprintf(stderr, "usage: bulk_lock LINES CHUNK [ROUNDS]\n");
		return 2;
	}
	memory =
	    mmap(NULL, lines * LINE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	mlockall(MCL_CURRENT | MCL_FUTURE);
	sigemptyset(&lock);
	sigaddset(&lock, SIGALRM);
	error = start_timer();
	if (error) {
		fprintf(stderr, "timer: %s\n", strerror(error));
		return 1;
	}
	for (size_t i = 0; i < rounds || (seen < DELAYS && i / PATIENCE < rounds); i++) {
		memset(memory, (int)i, lines * LINE);
		bulk[i % rounds] = clean_all(memory, lines, chunk, &lock);
	}
	sigprocmask(SIG_BLOCK, &lock, NULL);
	if (!seen) {
		fprintf(stderr, "the timer never expired\n");
		return 1;
	}
	qsort(delays, seen, sizeof(*delays), ascending);
	qsort(bulk, rounds, sizeof(*bulk), ascending);
	printf("delay p50 %.3f us\ndelay p99 %.3f us\nbulk %.3f us\n",
	       (double)delays[seen / 2] / 1e3, (double)delays[seen * 99 / 100] / 1e3,
	       (double)bulk[rounds / 2] / 1e3);
	return 0;
}
