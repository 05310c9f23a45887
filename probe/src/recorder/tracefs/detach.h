// SPDX-License-Identifier: MIT
/* Disabling the trace events of an instance for a while. */
#ifndef WHYLATE_RECORDER_TRACEFS_DETACH_H
#define WHYLATE_RECORDER_TRACEFS_DETACH_H

#include <stdbool.h>

struct recorder;

/* event_enable - enable or disable a trace event, `system:event`, of an instance; returns 0 or an
 * errno */
int event_enable(int instance, const char *name, bool enabled);

/* detach_events - disable, or enable again, all events that a recorder enabled in an instance;
 * returns 0 or the first errno. Writing 0 to tracing_on would leave them at their tracepoints. */
int detach_events(const struct recorder *recorder, int instance, bool detached);

#endif
