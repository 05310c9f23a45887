// SPDX-License-Identifier: MIT
/*
 * Programs of which is known what their system calls wait for.
 *
 *	parts sleeps COUNT		sleeps 1 ms so often, with many cheap system calls between
 *	parts hogs MS			shares its CPU with a child that spins, and calls getrandom
 *	parts fights THREADS MS		threads rename files in the working directory, with cheap
 *					system calls between
 *	parts calls MS			cheap system calls alone
 *	parts alarms MS			the same, interrupted by a timer every 30 us
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHEAP  40
#define RANDOM 65536
#define MOST   64

static char bytes[RANDOM];
static uint64_t end_ns;

/* Not a system call: the clock is read in user space. */
static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void call_often(void)
{
	for (int i = 0; i < CHEAP; i++)
		syscall(SYS_getppid);
}

static int sleeps(long count)
{
	struct timespec length = {.tv_nsec = 1000000};

	for (long i = 0; i < count; i++) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
		call_often();
	}
	return 0;
}

static int hogs(void)
{
	cpu_set_t cpus;
	pid_t child;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int cpu = 0, found = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus) && found++)
			CPU_CLR(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	while (!child)
		__asm__ volatile("");
	while (now_ns() < end_ns)
		if (getrandom(bytes, sizeof(bytes), 0) < 0)
			return 1;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}

/* A thread renames its own file: all wait for the lock of the directory, and for nothing else. */
static void *fight(void *number)
{
	char names[2][16];

	for (int i = 0; i < 2; i++)
		snprintf(names[i], sizeof(names[i]), "%d-%d", *(int *)number, i);
	close(open(names[0], O_CREAT | O_WRONLY, 0600));
	for (int from = 0; now_ns() < end_ns; from = !from) {
		if (syscall(SYS_renameat2, AT_FDCWD, names[from], AT_FDCWD, names[!from], 0))
			abort();
		for (int i = 0; i < 4; i++)
			syscall(SYS_getppid);
	}
	return NULL;
}

static int fights(int count)
{
	pthread_t threads[MOST];
	int numbers[MOST];

	for (int i = 0; i < count && i < MOST; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, fight, &numbers[i]))
			return 1;
	}
	for (int i = 0; i < count && i < MOST; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int calls(void)
{
	while (now_ns() < end_ns)
		call_often();
	return 0;
}

static void ignore(int number)
{
	(void)number;
}

/* A signal that is ignored would end the timer's interrupts. */
static int alarms(void)
{
	struct itimerval often = {.it_interval.tv_usec = 30, .it_value.tv_usec = 30};

	if (signal(SIGALRM, ignore) == SIG_ERR || setitimer(ITIMER_REAL, &often, NULL))
		return 1;
	return calls();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	end_ns = now_ns() + (uint64_t)atol(argv[argc - 1]) * 1000000;
	if (!strcmp(argv[1], "sleeps"))
		return sleeps(atol(argv[2]));
	if (!strcmp(argv[1], "hogs"))
		return hogs();
	if (!strcmp(argv[1], "fights"))
		return fights(atoi(argv[2]));
	if (!strcmp(argv[1], "alarms"))
		return alarms();
	return calls();
}
