// SPDX-License-Identifier: MIT
/* A session: one host's commands, from its first word to the end of its input. */
#ifndef WHYLATE_SESSION_H
#define WHYLATE_SESSION_H

#include "guardian.h"

/* session_run - serve the host on these descriptors until it leaves; returns an exit status */
int session_run(struct guardian *guardian, int input, int output);

#endif
