// SPDX-License-Identifier: MIT
/*
 * asid_errata - is the hook of errata called after each install, and on its CPU?
 *
 * Two CPUs switch between more address spaces than there are identifiers. Prints how many installs,
 * how many calls of the hook, and how many of these did not follow an install on the same CPU.
 */
#include <stdio.h>
#include <stdlib.h>

#include "asid.h"

#define BITS   3
#define CPUS   2
#define SPACES 12

static unsigned installs, calls, wrong;
static uint32_t installed = CPUS; /* on this CPU, and the hook was not called; CPUS: nowhere */

static void flush_local(void *context, uint32_t cpu)
{
	(void)context;
	(void)cpu;
}

static void install(void *context, uint32_t cpu, uint32_t number, struct asid_context *space)
{
	(void)number;
	(void)space;
	(void)context;
	wrong += installed != CPUS;
	installed = cpu;
	installs++;
}

static void after_install(void *context, uint32_t cpu)
{
	wrong += installed != cpu || context != &installs;
	installed = CPUS;
	calls++;
}

int main(void)
{
	static uint64_t used[ASID_WORDS(BITS)], kept[ASID_WORDS(BITS)];
	static struct asid_cpu cpu[CPUS];
	static struct asid_context space[SPACES];
	static struct asid_allocator ids;
	struct asid_hooks hooks = {&installs, flush_local, NULL, install, after_install};

	if (!asid_init(&ids, &hooks, BITS, 1, used, kept, cpu, CPUS, 0))
		abort();
	for (unsigned i = 0; i < 1000; i++)
		asid_switch(&ids, i % CPUS, &space[i * 5 % SPACES]);
	printf("%u %u %u\n", installs, calls, wrong);
	return ids.rollovers ? 0 : 1;
}
