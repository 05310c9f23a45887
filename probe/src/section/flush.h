// SPDX-License-Identifier: MIT
/*
 * Flushing a section's own code from the caches before executions that are treated.
 *
 * No BPF program can flush. But processes share the pages of a file, so that a thread of the probe
 * flushes them through its own mapping, for all CPUs. It draws an arm by chance, flushes the lines
 * of the section (treated) or as many of its own memory (placebo), and the next execution that
 * begins is of that arm: one for each flush.
 *
 * A page that has a hook is not shared: the kernel gives each process a copy of it.
 */
#ifndef WHYLATE_SECTION_FLUSH_H
#define WHYLATE_SECTION_FLUSH_H

#include <stddef.h>
#include <stdint.h>

#include "section/armer.h"
#include "section/bpf/layout.h"
#include "section/user.h"

struct section_flush {
	const char *code; /* mapped from the beginning of a page; NULL: nothing is */
	size_t bytes;
	const char *lines[CODE_READS_MOST]; /* of the code, in pages without a hook, */
	uint32_t count;
	char *others; /* and as many of the placebo */
	struct armer armer;
};

/* flush_plan - choose the lines that are flushed; returns 0, or an errno with the text */
int flush_plan(struct section_flush *flush, const struct user_code *code, char *text);

/* flush_start - flush before executions from now on; cpu: the first CPU's memory. Returns 0, or an
 * errno with the text */
int flush_start(struct section_flush *flush, struct section_cpu *cpu, char *text);

/* flush_stop - end that, if it was started; no execution is drawn any more */
void flush_stop(struct section_flush *flush);

/* flush_close - give back what flush_plan() took; may be called of what is all 0 */
void flush_close(struct section_flush *flush);

#endif
