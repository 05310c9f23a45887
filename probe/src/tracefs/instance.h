/* SPDX-License-Identifier: MIT */
/*
 * An instance of tracing: buffers and switches of the probe's own, apart from other users of
 * tracing on the board.
 *
 * The process that makes an instance locks its directory (flock), and the kernel drops that lock
 * with the process: an unlocked instance with the probe's prefix is a killed probe's, and so are
 * the kprobe events of an instance that is gone.
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

/* instance_make - remove the instances of killed probes, then make one. root: the top of tracefs.
 * Returns 0, or an errno with the text. */
int instance_make(struct instance *instance, int root, char *text);

/* instance_remove - remove an instance with all that is enabled in it; returns 0 or an errno */
int instance_remove(struct instance *instance);

/* instance_sweep - remove the instances and kprobe events of killed probes, and wait for the
 * process `owner` to let go of its own. Returns how many could not be removed. */
size_t instance_sweep(pid_t owner);

#endif
