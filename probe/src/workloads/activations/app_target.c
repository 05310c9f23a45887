// SPDX-License-Identifier: MIT
#include "app_target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "failure.h"
#include "loads/exec.h"
#include "small_file.h"
#include "wire/pack.h"

/* From SIGTERM to SIGKILL. */
#define PATIENCE_MS 2000

static int open_process(struct app_target *target, uint32_t pid, char *text)
{
	char path[64];
	uint32_t process;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	process = (uint32_t)small_file_number(AT_FDCWD, path, "Tgid:");
	if (!process)
		return fail(text, ESRCH, "there is no process %" PRIu32, pid);
	if (process != pid)
		return fail(text, EINVAL,
			    "%" PRIu32 " is a thread of the process %" PRIu32 ": name that", pid,
			    process);
	target->watch.pid = pid;
	return 0;
}

/* child_main - wait for the go, then become the command */
static _Noreturn void child_main(char *const *argv, int go, int failure, pid_t parent)
{
	char byte;
	ssize_t got;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A session of its own: it is ended as a group, and scheduled as one (autogroup). */
	setsid();
	do
		got = read(go, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(127);
	exec_command(argv, failure, (const int[]){-1, -1}, parent);
}

static int fork_command(struct app_target *target, char *const *argv)
{
	int go[2], failure[2];
	pid_t parent = getpid();
	int error = 0;

	if (pipe2(go, O_CLOEXEC))
		return errno;
	if (pipe2(failure, O_CLOEXEC)) {
		error = errno;
		close(go[0]);
		close(go[1]);
		return error;
	}
	target->child = fork();
	if (!target->child) {
		close(go[1]);
		close(failure[0]);
		child_main(argv, go[0], failure[1], parent);
	}
	if (target->child < 0) {
		error = errno;
		target->child = 0;
	}
	close(go[0]);
	close(failure[1]);
	target->go = go[1];
	target->failure = failure[0];
	target->watch.pid = (uint32_t)target->child;
	return error;
}

static int open_command(struct app_target *target, struct wire_list words, char *text)
{
	char *argv[WIRE_MOST_WORDS + 1] = {NULL}, words_text[WIRE_MOST_COMMAND_BYTES];
	size_t used = 0, count = 0;
	int error;

	while (words.count) {
		struct wire_bytes word = wire_list_next_str(&words);

		if (count == WIRE_MOST_WORDS ||
		    !wire_copy_text(word, words_text + used, sizeof(words_text) - used))
			return fail(text, E2BIG,
				    "a command must have 1 to 64 words of 4000 bytes together");
		argv[count++] = words_text + used;
		used += word.length + 1u;
	}
	/* The child has its own copy of the words. */
	error = fork_command(target, argv);
	if (error)
		return fail(text, error, "cannot start %.80s: %s", argv[0], strerror(error));
	return 0;
}

int target_open(struct app_target *target, const struct wire_app *app, char *text)
{
	*target = (struct app_target){.go = -1, .failure = -1};
	if ((app->pid != 0) + (app->comm.length != 0) + (app->argv.count != 0) != 1)
		return fail(text, EINVAL,
			    "expected one program to watch: a process, a name or a command");
	if (app->pid)
		return open_process(target, app->pid, text);
	if (app->argv.count)
		return open_command(target, app->argv, text);
	if (!wire_copy_text(app->comm, target->watch.comm, sizeof(target->watch.comm)))
		return fail(text, EINVAL, "a thread's name has 15 bytes at most");
	return 0;
}

int target_go(struct app_target *target)
{
	if (!target->child)
		return 0;
	if (write(target->go, "", 1) != 1)
		return errno;
	return exec_read_failure(target->failure);
}

bool target_is_over(struct app_target *target)
{
	if (target->is_over)
		return true;
	if (target->child)
		target->is_over = waitpid(target->child, &target->status, WNOHANG) == target->child;
	else if (target->watch.pid)
		target->is_over = kill((pid_t)target->watch.pid, 0) && errno == ESRCH;
	return target->is_over;
}

void target_close(struct app_target *target)
{
	const struct timespec step = {.tv_nsec = 10000000};

	if (target->go >= 0)
		close(target->go);
	if (target->failure >= 0)
		close(target->failure);
	target->go = target->failure = -1;
	if (!target->child)
		return;
	/* With its children; a child that waits for its go may not lead a group yet. */
	if (kill(-target->child, SIGTERM))
		kill(target->child, SIGKILL);
	for (int ms = 0; ms < PATIENCE_MS && !target_is_over(target); ms += 10)
		nanosleep(&step, NULL);
	kill(-target->child, SIGKILL);
	if (!target->is_over)
		waitpid(target->child, &target->status, 0);
	target->is_over = true;
	target->child = 0;
}
