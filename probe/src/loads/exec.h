// SPDX-License-Identifier: MIT
/* Starting a command of the user as a child of a process of the probe. */
#ifndef WHYLATE_LOADS_EXEC_H
#define WHYLATE_LOADS_EXEC_H

#include <sys/types.h>

/*
 * exec_command - become the command, or write the errno of why not to `failure`
 *
 * It dies with its parent. Signals have their defaults, standard output and error go to outputs[0]
 * and outputs[1] or, where that is -1, to /dev/null. No descriptor of the probe stays open: a
 * command that held the wire open would hide the end of the probe from the host.
 */
_Noreturn void exec_command(char *const *argv, int failure, const int outputs[2], pid_t parent);

/* exec_start - fork a child that becomes the command; returns 0, or an errno. Where *pid is above 0
 * there is a child to wait for, even with an errno. */
int exec_start(char *const *argv, const int outputs[2], pid_t *pid);

/* exec_read_failure - read the errno that exec_command() wrote to that pipe; 0: it succeeded */
int exec_read_failure(int pipe);

#endif
