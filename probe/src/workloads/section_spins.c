// SPDX-License-Identifier: MIT
#include "section_spins.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "recorder/kallsyms.h"

/* Waiting for a lock, for another CPU's answer, and for a time to be over. */
static const char *const names[] = {
    "queued_spin_lock_slowpath",
    "native_queued_spin_lock_slowpath",
    "__pv_queued_spin_lock_slowpath",
    "queued_read_lock_slowpath",
    "queued_write_lock_slowpath",
    "osq_lock",
    "mutex_spin_on_owner",
    "mutex_optimistic_spin",
    "rwsem_spin_on_owner",
    "rwsem_optimistic_spin",
    "smp_call_function_many_cond",
    "smp_call_function_single",
    "csd_lock_wait",
    "__delay",
    "delay_loop",
    "delay_tsc",
    "__timer_delay",
};

#define NAMES (sizeof(names) / sizeof(names[0]))
_Static_assert(NAMES <= SECTION_SPINS, "one each");

static void take_begin(void *context, const char *name, uint64_t address)
{
	struct section_range *ranges = context;

	for (size_t i = 0; i < NAMES; i++)
		if (!strcmp(name, names[i]))
			ranges[i].begin = address;
}

/* take_end - a function goes on to the next symbol */
static void take_end(void *context, const char *name, uint64_t address)
{
	struct section_range *ranges = context;

	(void)name;
	for (size_t i = 0; i < NAMES; i++)
		if (ranges[i].begin && address > ranges[i].begin &&
		    (!ranges[i].end || address < ranges[i].end))
			ranges[i].end = address;
}

void section_spins_find(struct section_range *ranges)
{
	kallsyms_each(take_begin, ranges);
	kallsyms_each(take_end, ranges);
}
