// SPDX-License-Identifier: MIT
/*
 * A program whose system calls are known.
 *
 *	caller calls COUNT NUMBER	calls the system call NUMBER, without arguments, COUNT times
 *	caller sleeps COUNT NS LOG	sleeps so often so long, and logs CLOCK_MONOTONIC before and
 *					after each, ns
 *	caller ends COUNT		begins so many threads, one after the other, which end
 *	caller reuses COUNT		begins so many processes, likewise, which all have one pid
 *	caller replaces COUNT		is replaced by itself so often, by its second thread
 */
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int sleeps(long count, long ns, const char *log)
{
	uint64_t *times = calloc((size_t)count, 2 * sizeof(*times));
	struct timespec length = {.tv_nsec = ns};
	FILE *file = fopen(log, "w");

	if (!times || !file)
		return 1;
	for (long i = 0; i < count; i++) {
		times[2 * i] = now_ns();
		clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
		times[2 * i + 1] = now_ns();
	}
	for (long i = 0; i < count; i++)
		fprintf(file, "%llu %llu\n", (unsigned long long)times[2 * i],
			(unsigned long long)times[2 * i + 1]);
	return fclose(file) != 0;
}

static void *end(void *unused)
{
	syscall(SYS_exit, 0);
	return unused;
}

static int ends(long count)
{
	pthread_t thread;

	while (count--)
		if (pthread_create(&thread, NULL, end, NULL) || pthread_join(thread, NULL))
			return 1;
	return 0;
}

static int reuses(long count)
{
	pid_t pid = 0;

	while (count--) {
		struct clone_args child = {
		    .exit_signal = SIGCHLD, .set_tid = pid ? (uintptr_t)&pid : 0, .set_tid_size = pid != 0};

		pid = (pid_t)syscall(SYS_clone3, &child, sizeof(child));
		if (!pid)
			syscall(SYS_exit, 0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

static void *replace(void *words)
{
	char **argv = words, count[24];

	snprintf(count, sizeof(count), "%ld", atol(argv[2]) - 1);
	execl(argv[0], argv[0], argv[1], count, NULL);
	return NULL;
}

static int replaces(char **argv)
{
	pthread_t thread;

	if (!atol(argv[2]))
		return 0;
	if (!pthread_create(&thread, NULL, replace, argv))
		pthread_join(thread, NULL);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "ends"))
		return ends(atol(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "reuses"))
		return reuses(atol(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "replaces"))
		return replaces(argv);
	if (argc == 4 && !strcmp(argv[1], "calls")) {
		for (long i = 0; i < atol(argv[2]); i++)
			syscall(atol(argv[3]));
		return 0;
	}
	if (argc == 5 && !strcmp(argv[1], "sleeps"))
		return sleeps(atol(argv[2]), atol(argv[3]), argv[4]);
	return 2;
}
