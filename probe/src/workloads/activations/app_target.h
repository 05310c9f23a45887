// SPDX-License-Identifier: MIT
/* The program whose wakeups are watched: one that runs, or one that is started for it. */
#ifndef WHYLATE_APP_TARGET_H
#define WHYLATE_APP_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "recorder/engine.h"
#include "wire/messages.h"

struct app_target {
	struct recorder_watch watch;
	pid_t child; /* the program, where it was started here; 0 */
	int go;	     /* a byte lets the child become the command; -1 */
	int failure; /* where the child reports an errno; -1 */
	bool is_over;
	int status; /* of a child that is over, as of waitpid */
};

/* target_open - find the program, or fork it: it then waits for its go. Returns 0, or an errno with
 * the text. */
int target_open(struct app_target *target, const struct wire_app *app, char *text);

/* target_go - let a forked program become its command; returns 0, or an errno */
int target_go(struct app_target *target);

/* target_is_over - whether the program has ended; never true of a name */
bool target_is_over(struct app_target *target);

/* target_close - end a program that was started here, with its process group */
void target_close(struct app_target *target);

#endif
