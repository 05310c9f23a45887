// SPDX-License-Identifier: MIT
/* command - any command, run once: how long it took, and what it wrote */
#include <errno.h>
#include <sys/wait.h>

#include "benchmark/benchmark.h"
#include "benchmark/process.h"
#include "clock.h"

#define PIECE 2048u
/* Reads before the end of the command is checked: a command may write without a pause. */
#define READS 16

struct output {
	uint8_t bytes[WIRE_KEPT_OUTPUT];
	uint64_t length; /* of all that was written */
};

/* keep_output - read some of the output; more than 0: there may be more */
static ssize_t keep_output(struct process *process, struct output *output)
{
	ssize_t got = 1;

	for (int i = 0; i < READS && got > 0; i++) {
		size_t at = output->length % WIRE_KEPT_OUTPUT;

		got = process_read(process, 0, output->bytes + at, WIRE_KEPT_OUTPUT - at);
		if (got > 0)
			output->length += (uint64_t)got;
	}
	return got;
}

/* send_output - send the end of the output in the order in which it was written */
static void send_output(struct child_context *context, const struct output *output)
{
	uint64_t at = output->length > WIRE_KEPT_OUTPUT ? output->length - WIRE_KEPT_OUTPUT : 0;
	bool cut = at > 0;

	while (at < output->length) {
		uint8_t piece[PIECE];
		uint16_t length = 0;

		while (length < PIECE && at < output->length)
			piece[length++] = output->bytes[at++ % WIRE_KEPT_OUTPUT];
		REPORT(context, command_output, COMMAND_OUTPUT, .turn = context->turn, .cut = cut,
		       .data = {piece, length});
		cut = false;
	}
}

static int run(struct child_context *context, const void *plan)
{
	static struct output output;
	struct process process;
	struct rusage usage;
	uint64_t wall_ns;
	int status, error = process_start(&process, context, plan, false);

	if (error)
		return error;
	output.length = 0;
	while (!process_ended(&process, UINT64_MAX, &status, &usage))
		keep_output(&process, &output);
	wall_ns = clock_ns() - process.start_ns;
	counters_end(&context->counters);
	/* What is left running could write for ever, and would load the CPUs in the next round. */
	process_kill_rest();
	while (keep_output(&process, &output) > 0)
		;
	send_output(context, &output);
	REPORT(context, command_repetition, COMMAND_REPETITION, .turn = context->turn,
	       .wall_ns = wall_ns, .user_ns = clock_timeval_ns(usage.ru_utime),
	       .system_ns = clock_timeval_ns(usage.ru_stime),
	       .peak_memory = (uint64_t)usage.ru_maxrss * 1024u,
	       .status = WIFEXITED(status) ? (uint8_t)WEXITSTATUS(status) : 0,
	       .signal = WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0);
	return child_report_counts(context, 0);
}

static int start(struct workload *workload, const union wire_command *command)
{
	struct command_line line;

	if (!command_line_copy(&line, command->bench_command.argv))
		return fail(workload->text, E2BIG, COMMAND_TOO_LONG);
	return benchmark_start(workload, command->bench_command.turn, run, &line);
}

const struct workload_ops workload_command = {
    .command = WIRE_BENCH_COMMAND, .start = start, BENCHMARK_OPS};
