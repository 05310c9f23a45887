// SPDX-License-Identifier: MIT
/* What is observed of a thread in the section: the programs that do, each optional. */
#ifndef WHYLATE_SECTION_PARTS_H
#define WHYLATE_SECTION_PARTS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "faults.h"

struct bpf_fds;
struct section_plan;

#define PART_LINKS 28

struct section_part_links {
	int programs[PART_LINKS]; /* -1: none */
	int links[PART_LINKS];	  /* -1: none */
	struct section_fault_hooks faults;
	bool counts_handled; /* faults are counted where they are handled */
	uint8_t observed;    /* enum execution_part */
};

void parts_init(struct section_part_links *parts);

/* parts_find_steal - find where the kernel has what a hypervisor takes from a CPU, behind its run
 * queue; false: it is not counted, or nothing was since the start, so that none of it is known to
 * be */
bool parts_find_steal(__s64 *from_queue);

/* parts_at_switch - whether a section begins or ends where threads are switched */
bool parts_at_switch(const struct section_plan *plan);

/* parts_load - load what this kernel permits */
void parts_load(struct section_part_links *parts, const struct bpf_fds *fds,
		const struct section_plan *plan);

/* parts_attach - observe from now on, as far as that is permitted; fds: as loaded with */
void parts_attach(struct section_part_links *parts, const struct bpf_fds *fds);

/* parts_attach_last - attach what comes behind the programs of the section */
void parts_attach_last(struct section_part_links *parts);

/* parts_detach - observe nothing any more */
void parts_detach(struct section_part_links *parts);

void parts_unload(struct section_part_links *parts);

#endif
