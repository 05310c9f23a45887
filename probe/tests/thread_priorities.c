// SPDX-License-Identifier: MIT
/*
 * thread_priorities NAME PRIORITY - give all threads of a name a priority as a run does, and put it
 * back when a line comes
 *
 * thread_priorities - put back what killed ones have left. Prints how each step went.
 */
#include <stdio.h>

#include "failure.h"
#include "guardian/priorities.h"

int main(int argc, char **argv)
{
	static struct settings settings;
	static struct priorities priorities;
	char text[FAILURE_TEXT] = "", line[8];
	int error;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3) {
		printf("%zu\n", settings_recover());
		return 0;
	}
	settings_open(&settings);
	error = priorities_apply(&priorities, &settings, argv[1], argv[2], text);
	printf("%d %s\n", error, text);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	text[0] = '\0';
	error = priorities_check(&priorities, text);
	error = settings_restore(&settings, text) || error;
	printf("%d %s\n", error, text);
	return 0;
}
