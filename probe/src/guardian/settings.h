// SPDX-License-Identifier: MIT
/*
 * Settings changed for a run, and the undo log by which they are put back.
 *
 * The log lives in the guardian's memory and, where /run is writable, in a locked file there: if
 * even the guardian is killed, the next probe restores the values of a log that no process locks.
 */
#ifndef WHYLATE_SETTINGS_H
#define WHYLATE_SETTINGS_H

#include <stddef.h>

#define SETTING_PATH  256
#define SETTING_VALUE 512
#define MAX_SETTINGS  64

/* A record of the log. Logs of other versions are read too: its layout never changes. */
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

/* settings_apply - note a file's value, write the new one, read it back; a thread is a setting as
 * well (threads.h). Returns 0, or an errno with one line in text; then it is as it was. */
int settings_apply(struct settings *settings, const char *path, const char *value, char *text);

/* settings_undo_last - put back the setting that was changed last, which is that of path.
 * Returns 0, or an errno with one line in text; then it is put back at the end. */
int settings_undo_last(struct settings *settings, const char *path, char *text);

/* settings_restore - put everything back, the last first. Returns 0, or EIO with one line in text
 * where a setting could not be restored, or was no longer what it had been set to. */
int settings_restore(struct settings *settings, char *text);

#endif
