// SPDX-License-Identifier: MIT
#include "buffers.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "failure.h"
#include "small_file.h"

int buffers_set_up(const struct instance *instance, uint64_t bytes, struct page_format *format,
		   char *text)
{
	int directory = instance->directory;
	const char *what = "trace_clock";
	char size[32];
	int error;

	snprintf(size, sizeof(size), "%" PRIu64, bytes >> 10);
	small_file_write(directory, "tracing_on", "0");
	/* Names of threads are known otherwise: nothing needs to remember them. */
	small_file_write(directory, "options/record-cmd", "0");
	small_file_write(directory, "options/overwrite", "1");
	error = small_file_write(directory, what, "mono");
	if (!error) {
		what = "buffer_size_kb";
		error = small_file_write(directory, what, size);
	}
	if (!error) {
		what = "events/header_page";
		error = page_format_read(format, directory);
	}
	return error ? fail(text, error, "%s of the instance of tracing: %s", what, strerror(error))
		     : 0;
}

int buffers_open(const struct instance *instance, uint16_t cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
	return openat(instance->directory, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}
