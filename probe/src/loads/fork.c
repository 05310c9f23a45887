// SPDX-License-Identifier: MIT
/*
 * fork - short-lived processes, one after another
 *
 * Stresses the making and unmaking of address spaces: copying page tables, copy-on-write faults,
 * freeing pages in bulk, task list locks, RCU callbacks in softirq, and wakeups of a waiting
 * parent. Long non-preemptible stretches of fork and exit show as latency of others.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kinds.h"

/* Children alive at a time: the next is forked while the last ones die on other CPUs. */
#define MOST_ALIVE 4
/* What there is to copy-on-write, and how much of it a child really writes. */
#define PAGES	      256
#define PAGES_WRITTEN 32
/* A process limit that others reach too may pass: about five seconds of trying. */
#define MOST_REFUSALS 500

/*
 * child_main - write to a few shared pages and go
 *
 * A child outlives its parent by nothing: the kernel kills it, and where the parent was gone
 * before the kernel had been asked, it notices by itself.
 */
static _Noreturn void child_main(char *pages, size_t page_bytes, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (size_t i = 0; i < PAGES_WRITTEN; i++)
		((volatile char *)pages)[i * (PAGES / PAGES_WRITTEN) * page_bytes] = 1;
	_exit(0);
}

void load_fork(struct load_context *context)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	pid_t self = getpid();
	char *pages = malloc(PAGES * page_bytes);
	int alive = 0;
	int refusals = 0;

	if (!pages) {
		load_fail(context, "no memory for the fork load");
		return;
	}
	memset(pages, 0x5a, PAGES * page_bytes);
	/* Were it ignored, as it may be by inheritance, there would be nothing to wait for. */
	signal(SIGCHLD, SIG_DFL);
	for (;;) {
		pid_t child = fork();
		if (!child)
			child_main(pages, page_bytes, self);
		if (child > 0) {
			alive++;
			refusals = 0;
		} else if (++refusals == MOST_REFUSALS) {
			load_fail(context, "cannot fork: %s; raise the process limit",
				  strerror(errno));
			return;
		} else if (!alive) {
			nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
		}
		while (alive) {
			pid_t gone = waitpid(-1, NULL, alive == MOST_ALIVE ? 0 : WNOHANG);
			if (gone <= 0)
				break;
			alive--;
			load_count(context, 1);
		}
	}
}
