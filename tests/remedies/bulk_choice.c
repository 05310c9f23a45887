// SPDX-License-Identifier: MIT
/* The chunks that bulk_work.h chooses from measured times. */
#include <stdio.h>
#include "bulk_work.h"
int main(void)
{
	/* 16,384 lines, in ns: measured with chunks of 512 and of 1 line, nobody waiting. */
	struct bulk_costs costs = {.floor = 3000};
	struct bulk_choice choice;

	if (!bulk_work_fit(16384, 512, 1595000, 1, 6550000, &costs))
		return 1;
	choice = bulk_work_choose(&costs, 9000, 500, 150);
	printf("%llu %llu %u %d\n", (unsigned long long)choice.chunk,
	       (unsigned long long)choice.latency, choice.cost_permille, choice.reached);
	choice = bulk_work_choose(&costs, 3100, 500, 150);
	printf("%llu %llu %u %d\n", (unsigned long long)choice.chunk,
	       (unsigned long long)choice.latency, choice.cost_permille, choice.reached);
	return 0;
}
