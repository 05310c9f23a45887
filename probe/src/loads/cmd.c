// SPDX-License-Identifier: MIT
/*
 * cmd - runs a command of the user's own
 *
 * Stresses whatever the command does. It runs without a shell and without input, and its output is
 * dropped: the probe's own output is the wire.
 *
 * Its work is the CPU time of all processes below the load: a command that merely sleeps is an
 * idle load, and the run reports it. Processes that leave their session or lose their parent
 * stay below the load, which adopts them (PR_SET_CHILD_SUBREAPER).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "exec.h"
#include "kinds.h"
#include "tree.h"

/* How often the process tree is read: that costs some microseconds for each process there is. */
#define SAMPLE_NS (200u * NS_PER_MS)

struct command {
	pid_t pid;
	bool is_running;
	int status; /* as of waitpid, once it is not running */
	uint64_t started_ns;
	struct tree tree;
	bool has_tree;
	uint64_t counted_ms;
};

/* reap - wait for all children that ended, adopted ones too; keep the status of the command */
static void reap(struct command *command)
{
	int status;
	pid_t gone;

	while ((gone = waitpid(-1, &status, WNOHANG)) > 0) {
		if (gone != command->pid)
			continue;
		command->is_running = false;
		command->status = status;
	}
}

/*
 * count_work - add the CPU time used since the last sample
 *
 * RUSAGE_CHILDREN has the processes that were reaped, /proc the others. A process that ends between
 * the two readings is missing for one sample: the sum may fall, the work never does. Returns how
 * many processes are alive.
 */
static size_t count_work(struct load_context *context, struct command *command)
{
	struct rusage reaped;
	uint64_t ticks = 0;
	size_t alive = 0;

	if (command->has_tree) {
		tree_read(&command->tree, getpid());
		for (size_t i = 0; i < command->tree.count; i++) {
			const struct tree_process *process = &command->tree.list[i];
			if (!process->is_below)
				continue;
			ticks += process->ticks;
			alive += !process->is_zombie;
		}
	}
	getrusage(RUSAGE_CHILDREN, &reaped);
	uint64_t ms =
	    ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK) +
	    (clock_timeval_ns(reaped.ru_utime) + clock_timeval_ns(reaped.ru_stime)) / NS_PER_MS;
	if (ms > command->counted_ms) {
		load_count(context, ms - command->counted_ms);
		command->counted_ms = ms;
	}
	return alive;
}

/* wait_for_child - until a child ended or the time is over */
static void wait_for_child(uint64_t ns)
{
	struct timespec time = clock_timespec(ns);
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigtimedwait(&child, NULL, &time);
}

/* report_end - how the command ended, and after how long */
static void report_end(struct load_context *context, const struct command *command)
{
	uint64_t ms = (clock_ns() - command->started_ns) / NS_PER_MS;
	bool was_killed = WIFSIGNALED(command->status);

	load_end(context, "%s %d after %llu.%llu s",
		 was_killed ? "killed by signal" : "exited with status",
		 was_killed ? WTERMSIG(command->status) : WEXITSTATUS(command->status),
		 (unsigned long long)(ms / 1000), (unsigned long long)(ms % 1000 / 100));
}

/*
 * watch - count the command's work until it has ended
 *
 * A command that put itself into the background exits with 0: it has ended when the processes it
 * left have. Where it failed, they are killed.
 */
static void watch(struct load_context *context, struct command *command)
{
	for (;;) {
		uint64_t end_ns = clock_ns() + SAMPLE_NS, now_ns;
		while ((now_ns = clock_ns()) < end_ns) {
			wait_for_child(end_ns - now_ns);
			bool was_running = command->is_running;
			reap(command);
			if (was_running && !command->is_running)
				break;
		}
		size_t alive = count_work(context, command);
		if (command->is_running)
			continue;
		if (alive && !command->status)
			continue;
		report_end(context, command);
		if (alive)
			tree_kill(&command->tree, getpid());
		return;
	}
}

void load_cmd(struct load_context *context)
{
	struct command command = {.is_running = false};
	sigset_t child;

	if (!context->argv || !context->argv[0]) {
		load_fail(context, "no command was given");
		return;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* Blocked, so that waiting for it can not miss it. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	command.has_tree = tree_open(&command.tree);
	command.started_ns = clock_ns();
	int error = exec_start(context->argv, (const int[]){-1, -1}, &command.pid);

	command.is_running = command.pid > 0;
	if (error)
		load_fail(context, "cannot run %.80s: %s", context->argv[0], strerror(error));
	else
		watch(context, &command);
	if (command.has_tree)
		tree_close(&command.tree);
}
