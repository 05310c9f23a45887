// SPDX-License-Identifier: MIT
/* The state of a session, and the host's commands, which change it. */
#ifndef WHYLATE_SESSION_COMMANDS_H
#define WHYLATE_SESSION_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "load_reports.h"
#include "put.h"
#include "recorder/flight.h"
#include "wire/send.h"
#include "workloads/benchmark/counters.h"
#include "workloads/workload.h"

struct session {
	struct sender sender;
	struct guardian *guardian;
	struct workload workload;
	struct flight flight;
	struct counter_set counters; /* counted in what is measured from now on */
	struct load_reports loads;
	struct put put;
	uint64_t phase_ns;	 /* of the next workload */
	uint64_t pause_until_ns; /* 0: no pause */
	uint32_t pause_command;
};

/* commands_run - carry out one command and answer it */
void commands_run(struct session *session, const struct frame *frame);

/* commands_poll - answer a pause that is over, and go on with the workload */
void commands_poll(struct session *session, uint64_t now_ns);

/* commands_wait - whether the next command of a plan waits for a pause, or for the workload */
bool commands_wait(const struct session *session);

/* commands_wait_ms - the time after which to poll again at the latest; -1: any */
int commands_wait_ms(const struct session *session, uint64_t now_ns);

#endif
