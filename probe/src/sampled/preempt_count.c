// SPDX-License-Identifier: MIT
#include "preempt_count.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/peek.h"
#include "failure.h"
#include "recorder/kallsyms.h"

/* Linux 6.2 to 6.14 have it in a struct, behind a pointer. */
#define HOT_OFFSET 8u

/* Symbols of the kernel; 0: it has none of that name. */
struct symbols {
	uint64_t count, hot, offsets;
	bool is_preemptible;
};

static void take(void *context, const char *name, uint64_t address)
{
	struct symbols *symbols = context;

	if (!strcmp(name, "__preempt_count"))
		symbols->count = address;
	else if (!strcmp(name, "pcpu_hot"))
		symbols->hot = address;
	else if (!strcmp(name, "__per_cpu_offset"))
		symbols->offsets = address;
	else if (!strcmp(name, "preempt_schedule"))
		symbols->is_preemptible = true;
}

int preempt_counts_find(struct preempt_counts *counts, char *text)
{
	struct symbols symbols = {0};

	*counts = (struct preempt_counts){.peek = -1};
	kallsyms_each(take, &symbols);
	/* Without preemption in the kernel spinlocks count nothing. */
	if (!symbols.is_preemptible)
		return fail(
		    text, EOPNOTSUPP,
		    "this kernel does not count what disables preemption: it takes "
		    "CONFIG_PREEMPT, PREEMPT_DYNAMIC or PREEMPT_RT, and addresses of symbols "
		    "that are shown");
#if defined(__x86_64__)
	counts->variable = symbols.count ? symbols.count
			   : symbols.hot ? symbols.hot + HOT_OFFSET
					 : 0;
	counts->offsets = symbols.offsets;
	if (!counts->variable || !counts->offsets)
		return fail(text, EOPNOTSUPP,
			    "where this kernel counts what disables preemption is not known: "
			    "/proc/kallsyms has no __preempt_count");
	counts->peek = bpf_peek_open();
	if (counts->peek < 0)
		return fail(text, EACCES, "the kernel's memory cannot be read");
#endif
	return 0;
}

bool preempt_counts_address(const struct preempt_counts *counts, uint16_t cpu, uint64_t *address)
{
	uint64_t offset;

	*address = 0;
	if (!counts->variable)
		return true;
	if (!bpf_peek(counts->peek, counts->offsets + 8u * (uint64_t)cpu, &offset) || !offset)
		return false;
	*address = counts->variable + offset;
	return true;
}

void preempt_counts_close(struct preempt_counts *counts)
{
	if (counts->peek >= 0)
		close(counts->peek);
	counts->peek = -1;
}
