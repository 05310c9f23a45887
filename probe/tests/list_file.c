// SPDX-License-Identifier: MIT
/*
 * list_file FILE PATTERN - the functions and USDT probes of a file that match, one a line: NAME
 * DETAIL OFFSET OBSTACLE SAME; or "error: " and why there are none
 */
#include <inttypes.h>
#include <stdio.h>

#include "section/listing/kinds.h"
#include "failure.h"

static void print_names(const struct listed_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		printf("%s\t%s\t0x%" PRIx64 "\t%d\t%" PRIu32 "\n", names->at[i].name,
		       names->at[i].detail, names->at[i].address, names->at[i].obstacle,
		       names->at[i].same);
}

int main(int count, char **words)
{
	static struct listing listing;
	char text[FAILURE_TEXT];

	if (count != 3)
		return 2;
	if (list_file(&listing, words[2], words[1], 0, text))
		printf("error: %s\n", text);
	print_names(&listing.names);
	print_names(&listing.probes);
	names_close(&listing.names);
	names_close(&listing.probes);
	return 0;
}
