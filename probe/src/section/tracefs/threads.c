// SPDX-License-Identifier: MIT
#include "threads.h"

#include <stdio.h>
#include <string.h>

#include "failure.h"
#include "small_file.h"

#define ENDS	    "sched:sched_process_exit"
#define BEGINS	    "task:task_newtask"
#define HAS_PROGRAM "sched:sched_process_exec"

/* read_layout - read where an event has a pid beside that of its thread; none where the kernel
 * lacks it */
static void read_layout(struct record_layout *layout, int instance, const char *event,
			const char *field)
{
	const struct record_wanted wanted = {field, &layout->key};
	char reason[FAILURE_TEXT];

	if (record_layout_read(layout, instance, event, &wanted, 1, reason))
		*layout = (struct record_layout){0};
}

void threads_read_layouts(struct thread_events *events, int instance)
{
	read_layout(&events->ends, instance, ENDS, "pid");
	read_layout(&events->begins, instance, BEGINS, "pid");
	read_layout(&events->has_program, instance, HAS_PROGRAM, "old_pid");
}

static void enable(const struct record_layout *layout, int instance, const char *event,
		   bool is_enabled)
{
	const char *colon = strchr(event, ':');
	char path[64];

	if (!layout->id)
		return;
	snprintf(path, sizeof(path), "events/%.*s/%s/enable", (int)(colon - event), event,
		 colon + 1);
	small_file_write(instance, path, is_enabled ? "1" : "0");
}

void threads_enable(const struct thread_events *events, int instance, bool is_enabled)
{
	enable(&events->ends, instance, ENDS, is_enabled);
	enable(&events->begins, instance, BEGINS, is_enabled);
	enable(&events->has_program, instance, HAS_PROGRAM, is_enabled);
}

void threads_before(const struct thread_events *events, struct pairs *pairs, uint16_t cpu,
		    const struct page_record *record)
{
	if (record_is(&events->begins, record)) {
		pairs_leave(pairs, threads_key(record_number(record, &events->begins.key)), cpu);
	} else if (record_is(&events->has_program, record)) {
		const struct record_layout *layout = &events->has_program;

		pairs_follow(pairs, threads_key(record_number(record, &layout->key)),
			     threads_key(record_number(record, &layout->pid)), cpu);
	}
}

void threads_after(const struct thread_events *events, struct pairs *pairs, uint16_t cpu,
		   const struct page_record *record, bool may_return)
{
	uint64_t key;

	if (!record_is(&events->ends, record))
		return;
	key = threads_key(record_number(record, &events->ends.pid));
	if (!may_return)
		pairs_leave(pairs, key, cpu);
	pairs_let_go(pairs, key, cpu);
}

uint64_t threads_key(uint64_t pid)
{
	return 1 + pid;
}
