// SPDX-License-Identifier: MIT
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loads/oom.h"
#include "loads/tree.h"

/* On the pipe: kind, length, payload. No message has this kind: the last word of a body. */
#define LAST_WORD 0
#define HEADER	  3u
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

	/* In one piece: a handler of signals that has the last word must not come between. */
	wire_store(message + 1, (uint16_t)length, 2);
	memcpy(message + HEADER, payload, length);
	write_all(fd, message, HEADER + length);
}

void trial_say(struct trial_context *context, uint8_t kind, const struct wire_writer *writer)
{
	if (!writer->failed)
		write_message(context->out, kind, writer->data, writer->length);
}

int trial_fail(struct trial_context *context, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(context->text, sizeof(context->text), format, arguments);
	va_end(arguments);
	return error ? error : EIO;
}

void trial_last_word(const struct trial_context *context, int error)
{
	uint8_t word[4 + TRIAL_MESSAGE];

	wire_store(word, (uint32_t)error, 4);
	memcpy(word + 4, context->text, TRIAL_MESSAGE);
	write_message(context->out, LAST_WORD, word, 4 + strnlen(context->text, TRIAL_MESSAGE - 1));
}

int trial_say_counts(struct trial_context *context, uint16_t repetition)
{
	uint64_t values[MOST_COUNTERS];
	uint8_t stored[8 * MOST_COUNTERS];
	struct wire_list list = {stored, 8 * context->counters.count,
				 (uint16_t)context->counters.count};
	size_t bad;

	if (!context->counters.count)
		return 0;
	if (!counters_take(&context->counters, values, &bad))
		return trial_fail(context, EBUSY,
				  "counter %zu was not counted all the time: others use the "
				  "hardware's counters, or there are too few for so many events",
				  bad + 1);
	for (size_t i = 0; i < context->counters.count; i++)
		wire_store(stored + 8 * i, values[i], 8);
	SAY(context, trial_counts, TRIAL_COUNTS, .trial = context->trial, .repetition = repetition,
	    .values = list);
	return 0;
}

/* leave_the_probe - keep nothing of it open: a trial that held the wire open would keep the host
 * from seeing that the probe is gone */
static void leave_the_probe(int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < MOST_INHERITED; fd++)
		if (fd != out)
			close(fd);
}

static _Noreturn void child_main(int out, pid_t parent, uint32_t number, trial_body body,
				 const void *plan, const struct counter_set *counters)
{
	struct trial_context context = {.out = out, .trial = number};
	size_t bad;
	int error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* A group of its own, by which all that it starts can be ended. */
	setpgid(0, 0);
	leave_the_probe(out);
	/* Should memory run out, this and what it starts goes, and nothing of the board's. */
	oom_score("1000");
	signal(SIGCHLD, SIG_DFL);
	error = counters_open(&context.counters, counters, &bad);
	if (error)
		trial_fail(&context, error, "counter %zu cannot be counted here: %s", bad + 1,
			   strerror(error));
	else
		error = body(&context, plan);
	trial_last_word(&context, error);
	_exit(0);
}

int trial_start(struct trial *trial, uint32_t command, uint32_t number, trial_body body,
		const void *plan, const struct counter_set *counters)
{
	pid_t parent = getpid();
	int ends[2], out;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	*trial = (struct trial){.in = ends[0], .command = command, .number = number};
	/* Above 2, where /dev/null comes to lie. */
	out = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
	close(ends[1]);
	if (out < 0) {
		int error = errno;

		close(ends[0]);
		return error;
	}
	trial->child = fork();
	if (!trial->child)
		child_main(out, parent, number, body, plan, counters);
	close(out);
	if (trial->child < 0) {
		int error = errno;

		close(ends[0]);
		trial->child = 0;
		return error;
	}
	fcntl(trial->in, F_SETFL, O_NONBLOCK);
	return 0;
}

/* take_last_word - false where the message is another one */
static bool take_last_word(struct trial *trial, const uint8_t *payload, size_t length)
{
	if (trial->received[0] != LAST_WORD)
		return false;
	/* A task that says why it ends is followed by word that it did. */
	if (trial->said_why)
		return true;
	trial->said_why = true;
	trial->error = length >= 4 ? (int)(uint32_t)wire_load(payload, 4) : EIO;
	snprintf(trial->text, sizeof(trial->text), "%.*s", length > 4 ? (int)(length - 4) : 0,
		 (const char *)payload + 4);
	return true;
}

static void drop_first(struct trial *trial)
{
	size_t size = HEADER + (trial->received[1] | (size_t)trial->received[2] << 8);

	trial->length -= size;
	memmove(trial->received, trial->received + size, trial->length);
}

/* has_message - whether the first message is there whole */
static bool has_message(const struct trial *trial, size_t *length)
{
	*length = trial->received[1] | (size_t)trial->received[2] << 8;
	return trial->length >= HEADER && trial->length >= HEADER + *length;
}

bool trial_next(struct trial *trial, uint8_t *kind, uint8_t **payload, size_t *length)
{
	ssize_t got;

	if (trial->taken) {
		drop_first(trial);
		trial->taken = false;
	}
	if (!has_message(trial, length)) {
		got = read(trial->in, trial->received + trial->length,
			   sizeof(trial->received) - trial->length);
		if (got > 0)
			trial->length += (size_t)got;
		trial->at_end = got == 0;
		if (!has_message(trial, length))
			return false;
	}
	*kind = trial->received[0];
	*payload = trial->received + HEADER;
	trial->taken = true;
	if (*length > WIRE_MAX_PAYLOAD || take_last_word(trial, *payload, *length))
		return trial_next(trial, kind, payload, length);
	return true;
}

/* told_by - what is to be said of how the process ended, where it did not say so itself */
static void told_by(struct trial *trial, int status)
{
	if (trial->stopped) {
		trial->error = ECANCELED;
		snprintf(trial->text, sizeof(trial->text), "the trial was ended early");
	} else if (!trial->said_why) {
		trial->error = EIO;
		if (WIFSIGNALED(status))
			snprintf(trial->text, sizeof(trial->text),
				 "the process of the trial was ended by signal %d (%s)%s",
				 WTERMSIG(status), strsignal(WTERMSIG(status)),
				 WTERMSIG(status) == SIGKILL ? ": is there memory enough?" : "");
		else
			snprintf(trial->text, sizeof(trial->text),
				 "the process of the trial ended without a word");
	}
}

bool trial_is_over(struct trial *trial)
{
	pid_t child = trial->child;
	int status = 0;

	if (!trial->at_end)
		return false;
	/* Whatever it started and left goes too; the group is there until it is waited for. */
	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	close(trial->in);
	trial->child = 0;
	told_by(trial, status);
	return true;
}

void trial_stop(struct trial *trial)
{
	struct tree tree;

	if (!trial->child)
		return;
	trial->stopped = true;
	/* A command may have left the group; while its parent is there it is found below that. */
	if (tree_open(&tree)) {
		tree_kill(&tree, trial->child);
		tree_close(&tree);
	}
	kill(-trial->child, SIGKILL);
	kill(trial->child, SIGKILL);
}
