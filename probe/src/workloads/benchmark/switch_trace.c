// SPDX-License-Identifier: MIT
#include "switch_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "small_file.h"
#include "tracefs/mount.h"

/* The kernel keeps an event in less than half of its text. */
#define LEAST_KERNEL_KB 64u
#define CPUS		(WIRE_HIGHEST_CPU + 1)
/* A filter of the kernel's is shorter than a page. */
#define LONGEST_FILTER 4095
/* Who changes translations, as enum tlb_flush_reason of linux/mm_types.h: the task itself. */
#define CHANGES "(reason >= 2 && reason <= 4)"
/* Lines are collected until a message is this full. */
#define PIECE 3072u

/* write_condition - write "on one of these CPUs" as an event's filter has it; returns 0, or E2BIG
 * with a text that is cut off */
static int write_condition(char *text, size_t room, struct wire_list cpus, size_t count)
{
	bool chosen[CPUS + 1] = {false};
	size_t length = 0;

	for (size_t i = 0; i < count; i++)
		chosen[wire_list_u16(cpus, i)] = true;
	for (size_t cpu = 0, first = 0; cpu < CPUS && length < room; cpu++) {
		if (!chosen[cpu])
			continue;
		if (!cpu || !chosen[cpu - 1])
			first = cpu;
		if (!chosen[cpu + 1])
			length += (size_t)snprintf(text + length, room - length,
						   "%s(CPU >= %zu && CPU <= %zu)",
						   length ? " || " : "", first, cpu);
	}
	return length < room ? 0 : E2BIG;
}

/* set_filters - let only these CPUs' switches be traced; returns 0 or an errno. Where another CPU
 * changes the translations of an address space, a CPU that kept them flushes: these changes are
 * traced on all CPUs. */
static int set_filters(int directory, struct wire_list cpus, size_t count)
{
	char on_cpus[LONGEST_FILTER - sizeof(CHANGES " || ") + 2];
	char text[LONGEST_FILTER + 1];
	int error;

	for (size_t i = 0; i < count; i++)
		if (wire_list_u16(cpus, i) > WIRE_HIGHEST_CPU)
			return EINVAL;
	error = write_condition(on_cpus, sizeof(on_cpus), cpus, count);
	if (!error)
		error = small_file_write(directory, "events/sched/sched_switch/filter", on_cpus);
	if (error)
		return error;
	snprintf(text, sizeof(text), CHANGES " || %s", on_cpus);
	error = small_file_write(directory, "events/tlb/tlb_flush/filter", text);
	/* Only x86 has it. */
	return error == ENOENT ? 0 : error;
}

static int set_up(int directory, struct wire_list cpus, size_t count, uint32_t bytes)
{
	uint32_t kb = bytes / 2048;
	char size[16];
	int error;

	snprintf(size, sizeof(size), "%" PRIu32, kb > LEAST_KERNEL_KB ? kb : LEAST_KERNEL_KB);
	small_file_write(directory, "tracing_on", "0");
	/* The beginning is kept where there is no room for all. */
	small_file_write(directory, "options/overwrite", "0");
	/* Which threads are of one process: a kernel that cannot report that has no such option. */
	small_file_write(directory, "options/record-tgid", "1");
	small_file_write(directory, "trace_clock", "mono");
	error = small_file_write(directory, "buffer_size_kb", size);
	if (!error && count)
		error = set_filters(directory, cpus, count);
	if (!error)
		error = small_file_write(directory, "events/sched/sched_switch/enable", "1");
	small_file_write(directory, "events/tlb/tlb_flush/enable", "1");
	return error ? error : small_file_write(directory, "tracing_on", "1");
}

int switch_trace_begin(struct switch_trace *trace, struct wire_list cpus, size_t count,
		       uint32_t bytes)
{
	char text[FAILURE_TEXT];
	int root, error = mount_open(&root, text);

	if (error)
		return error;
	error = instance_make(&trace->instance, root, text);
	close(root);
	if (error)
		return error;
	error = set_up(trace->instance.directory, cpus, count, bytes);
	if (error)
		instance_remove(&trace->instance);
	return error;
}

/* report_lines - report whole lines of a file, but its comments, up to so many bytes; false: none
 */
static bool report_lines(FILE *file, struct child_context *context, uint32_t bytes)
{
	uint8_t piece[PIECE];
	size_t filled = 0, room = 0, all = 0;
	char *line = NULL;
	ssize_t length;

	while ((length = getline(&line, &room, file)) > 0 && all + (size_t)length <= bytes) {
		size_t size = (size_t)length;

		if (line[0] == '#' || line[size - 1] != '\n' || size > PIECE)
			continue;
		if (filled + size > PIECE) {
			REPORT(context, switch_trace, SWITCH_TRACE, .turn = context->turn,
			       .data = {piece, (uint16_t)filled});
			filled = 0;
		}
		memcpy(piece + filled, line, size);
		filled += size;
		all += size;
	}
	free(line);
	if (filled)
		REPORT(context, switch_trace, SWITCH_TRACE, .turn = context->turn,
		       .data = {piece, (uint16_t)filled});
	return all > 0;
}

int switch_trace_end(struct switch_trace *trace, struct child_context *context, uint32_t bytes)
{
	int directory = trace->instance.directory, fd, error = 0;
	FILE *file;

	small_file_write(directory, "tracing_on", "0");
	fd = openat(directory, "trace", O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		error = errno;
		if (fd >= 0)
			close(fd);
	} else {
		error = report_lines(file, context, bytes) ? 0 : ENODATA;
		fclose(file);
	}
	instance_remove(&trace->instance);
	return error;
}
