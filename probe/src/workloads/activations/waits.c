// SPDX-License-Identifier: MIT
#include "waits.h"

#include <stdlib.h>
#include <string.h>

#include "bins.h"

/* What waits of a group have in common. */
struct wait_key {
	uint64_t futex;
	uint32_t tid;
	uint32_t waker;
	uint16_t origin;
	uint16_t state;
	uint16_t system_call;
	uint16_t reserved;
};

struct wait_group {
	struct wait_key key;
	uint64_t count;
	uint64_t total_ns;
	uint64_t longest_ns;
	uint64_t bins[WIRE_WAIT_BINS];
};

static uint32_t slot_of(const struct wait_key *key)
{
	uint64_t mixed = (key->futex ^ key->tid) * 0x9E3779B97F4A7C15u;

	mixed ^= mixed >> 29 ^ (uint64_t)key->waker << 17 ^ key->system_call ^
		 (uint64_t)key->origin << 40 ^ (uint64_t)key->state << 48;
	return (uint32_t)(mixed * 0xBF58476D1CE4E5B9u >> 32) % WAIT_SLOTS;
}

/* group_of - return the group of a key, which is made; the first where there is no room for it */
static struct wait_group *group_of(struct waits *waits, const struct wait_key *key)
{
	uint32_t slot = slot_of(key);

	for (; waits->slots[slot]; slot = (slot + 1) % WAIT_SLOTS) {
		struct wait_group *group = &waits->groups[waits->slots[slot]];

		if (memcmp(&group->key, key, sizeof(*key)) == 0)
			return group;
	}
	if (waits->count == WIRE_MOST_WAIT_GROUPS)
		return &waits->groups[0];
	waits->slots[slot] = (uint16_t)waits->count;
	waits->groups[waits->count].key = *key;
	return &waits->groups[waits->count++];
}

bool waits_open(struct waits *waits)
{
	waits->groups = calloc(WIRE_MOST_WAIT_GROUPS, sizeof(*waits->groups));
	waits->count = 1;
	return waits->groups;
}

void waits_add(struct waits *waits, const struct recorder_stage *stage)
{
	const struct wait_key key = {
	    .futex = stage->futex,
	    .tid = stage->pid,
	    .waker = stage->waker,
	    .origin = stage->origin,
	    .state = stage->wait_state,
	    .system_call = stage->system_call,
	};
	uint64_t wait_ns = stage->waited_ns - 1;
	struct wait_group *group;

	if (!stage->waited_ns)
		return;
	group = group_of(waits, &key);
	group->count++;
	group->total_ns += wait_ns;
	if (wait_ns > group->longest_ns)
		group->longest_ns = wait_ns;
	group->bins[bins_find(wait_ns)]++;
}

static void send_group(const struct wait_group *group, struct sender *sender)
{
	uint8_t data[WIRE_MAX_PAYLOAD];
	uint16_t length, bins = bins_put(group->bins, data, &length);

	KEEP(sender, app_wait, APP_WAIT, .tid = group->key.tid, .waker = group->key.waker,
	     .origin = (uint8_t)group->key.origin, .state = (uint8_t)group->key.state,
	     .system_call = group->key.system_call, .futex = group->key.futex,
	     .count = group->count, .total_ns = group->total_ns, .longest_ns = group->longest_ns,
	     .bins = bins, .data = {data, length});
}

void waits_send(const struct waits *waits, struct sender *sender)
{
	for (uint32_t i = 0; i < waits->count; i++)
		if (waits->groups[i].count)
			send_group(&waits->groups[i], sender);
}

void waits_close(struct waits *waits)
{
	free(waits->groups);
	waits->groups = NULL;
}
