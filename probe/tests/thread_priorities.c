// SPDX-License-Identifier: MIT
/*
 * thread_priorities NAME PRIORITY - give all threads of a name a priority as a run does, and put it
 * back when a line comes
 *
 * thread_priorities - put back what killed ones have left. Prints how each step went.
 */
#include <stdio.h>

#include "guardian/settings.c"

int main(int argc, char **argv)
{
	static struct settings settings;
	char path[SETTING_PATH], text[FAILURE_TEXT] = "", line[8];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3) {
		printf("%zu\n", settings_recover());
		return 0;
	}
	settings_open(&settings);
	snprintf(path, sizeof(path), "priority:%s", argv[1]);
	printf("%d %s\n", settings_apply(&settings, path, argv[2], text), text);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	text[0] = '\0';
	printf("%d %s\n", settings_restore(&settings, text), text);
	return 0;
}
