/* SPDX-License-Identifier: MIT */
/*
 * Kprobe events of the probe's own. They are of the whole kernel: all instances of tracing see
 * them.
 *
 * Their group has the name of the probe's instance, by which those of a killed probe are known.
 */
#ifndef WHYLATE_TRACEFS_KPROBES_H
#define WHYLATE_TRACEFS_KPROBES_H

#include "instance.h"

#define KPROBES_GROUP INSTANCE_NAME

/* kprobes_group - write the name of the group of an instance's events, KPROBES_GROUP bytes */
void kprobes_group(const char *instance, char *group);

/* kprobes_add - define an event, as the kernel's kprobe_events has it; root: the top of tracefs.
 * Returns 0 or an errno. */
int kprobes_add(int root, const char *definition);

/* kprobes_remove - remove the events of a group, which no instance has enabled; returns 0, or the
 * first errno */
int kprobes_remove(int root, const char *group);

/* kprobes_sweep - remove the events of instances that are gone. Call it with all instances locked,
 * so that none is met between its making and its end. */
void kprobes_sweep(int root, int instances);

#endif
