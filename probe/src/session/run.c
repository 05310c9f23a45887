// SPDX-License-Identifier: MIT
/* run - a command for the host, which gets its output while it runs: nothing of it is measured */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "clock.h"
#include "workloads/benchmark/benchmark.h"
#include "workloads/benchmark/process.h"

#define PIECE 2048u
/* Reads of an output before the end of the command is checked. */
#define READS 16

struct run_plan {
	struct command_line line;
	uint32_t timeout_ms;   /* 0: none */
	uint32_t output_limit; /* bytes that are sent, of both streams together */
};

struct run {
	struct process process;
	uint64_t left;	  /* bytes that may still be sent */
	uint64_t omitted; /* bytes that were not */
};

/* send_output - send what the command has written until now; false: nothing */
static bool send_output(struct run *run, struct child_context *context)
{
	uint8_t piece[PIECE];
	bool any = false;

	for (int stream = 0; stream < 2; stream++) {
		for (int i = 0; i < READS; i++) {
			ssize_t got = process_read(&run->process, stream, piece, sizeof(piece));
			uint64_t sent =
			    got > 0 && (uint64_t)got > run->left ? run->left : (uint64_t)got;

			if (got <= 0)
				break;
			any = true;
			run->left -= sent;
			run->omitted += (uint64_t)got - sent;
			if (sent)
				REPORT(context, run_output, RUN_OUTPUT,
				       .stream = (uint8_t)(STREAM_STDOUT + stream),
				       .data = {piece, (uint16_t)sent});
		}
	}
	return any;
}

static int run_command(struct child_context *context, const void *asked)
{
	const struct run_plan *plan = asked;
	struct run run = {.left = plan->output_limit};
	int status, error = process_start(&run.process, context, &plan->line, true);
	uint64_t until_ns = UINT64_MAX, wall_ns;
	bool timed_out = false;
	struct rusage usage;

	if (error)
		return error;
	if (plan->timeout_ms)
		until_ns = run.process.start_ns + plan->timeout_ms * (uint64_t)NS_PER_MS;
	while (!process_ended(&run.process, until_ns, &status, &usage)) {
		send_output(&run, context);
		if (clock_ns() < until_ns)
			continue;
		timed_out = true;
		until_ns = UINT64_MAX;
		kill(run.process.pid, SIGKILL);
	}
	wall_ns = clock_ns() - run.process.start_ns;
	process_kill_rest();
	while (send_output(&run, context))
		;
	REPORT(context, run_ended, RUN_ENDED,
	       .status = WIFEXITED(status) ? (uint8_t)WEXITSTATUS(status) : 0,
	       .signal = WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0,
	       .timed_out = timed_out, .wall_ns = wall_ns, .omitted = run.omitted);
	return 0;
}

static int start(struct workload *workload, const union wire_command *command)
{
	static const struct counter_set nothing;
	struct run_plan plan = {.timeout_ms = command->run.timeout_ms,
				.output_limit = command->run.output_limit};

	if (!command_line_copy(&plan.line, command->run.argv))
		return fail(workload->text, E2BIG, COMMAND_TOO_LONG);
	return child_workload_start(workload, 0, run_command, &plan, &nothing);
}

/* Run like a workload, so that nothing else runs beside it. */
const struct workload_ops run_ops = {
    .command = WIRE_RUN, .start = start, .poll = child_workload_poll, CHILD_WORKLOAD_OPS};
