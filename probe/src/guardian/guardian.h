// SPDX-License-Identifier: MIT
/*
 * The guardian: the process that leaves the board as it was found.
 *
 * The probe forks it first, in a session of its own. It changes every setting and is the subreaper
 * of every load, so that it can restore and end all of them when the probe is gone, for whatever
 * reason.
 */
#ifndef WHYLATE_GUARDIAN_H
#define WHYLATE_GUARDIAN_H

#include <stddef.h>
#include <stdint.h>

#include "loads/load.h"
#include "wire/constants.h"

#define GUARDIAN_ARGV 32
#define GUARDIAN_TEXT 3072

struct guardian {
	int socket;
	/* One for each instance of a load, shared with the guardian and the loads. */
	struct load_slot *slots;
	size_t recovered; /* settings put back from the log of an earlier, killed probe */
};

/* guardian_open - fork the guardian; returns 0 or an errno */
int guardian_open(struct guardian *guardian);

/* guardian_load - start one instance of a load in a slot. argv: NUL-separated, for "cmd".
 * All these return 0, or an errno with the text. */
int guardian_load(struct guardian *guardian, size_t slot, const char *kind, const char *argv,
		  size_t argv_length, char *text);

/* guardian_set - change a setting until the run ends */
int guardian_set(struct guardian *guardian, const char *path, const char *value, char *text);

/* guardian_undo_last - put back the last setting, which must be that of path */
int guardian_undo_last(struct guardian *guardian, const char *path, char *text);

/* guardian_tracing - have the instance of tracing removed at the end that the recorder will make */
int guardian_tracing(struct guardian *guardian, char *text);

/* guardian_restore - end all loads and put back all settings */
int guardian_restore(struct guardian *guardian, char *text);

#endif
