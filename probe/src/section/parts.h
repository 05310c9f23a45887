// SPDX-License-Identifier: MIT
/* What is observed of a thread in the section: the programs that do, each optional. */
#ifndef WHYLATE_SECTION_PARTS_H
#define WHYLATE_SECTION_PARTS_H

#include <stdint.h>

struct bpf_fds;

#define PART_LINKS 24

struct section_part_links {
	int programs[PART_LINKS]; /* -1: none */
	int links[PART_LINKS];	  /* -1: none */
	uint8_t observed;	  /* enum execution_part */
};

void parts_init(struct section_part_links *parts);

/* parts_load - load what this kernel permits */
void parts_load(struct section_part_links *parts, const struct bpf_fds *fds);

/* parts_attach - observe from now on, as far as that is permitted */
void parts_attach(struct section_part_links *parts);

/* parts_detach - observe nothing any more */
void parts_detach(struct section_part_links *parts);

void parts_unload(struct section_part_links *parts);

#endif
