// SPDX-License-Identifier: MIT
/*
 * stages_driver PID... - what stages.c makes of events that are written down
 *
 * The measured thread of CPU N is the N-th PID. Reads lines "event CPU TIME KIND A C D E PID" (PID:
 * what runs there), "lost CPU" and "publish TIME". Then prints what of each CPU is published:
 * "stage CPU SWITCHED WAKING TIMER SUM..." and "left CPU TIME SUM...".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "event_lines.h"
#include "recorder/tracefs/rings.h"
#include "recorder/tracefs/stages.h"

#define MOST_CPUS 8

static void read_line(struct stages *stages, const char *line)
{
	struct recorder_event event = {0};
	uint64_t time_ns, e;
	uint32_t cpu, kind, a, c, d, pid;

	if (sscanf(line,
		   "event %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32
		   " %" SCNu64 " %" SCNu32,
		   &cpu, &time_ns, &kind, &a, &c, &d, &e, &pid) == 8 &&
	    cpu < stages->cpu_limit) {
		event.time_ns = time_ns;
		event.kind = (uint8_t)kind;
		event.a = (uint8_t)a;
		event.c = c;
		event.d = d;
		event.e = e;
		stages_event(stages, stages->cpus[cpu], &event, pid);
	} else if (sscanf(line, "lost %" SCNu32, &cpu) == 1 && cpu < stages->cpu_limit) {
		stages_lost(stages->cpus[cpu]);
	} else if (sscanf(line, "publish %" SCNu64, &time_ns) == 1) {
		stages_publish(stages, time_ns);
	}
}

int main(int argc, char **argv)
{
	static struct stages stages;
	struct recorder recorder = {0};
	struct recorder_thread threads[MOST_CPUS];
	bool present[MOST_CPUS] = {false};
	uint16_t cpus = (uint16_t)(argc - 1);
	char line[256];

	if (cpus > MOST_CPUS)
		return 2;
	for (uint16_t cpu = 0; cpu < cpus; cpu++) {
		threads[cpu].pid = (uint32_t)strtoul(argv[cpu + 1], NULL, 10);
		threads[cpu].cpu = cpu;
		present[cpu] = true;
	}
	if (rings_open(&recorder, present, cpus, 0) != 0 ||
	    stages_open(&stages, recorder.cpus, cpus, threads, cpus) != 0)
		return 2;
	while (fgets(line, sizeof(line), stdin))
		read_line(&stages, line);
	for (uint16_t cpu = 0; cpu < cpus; cpu++) {
		const struct recorder_cpu *state = recorder.cpus[cpu];

		for (uint64_t i = 0; i < state->stages; i++)
			print_stage(cpu, &state->stage[i % STAGES]);
		print_left(cpu, state);
	}
	stages_close(&stages);
	rings_close(&recorder);
	return 0;
}
