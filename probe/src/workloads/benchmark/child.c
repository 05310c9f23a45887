// SPDX-License-Identifier: MIT
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loads/tree.h"
#include "small_file.h"

/* On the pipe: kind, length, payload. The kind of no message: why a body ended. */
#define REASON 0
#define HEADER 3u
/* Descriptors that may have come down from the probe; it opens far fewer. */
#define MOST_INHERITED 1024

static void write_all(int fd, const void *data, size_t length)
{
	const uint8_t *at = data;

	while (length) {
		ssize_t wrote = write(fd, at, length);

		if (wrote < 0 && errno != EINTR)
			return; /* the probe is gone, and this process will be at once */
		if (wrote > 0) {
			at += wrote;
			length -= (size_t)wrote;
		}
	}
}

static void write_message(int fd, uint8_t kind, const uint8_t *payload, size_t length)
{
	uint8_t message[HEADER + WIRE_MAX_PAYLOAD] = {kind};

	/* One write: a signal handler that reports a failure must not come in between. */
	wire_store(message + 1, (uint16_t)length, 2);
	memcpy(message + HEADER, payload, length);
	write_all(fd, message, HEADER + length);
}

void child_report(struct child_context *context, uint8_t kind, const void *message)
{
	uint8_t payload[WIRE_MAX_PAYLOAD];
	struct wire_writer writer = {payload, sizeof(payload), 0, false};

	wire_pack(&writer, kind, message);
	if (!writer.failed)
		write_message(context->out, kind, payload, writer.length);
}

void child_report_failure(const struct child_context *context, int error)
{
	uint8_t word[4 + FAILURE_TEXT];

	wire_store(word, (uint32_t)error, 4);
	memcpy(word + 4, context->text, FAILURE_TEXT);
	write_message(context->out, REASON, word, 4 + strnlen(context->text, FAILURE_TEXT - 1));
}

int child_report_counts(struct child_context *context, uint16_t repetition)
{
	uint64_t values[WIRE_MOST_COUNTERS];
	uint8_t room[8 * WIRE_MOST_COUNTERS];
	size_t bad;

	if (!context->counters.count)
		return 0;
	if (!counters_read(&context->counters, values, &bad))
		return fail(context->text, EBUSY, "counter %zu " COUNTERS_SHARED, bad + 1);
	REPORT(context, repetition_counts, REPETITION_COUNTS, .turn = context->turn,
	       .repetition = repetition,
	       .values = wire_list_of_u64(room, values, context->counters.count));
	return 0;
}

/* close_inherited - close the probe's descriptors: a child that held the wire open would hide the
 * end of the probe from the host */
static void close_inherited(int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < MOST_INHERITED; fd++)
		if (fd != out)
			close(fd);
}

static _Noreturn void child_main(int out, pid_t parent, uint32_t turn, child_body body,
				 const void *plan, const struct counter_set *counters)
{
	struct child_context context = {.out = out, .turn = turn, .wanted = counters};
	size_t bad;
	int error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* A group of its own, by which all that it starts can be killed. */
	setpgid(0, 0);
	close_inherited(out);
	/* Where memory runs out, this process and its children end first. */
	small_file_write(AT_FDCWD, "/proc/self/oom_score_adj", "1000");
	signal(SIGCHLD, SIG_DFL);
	error = counters_open(&context.counters, counters, 0, &bad);
	if (error)
		fail(context.text, error, "counter %zu cannot be counted here: %s", bad + 1,
		     strerror(error));
	else
		error = body(&context, plan);
	child_report_failure(&context, error);
	_exit(0);
}

int child_start(struct child *child, uint32_t turn, child_body body, const void *plan,
		const struct counter_set *counters)
{
	pid_t parent = getpid();
	int ends[2], out, error;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	*child = (struct child){.in = ends[0]};
	/* Above 2, where /dev/null comes to lie. */
	out = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
	close(ends[1]);
	child->pid = out < 0 ? -1 : fork();
	if (!child->pid)
		child_main(out, parent, turn, body, plan, counters);
	error = errno;
	if (out >= 0)
		close(out);
	if (child->pid > 0) {
		fcntl(child->in, F_SETFL, O_NONBLOCK);
		return 0;
	}
	close(child->in);
	child->pid = 0;
	return error;
}

/* read_reason - read why a body ended; false where the message is another one */
static bool read_reason(struct child *child, const uint8_t *payload, size_t length)
{
	if (child->received[0] != REASON)
		return false;
	/* A task that reports why it ends is followed by a report that it ended. */
	if (child->has_reason)
		return true;
	child->has_reason = true;
	child->error = length >= 4 ? (int)(uint32_t)wire_load(payload, 4) : EIO;
	snprintf(child->text, sizeof(child->text), "%.*s", length > 4 ? (int)(length - 4) : 0,
		 (const char *)payload + 4);
	return true;
}

/* has_message - whether all of the first message is there */
static bool has_message(const struct child *child, size_t *length)
{
	*length = child->received[1] | (size_t)child->received[2] << 8;
	return child->length >= HEADER && child->length >= HEADER + *length;
}

bool child_next(struct child *child, uint8_t *kind, uint8_t **payload, size_t *length)
{
	ssize_t got;

	if (child->handed_out && has_message(child, length)) {
		child->length -= HEADER + *length;
		memmove(child->received, child->received + HEADER + *length, child->length);
		child->handed_out = false;
	}
	if (!has_message(child, length)) {
		got = read(child->in, child->received + child->length,
			   sizeof(child->received) - child->length);
		if (got > 0)
			child->length += (size_t)got;
		child->at_end = got == 0;
		if (!has_message(child, length))
			return false;
	}
	*kind = child->received[0];
	*payload = child->received + HEADER;
	child->handed_out = true;
	if (*length > WIRE_MAX_PAYLOAD || read_reason(child, *payload, *length))
		return child_next(child, kind, payload, length);
	return true;
}

/* fill_reason - describe how the process ended, where it did not report that itself */
static void fill_reason(struct child *child, int status)
{
	if (child->stopped) {
		child->error = ECANCELED;
		snprintf(child->text, sizeof(child->text), "it was ended early");
	} else if (!child->has_reason) {
		child->error = EIO;
		if (WIFSIGNALED(status))
			snprintf(child->text, sizeof(child->text),
				 "its process was ended by signal %d (%s)%s", WTERMSIG(status),
				 strsignal(WTERMSIG(status)),
				 WTERMSIG(status) == SIGKILL ? ": is there memory enough?" : "");
		else
			snprintf(child->text, sizeof(child->text),
				 "its process ended without a reason");
	}
}

bool child_is_over(struct child *child)
{
	pid_t pid = child->pid;
	int status = 0;

	if (!child->at_end)
		return false;
	/* With all that it started: the group exists until the process is reaped. */
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(child->in);
	child->pid = 0;
	fill_reason(child, status);
	return true;
}

void child_stop(struct child *child)
{
	struct tree tree;

	if (!child->pid)
		return;
	child->stopped = true;
	/* A command may have left the group, but is found below its parent while that lives. */
	if (tree_open(&tree)) {
		tree_kill(&tree, child->pid);
		tree_close(&tree);
	}
	kill(-child->pid, SIGKILL);
	kill(child->pid, SIGKILL);
}
