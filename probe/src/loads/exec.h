// SPDX-License-Identifier: MIT
/* Becoming a command of the user's own, in a child of the probe's. */
#ifndef WHYLATE_LOADS_EXEC_H
#define WHYLATE_LOADS_EXEC_H

#include <sys/types.h>

/*
 * exec_command - become the command, or write the errno of why not to `failure`
 *
 * It dies with its parent. Signals are set back to what a program expects, its output goes to
 * `output` or, where that is -1, nowhere, and nothing of the probe's stays open in it: a command
 * that held the wire open would keep the host from seeing that the probe is gone. failure and
 * output are above 2.
 */
_Noreturn void exec_command(char *const *argv, int failure, int output, pid_t parent);

#endif
