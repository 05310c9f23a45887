// SPDX-License-Identifier: MIT
#include "lock_groups.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/kallsyms.h"
#include "wire/send.h"

#define MOST WIRE_MOST_LOCK_GROUPS
/* Of each group its lock and its callers. */
#define SYMBOLS ((size_t)MOST * (SECTION_CALLERS + 1))
/* Names of callers in a message. */
#define NAMES_ROOM 2048u

struct lock_group {
	uint64_t callers[SECTION_CALLERS];
	uint64_t lock; /* 0: several */
	uint32_t flags;
	uint64_t count;
	uint64_t total_ns;
	uint64_t longest_ns;
};

bool lock_groups_open(struct lock_groups *groups)
{
	groups->groups = calloc(MOST, sizeof(*groups->groups));
	groups->count = 1;
	return groups->groups;
}

/* group_of - return the group with these callers, which is made; the first where there is no room
 */
static struct lock_group *group_of(struct lock_groups *groups, const struct section_lock *wait)
{
	struct lock_group *group;

	for (uint32_t i = 1; i < groups->count; i++) {
		group = &groups->groups[i];
		if (group->flags == wait->flags &&
		    !memcmp(group->callers, wait->callers, sizeof(group->callers)))
			return group;
	}
	if (groups->count == MOST || !wait->callers[0])
		return &groups->groups[0];
	group = &groups->groups[groups->count++];
	memcpy(group->callers, wait->callers, sizeof(group->callers));
	group->flags = (uint32_t)wait->flags;
	group->lock = wait->lock;
	return group;
}

void lock_groups_add(struct lock_groups *groups, const struct section_lock *wait)
{
	struct lock_group *group = group_of(groups, wait);

	group->count++;
	group->total_ns += wait->waited_ns;
	if (wait->waited_ns > group->longest_ns)
		group->longest_ns = wait->waited_ns;
	if (group->lock != wait->lock)
		group->lock = 0;
}

static int compare(const void *first, const void *second)
{
	const struct symbol *a = first, *b = second;

	return (a->address > b->address) - (a->address < b->address);
}

/* name_of - return the name of an address; empty where it is not known */
static const char *name_of(const struct symbol *symbols, size_t count, uint64_t address)
{
	const struct symbol wanted = {.address = address};
	const struct symbol *symbol =
	    count ? bsearch(&wanted, symbols, count, sizeof(*symbols), compare) : NULL;

	return symbol ? symbol->name : "";
}

/* resolve - return the names of all addresses, sorted by these; NULL: no memory */
static struct symbol *resolve(const struct lock_groups *groups, size_t *count)
{
	struct symbol *symbols = calloc(SYMBOLS, sizeof(*symbols));

	*count = 0;
	if (!symbols)
		return NULL;
	for (uint32_t i = 1; i < groups->count; i++) {
		const struct lock_group *group = &groups->groups[i];

		if (group->lock)
			symbols[(*count)++].address = group->lock;
		for (size_t j = 0; j < SECTION_CALLERS && group->callers[j]; j++)
			symbols[(*count)++].address = group->callers[j];
	}
	qsort(symbols, *count, sizeof(*symbols), compare);
	kallsyms_resolve(symbols, *count);
	return symbols;
}

static void send_group(const struct lock_group *group, const struct symbol *symbols, size_t count,
		       struct sender *sender)
{
	uint8_t names[NAMES_ROOM];
	struct wire_list callers = {names, 0, 0};

	for (size_t i = 0; i < SECTION_CALLERS && group->callers[i]; i++) {
		const char *name = name_of(symbols, count, group->callers[i]);
		size_t length = strlen(name);

		if (callers.size + 2 + length > sizeof(names))
			break;
		wire_store(names + callers.size, length, 2);
		memcpy(names + callers.size + 2, name, length);
		callers.size = (uint16_t)(callers.size + 2 + length);
		callers.count++;
	}
	KEEP(sender, section_lock, SECTION_LOCK, .lock = group->lock,
	     .name = wire_text(group->lock ? name_of(symbols, count, group->lock) : ""),
	     .flags = group->flags, .count = group->count, .total_ns = group->total_ns,
	     .longest_ns = group->longest_ns, .callers = callers);
}

void lock_groups_send(struct lock_groups *groups, struct sender *sender)
{
	size_t count;
	struct symbol *symbols = resolve(groups, &count);

	for (uint32_t i = 0; i < groups->count && symbols; i++)
		if (groups->groups[i].count)
			send_group(&groups->groups[i], symbols, count, sender);
	free(symbols);
}

void lock_groups_close(struct lock_groups *groups)
{
	free(groups->groups);
	groups->groups = NULL;
}
