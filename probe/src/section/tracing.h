/* SPDX-License-Identifier: MIT */
/*
 * Timing a section by trace events, where no programs can: kprobe events, or a pair of tracepoints,
 * in an instance of tracing of the probe's own. The probe reads the kernel's buffers and pairs what
 * is in them.
 */
#ifndef WHYLATE_SECTION_TRACING_H
#define WHYLATE_SECTION_TRACING_H

#include <stdbool.h>

#include "section.h"

struct section_tracing;

/* tracing_open - make the instance and its events, which are not enabled yet, and the memory of the
 * section's CPUs; returns 0, or an errno with the text */
int tracing_open(struct section *section, char *text);
void tracing_close(struct section *section);

/* As the functions of section.h. */
int tracing_attach(struct section *section, char *text);
void tracing_close_entries(struct section *section);
void tracing_detach(struct section *section);
void tracing_forget(struct section *section);
bool tracing_gather(struct section *section);
uint64_t tracing_lost(const struct section *section);

/* tracing_account - add what only tracing knows */
void tracing_account(const struct section *section, struct section_account *account);

#endif
