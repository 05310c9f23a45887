// SPDX-License-Identifier: MIT
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "loads/exec.h"
#include "loads/tree.h"

/* How often the end of a process is checked on kernels before 5.3, which cannot poll for it. */
#define LOOK_NS 10000000u

static volatile sig_atomic_t probe_is_gone;

static void note_signal(int number)
{
	(void)number;
	probe_is_gone = 1;
}

/* adopt - become the subreaper of the command, and receive the end of the probe as SIGTERM, which
 * is unblocked in process_ended() alone */
static void adopt(void)
{
	sigset_t ends;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGTERM, note_signal);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}

bool command_line_copy(struct command_line *line, struct wire_list words)
{
	size_t length;

	line->words = words.count;
	return words.count && words.count <= WIRE_MOST_WORDS &&
	       wire_copy_argv(words, line->text, sizeof(line->text), &length);
}

int process_start(struct process *process, struct child_context *context,
		  const struct command_line *line, bool separate)
{
	int pipes[2][2] = {{-1, -1}, {-1, -1}}, error;
	char text[WIRE_MOST_COMMAND_BYTES], *argv[WIRE_MOST_WORDS + 1] = {NULL}, *at = text;

	memcpy(text, line->text, sizeof(text));
	for (size_t i = 0; i < line->words; i++, at += strlen(at) + 1)
		argv[i] = at;
	adopt();
	if (pipe2(pipes[0], O_CLOEXEC) || (separate && pipe2(pipes[1], O_CLOEXEC)))
		return fail(context->text, errno, "no pipe for the command: %s", strerror(errno));
	counters_begin(&context->counters);
	process->start_ns = clock_ns();
	error = exec_start(argv, (const int[]){pipes[0][1], pipes[separate][1]}, &process->pid);
	for (int i = 0; i < 2; i++) {
		process->outputs[i] = pipes[i][0];
		if (pipes[i][0] < 0)
			continue;
		close(pipes[i][1]);
		fcntl(pipes[i][0], F_SETFL, O_NONBLOCK);
	}
	if (error)
		return fail(context->text, error, "cannot run %.80s: %s", argv[0], strerror(error));
	process->end = (int)syscall(SYS_pidfd_open, process->pid, 0);
	return 0;
}

bool process_ended(const struct process *process, uint64_t until_ns, int *status,
		   struct rusage *usage)
{
	struct pollfd ready[3] = {
	    {.fd = process->outputs[0], .events = POLLIN},
	    {.fd = process->outputs[1], .events = POLLIN},
	    {.fd = process->end, .events = POLLIN},
	};
	uint64_t now_ns = clock_ns(), wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec wait;
	sigset_t none;

	if (wait4(process->pid, status, WNOHANG, usage))
		return true;
	if (process->end < 0 && wait_ns > LOOK_NS)
		wait_ns = LOOK_NS;
	wait = clock_timespec(wait_ns);
	sigemptyset(&none);
	ppoll(ready, 3, until_ns == UINT64_MAX && process->end >= 0 ? NULL : &wait, &none);
	if (!probe_is_gone)
		return false;
	kill(process->pid, SIGKILL);
	process_kill_rest();
	_exit(1);
}

ssize_t process_read(struct process *process, int stream, void *data, size_t room)
{
	ssize_t got;

	if (process->outputs[stream] < 0)
		return -1;
	got = read(process->outputs[stream], data, room);
	if (got == 0) {
		close(process->outputs[stream]);
		process->outputs[stream] = -1;
	}
	return got;
}

void process_kill_rest(void)
{
	struct tree tree;

	if (tree_open(&tree)) {
		tree_kill(&tree, getpid());
		tree_close(&tree);
	}
}
