// SPDX-License-Identifier: MIT
/* A session: one host's commands, from its first word to the end of its input. */
#ifndef WHYLATE_SESSION_H
#define WHYLATE_SESSION_H

#include <stdbool.h>

struct guardian;

/* session_run - serve the host on these descriptors until it leaves; returns an exit status.
 * is_plan: the input is a file with all commands. They are carried out one after the other, each
 * when the one before it has come to its end, and nothing is waited for from outside. */
int session_run(struct guardian *guardian, int input, int output, bool is_plan);

#endif
