// SPDX-License-Identifier: MIT
/*
 * The app workload: how late do the threads of a program run, that know nothing of us?
 *
 * The recorder notes each time that such a thread was woken and then switched to. An ordinary
 * thread takes the activations from it, sends them, and copies the windows of the late ones.
 */
#ifndef WHYLATE_APP_H
#define WHYLATE_APP_H

#include <stdbool.h>
#include <stdint.h>

#include "app_target.h"

struct session;
struct app_cpu;

#define APP_THREADS 4096u /* whose names are told */

struct app {
	bool running;
	bool ending; /* what is late has ended it */
	struct app_target target;
	struct app_cpu *cpus; /* by CPU number */
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t named[2 * APP_THREADS]; /* open addressing */
	uint32_t named_count;
};

/* app_start - watch a program from now on; returns 0, or an errno with one line in text
 * (RECORDER_MESSAGE bytes) */
int app_start(struct session *session, const struct wire_app *command, char *text);

/* app_stop - let the end be now */
void app_stop(struct session *session);

/* app_tick - take what was recorded, and see whether it is over */
void app_tick(struct session *session, uint64_t now_ns);

#endif
