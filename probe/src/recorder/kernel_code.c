// SPDX-License-Identifier: MIT
#include "kernel_code.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct kernel_code kernel_code_find(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	struct kernel_code none = {0}, found = {0};
	uint64_t address;
	char line[256], symbol[128];

	if (!file)
		return none;
	/* The symbols of the kernel itself come first, by address. */
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 " %*c %127s", &address, symbol) != 2)
			continue;
		if (found.begin && address > found.begin) {
			found.end = address;
			break;
		}
		if (!strcmp(symbol, name))
			found.begin = address;
	}
	fclose(file);
	return found.end ? found : none;
}
