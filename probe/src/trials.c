// SPDX-License-Identifier: MIT
/* The host's commands for workloads that have repetitions: trials. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "session_parts.h"
#include "trials/clocks.h"
#include "trials/command.h"
#include "trials/memory.h"
#include "trials/process.h"
#include "trials/run.h"
#include "trials/switch.h"

#define LONGEST_BLOCK_NS 60000000000ull
/* The number of what is no trial. */
#define NO_TRIAL UINT32_MAX

static void answer(struct session *session, uint32_t command, int error, const char *text)
{
	if (error)
		SEND(session, failed, FAILED, .command = command, .error = error,
		     .text = wire_text(text));
	else
		SEND(session, done, DONE, .command = command);
}

static void start(struct session *session, uint32_t command, uint32_t number, trial_body body,
		  const void *plan)
{
	int error = EBUSY;

	if (!session->measuring && !session->trial.child)
		error = trial_start(&session->trial, command, number, body, plan,
				    &session->counter_set);
	if (error)
		answer(session, command, error,
		       error == EBUSY ? "a trial within another workload"
				      : "no process for the trial");
}

static void refuse(struct session *session, uint32_t command)
{
	answer(session, command, EINVAL, "a trial that this probe cannot make");
}

/* too_large - for the addresses that this probe has: of 32 bits it takes 512 MiB */
static void too_large(struct session *session, uint32_t command, uint64_t size)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "%llu MiB at a time are more than the %llu MiB that this board has addresses for",
		 (unsigned long long)(size >> 20), (unsigned long long)(SIZE_MAX / 8 >> 20));
	answer(session, command, ENOMEM, text);
}

/* take_cpus - false where there are more of them than fit */
static bool take_cpus(struct wire_list list, uint16_t *cpus, size_t room, size_t *count)
{
	if (list.count > room)
		return false;
	*count = list.count;
	for (size_t i = 0; i < list.count; i++)
		cpus[i] = wire_list_u16(list, i);
	return true;
}

static bool is_sound(uint64_t block_ns, uint16_t repetitions)
{
	return block_ns && block_ns <= LONGEST_BLOCK_NS && repetitions;
}

static void do_switch(struct session *session, uint32_t number,
		      const struct wire_switch_trial *trial)
{
	struct switch_plan plan = {.tasks = trial->tasks,
				   .over = (enum channel_kind)trial->over,
				   .threads = trial->threads,
				   .set_bytes = trial->set_bytes,
				   .block_ns = trial->block_ns,
				   .repetitions = trial->repetitions,
				   .priority = trial->priority};

	if (trial->over >= CHANNEL_KINDS || !plan.tasks || plan.tasks > MOST_TASKS ||
	    plan.priority > 99 || !is_sound(plan.block_ns, plan.repetitions) ||
	    !take_cpus(trial->cpus, plan.cpus, SWITCH_MOST_CPUS, &plan.cpu_count))
		refuse(session, number);
	else if (plan.set_bytes > SIZE_MAX / 8)
		too_large(session, number, plan.set_bytes);
	else
		start(session, number, trial->trial, switch_run, &plan);
}

static void do_memory(struct session *session, uint32_t number,
		      const struct wire_memory_trial *trial)
{
	struct memory_plan plan = {.what = (enum memory_what)trial->what,
				   .source = (enum buffer_content)trial->source,
				   .pages = (enum buffer_pages)trial->pages,
				   .routine = (enum memory_routine)trial->routine,
				   .bytes = (size_t)trial->size,
				   .block_ns = trial->block_ns,
				   .repetitions = trial->repetitions,
				   .cpu = trial->cpu};

	if (trial->what >= MEMORY_WHATS || trial->source >= BUFFER_CONTENTS ||
	    trial->pages >= BUFFER_PAGES || trial->routine >= MEMORY_ROUTINES ||
	    trial->size < 4096 || !is_sound(plan.block_ns, plan.repetitions))
		refuse(session, number);
	else if (trial->size > SIZE_MAX / 8)
		too_large(session, number, trial->size);
	else
		start(session, number, trial->trial, memory_run, &plan);
}

static void do_clock(struct session *session, uint32_t number, const struct wire_clock_trial *trial)
{
	struct clock_plan plan = {.clock = trial->clock,
				  .how = (enum clock_how)trial->how,
				  .threads = trial->threads,
				  .service_ns = trial->service_ns,
				  .think_ns = trial->think_ns,
				  .block_ns = trial->block_ns,
				  .repetitions = trial->repetitions};

	if (trial->how >= CLOCK_HOWS || !plan.threads || plan.threads > MOST_CLOCK_THREADS ||
	    plan.service_ns > LONGEST_BLOCK_NS || plan.think_ns > LONGEST_BLOCK_NS ||
	    !is_sound(plan.block_ns, plan.repetitions) ||
	    !take_cpus(trial->cpus, plan.cpus, MOST_CLOCK_THREADS, &plan.cpu_count))
		refuse(session, number);
	else
		start(session, number, trial->trial, clocks_run, &plan);
}

/* copy_command - a command of the host's; false where it is too long, which is then answered */
static bool copy_command(struct session *session, uint32_t number, struct wire_list words,
			 struct command_line *line)
{
	size_t length;

	line->words = words.count;
	if (words.count && words.count <= COMMAND_WORDS &&
	    wire_copy_argv(words, line->text, sizeof(line->text), &length))
		return true;
	answer(session, number, E2BIG, "a command must have 1 to 64 words of 4095 bytes at most");
	return false;
}

static void do_command(struct session *session, uint32_t number,
		       const struct wire_command_trial *trial)
{
	struct command_line line;

	if (copy_command(session, number, trial->argv, &line))
		start(session, number, trial->trial, command_run, &line);
}

static void do_run(struct session *session, uint32_t number, const struct wire_run *run)
{
	struct run_plan plan = {.timeout_ms = run->timeout_ms, .output_limit = run->output_limit};
	static const struct counter_set nothing;
	int error = EBUSY;

	if (!copy_command(session, number, run->argv, &plan.line))
		return;
	if (!session->measuring && !session->trial.child)
		error =
		    trial_start(&session->trial, number, NO_TRIAL, run_command, &plan, &nothing);
	if (error)
		answer(session, number, error, "a command cannot be run beside a workload");
}

static void do_counters(struct session *session, uint32_t number,
			const struct wire_counters *counters)
{
	struct counter_set *set = &session->counter_set;
	struct counters tried;
	char which[24] = "";
	size_t bad = 0;
	int error;

	if (counters->types.count > MOST_COUNTERS ||
	    counters->configs.count != counters->types.count ||
	    counters->modes.count != counters->types.count) {
		char text[80];

		snprintf(text, sizeof(text), "at most %u events can be counted at a time",
			 MOST_COUNTERS);
		answer(session, number, E2BIG, text);
		return;
	}
	set->count = counters->types.count;
	for (size_t i = 0; i < set->count; i++)
		set->events[i] = (struct counter_event){
		    .type = wire_list_u64(counters->types, i),
		    .config = wire_list_u64(counters->configs, i),
		    .mode = wire_list_u16(counters->modes, i),
		};
	/* Better now than in every trial: the text is the place of the event that cannot be had. */
	error = counters_open(&tried, set, &bad);
	counters_close(&tried);
	if (error) {
		set->count = 0;
		snprintf(which, sizeof(which), "%zu", bad);
	}
	answer(session, number, error, which);
}

bool trials_take(struct session *session, const struct frame *frame)
{
	const uint8_t *payload = frame->payload;
	size_t length = frame->length;
	union {
		struct wire_switch_trial switching;
		struct wire_memory_trial memory;
		struct wire_clock_trial clock;
		struct wire_command_trial command;
		struct wire_counters counters;
		struct wire_run run;
	} u;

	if (frame->kind == WIRE_SWITCH_TRIAL &&
	    wire_unpack(WIRE_SWITCH_TRIAL, payload, length, &u.switching))
		do_switch(session, frame->number, &u.switching);
	else if (frame->kind == WIRE_MEMORY_TRIAL &&
		 wire_unpack(WIRE_MEMORY_TRIAL, payload, length, &u.memory))
		do_memory(session, frame->number, &u.memory);
	else if (frame->kind == WIRE_CLOCK_TRIAL &&
		 wire_unpack(WIRE_CLOCK_TRIAL, payload, length, &u.clock))
		do_clock(session, frame->number, &u.clock);
	else if (frame->kind == WIRE_COMMAND_TRIAL &&
		 wire_unpack(WIRE_COMMAND_TRIAL, payload, length, &u.command))
		do_command(session, frame->number, &u.command);
	else if (frame->kind == WIRE_COUNTERS &&
		 wire_unpack(WIRE_COUNTERS, payload, length, &u.counters))
		do_counters(session, frame->number, &u.counters);
	else if (frame->kind == WIRE_RUN && wire_unpack(WIRE_RUN, payload, length, &u.run))
		do_run(session, frame->number, &u.run);
	else
		return false;
	return true;
}

void trials_tick(struct session *session)
{
	struct trial *trial = &session->trial;
	struct wire_writer said = {0};
	uint8_t kind;

	while (trial_next(trial, &kind, &said.data, &said.length))
		session_send(session, kind, &said);
	if (!trial_is_over(trial))
		return;
	if (trial->error && trial->number != NO_TRIAL)
		SEND(session, trial_failed, TRIAL_FAILED, .trial = trial->number,
		     .error = trial->error, .text = wire_text(trial->text));
	answer(session, trial->command, trial->error, trial->text);
}
