// SPDX-License-Identifier: MIT
/* A session: one host's commands, from its first word to the end of its input. */
#ifndef WHYLATE_SESSION_H
#define WHYLATE_SESSION_H

#include <stdbool.h>

struct guardian;

/* session_run - serve the host on these descriptors until it leaves; returns an exit status.
 * is_plan: the input is a file with all commands. Each is carried out when the preceding one has
 * ended; nothing is awaited from the host. */
int session_run(struct guardian *guardian, int input, int output, bool is_plan);

#endif
