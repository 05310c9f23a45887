// SPDX-License-Identifier: MIT
#include "symbol.h"

#include <stdio.h>
#include <string.h>

#define SYMBOLS "/proc/kallsyms"
/* The longest line that is read whole: a name has 511 bytes at most. */
#define LINE 1024

unsigned symbol_find(const char *name, uint64_t *address)
{
	FILE *file = fopen(SYMBOLS, "re");
	char line[LINE], type, symbol[LINE];
	unsigned count = 0;

	if (!file)
		return 0;
	/* ADDRESS TYPE NAME [MODULE] */
	while (fgets(line, sizeof(line), file)) {
		unsigned long long at;

		if (!strstr(line, name) || sscanf(line, "%llx %c %s", &at, &type, symbol) != 3 ||
		    !at || !strchr("tTwW", type) || strcmp(symbol, name) != 0 ||
		    (count && at == *address))
			continue;
		*address = at;
		count++;
	}
	fclose(file);
	return count;
}
