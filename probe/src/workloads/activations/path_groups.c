// SPDX-License-Identifier: MIT
#include "path_groups.h"

#include <stdlib.h>
#include <string.h>

#include "caller_names.h"
#include "wire/send.h"

#define MOST WIRE_MOST_PATH_GROUPS
/* Names of callers in a message. */
#define NAMES_ROOM 3072u

struct path_group {
	uint64_t callers[SECTION_PATH_CALLERS];
	uint64_t places[SECTION_PATH_CALLERS]; /* of them, whose names are known later */
	uint64_t longer;
	uint64_t total_ns;
	uint64_t longest_ns;
	uint64_t control;
};

bool path_groups_open(struct path_groups *groups, bool is_user)
{
	groups->groups = calloc(MOST, sizeof(*groups->groups));
	groups->count = 1;
	groups->is_user = is_user;
	return groups->groups;
}

/* slot_of - where a path's group is, or would be */
static uint16_t *slot_of(struct path_groups *groups, const struct section_path *path)
{
	uint64_t hash = 0;
	uint32_t slot;

	for (size_t i = 0; i < SECTION_PATH_CALLERS; i++)
		hash = (hash ^ path->callers[i]) * UINT64_C(0x9E3779B97F4A7C15) >> 1;
	/* No more than half of the slots are taken. */
	for (slot = hash % PATH_SLOTS; groups->slots[slot]; slot = (slot + 1) % PATH_SLOTS)
		if (!memcmp(groups->groups[groups->slots[slot]].callers, path->callers,
			    sizeof(path->callers)))
			break;
	return &groups->slots[slot];
}

/* group_of - return the group with these callers, which is made; the first where there is no room
 */
static struct path_group *group_of(struct path_groups *groups, const struct section_path *path)
{
	struct path_group *group;
	uint16_t *slot;

	if (!path->callers[0])
		return &groups->groups[0];
	slot = slot_of(groups, path);
	if (!*slot) {
		if (groups->count == MOST)
			return &groups->groups[0];
		*slot = (uint16_t)groups->count++;
		group = &groups->groups[*slot];
		memcpy(group->callers, path->callers, sizeof(path->callers));
		memcpy(group->places, path->callers, sizeof(path->callers));
		if (groups->is_user)
			user_files_locate(&groups->files, path->pid, group->callers, group->places,
					  SECTION_PATH_CALLERS);
	}
	return &groups->groups[*slot];
}

void path_groups_add(struct path_groups *groups, const struct section_path *path)
{
	struct path_group *group = group_of(groups, path);

	if (!path->is_longer) {
		group->control++;
		return;
	}
	group->longer++;
	group->total_ns += path->duration_ns;
	if (path->duration_ns > group->longest_ns)
		group->longest_ns = path->duration_ns;
}

void path_groups_send(const struct path_groups *groups, bool is_sampled, uint64_t above_ns,
		      uint64_t lost, struct sender *sender)
{
	struct caller_names names;
	uint8_t room[NAMES_ROOM];

	if (!caller_names_open(&names, (size_t)MOST * SECTION_PATH_CALLERS))
		return;
	for (uint32_t i = 1; i < groups->count; i++)
		caller_names_add_all(&names, groups->groups[i].places, SECTION_PATH_CALLERS);
	if (groups->is_user)
		caller_names_resolve_user(&names, &groups->files);
	else
		caller_names_resolve(&names);
	for (uint32_t i = 0; i < groups->count; i++) {
		const struct path_group *group = &groups->groups[i];

		KEEP(sender, section_path, SECTION_PATH, .sampled = is_sampled,
		     .above_ns = above_ns, .longer = group->longer, .total_ns = group->total_ns,
		     .longest_ns = group->longest_ns, .control = group->control,
		     .lost = i ? 0 : lost,
		     .callers = caller_names_list(&names, group->places, SECTION_PATH_CALLERS, room,
						  sizeof(room)));
	}
	caller_names_close(&names);
}

void path_groups_close(struct path_groups *groups)
{
	free(groups->groups);
	groups->groups = NULL;
	user_files_close(&groups->files);
}
