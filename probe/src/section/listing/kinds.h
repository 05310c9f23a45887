// SPDX-License-Identifier: MIT
/* What finds the names of a kind: functions of the kernel, tracepoints, and places in a file. */
#ifndef WHYLATE_SECTION_LISTING_KINDS_H
#define WHYLATE_SECTION_LISTING_KINDS_H

#include <stdint.h>

#include "bpf/kernel_types.h"
#include "names.h"
#include "section/user.h"
#include "wire/constants.h"

/* The names of a kind, sorted; of each its hooks or its obstacle. */
struct listing {
	struct listed_names names;
	struct listed_names probes; /* of a file: its USDT probes */
	struct kernel_types types;  /* of tracepoints, whose names have their type */
	uint32_t lacks;		    /* of enum listing_lack */
};

/* hook_bit - the bit of a hook in a set of them */
static inline uint16_t hook_bit(enum section_hook hook)
{
	return (uint16_t)(1u << hook);
}

/* Each returns 0, or an errno with the text. */
int list_functions(struct listing *listing, const char *pattern, char *text);
int list_tracepoints(struct listing *listing, const char *pattern, char *text);
/* file, pid: as of user_code_open() */
int list_file(struct listing *listing, const char *pattern, const char *file, uint32_t pid,
	      char *text);

#endif
