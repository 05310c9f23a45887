// SPDX-License-Identifier: MIT
#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "wire/bins.h"

/* The same stack, at most so large: addresses on different ones say nothing of who began first. */
#if defined(__arm__)
#define STACK_BITS 13
#else
#define STACK_BITS 14
#endif

bool pairs_open(struct pairs *pairs, struct section_cpu *(*cpu_at)(void *context, uint16_t cpu),
		void *context, uint64_t row_mask)
{
	*pairs = (struct pairs){.cpu_at = cpu_at,
				.context = context,
				.row_mask = row_mask,
				.random = clock_ns() | 1,
				.owners = calloc(SECTION_OWNERS, sizeof(*pairs->owners))};
	return pairs->owners;
}

void pairs_close(struct pairs *pairs)
{
	free(pairs->owners);
	pairs->owners = NULL;
}

/* count_kept - how many frames from the first on have durations */
static uint32_t count_kept(const struct pair_owner *owner, uint32_t first)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < owner->depth; i++)
		count += !owner->frames[i].is_refused;
	return count;
}

/* leave - what an owner has begun counts as left, on that CPU */
static void leave(const struct pairs *pairs, struct pair_owner *owner, uint16_t cpu)
{
	pairs->cpu_at(pairs->context, cpu)->left += count_kept(owner, 0);
	owner->depth = owner->deeper = 0;
	owner->has_ended = false;
}

/* find_owner - the owner of that key; NULL: it has no place. unused: one that it may have then, of
 * no other owner, or else of a thread that has ended; it may be NULL. */
static struct pair_owner *find_owner(const struct pairs *pairs, uint64_t key,
				     struct pair_owner **unused)
{
	uint64_t hash = key * 0x9E3779B97F4A7C15u >> (64 - SECTION_OWNERS_BITS);
	struct pair_owner *ended = NULL, *empty = NULL;

	for (size_t i = 0; i < SECTION_TRIES; i++) {
		struct pair_owner *owner = &pairs->owners[(hash + i) & (SECTION_OWNERS - 1)];

		if (owner->key == key)
			return owner;
		if (!empty && !owner->depth && !owner->deeper)
			empty = owner;
		if (!ended && owner->has_ended)
			ended = owner;
		if (!owner->key)
			break;
	}
	if (unused)
		*unused = empty ? empty : ended;
	return NULL;
}

/* find_place - the owner of that key, or a place for it; NULL: there is none */
static struct pair_owner *find_place(const struct pairs *pairs, uint64_t key, uint16_t cpu)
{
	struct pair_owner *unused = NULL, *owner = find_owner(pairs, key, &unused);

	if (owner || !unused)
		return owner;
	leave(pairs, unused, cpu);
	unused->key = key;
	return unused;
}

/* counts_at - whether executions that begin then count */
static bool counts_at(const struct pairs *pairs, uint64_t time_ns)
{
	return time_ns >= pairs->open_ns && time_ns < pairs->close_ns;
}

/*
 * drop_left - drop the frames whose code has been left without a return
 *
 * The stack grows downwards: what began on the same stack, and not above here, has been left. Of a
 * pair of tracepoints only one has begun: the former did not end.
 */
static void drop_left(struct section_cpu *cpu, struct pair_owner *owner, uint64_t here)
{
	uint32_t remain = 0;

	for (uint32_t i = 0; i < owner->depth; i++) {
		const struct pair_frame *frame = &owner->frames[i];

		if (!here ||
		    (frame->place >> STACK_BITS == here >> STACK_BITS && frame->place <= here)) {
			cpu->left += !frame->is_refused;
			/* Those without a frame were within it. */
			owner->deeper = 0;
			continue;
		}
		owner->frames[remain++] = *frame;
	}
	owner->depth = remain;
}

/* draw - whether one of so many executions is drawn (xorshift64) */
static bool draw(struct pairs *pairs, uint64_t one_in)
{
	if (one_in < 2)
		return true;
	pairs->random ^= pairs->random << 13;
	pairs->random ^= pairs->random >> 7;
	pairs->random ^= pairs->random << 17;
	return (pairs->random >> 32) % one_in == 0;
}

void pairs_begin(struct pairs *pairs, const struct pair_event *event)
{
	struct section_cpu *cpu = pairs->cpu_at(pairs->context, event->cpu);
	struct pair_owner *owner = find_place(pairs, event->key, event->cpu);
	bool counts = counts_at(pairs, event->time_ns), is_refused = !counts;

	cpu->entries += counts;
	if (!owner) {
		cpu->no_room += counts;
		return;
	}
	drop_left(cpu, owner, event->place);
	if (counts && (owner->deeper || count_kept(owner, 0) >= SECTION_DEEPEST ||
		       owner->depth == PAIR_FRAMES)) {
		cpu->too_deep++;
		is_refused = true;
	}
	if (owner->deeper || owner->depth == PAIR_FRAMES) {
		owner->deeper++;
		return;
	}
	owner->frames[owner->depth++] =
	    (struct pair_frame){.place = event->place,
				.caller = event->caller,
				.begin_ns = event->time_ns,
				.cpu = event->cpu,
				.is_drawn = !is_refused && draw(pairs, cpu->one_in),
				.is_refused = is_refused};
}

/* is_of - whether that frame may be the execution that ends */
static bool is_of(const struct pair_frame *frame, const struct pair_event *event)
{
	if (event->place)
		return frame->place == event->place;
	return !event->caller || frame->caller == event->caller;
}

/* find_frame - the innermost frame that may end; owner->depth: none */
static uint32_t find_frame(struct pairs *pairs, const struct pair_owner *owner,
			   const struct pair_event *event)
{
	uint32_t at = owner->depth;

	for (uint32_t i = owner->depth; i-- > 0;) {
		if (!is_of(&owner->frames[i], event))
			continue;
		if (at < owner->depth) {
			pairs->ambiguous++;
			break;
		}
		at = i;
		/* No two are at one place. */
		if (event->place)
			break;
	}
	return at;
}

static void keep(const struct pairs *pairs, struct section_cpu *cpu, const struct pair_frame *frame,
		 const struct pair_event *event, uint64_t duration_ns)
{
	struct section_row *row = (struct section_row *)(cpu + 1) + (cpu->rows & pairs->row_mask);

	*row = (struct section_row){
	    .number = ++cpu->rows,
	    .begin_ns = frame->begin_ns,
	    .duration_ns = duration_ns,
	    .pid = event->pid,
	    .begin_cpu = frame->cpu,
	    .flags = (uint16_t)((frame->is_drawn ? EXECUTION_DRAWN : 0) |
				(frame->cpu != event->cpu ? EXECUTION_MOVED : 0))};
}

void pairs_end(struct pairs *pairs, const struct pair_event *event, bool is_counted)
{
	struct section_cpu *cpu = pairs->cpu_at(pairs->context, event->cpu);
	struct pair_owner *owner = find_owner(pairs, event->key, NULL);
	const struct pair_frame *frame;
	uint64_t duration_ns;
	uint32_t at;

	is_counted = is_counted && counts_at(pairs, event->time_ns);
	at = owner ? find_frame(pairs, owner, event) : 0;
	/* The innermost ones have no frame, and end first. */
	if (owner && owner->deeper && (!event->place || at == owner->depth)) {
		owner->deeper--;
		cpu->unmatched += is_counted;
		return;
	}
	if (!owner || at == owner->depth) {
		cpu->unmatched += is_counted;
		return;
	}
	cpu->left += count_kept(owner, at + 1);
	owner->depth = at;
	owner->deeper = 0;
	frame = &owner->frames[at];
	if (frame->is_refused) {
		cpu->unmatched += is_counted;
		return;
	}
	/* Of two CPUs' clocks one may be behind. */
	duration_ns = event->time_ns > frame->begin_ns ? event->time_ns - frame->begin_ns : 0;
	cpu->bins[bins_find(duration_ns)]++;
	if (frame->is_drawn || (cpu->above_ns && duration_ns > cpu->above_ns))
		keep(pairs, cpu, frame, event, duration_ns);
}

void pairs_lose(struct pairs *pairs, uint16_t cpu)
{
	for (size_t i = 0; i < SECTION_OWNERS; i++)
		leave(pairs, &pairs->owners[i], cpu);
}

void pairs_leave(struct pairs *pairs, uint64_t key, uint16_t cpu)
{
	struct pair_owner *owner = find_owner(pairs, key, NULL);

	if (owner)
		leave(pairs, owner, cpu);
}

void pairs_let_go(struct pairs *pairs, uint64_t key, uint16_t cpu)
{
	/* It may begin something still. */
	struct pair_owner *owner = find_place(pairs, key, cpu);

	if (owner)
		owner->has_ended = true;
}

void pairs_follow(struct pairs *pairs, uint64_t before, uint64_t now, uint16_t cpu)
{
	struct pair_owner *from = find_owner(pairs, before, NULL), *to;

	if (before == now)
		return;
	pairs_leave(pairs, now, cpu);
	if (!from || (!from->depth && !from->deeper))
		return;
	to = find_place(pairs, now, cpu);
	if (!to) {
		leave(pairs, from, cpu);
		return;
	}
	*to = *from;
	to->key = now;
	from->depth = from->deeper = 0;
}

void pairs_forget(struct pairs *pairs)
{
	memset(pairs->owners, 0, SECTION_OWNERS * sizeof(*pairs->owners));
	pairs->ambiguous = 0;
}

uint64_t pairs_in_flight(const struct pairs *pairs, bool have_ended)
{
	uint64_t count = 0;

	for (size_t i = 0; i < SECTION_OWNERS; i++)
		if (pairs->owners[i].has_ended == have_ended)
			count += count_kept(&pairs->owners[i], 0);
	return count;
}
