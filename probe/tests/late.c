// SPDX-License-Identifier: MIT
/* Prints for each latency that it reads whether it is late: see tests/probe/test_threshold.py. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "recorder/threshold.h"

int main(int argc, char **argv)
{
	static struct threshold threshold;
	int64_t latency_ns;

	if (argc != 3)
		return 2;
	threshold_open(&threshold, strtoull(argv[1], NULL, 10),
		       (uint32_t)strtoul(argv[2], NULL, 10));
	while (scanf("%" SCNd64, &latency_ns) == 1)
		putchar(threshold_is_late(&threshold, latency_ns) ? '1' : '0');
	return 0;
}
