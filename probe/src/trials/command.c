// SPDX-License-Identifier: MIT
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "loads/exec.h"
#include "loads/tree.h"

/* What is kept of the output: its end. */
#define KEPT  (64u * 1024)
#define PIECE 2048u
/* Reads before the command's own end is looked for: one that never stops writing has an end too. */
#define READS 16
/* Kernels before 5.3 cannot be polled for the end of a process: it is then looked for so often. */
#define LOOK_MS 10

struct started {
	pid_t pid;
	int output;
	uint64_t start_ns;
};

struct output {
	uint8_t bytes[KEPT];
	uint64_t length; /* of all that was written */
};

static uint64_t time_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000u;
}

static int start(struct started *started, struct trial_context *context, char *const *argv)
{
	int output[2], failure[2], error = 0;
	pid_t parent = getpid();
	ssize_t got;

	if (pipe2(output, O_CLOEXEC) || pipe2(failure, O_CLOEXEC))
		return trial_fail(context, errno, "no pipe for the command: %s", strerror(errno));
	counters_begin(&context->counters);
	started->start_ns = clock_ns();
	started->pid = fork();
	if (!started->pid)
		exec_command(argv, fcntl(failure[1], F_DUPFD_CLOEXEC, 3),
			     fcntl(output[1], F_DUPFD_CLOEXEC, 3), parent);
	if (started->pid < 0)
		error = errno;
	close(failure[1]);
	close(output[1]);
	/* A successful exec closes the pipe with nothing in it. */
	do
		got = read(failure[0], &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	close(failure[0]);
	started->output = output[0];
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	if (error)
		return trial_fail(context, error, "cannot run %.80s: %s", argv[0], strerror(error));
	return 0;
}

/* take_output - some of what is there now; more than 0: there may be more; 0: at its end */
static ssize_t take_output(int fd, struct output *output)
{
	ssize_t got = 1;

	for (int i = 0; i < READS && got > 0; i++) {
		size_t at = output->length % KEPT;

		got = read(fd, output->bytes + at, KEPT - at);
		if (got > 0)
			output->length += (uint64_t)got;
	}
	return got;
}

/* tell_output - its end, in the order in which it was written */
static void tell_output(struct trial_context *context, const struct output *output)
{
	uint64_t at = output->length > KEPT ? output->length - KEPT : 0;
	bool cut = at > 0;

	while (at < output->length) {
		uint8_t piece[PIECE];
		uint16_t length = 0;

		while (length < PIECE && at < output->length)
			piece[length++] = output->bytes[at++ % KEPT];
		SAY(context, command_output, COMMAND_OUTPUT, .trial = context->trial, .cut = cut,
		    .data = {piece, length});
		cut = false;
	}
}

/* end_all - whatever the command left running: it is ours, and would disturb the next one */
static void end_all(void)
{
	struct tree tree;

	if (tree_open(&tree)) {
		tree_kill(&tree, getpid());
		tree_close(&tree);
	}
}

static volatile sig_atomic_t probe_is_gone;

static void note_it(int number)
{
	(void)number;
	probe_is_gone = 1;
}

/* wait_for - something to read, the command's end, or that of the probe, which comes as SIGTERM:
 * it is let through here alone, where what is to be done then can be done */
static void wait_for(struct pollfd *ready, const struct started *started)
{
	const struct timespec look = {.tv_nsec = LOOK_MS * 1000000};
	sigset_t none;

	sigemptyset(&none);
	ppoll(ready, 2, ready[1].fd < 0 ? &look : NULL, &none);
	if (!probe_is_gone)
		return;
	kill(started->pid, SIGKILL);
	end_all();
	_exit(1);
}

static void watch(struct trial_context *context, const struct started *started)
{
	static struct output output;
	/* What it left running may hold its output open for ever: its own end is waited for. */
	struct pollfd ready[2] = {
	    {.fd = started->output, .events = POLLIN},
	    {.fd = (int)syscall(SYS_pidfd_open, started->pid, 0), .events = POLLIN},
	};
	struct rusage usage;
	uint64_t wall_ns;
	int status;

	output.length = 0;
	while (wait4(started->pid, &status, WNOHANG, &usage) == 0) {
		wait_for(ready, started);
		if (ready[0].fd >= 0 && take_output(started->output, &output) == 0)
			ready[0].fd = -1;
	}
	wall_ns = clock_ns() - started->start_ns;
	counters_end(&context->counters);
	/* What is left running could go on writing for ever. */
	end_all();
	while (take_output(started->output, &output) > 0)
		;
	close(started->output);
	tell_output(context, &output);
	SAY(context, command_row, COMMAND_ROW, .trial = context->trial, .wall_ns = wall_ns,
	    .user_ns = time_ns(usage.ru_utime), .system_ns = time_ns(usage.ru_stime),
	    .peak_memory = (uint64_t)usage.ru_maxrss * 1024u,
	    .status = WIFEXITED(status) ? (uint8_t)WEXITSTATUS(status) : 0,
	    .signal = WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0);
}

int command_run(struct trial_context *context, const void *asked)
{
	const struct command_plan *plan = asked;
	char letters[COMMAND_LETTERS], *argv[COMMAND_WORDS + 1] = {NULL}, *at = letters;
	struct started started = {.output = -1};
	sigset_t ends;
	int error;

	memcpy(letters, plan->letters, sizeof(letters));
	for (size_t i = 0; i < plan->words; i++, at += strlen(at) + 1)
		argv[i] = at;
	/* What it starts and leaves becomes ours, and can be found below us. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGTERM, note_it);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	error = start(&started, context, argv);
	if (error)
		return error;
	watch(context, &started);
	return trial_say_counts(context, 0);
}
