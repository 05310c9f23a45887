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
/* A mask is written in words of 32 bits, the highest first, with commas. */
#define MASK_WORDS (WIRE_HIGHEST_CPU / 32 + 1)
#define WORD_TEXT  9
/* Lines are collected until a message is this full. */
#define PIECE 3072u

/* write_mask - let only these CPUs be traced; returns 0 or an errno */
static int write_mask(int directory, struct wire_list cpus, size_t count)
{
	uint32_t words[MASK_WORDS] = {0};
	char text[MASK_WORDS * WORD_TEXT + 1], *at = text;
	size_t highest = 0;

	for (size_t i = 0; i < count; i++) {
		uint16_t cpu = wire_list_u16(cpus, i);

		if (cpu > WIRE_HIGHEST_CPU)
			return EINVAL;
		words[cpu / 32] |= UINT32_C(1) << cpu % 32;
		highest = cpu / 32u > highest ? cpu / 32u : highest;
	}
	for (size_t word = highest + 1; word-- > 0;)
		at += snprintf(at, WORD_TEXT + 1, "%08" PRIx32 "%s", words[word], word ? "," : "");
	return small_file_write(directory, "tracing_cpumask", text);
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
		error = write_mask(directory, cpus, count);
	if (!error)
		error = small_file_write(directory, "events/sched/sched_switch/enable", "1");
	/* Only x86 has it. */
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
