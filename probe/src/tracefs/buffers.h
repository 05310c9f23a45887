/* SPDX-License-Identifier: MIT */
/* The kernel's buffers of an instance of tracing: one for each CPU, read page by page. */
#ifndef WHYLATE_TRACEFS_BUFFERS_H
#define WHYLATE_TRACEFS_BUFFERS_H

#include <stdint.h>

#include "instance.h"
#include "pages.h"

/* buffers_set_up - set an instance's clock to CLOCK_MONOTONIC and its buffers to so many bytes a
 * CPU, and read how its pages are laid out; nothing is recorded yet. Returns 0, or an errno with
 * the text. */
int buffers_set_up(const struct instance *instance, uint64_t bytes, struct page_format *format,
		   char *text);

/* buffers_open - open the buffer of a CPU; returns a descriptor, which does not wait, or -1 with
 * errno */
int buffers_open(const struct instance *instance, uint16_t cpu);

#endif
