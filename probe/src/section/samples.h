// SPDX-License-Identifier: MIT
/* Looking where threads are while they are in the section: a clock event on each CPU. */
#ifndef WHYLATE_SECTION_SAMPLES_H
#define WHYLATE_SECTION_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/constants.h"

struct bpf_fds;

struct section_sampling {
	int program; /* -1: none */
	uint16_t count;
	int events[WIRE_MOST_CPUS];
};

void samples_init(struct section_sampling *sampling);

/* samples_load - load the program, if the kernel permits it */
void samples_load(struct section_sampling *sampling, const struct bpf_fds *fds);

/* samples_attach - look every so many ns from now on, on each CPU that is online; false: not on one
 * of them */
bool samples_attach(struct section_sampling *sampling, uint16_t cpu_limit, uint64_t every_ns);

void samples_detach(struct section_sampling *sampling);

void samples_unload(struct section_sampling *sampling);

#endif
