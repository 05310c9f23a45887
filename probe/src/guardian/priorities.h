// SPDX-License-Identifier: MIT
/* A priority for all threads of a name, as a setting: each of them is in the undo log. */
#ifndef WHYLATE_GUARDIAN_PRIORITIES_H
#define WHYLATE_GUARDIAN_PRIORITIES_H

#include "settings.h"
#include "threads.h"

#define PRIORITY_NAMES 4

/* Names whose threads were given a priority. */
struct priorities {
	struct priority {
		char name[SETTING_PATH];
		char value[THREAD_ROOM];
	} names[PRIORITY_NAMES];
	size_t count;
};

/* priorities_apply - give all threads of a name a priority of SCHED_FIFO; returns 0, or an errno
 * with the text, and then they have what they had */
int priorities_apply(struct priorities *priorities, struct settings *settings, const char *name,
		     const char *priority, char *text);

/* priorities_check - whether all threads of the names that last have the priority they were given:
 * some may have begun since. Returns 0, or EIO with of how many this is not so in text; the names
 * are forgotten. */
int priorities_check(struct priorities *priorities, char *text);

#endif
