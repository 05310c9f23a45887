// SPDX-License-Identifier: MIT
/*
 * cmd - runs a command of the user's own
 *
 * Stresses whatever the command does. It is run as it was given, without a shell, without input,
 * and its output goes nowhere: the probe's own output is the wire.
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
#include <time.h>
#include <unistd.h>

#include "exec.h"
#include "kinds.h"
#include "tree.h"

/* How often the process tree is read: that costs some microseconds for each process there is. */
#define SAMPLE_MS 200

struct command {
	pid_t pid;
	bool is_running;
	int status; /* as of waitpid, once it is not running */
	struct timespec started;
	struct tree tree;
	bool has_tree;
	uint64_t counted_ms;
};

/* ms_since - milliseconds from then to now */
static uint64_t ms_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)((now.tv_sec - then->tv_sec) * 1000ll +
			  (now.tv_nsec - then->tv_nsec) / 1000000);
}

/* reap - take in all that ended, adopted ones too, and note how the command itself did */
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
 * Processes that were reaped are in our own account of children, the others are in /proc. A
 * process that ends between the two readings is missing for one sample, which is why the sum may
 * fall; the work only grows. Returns how many processes are still there.
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
	uint64_t ms = ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK) +
		      (uint64_t)(reaped.ru_utime.tv_sec + reaped.ru_stime.tv_sec) * 1000 +
		      (uint64_t)(reaped.ru_utime.tv_usec + reaped.ru_stime.tv_usec) / 1000;
	if (ms > command->counted_ms) {
		load_count(context, ms - command->counted_ms);
		command->counted_ms = ms;
	}
	return alive;
}

/* wait_for_child - until a child ended or the time is over */
static void wait_for_child(long ms)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigtimedwait(&child, NULL, &(struct timespec){.tv_nsec = ms * 1000000});
}

/* report_end - how the command ended, and after how long */
static void report_end(struct load_context *context, const struct command *command)
{
	uint64_t ms = ms_since(&command->started);
	bool was_killed = WIFSIGNALED(command->status);

	load_end(context, "%s %d after %llu.%llu s",
		 was_killed ? "killed by signal" : "exited with status",
		 was_killed ? WTERMSIG(command->status) : WEXITSTATUS(command->status),
		 (unsigned long long)(ms / 1000), (unsigned long long)(ms % 1000 / 100));
}

/*
 * watch - count the command's work until it has ended
 *
 * A command that went into the background by itself exits with 0 and leaves its work to others:
 * it has ended when they have. Where it failed, what it left is killed, as it will never do what
 * was asked for.
 */
static void watch(struct load_context *context, struct command *command)
{
	for (;;) {
		struct timespec begin;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		uint64_t waited;
		while ((waited = ms_since(&begin)) < SAMPLE_MS) {
			wait_for_child((long)(SAMPLE_MS - waited));
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

/* load_cmd - start the command and watch it */
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
	clock_gettime(CLOCK_MONOTONIC, &command.started);
	int error = exec_start(context->argv, (const int[]){-1, -1}, &command.pid);

	command.is_running = command.pid > 0;
	if (error)
		load_fail(context, "cannot run %.80s: %s", context->argv[0], strerror(error));
	else
		watch(context, &command);
	if (command.has_tree)
		tree_close(&command.tree);
}
