// SPDX-License-Identifier: MIT
#include "section_counters.h"

#include <errno.h>

#include "benchmark/counters.h"
#include "failure.h"
#include "section/section.h"

int section_counters_open(struct cpu_counters *counters, const struct section *section,
			  const struct counter_set *set, char *text)
{
	uint16_t cpus = section->plan.cpu_limit;
	int error = cpu_counters_open(counters, set, cpus);

	if (error)
		return fail(text, error, "no memory for counters");
	for (uint16_t cpu = 0; cpu < cpus && set->count; cpu++) {
		error = cpu_counters_add(counters, set, cpu, section_events(section),
					 WIRE_MOST_EXECUTION_COUNTS, text);
		if (!error || error == ENODEV)
			continue;
		cpu_counters_close(counters);
		return error;
	}
	if (counters->count || !set->count)
		return 0;
	cpu_counters_close(counters);
	return fail(text, ENODEV, "counter 1 cannot be counted on any CPU");
}
