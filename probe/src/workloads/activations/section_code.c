// SPDX-License-Identifier: MIT
#include "section_code.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bins.h"
#include "failure.h"
#include "recorder/kallsyms.h"

/* A search through the kernel's symbols. */
struct search {
	const char *name;
	uint64_t start;
	uint64_t next; /* the first symbol behind it */
	unsigned count;
};

/* find_code - look at a symbol; those of the kernel itself come in the order of their addresses */
static void find_code(void *context, const char *name, uint64_t address)
{
	struct search *search = context;

	if (search->count && !search->next && address > search->start)
		search->next = address;
	if (strcmp(name, search->name) != 0 || address == search->start)
		return;
	search->start = address;
	search->next = 0;
	search->count++;
}

int section_code_find(struct section_plan *plan, char *text)
{
	struct search search = {.name = plan->begin};

	if (plan->config.treatment == TREATMENT_FLUSH && plan->kind != SECTION_USER)
		return fail(
		    text, EOPNOTSUPP,
		    "code of the kernel cannot be flushed: programs flush what they can map, and "
		    "no BPF program can flush; use code, cold, or prefetch");
	if (plan->config.treatment != TREATMENT_PREFETCH || plan->kind == SECTION_USER)
		return 0;
	if (plan->kind != SECTION_FUNCTION || *plan->end)
		return fail(
		    text, EOPNOTSUPP,
		    "what code runs between two places of the kernel is not known, so that it "
		    "cannot be prefetched: name a function");
	kallsyms_each(find_code, &search);
	if (search.count > 1)
		return fail(text, EINVAL, "several functions of this kernel are named %.100s",
			    plan->begin);
	if (!search.next)
		return fail(
		    text, ENOENT,
		    "where the code of %.100s lies is not known: the kernel hides addresses "
		    "(kernel.kptr_restrict), or it is a module's",
		    plan->begin);
	plan->config.code_address = search.start;
	plan->code_bytes = search.next - search.start;
	return 0;
}

static void send_arm(const struct section *section, bool is_treated, struct sender *sender)
{
	struct section_arm_account account;
	uint8_t data[WIRE_MAX_PAYLOAD];
	uint16_t length, bins;

	section_arm_account(section, is_treated, &account);
	bins = bins_put(account.bins, data, &length);
	SEND(sender, section_arm, SECTION_ARM, .treated = is_treated,
	     .reads = section->plan.config.treatment_reads, .entries = account.entries,
	     .returned = account.returned, .failed = account.failed, .bins = bins,
	     .data = {data, length});
}

void section_arms_send(const struct section *section, struct sender *sender)
{
	if (!section->plan.config.treatment)
		return;
	send_arm(section, false, sender);
	send_arm(section, true, sender);
}
