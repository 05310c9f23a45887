// SPDX-License-Identifier: MIT
/* A command for the host, which gets its output while it runs: nothing of it is measured. */
#ifndef WHYLATE_TRIAL_RUN_H
#define WHYLATE_TRIAL_RUN_H

#include "process.h"

struct run_plan {
	struct command_line line;
	uint32_t timeout_ms;   /* 0: none */
	uint32_t output_limit; /* bytes that are sent, of both streams together */
};

/* run_command - a trial_body */
int run_command(struct trial_context *context, const void *plan);

#endif
