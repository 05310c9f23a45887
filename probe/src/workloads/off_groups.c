// SPDX-License-Identifier: MIT
#include "off_groups.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "activations/caller_names.h"
#include "benchmark/child.h"
#include "bpf/peek.h"
#include "sampled/evidence.h"

#define MOST WIRE_MOST_OFF_GROUPS
/* Names of callers in a message. */
#define NAMES_ROOM 3072u

#if defined(__aarch64__)
#define MACHINE SAMPLED_ARM64
#else
#define MACHINE SAMPLED_X86
#endif

bool off_groups_open(struct off_groups *groups)
{
	*groups = (struct off_groups){.groups = calloc(MOST, sizeof(*groups->groups)), .count = 1};
	return groups->groups;
}

static enum off_kind kind_of(const struct sampled_row *row)
{
	if (row->flags & SAMPLED_COUNTED)
		return OFF_COUNTED;
	if (row->flags & SAMPLED_USER)
		return OFF_USER;
	return OFF_KERNEL;
}

static bool is_of(const struct off_group *group, const struct sampled_row *row, enum off_kind kind)
{
	return group->kind == kind && !memcmp(group->callers, row->callers, sizeof(row->callers));
}

uint16_t off_groups_of(struct off_groups *groups, const struct sampled_row *row)
{
	enum off_kind kind = kind_of(row);
	uint64_t hash = kind;
	uint32_t slot;

	for (size_t i = 0; i < SAMPLED_CALLERS; i++)
		hash = (hash ^ row->callers[i] ^ hash >> 29) * UINT64_C(0x9E3779B97F4A7C15);
	/* No more than a quarter of the slots are taken. */
	for (slot = hash % OFF_SLOTS; groups->slots[slot]; slot = (slot + 1) % OFF_SLOTS)
		if (is_of(&groups->groups[groups->slots[slot]], row, kind))
			return groups->slots[slot];
	if (groups->count == MOST)
		return 0;
	groups->slots[slot] = (uint16_t)groups->count;
	groups->groups[groups->count].kind = kind;
	memcpy(groups->groups[groups->count].callers, row->callers, sizeof(row->callers));
	memcpy(groups->groups[groups->count].code, row->code, sizeof(row->code));
	return (uint16_t)groups->count++;
}

/* ---------------------------------------------------------------- what a group shows */

/* shows_enabling - whether the code before the place enables interrupts */
static bool shows_enabling(const struct off_group *group, uint64_t start, int peek)
{
	uint64_t length = group->callers[0] - start;
	uint8_t code[EVIDENCE_MOST + 8];

	if (MACHINE == SAMPLED_ARM64)
		return evidence_in_code(MACHINE, group->code, sizeof(group->code));
	if (!start || length > EVIDENCE_MOST || peek < 0)
		return false;
	for (uint64_t at = 0; at < length; at += 8) {
		uint64_t word;

		if (!bpf_peek(peek, start + at, &word))
			return false;
		memcpy(code + at, &word, sizeof(word));
	}
	return evidence_in_code(MACHINE, code, length);
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
	const char *here = caller_name(names, group->callers[0]);

	if (group->kind == OFF_COUNTED)
		return OFF_CLASS_DISABLED;
	if (group->kind == OFF_USER)
		return OFF_CLASS_USER;
	if (!enables)
		return OFF_CLASS_UNKNOWN;
	for (size_t i = 1; has_any(here, outs) && i < SAMPLED_CALLERS; i++)
		if (has_any(caller_name(names, group->callers[i]), handlers))
			return OFF_CLASS_HANDLER;
	return OFF_CLASS_DISABLED;
}

bool off_groups_judge(struct off_groups *groups, struct caller_names *names)
{
	int peek = bpf_peek_open();

	if (!caller_names_open(names, (size_t)MOST * SAMPLED_CALLERS))
		return false;
	for (uint32_t i = 1; i < groups->count; i++)
		caller_names_add_all(names, groups->groups[i].callers, SAMPLED_CALLERS);
	caller_names_resolve(names);
	groups->groups[0].class = OFF_CLASS_UNKNOWN;
	for (uint32_t i = 1; i < groups->count; i++) {
		struct off_group *group = &groups->groups[i];
		uint64_t start = caller_start(names, group->callers[0]);

		group->class = judge(
		    group, group->kind == OFF_KERNEL && shows_enabling(group, start, peek), names);
	}
	if (peek >= 0)
		close(peek);
	return true;
}

void off_groups_send(const struct off_groups *groups, const struct caller_names *names,
		     struct child_context *context)
{
	uint8_t room[NAMES_ROOM];

	for (uint32_t i = 0; i < groups->count; i++) {
		const struct off_group *group = &groups->groups[i];

		REPORT(context, off_group, OFF_GROUP, .turn = context->turn, .group = (uint16_t)i,
		       .why = (uint8_t)group->class, .stretches = group->stretches,
		       .lasting = group->lasting, .points = group->points,
		       .seen_ns = group->seen_ns, .longest_ns = group->longest_ns,
		       .callers = caller_names_list(names, group->callers, SAMPLED_CALLERS, room,
						    sizeof(room)));
	}
}
