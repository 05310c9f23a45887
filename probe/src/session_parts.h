// SPDX-License-Identifier: MIT
/* What the parts of a session share: its state, and how they speak to the host. */
#ifndef WHYLATE_SESSION_PARTS_H
#define WHYLATE_SESSION_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app.h"
#include "flight.h"
#include "guardian.h"
#include "put.h"
#include "spool.h"
#include "trials/trial.h"
#include "wakeup.h"
#include "wire/link.h"
#include "wire/messages.h"
#include "wire/pack.h"

#define MAX_LOADS 64
#define MAX_CPUS  1024
/* Samples are taken from the threads this often. */
#define SHIP_NS 100000000u

struct load_range {
	size_t first; /* slot */
	size_t count;
};

struct session {
	struct link link;
	struct guardian *guardian;
	struct wakeup wakeup;
	bool measuring;
	bool spooling;
	struct spool spool;
	uint64_t shipped_ns;
	uint64_t loads_ns;
	struct load_range loads[MAX_LOADS];
	size_t slots_used;
	uint64_t host_timeout_ns; /* 0: a silent host is waited for */
	uint64_t host_heard_ns;
	uint64_t pause_until_ns; /* 0: no pause */
	uint32_t pause_command;
	uint64_t phase_ns; /* of the next workload */
	struct flight flight;
	struct app app;
	struct trial trial;
	struct put put;
	struct counter_set counter_set;	  /* of what is measured from now on */
	struct counters *thread_counters; /* of each wakeup thread; NULL where nothing is counted */
	uint64_t frames_heard;
};

/* session_send - send when there is room; commands of the host wait meanwhile */
void session_send(struct session *session, uint8_t kind, const struct wire_writer *writer);

/* session_host_gone - whether there is nobody any more to send to */
bool session_host_gone(const struct session *session);

/* commands_wait - whether the next command of a plan waits for a pause, or for the workload */
bool commands_wait(const struct session *session);

/* commands_tick - answer a pause that is over */
void commands_tick(struct session *session, uint64_t now_ns);

/* commands_take - carry out one command and answer it */
void commands_take(struct session *session, const struct frame *frame);

/* trials_take - start a trial, or say what is counted in those to come; false: another command */
bool trials_take(struct session *session, const struct frame *frame);

/* trials_tick - pass on what the trial has said, and answer its command when it has ended */
void trials_tick(struct session *session);

/* events_begin - count what the wakeup threads do, which wait for their go */
void events_begin(struct session *session);

/* events_tell - what was counted of them until now, and no more from here on */
void events_tell(struct session *session);

/* shipping_tick - ship samples, and see whether the workload has ended */
void shipping_tick(struct session *session, uint64_t now_ns);

/* shipping_unspool - what was kept on the board goes out now that nothing is measured any more */
void shipping_unspool(struct session *session);

/* shipping_result - the last word of a workload */
void shipping_result(struct session *session);

/* loads_tick - report the work of the loads, twice a second */
void loads_tick(struct session *session, uint64_t now_ns);

/* session_keep - send as session_send() does, or put to the samples that stay on the board */
void session_keep(struct session *session, uint8_t kind, const struct wire_writer *writer);

#define PACK_AND(give, session, name, NAME, ...)                                                   \
	do {                                                                                       \
		uint8_t payload[WIRE_MAX_PAYLOAD];                                                 \
		struct wire_writer writer = {payload, sizeof(payload), 0, false};                  \
		wire_pack(&writer, WIRE_##NAME, &(struct wire_##name){__VA_ARGS__});               \
		give(session, WIRE_##NAME, &writer);                                               \
	} while (0)
#define SEND(session, name, NAME, ...) PACK_AND(session_send, session, name, NAME, __VA_ARGS__)
#define KEEP(session, name, NAME, ...) PACK_AND(session_keep, session, name, NAME, __VA_ARGS__)

#endif
