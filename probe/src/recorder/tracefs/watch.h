/* SPDX-License-Identifier: MIT */
/*
 * The wakings of a watched program's threads, from the events of all CPUs in the order of time.
 *
 * It is what the BPF programs do at once (../bpf/watch.h), done when all CPUs' events until a time
 * are in the rings.
 */
#ifndef WHYLATE_RECORDER_TRACEFS_WATCH_H
#define WHYLATE_RECORDER_TRACEFS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/engine.h"

struct watch;

/* watch_open - allocate a watch; NULL: there is no memory */
struct watch *watch_open(const struct recorder_watch *wanted, uint16_t cpu_limit);

/* watch_lost - events of a CPU are missing: what is open on it, and who was woken, is not known */
void watch_lost(struct watch *watch);

/* watch_publish - make stages of what is in the rings until until_ns */
void watch_publish(struct watch *watch, struct recorder *recorder, uint64_t until_ns);

void watch_close(struct watch *watch);

#endif
