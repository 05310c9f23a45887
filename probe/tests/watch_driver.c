// SPDX-License-Identifier: MIT
/*
 * watch_driver COMM - what watch.c makes of events that are written down
 *
 * Watches threads of that name. Reads lines "event CPU TIME KIND A C D E F" in any order of the
 * CPUs ("run CPU TIME PREV NEXT" is a switch to a thread of that name), and publishes at the end.
 * Prints "stage CPU PID SWITCHED DUE ORIGIN" of each stage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "recorder/tracefs/rings.h"
#include "recorder/tracefs/watch.h"

#define CPUS 2
/* Of events: as many as are written between two publishings at most. */
#define RING (1u << 20)

static void keep(struct recorder *recorder, uint32_t cpu, const struct recorder_event *event)
{
	struct recorder_cpu *state = recorder->cpus[cpu];

	recorder->events[cpu][state->events & (recorder->ring_size - 1)] = *event;
	state->events++;
}

static void read_line(struct recorder *recorder, const char *comm, const char *line)
{
	struct recorder_event event = {0};
	uint64_t time_ns, e, f;
	uint32_t cpu, kind, a, c, d;
	char name[16] = {0};

	if (sscanf(line,
		   "event %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32
		   " %" SCNu64 " %" SCNu64,
		   &cpu, &time_ns, &kind, &a, &c, &d, &e, &f) == 8 &&
	    cpu < CPUS) {
		event = (struct recorder_event){.time_ns = time_ns,
						.kind = (uint8_t)kind,
						.a = (uint8_t)a,
						.c = c,
						.d = d,
						.e = e,
						.f = f};
		keep(recorder, cpu, &event);
	} else if (sscanf(line, "run %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu32, &cpu, &time_ns,
			  &c, &d) == 4 &&
		   cpu < CPUS) {
		event = (struct recorder_event){
		    .time_ns = time_ns, .kind = EVENT_SWITCH, .a = 1, .c = c, .d = d};
		strncpy(name, comm, sizeof(name) - 1);
		memcpy(&event.e, name, sizeof(event.e));
		memcpy(&event.f, name + sizeof(event.e), sizeof(event.f));
		keep(recorder, cpu, &event);
	}
}

int main(int argc, char **argv)
{
	struct recorder recorder = {0};
	struct recorder_watch wanted = {0};
	bool present[CPUS] = {true, true};
	struct watch *watch;
	char line[256];

	if (argc != 2 || rings_open(&recorder, present, CPUS, RING) != 0)
		return 2;
	strncpy(wanted.comm, argv[1], sizeof(wanted.comm) - 1);
	watch = watch_open(&wanted, CPUS);
	if (!watch)
		return 2;
	while (fgets(line, sizeof(line), stdin))
		read_line(&recorder, argv[1], line);
	watch_publish(watch, &recorder, UINT64_MAX);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		const struct recorder_cpu *state = recorder.cpus[cpu];

		for (uint64_t i = 0; i < state->stages; i++) {
			const struct recorder_stage *stage = &state->stage[i % STAGES];

			printf("stage %u %u %" PRIu64 " %" PRIu64 " %u\n", cpu, stage->pid,
			       (uint64_t)stage->switched_ns, (uint64_t)stage->due_ns,
			       stage->origin);
		}
	}
	watch_close(watch);
	rings_close(&recorder);
	return 0;
}
