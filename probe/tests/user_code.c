// SPDX-License-Identifier: MIT
/*
 * user_code FILE BEGIN END PID FORCED - the places of a section of user code, as the probe finds
 * them: "entry", "next" or "pair", how much a return pops, then OFFSET/COUNTER of each; or
 * "error: " and why there are none
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "section/user.h"
#include "failure.h"

static void print_places(const char *name, const struct user_places *places)
{
	printf(" %s", name);
	for (size_t i = 0; i < places->count; i++)
		printf(" 0x%" PRIx64 "/0x%" PRIx32, places->at[i].offset, places->at[i].counter);
}

int main(int count, char **words)
{
	static struct user_code code;
	char text[FAILURE_TEXT];

	if (count != 6)
		return 2;
	if (user_code_open(&code, words[1], words[2], words[3],
			   (uint32_t)strtoul(words[4], NULL, 10), words[5][0] == '1', text)) {
		printf("error: %s\n", text);
		return 0;
	}
	printf("%s %" PRIu64,
	       code.is_function ? "entry"
	       : code.is_next	? "next"
				: "pair",
	       code.pops);
	print_places("begin", &code.begin);
	print_places("end", &code.end);
	printf("\n");
	user_code_close(&code);
	return 0;
}
