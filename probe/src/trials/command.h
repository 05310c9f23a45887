// SPDX-License-Identifier: MIT
/* Any command, run once: how long it took, and what it wrote. */
#ifndef WHYLATE_TRIAL_COMMAND_H
#define WHYLATE_TRIAL_COMMAND_H

#include "trial.h"

#define COMMAND_LETTERS 4096
#define COMMAND_WORDS	64

struct command_plan {
	char letters[COMMAND_LETTERS]; /* the words, a NUL behind each */
	size_t words;
};

/* command_run - a trial_body */
int command_run(struct trial_context *context, const void *plan);

#endif
