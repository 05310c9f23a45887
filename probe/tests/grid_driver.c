// SPDX-License-Identifier: MIT
/*
 * grid_driver PERIOD - for when the interrupts of samples were due, by their times
 *
 * Lines "sample TIME" and "idle TIME", until when the idle thread had the CPU. The first samples
 * find the grid: "known" or "unknown". Each later one is answered by when it was due.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampled/perf_rings.h"

int main(int argc, char **argv)
{
	static struct grid grid;
	char what[16];
	uint64_t time_ns;

	if (argc != 2)
		return 2;
	grid.period_ns = strtoull(argv[1], NULL, 10);
	while (scanf("%15s %" SCNu64, what, &time_ns) == 2) {
		if (!strcmp(what, "sample") && !grid.is_known) {
			grid.first_ns[grid.count++] = time_ns;
			if (grid.count < GRID_SAMPLES)
				continue;
			puts(grid_find(&grid, grid.first_ns, grid.count) ? "known" : "unknown");
			grid.count = 0;
		} else if (!strcmp(what, "sample")) {
			printf("%" PRIu64 "\n", grid_due(&grid, time_ns));
		}
		grid.before_ns = time_ns;
	}
	return 0;
}
