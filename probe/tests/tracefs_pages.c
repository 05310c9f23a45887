// SPDX-License-Identifier: MIT
/*
 * tracefs_pages DIRECTORY - decode pages that were recorded on some board
 *
 * The directory holds what matters of an instance of tracing: events/header_page, the formats,
 * printk_formats, and the pages of CPU N as cpuN.raw (tests/probe/tracefs/record.sh makes one).
 * Prints "event ..." as tracefs_driver does, and "missed CPU EVENTS".
 */
#include <fcntl.h>
#include <stdlib.h>

#include "event_lines.h"
#include "recorder/tracefs/gather.h"
#include "recorder/tracefs/rings.h"

#define MOST_CPUS  16
#define LARGEST	   (1u << 20)
#define RING_BYTES (4u << 20)

static int open_formats(struct formats *formats, const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0 || formats_open(formats, directory) != 0)
		return 1;
	/* Whatever board it was recorded on: what is not there was not there. */
	for (size_t i = 0; i < source_count; i++)
		formats_add(formats, directory, &sources[i]);
	formats_add_reasons(formats, directory);
	return 0;
}

static void decode(struct gather *gather, uint16_t cpu, FILE *file)
{
	static uint8_t bytes[LARGEST];
	size_t size = gather->formats.page.page_size, got;

	while ((got = fread(bytes, 1, size < LARGEST ? size : LARGEST, file)) > 0)
		gather_page(gather, cpu, bytes, got, UINT64_MAX);
}

int main(int argc, char **argv)
{
	static struct gather gather;
	struct recorder recorder = {0};
	uint64_t last_ns[MOST_CPUS] = {0};
	bool present[MOST_CPUS];

	if (argc != 2 || open_formats(&gather.formats, argv[1]) != 0)
		return 2;
	memset(present, 1, sizeof(present));
	gather.recorder = &recorder;
	gather.last_ns = last_ns;
	if (rings_open(&recorder, present, MOST_CPUS, RING_BYTES) != 0 ||
	    stages_open(&gather.stages, recorder.cpus, MOST_CPUS, NULL, 0) != 0)
		return 2;
	for (uint16_t cpu = 0; cpu < MOST_CPUS; cpu++) {
		char path[512];
		FILE *file;

		snprintf(path, sizeof(path), "%s/cpu%u.raw", argv[1], cpu);
		file = fopen(path, "rb");
		if (!file)
			continue;
		decode(&gather, cpu, file);
		fclose(file);
		for (uint64_t i = 0; i < recorder.cpus[cpu]->events; i++)
			print_event(cpu, &recorder.events[cpu][i & (recorder.ring_size - 1)]);
		printf("missed %u %" PRIu64 "\n", cpu, (uint64_t)recorder.cpus[cpu]->missed);
	}
	stages_close(&gather.stages);
	rings_close(&recorder);
	return 0;
}
