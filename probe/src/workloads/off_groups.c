// SPDX-License-Identifier: MIT
#include "off_groups.h"

#include <stdlib.h>
#include <string.h>

#include "activations/caller_names.h"
#include "benchmark/child.h"
#include "sampled/evidence.h"
#include "sampled/kernel_code.h"
#include "sampled/sampled.h"
#include "wire/send.h"

#define MOST WIRE_MOST_OFF_GROUPS
/* Names of callers in a message. */
#define NAMES_ROOM 3072u

bool off_groups_open(struct off_groups *groups)
{
	*groups = (struct off_groups){.groups = calloc(MOST, sizeof(*groups->groups)), .count = 1};
	return groups->groups;
}

static bool is_of(const struct off_group *group, const struct off_place *place)
{
	return group->at.kind == place->kind &&
	       !memcmp(group->at.callers, place->callers, sizeof(place->callers)) &&
	       !memcmp(group->at.began, place->began, sizeof(place->began));
}

static uint64_t mix(uint64_t hash, uint64_t address)
{
	return (hash ^ address ^ hash >> 29) * UINT64_C(0x9E3779B97F4A7C15);
}

uint16_t off_groups_of(struct off_groups *groups, const struct off_place *place)
{
	uint64_t hash = place->kind;
	uint32_t slot;

	for (size_t i = 0; i < SAMPLED_CALLERS; i++)
		hash = mix(hash, place->callers[i]);
	for (size_t i = 0; i < OFF_BEGAN; i++)
		hash = mix(hash, place->began[i]);
	/* No more than a quarter of the slots are taken. */
	for (slot = hash % OFF_SLOTS; groups->slots[slot]; slot = (slot + 1) % OFF_SLOTS)
		if (is_of(&groups->groups[groups->slots[slot]], place))
			return groups->slots[slot];
	if (groups->count == MOST)
		return 0;
	groups->slots[slot] = (uint16_t)groups->count;
	groups->groups[groups->count].at = *place;
	return (uint16_t)groups->count++;
}

/* ---------------------------------------------------------------- what a group shows */

/* shows_enabling - whether the code before the place enables interrupts */
static bool shows_enabling(const struct off_group *group, uint64_t start,
			   const struct kernel_code *image)
{
	uint64_t length = group->at.callers[0] - start;
	uint8_t code[EVIDENCE_MOST + 8];

	if (SAMPLED_MACHINE != SAMPLED_X86)
		return evidence_in_code(SAMPLED_MACHINE, group->at.code, sizeof(group->at.code));
	if (!start || length > EVIDENCE_MOST)
		return false;
	if (!kernel_code_read(image, start, code, length))
		return false;
	return evidence_in_code(SAMPLED_MACHINE, code, length);
}

/* has_any - whether a name has one of the words */
static bool has_any(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strstr(name, *words))
			return true;
	return false;
}

static enum off_class judge(const struct off_group *group, bool enables,
			    const struct caller_names *names)
{
	/* Where interrupts are enabled on the way out of the handler of another interrupt. */
	static const char *const outs[] = {"do_softirq", "handle_softirqs", "irqentry_exit", NULL};
	static const char *const handlers[] = {"irq_exit", "_interrupt", NULL};
	const char *here = caller_name(names, group->at.callers[0]);

	if (group->at.kind == OFF_COUNTED || group->at.kind == OFF_TRACED)
		return OFF_CLASS_DISABLED;
	if (group->at.kind == OFF_USER)
		return OFF_CLASS_USER;
	if (!enables)
		return OFF_CLASS_UNKNOWN;
	for (size_t i = 1; has_any(here, outs) && i < SAMPLED_CALLERS; i++)
		if (has_any(caller_name(names, group->at.callers[i]), handlers))
			return OFF_CLASS_HANDLER;
	return OFF_CLASS_DISABLED;
}

bool off_groups_judge(struct off_groups *groups, struct caller_names *names)
{
	struct kernel_code image;

	/* Without it nothing shows on x86. */
	kernel_code_open(&image);
	if (!caller_names_open(names, (size_t)MOST * (SAMPLED_CALLERS + OFF_BEGAN))) {
		kernel_code_close(&image);
		return false;
	}
	for (uint32_t i = 1; i < groups->count; i++) {
		caller_names_add_all(names, groups->groups[i].at.callers, SAMPLED_CALLERS);
		caller_names_add_all(names, groups->groups[i].at.began, OFF_BEGAN);
	}
	caller_names_resolve(names);
	groups->groups[0].class = OFF_CLASS_UNKNOWN;
	for (uint32_t i = 1; i < groups->count; i++) {
		struct off_group *group = &groups->groups[i];
		uint64_t start = caller_start(names, group->at.callers[0]);

		group->class = judge(
		    group, group->at.kind == OFF_KERNEL && shows_enabling(group, start, &image),
		    names);
	}
	kernel_code_close(&image);
	return true;
}

/* list_names - the names of callers */
static struct wire_list list_names(const struct caller_names *names, const uint64_t *callers,
				   size_t most, uint8_t room[NAMES_ROOM])
{
	static const char idle[] = "the idle thread";

	if (callers[0] != OFF_IDLE)
		return caller_names_list(names, callers, most, room, NAMES_ROOM);
	wire_store(room, sizeof(idle) - 1, 2);
	memcpy(room + 2, idle, sizeof(idle) - 1);
	return (struct wire_list){room, 2 + sizeof(idle) - 1, 1};
}

void off_groups_send(const struct off_groups *groups, const struct caller_names *names,
		     struct child_context *context)
{
	uint8_t room[NAMES_ROOM], room_began[NAMES_ROOM];

	for (uint32_t i = 0; i < groups->count; i++) {
		const struct off_group *group = &groups->groups[i];

		REPORT(context, off_group, OFF_GROUP, .turn = context->turn, .group = (uint16_t)i,
		       .why = (uint8_t)group->class, .stretches = group->stretches,
		       .lasting = group->lasting, .points = group->points,
		       .seen_ns = group->seen_ns, .longest_ns = group->longest_ns,
		       .callers = list_names(names, group->at.callers, SAMPLED_CALLERS, room),
		       .began = list_names(names, group->at.began, OFF_BEGAN, room_began));
	}
}
