// SPDX-License-Identifier: MIT
/* Any command, run once: how long it took, and what it wrote. */
#ifndef WHYLATE_TRIAL_COMMAND_H
#define WHYLATE_TRIAL_COMMAND_H

#include "trial.h"

/* command_run - a trial_body; plan: a struct command_line */
int command_run(struct trial_context *context, const void *plan);

#endif
