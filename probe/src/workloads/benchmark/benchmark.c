// SPDX-License-Identifier: MIT
#include "benchmark.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "wire/send.h"

struct state {
	struct child child;
	uint32_t turn;
};

int child_workload_start(struct workload *workload, uint32_t turn, child_body body,
			 const void *plan, const struct counter_set *counters)
{
	struct state *state = calloc(1, sizeof(*state));
	int error = state ? child_start(&state->child, turn, body, plan, counters) : ENOMEM;

	if (error) {
		free(state);
		return fail(workload->text, error, "no process to run it in");
	}
	state->turn = turn;
	workload->state = state;
	return 0;
}

bool child_workload_poll(struct workload *workload, uint64_t now_ns)
{
	struct state *state = workload->state;
	uint8_t kind, *payload;
	size_t length;

	(void)now_ns;
	while (child_next(&state->child, &kind, &payload, &length))
		send_packed(workload->context.sender, kind, payload, length);
	if (!child_is_over(&state->child))
		return false;
	workload->error = fail(workload->text, state->child.error, "%s", state->child.text);
	free(state);
	return true;
}

bool benchmark_poll(struct workload *workload, uint64_t now_ns)
{
	uint32_t turn = ((struct state *)workload->state)->turn;

	if (!child_workload_poll(workload, now_ns))
		return false;
	if (workload->error)
		SEND(workload->context.sender, bench_failed, BENCH_FAILED, .turn = turn,
		     .error = workload->error, .text = wire_text(workload->text));
	return true;
}

void child_workload_stop(struct workload *workload)
{
	child_stop(&((struct state *)workload->state)->child);
}

void child_workload_ask(struct workload *workload)
{
	pid_t pid = ((struct state *)workload->state)->child.pid;

	/* 0 is this process and all of its group. */
	if (pid > 0)
		kill(pid, SIGTERM);
}

/* child_workload_wait_ms - no limit: its input ends the wait */
int child_workload_wait_ms(const struct workload *workload)
{
	(void)workload;
	return -1;
}

int child_workload_input(const struct workload *workload)
{
	return ((const struct state *)workload->state)->child.in;
}

int benchmark_start(struct workload *workload, uint32_t turn, child_body body, const void *plan)
{
	return child_workload_start(workload, turn, body, plan, workload->context.counters);
}

int benchmark_refuse(struct workload *workload)
{
	return fail(workload->text, EINVAL, "invalid benchmark: a value is out of its range");
}

int benchmark_refuse_size(struct workload *workload, uint64_t size)
{
	return fail(workload->text, ENOMEM,
		    "%llu MiB at a time are more than the %llu MiB that this board has "
		    "addresses for",
		    (unsigned long long)(size >> 20), (unsigned long long)(SIZE_MAX / 8 >> 20));
}

bool benchmark_is_valid(uint64_t block_ns, uint16_t repetitions)
{
	return block_ns && block_ns <= WIRE_LONGEST_BLOCK_NS && repetitions;
}
