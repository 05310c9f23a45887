// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "numbers.h"
#include "perf_rings.h"

/* The part of a period in which most samples come. */
#define NEAR_PART 8u

bool grid_find(struct grid *grid, uint64_t *times_ns, size_t count)
{
	uint64_t period_ns = grid->period_ns;
	size_t best = 0, most = 0;

	for (size_t i = 0; i < count; i++)
		times_ns[i] %= period_ns;
	qsort(times_ns, count, sizeof(*times_ns), compare_u64);
	/* From which of them on lie most within a part of a period, round its end. */
	for (size_t i = 0; i < count; i++) {
		size_t within = 0;

		while (within < count) {
			uint64_t at = times_ns[(i + within) % count];
			uint64_t ahead_ns = (at + period_ns - times_ns[i]) % period_ns;

			if (ahead_ns > period_ns / NEAR_PART)
				break;
			within++;
		}
		if (within > most) {
			most = within;
			best = i;
		}
	}
	grid->is_known = count && 2 * most > count;
	grid->phase_ns = grid->is_known ? times_ns[best] : 0;
	return grid->is_known;
}

/* point_behind - return the first point of the grid behind a time */
static uint64_t point_behind(const struct grid *grid, uint64_t time_ns)
{
	uint64_t into_ns =
	    (time_ns + grid->period_ns - grid->phase_ns % grid->period_ns) % grid->period_ns;

	return time_ns - into_ns + grid->period_ns;
}

uint64_t grid_due(const struct grid *grid, uint64_t now_ns)
{
	uint64_t margin_ns = grid->period_ns / NEAR_PART;
	/* The last point before now, or one that it came early for: those by which the grid was
	 * found may all have been a part later than this one. */
	uint64_t last_ns = point_behind(grid, now_ns + margin_ns) - grid->period_ns;
	uint64_t due_ns;

	if (!grid->before_ns)
		return last_ns;
	due_ns = point_behind(grid, grid->before_ns + margin_ns);
	return due_ns < last_ns ? due_ns : last_ns;
}
