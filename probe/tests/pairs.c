// SPDX-License-Identifier: MIT
/*
 * pairs ONE_IN - pair the beginnings and ends on stdin, and print what became of executions
 *
 * A line is of one event: "begin" or "end", its time, key, place, caller and CPU; or "lose" and a
 * CPU; "leave" or "let-go", 0 and a key; "follow" and two keys; or "open" or "close" and a time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "section/tracefs/pairs.h"

#define CPUS 4u
#define ROWS 4096u

struct cpu {
	struct section_cpu counts;
	struct section_row rows[ROWS];
};

static struct cpu cpus[CPUS];

static struct section_cpu *cpu_at(void *context, uint16_t cpu)
{
	(void)context;
	return &cpus[cpu % CPUS].counts;
}

static void print(const struct pairs *pairs)
{
	uint64_t entries = 0, returned = 0, left = pairs_in_flight(pairs, true), too_deep = 0,
		 no_room = 0, unmatched = 0;

	for (unsigned i = 0; i < CPUS; i++) {
		const struct section_cpu *cpu = &cpus[i].counts;

		for (uint64_t row = 0; row < cpu->rows && row < ROWS; row++)
			printf("row %u %" PRIu64 " %" PRIu64 " %u %u\n", i,
			       (uint64_t)cpus[i].rows[row].begin_ns,
			       (uint64_t)cpus[i].rows[row].duration_ns, cpus[i].rows[row].begin_cpu,
			       cpus[i].rows[row].flags);
		entries += cpu->entries;
		left += cpu->left;
		too_deep += cpu->too_deep;
		no_room += cpu->no_room;
		unmatched += cpu->unmatched;
		for (size_t bin = 0; bin < WIRE_WAIT_BINS; bin++)
			returned += cpu->bins[bin];
	}
	printf("account %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " %" PRIu64 "\n",
	       entries, returned, pairs_in_flight(pairs, false), left, too_deep, no_room, unmatched,
	       pairs->ambiguous);
}

int main(int argc, char **argv)
{
	struct pair_event event;
	struct pairs pairs;
	char line[200], word[16];

	if (argc != 2 || !pairs_open(&pairs, cpu_at, NULL, ROWS - 1))
		return 2;
	pairs.close_ns = UINT64_MAX;
	for (unsigned i = 0; i < CPUS; i++)
		cpus[i].counts.one_in = strtoul(argv[1], NULL, 10);
	while (fgets(line, sizeof(line), stdin)) {
		memset(&event, 0, sizeof(event));
		if (sscanf(line, "%15s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu16,
			   word, &event.time_ns, &event.key, &event.place, &event.caller,
			   &event.cpu) < 2)
			return 2;
		if (!strcmp(word, "begin"))
			pairs_begin(&pairs, &event);
		else if (!strcmp(word, "end"))
			pairs_end(&pairs, &event, true);
		else if (!strcmp(word, "lose"))
			pairs_lose(&pairs, (uint16_t)event.time_ns);
		else if (!strcmp(word, "leave"))
			pairs_leave(&pairs, event.key, event.cpu);
		else if (!strcmp(word, "let-go"))
			pairs_let_go(&pairs, event.key, event.cpu);
		else if (!strcmp(word, "follow"))
			pairs_follow(&pairs, event.time_ns, event.key, event.cpu);
		else if (!strcmp(word, "open"))
			pairs.open_ns = event.time_ns;
		else
			pairs.close_ns = event.time_ns;
	}
	print(&pairs);
	pairs_close(&pairs);
	return 0;
}
