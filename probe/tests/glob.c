// SPDX-License-Identifier: MIT
/* glob - for each two lines of the input, a pattern and a name, whether the name matches */
#include <stdio.h>
#include <string.h>

#include "section/listing/glob.h"

int main(void)
{
	static char pattern[1 << 16], name[1 << 16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(pattern, sizeof(pattern), stdin) && fgets(name, sizeof(name), stdin)) {
		pattern[strcspn(pattern, "\n")] = '\0';
		name[strcspn(name, "\n")] = '\0';
		puts(glob_matches(pattern, name) ? "1" : "0");
	}
	return 0;
}
