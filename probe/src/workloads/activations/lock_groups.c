// SPDX-License-Identifier: MIT
#include "lock_groups.h"

#include <stdlib.h>
#include <string.h>

#include "caller_names.h"
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

static void send_group(const struct lock_group *group, const struct caller_names *names,
		       struct sender *sender)
{
	uint8_t room[NAMES_ROOM];

	KEEP(sender, section_lock, SECTION_LOCK, .lock = group->lock,
	     .name = wire_text(group->lock ? caller_name(names, group->lock) : ""),
	     .flags = group->flags, .count = group->count, .total_ns = group->total_ns,
	     .longest_ns = group->longest_ns,
	     .callers =
		 caller_names_list(names, group->callers, SECTION_CALLERS, room, sizeof(room)));
}

void lock_groups_send(struct lock_groups *groups, struct sender *sender)
{
	struct caller_names names;

	if (!caller_names_open(&names, SYMBOLS))
		return;
	for (uint32_t i = 1; i < groups->count; i++) {
		if (groups->groups[i].lock)
			caller_names_add_lock(&names, groups->groups[i].lock);
		caller_names_add_all(&names, groups->groups[i].callers, SECTION_CALLERS);
	}
	caller_names_resolve(&names);
	for (uint32_t i = 0; i < groups->count; i++)
		if (groups->groups[i].count)
			send_group(&groups->groups[i], &names, sender);
	caller_names_close(&names);
}

void lock_groups_close(struct lock_groups *groups)
{
	free(groups->groups);
	groups->groups = NULL;
}
