// SPDX-License-Identifier: MIT
/* A command as the child of a benchmark's process; it ends with all that it starts. */
#ifndef WHYLATE_BENCHMARK_PROCESS_H
#define WHYLATE_BENCHMARK_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "child.h"

struct command_line {
	char text[WIRE_MOST_COMMAND_BYTES]; /* the words, a NUL behind each */
	size_t words;
};

struct process {
	pid_t pid;
	int end;	/* readable when the process has ended; -1 on kernels before 5.3 */
	int outputs[2]; /* to be read from: standard output and error; -1 at its end */
	uint64_t start_ns;
};

#define COMMAND_TOO_LONG "a command must have 1 to 64 words of 4000 bytes together"

/* command_line_copy - copy a command from the host; false: COMMAND_TOO_LONG, or without a word */
bool command_line_copy(struct command_line *line, struct wire_list words);

/* process_start - start a command as a child of this process, and its counters. separate: standard
 * error has a pipe of its own; else it goes to that of standard output. Returns 0, or an errno with
 * the text. */
int process_start(struct process *process, struct child_context *context,
		  const struct command_line *line, bool separate);

/* process_ended - wait for output, for the end of the process or until until_ns; return whether it
 * has ended. Exits when the probe is gone. */
bool process_ended(const struct process *process, uint64_t until_ns, int *status,
		   struct rusage *usage);

/* process_read - read an output; 0: it is at its end, and closed; less: there is nothing now */
ssize_t process_read(struct process *process, int stream, void *data, size_t room);

/* process_kill_rest - kill whatever the command has left running */
void process_kill_rest(void);

#endif
