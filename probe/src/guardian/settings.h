// SPDX-License-Identifier: MIT
/*
 * Settings changed for a run, and the undo log by which they are put back.
 *
 * The log lives in the guardian's memory and, where /run is writable, in a locked file there:
 * if even the guardian is killed, the next probe to start finds a log that nobody holds and
 * restores the values in it.
 */
#ifndef WHYLATE_SETTINGS_H
#define WHYLATE_SETTINGS_H

#include <stddef.h>

#define SETTING_PATH  256
#define SETTING_VALUE 512
#define MAX_SETTINGS  64

/* A record of the log. Logs that other versions left are read too: it never changes. */
struct setting {
	char path[SETTING_PATH];
	char value[SETTING_VALUE]; /* what it was before */
};

struct settings {
	struct setting undo[MAX_SETTINGS];
	char applied[MAX_SETTINGS][SETTING_VALUE]; /* what each was set to; not in the log */
	size_t count;
	int log_fd; /* -1 without a log on disk */
	char log_path[64];
};

/* settings_open - start an empty log */
void settings_open(struct settings *settings);

/* settings_recover - put back what logs without an owner hold; returns how many settings */
size_t settings_recover(void);

/* settings_apply - note a file's value, write the new one, read it back.
 * Returns 0, or an errno with one line in text; then the file is as it was. */
int settings_apply(struct settings *settings, const char *path, const char *value, char *text,
		   size_t room);

/* settings_undo_last - put back the setting that was changed last, which is that of path.
 * Returns 0, or an errno with one line in text; then it is put back at the end. */
int settings_undo_last(struct settings *settings, const char *path, char *text, size_t room);

/* settings_restore - put everything back, the last first.
 * Returns how many could not be, or were no more what they had been set to; text names one. */
size_t settings_restore(struct settings *settings, char *text, size_t room);

#endif
