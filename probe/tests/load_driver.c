// SPDX-License-Identifier: MIT
/*
 * load_driver KIND SECONDS [ARG...] - run one load as the probe's guardian would
 *
 * Prints "pid N", then "work N" every 100 ms, and after the load was killed or had stopped
 * "cpu MS" (its user and system time), "state NAME" and "message TEXT". A load that stopped by
 * itself gets a moment to clean up, then "left N" counts its processes that still live.
 * Exits with 0 unless it was called wrongly.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loads/load.h"
#include "loads/tree.h"

#define STEP_MS	    100
#define CLEANING_MS 300

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* child_main - the load's process: leader of a group of its own, and never above its parent */
static _Noreturn void child_main(const struct load_kind *kind, struct load_context *context,
				 pid_t parent)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	kind->run(context);
	_exit(0);
}

/* kill_all - the group first, then whatever left it; we adopted what lost its parent */
static void kill_all(pid_t load)
{
	struct tree tree;

	kill(-load, SIGKILL);
	if (tree_open(&tree)) {
		tree_kill(&tree, getpid());
		tree_close(&tree);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* print_left - how many processes live below us: a load that stopped by itself wants none */
static void print_left(void)
{
	struct tree tree;
	int left = 0;

	if (!tree_open(&tree))
		return;
	tree_read(&tree, getpid());
	for (size_t i = 0; i < tree.count; i++)
		left += tree.list[i].is_below && !tree.list[i].is_zombie;
	printf("left %d\n", left);
	tree_close(&tree);
}

/* print_slot - what became of the load */
static void print_slot(const struct load_slot *slot)
{
	const char *const names[] = {"idle", "running", "failed", "ended"};
	struct rusage used;

	getrusage(RUSAGE_CHILDREN, &used);
	printf("cpu %lld\n", (long long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
				 (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000);
	printf("state %s\n", names[atomic_load(&slot->state)]);
	printf("message %s\n", slot->message);
}

int main(int argc, char **argv)
{
	const struct load_kind *kind = argc > 2 ? load_find(argv[1]) : NULL;
	pid_t parent = getpid();

	if (!kind) {
		fprintf(stderr, "usage: load_driver KIND SECONDS [ARG...]\n");
		return 2;
	}
	long steps = (long)(atof(argv[2]) * 1000) / STEP_MS;
	struct load_slot *slot =
	    mmap(NULL, sizeof(*slot), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (slot == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	struct load_context context = {.slot = slot, .argv = argv + 3};
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	atomic_store(&slot->state, LOAD_RUNNING);
	pid_t load = fork();
	if (load == 0)
		child_main(kind, &context, parent);
	if (load < 0) {
		perror("fork");
		return 2;
	}
	printf("pid %d\n", (int)load);
	for (long i = 0; i < steps && atomic_load(&slot->state) == LOAD_RUNNING; i++) {
		fflush(stdout);
		sleep_ms(STEP_MS);
		printf("work %llu\n", (unsigned long long)atomic_load(&slot->work));
	}
	if (atomic_load(&slot->state) != LOAD_RUNNING) {
		sleep_ms(CLEANING_MS);
		print_left();
	}
	kill_all(load);
	print_slot(slot);
	return 0;
}
