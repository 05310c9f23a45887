// SPDX-License-Identifier: MIT
/* Starting a command of the user's own as a child of a process of the probe's. */
#ifndef WHYLATE_LOADS_EXEC_H
#define WHYLATE_LOADS_EXEC_H

#include <sys/types.h>

/*
 * exec_command - become the command, or write the errno of why not to `failure`
 *
 * It dies with its parent. Signals are set back to what a program expects, standard output and
 * error go to outputs[0] and outputs[1] or, where that is -1, nowhere, and nothing of the probe's
 * stays open in it: a command that held the wire open would keep the host from seeing that the
 * probe is gone.
 */
_Noreturn void exec_command(char *const *argv, int failure, const int outputs[2], pid_t parent);

/* exec_start - fork, and let the child become the command; returns 0, or an errno. *pid is then set
 * too where there was a child, which is to be waited for. */
int exec_start(char *const *argv, const int outputs[2], pid_t *pid);

/* exec_read_failure - what exec_command() wrote to the other end of that pipe; 0: it succeeded */
int exec_read_failure(int pipe);

#endif
