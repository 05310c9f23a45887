/* SPDX-License-Identifier: MIT */
/*
 * An instance of tracing: buffers and switches of our own, beside which others who trace on
 * the board keeps theirs.
 *
 * Its directory is locked (flock) by the process that made it. The kernel drops that lock with
 * the process, so an instance of our name that nobody has locked is one that a killed probe left.
 */
#ifndef WHYLATE_TRACEFS_INSTANCE_H
#define WHYLATE_TRACEFS_INSTANCE_H

#include <stddef.h>
#include <sys/types.h>

#define INSTANCE_PREFIX "whylate-"
#define INSTANCE_NAME	40

struct instance {
	int all;       /* the directory of all instances */
	int directory; /* ours, locked */
	char name[INSTANCE_NAME];
};

/* instance_make - remove what killed probes left, then make one. root: the top of tracefs.
 * Returns 0, or an errno with one line in text (TRACEFS_MESSAGE bytes). */
int instance_make(struct instance *instance, int root, char *text);

/* instance_remove - remove an instance with all that was switched on in it; returns 0 or an errno
 */
int instance_remove(struct instance *instance);

/* instance_sweep - remove the instances of killed probes. The one of `owner`, which may be dying
 * just now, is waited for. Returns how many could not be removed. */
size_t instance_sweep(pid_t owner);

#endif
