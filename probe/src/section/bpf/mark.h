/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The parts of an owner at a time: an interrupt between the reading of the clock and that of the
 * parts is of both or of neither.
 */
#ifndef WHYLATE_SECTION_BPF_MARK_H
#define WHYLATE_SECTION_BPF_MARK_H

#include "counts.h"
#include "owner.h"
#include "steal.h"

/* Times that a mark is taken until nothing came meanwhile. */
#define MARK_TRIES 3u

/*
 * drop_later - take from the parts at a mark what came after it; returns whether that is all known
 *
 * An end is read first and its owner marked as busy later. Meanwhile a tick may come, softirqs
 * after it, and another thread: several changes, and more than are remembered where many
 * interrupts are due at once. Steal alone can lie on both sides of the end, for it is known only as
 * it is looked at: of it the end has what cannot have come later.
 */
ALWAYS_INLINE bool drop_later(const struct section_owner *owner, struct section_parts *parts,
			      __u64 now)
{
	if (likely(owner->changed_ns <= now))
		return 1;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < SECTION_CHANGES; i++) {
		const struct section_changed *change = &owner->recent[i];
		__u64 later_ns = change->until_ns > now ? change->until_ns - now : 0;

		later_ns = min(change->took_ns, later_ns);
		if (change->part == CHANGE_INTERRUPTED)
			parts->interrupted_ns -= later_ns;
		else if (change->part == CHANGE_PREEMPTED)
			parts->preempted_ns -= later_ns;
		else if (change->part == CHANGE_SLEPT)
			parts->slept_ns -= later_ns;
		else
			parts->steal_ns -= later_ns;
	}
	/* If even the oldest is later, there may have been more before it. Waits for locks are not
	 * remembered: they have taken sleep, which is. */
	return owner->recent[owner->recent_count & (SECTION_CHANGES - 1)].until_ns <= now &&
	       owner->waited_ns <= now;
}

/*
 * take_parts - take the parts of an owner at a time; returns it
 *
 * now: that time, read before; 0: as late as can be. The owner can be interrupted, or lose its CPU,
 * meanwhile: then all is taken again.
 */
ALWAYS_INLINE __u64 take_parts(const struct section_owner *owner, struct section_parts *parts,
			       __u64 now)
{
	__u64 at = now, changes;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MARK_TRIES; i++) {
		changes = *(volatile __u64 *)&owner->changes;
		barrier();
		*parts = owner->parts;
		if (now)
			drop_later(owner, parts, now);
		else
			at = bpf_ktime_get_ns();
		barrier();
		if (likely(*(volatile __u64 *)&owner->changes == changes))
			break;
	}
	return at;
}

/* shorten - take from a part, since it was before_ns, as much as there is of most_ns */
ALWAYS_INLINE void shorten(__u64 *part_ns, __u64 before_ns, __u64 most_ns)
{
	*part_ns -= min(*part_ns - before_ns, most_ns);
}

/*
 * drop_longest - take from the parts at an end what can have come after it
 *
 * However much came, none of it took longer than there has been time since. In that time the owner
 * did little else: what is taken too much, of parts that came before the end as well, is short. A
 * wait for a lock is not taken where none has ended since.
 */
ALWAYS_INLINE void drop_longest(const struct section_owner *owner, struct section_parts *parts,
				const struct section_parts *began, __u64 now)
{
	__u64 since_ns = bpf_ktime_get_ns() - now;

	shorten(&parts->interrupted_ns, began->interrupted_ns, since_ns);
	shorten(&parts->preempted_ns, began->preempted_ns, since_ns);
	shorten(&parts->slept_ns, began->slept_ns, since_ns);
	if (owner->waited_ns > now)
		shorten(&parts->lock_ns, began->lock_ns, since_ns);
	shorten(&parts->steal_ns, began->steal_ns, since_ns);
}

/*
 * take_mark - take the parts and counts of an owner at a time; returns it
 *
 * now: the time of an end, began: the mark of its beginning; 0: a beginning, as late as can be. The
 * owner can be interrupted, or lose its CPU, meanwhile: then all is taken again. Where that does
 * not help either, or not all is remembered, no part has anything of before a beginning, or of
 * after an end.
 */
ALWAYS_INLINE __u64 take_mark(struct section_owner *owner, struct section_mark *mark, __u64 now,
			      const struct section_mark *began)
{
	bool is_known = 1;
	__u64 at = now;

	if (now)
		take_steal(owner);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MARK_TRIES; i++) {
		mark->changes = *(volatile __u64 *)&owner->changes;
		barrier();
		mark->parts = owner->parts;
		if (wanted.counter_count)
			mark_counts(owner, mark);
		if (now) {
			is_known = drop_later(owner, &mark->parts, now);
		} else {
			at = bpf_ktime_get_ns();
			/* Last: what is taken until then is none of the execution's. */
			take_steal(owner);
			mark->parts.steal_ns = owner->parts.steal_ns;
		}
		barrier();
		if (likely(*(volatile __u64 *)&owner->changes == mark->changes)) {
			if (likely(is_known))
				return at;
			break;
		}
		mark->counts.refused = 1;
	}
	mark->parts = owner->parts;
	barrier();
	if (now)
		drop_longest(owner, &mark->parts, &began->parts, now);
	return at;
}

#endif
