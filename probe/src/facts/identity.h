// SPDX-License-Identifier: MIT
/* Who the probe is and what it may do here. */
#ifndef WHYLATE_IDENTITY_H
#define WHYLATE_IDENTITY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/utsname.h>

struct identity {
	const char *arch; /* that the probe was built for */
	struct utsname names;
	uint32_t uid;
	uint64_t capabilities; /* effective */
	uint64_t rtprio_limit;
	uint64_t memlock_limit;
	uint64_t clock_resolution_ns;
	uint64_t clock_read_ns; /* median cost of one reading */
	uint16_t *cpus;		/* that this process may run on */
	size_t cpu_count;
};

void identity_read(struct identity *identity, size_t max_cpus);
void identity_release(struct identity *identity);

#endif
