// SPDX-License-Identifier: MIT
/* Where the kernel's functions are that wait by spinning. */
#ifndef WHYLATE_WORKLOADS_SECTION_SPINS_H
#define WHYLATE_WORKLOADS_SECTION_SPINS_H

#include "section/bpf/layout.h"

/* section_spins_find - find them among the kernel's symbols; none where it hides these */
void section_spins_find(struct section_range *ranges);

#endif
