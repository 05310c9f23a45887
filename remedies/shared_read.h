/* SPDX-License-Identifier: MIT */
/*
 * shared_read - let callers on many CPUs share the reads of a slow device, such as a timer
 *
 * A device that takes 1 us a read serves 1,000,000 reads a second, however many CPUs ask. Callers
 * who ask at the same time can share a read: a leader reads the device and publishes the value, and
 * the others wait for it.
 *
 *     shared_read_direct() does not wait: the caller reads by itself, and shares nothing.
 *
 *     shared_read_nowait() does not wait: the caller reads by itself, and publishes the value where
 *     nobody else reads.
 *
 *     shared_read_strict() may wait: the value was never sampled before the call.
 *
 *     shared_read_relaxed() may wait: the value was sampled before the call by at most the sample's
 *     age (see Staleness).
 *
 * Contract
 * - Callers. direct and nowait: anybody, anywhere, NMI and signal handlers included. strict and
 *   relaxed: any number of threads and CPUs, in interrupt handlers too. They do not deadlock where
 *   a handler interrupts the leader, since nobody waits longer than `patience`; but then each such
 *   call costs the patience first: disable interrupts around the call, or use nowait in handlers.
 * - Progress. Each call ends within `patience` polls and one read of its own: it is wait-free. A
 *   leader that lost its CPU delays one caller by the patience; those after it see the mark that
 *   it leaves, and read the device at once until the leader is back. Where leaders lose it again
 *   and again, as with more callers than CPUs, callers share nothing for a while, which doubles
 *   each time up to SHARED_READ_REST reads.
 * - Staleness. strict: the value was sampled after the call began and before it returned. relaxed:
 *   it was sampled at most T before the call, where T is the leader's time from sample to publish:
 *   some ns with interrupts disabled, up to a time slice where the leader may be preempted.
 *   strict never goes backwards, between threads neither, where the later caller could know the
 *   earlier value. relaxed never goes backwards for a thread that uses this form alone while nobody
 *   loses patience; otherwise it may, by T.
 * - Memory order. strict orders all that the caller did before the call before the sample, also
 *   where nothing is shared. What a leader did before its read is not published: this is no lock.
 * - Width. Values have 64 bits. With bits < 64 the device's counter is extended: it has to be read
 *   at least once in half its period, by another form than direct, which publishes nothing. Define
 * SHARED_READ_32 where there are no 64-bit atomics: values then have 32 bits and wrap, and `bits`
 * must be 32. Nothing compares values, so that a wrap confuses nobody. The sequence wraps too: a
 * caller that slept for 2^31 reads reads once more than it needs.
 * - `read` is called by several CPUs at once (by those who lost patience, and by direct), and what
 *   it reads must not be satisfied before what precedes it: readl() and a volatile load on x86 are
 *   so ordered after a fence. direct and nowait order what `read` itself orders.
 *
 * shared_read_calibrate() finds whether sharing pays. A caller that is alone pays the bookkeeping
 * for nothing, so that sharing is off where it costs more than 1/20 of a read.
 */
#ifndef SHARED_READ_H
#define SHARED_READ_H

#include "remedy_atomic.h"

/*
 * The orders. Nothing else orders anything here.
 *
 *     ENTRY   of strict: what the caller saw of the device comes before its look at the sequence.
 *             With LEAD it forbids that the caller sees no leader while the leader samples a value
 *             older than what the caller saw (store buffering; read-to-write causality). Where the
 *             caller reads by itself, what it did before comes before its own sample.
 *     LEAD    after the sequence became odd, before the sample. Pairs with ENTRY.
 *     PUBLISH the value comes before the even sequence. Pairs with POLL.
 *     POLL    the even sequence comes before the value.
 */
#ifndef SHARED_READ_ENTRY
#define SHARED_READ_ENTRY seq_cst
#endif
#ifndef SHARED_READ_LEAD
#define SHARED_READ_LEAD seq_cst
#endif
#ifndef SHARED_READ_PUBLISH
#define SHARED_READ_PUBLISH release
#endif
#ifndef SHARED_READ_POLL
#define SHARED_READ_POLL acquire
#endif

#ifdef SHARED_READ_32
typedef uint32_t shared_value;
typedef int32_t shared_difference;
#else
typedef uint64_t shared_value;
typedef int64_t shared_difference;
#endif

/* Sharing is off where it costs a caller that is alone more than 1 / this of a read. */
#define SHARED_READ_WORTH 20u
/* Of the device's time: a strict caller waits for a read that just began, and for the next. */
#define SHARED_READ_PATIENCE 4u
/* Reads without sharing, at most, after callers lost patience again and again: it is tried again
 * then, which costs a few times the patience. */
#define SHARED_READ_REST 2047u
/* Losing patience counts as "again" where fewer reads than that were shared in between: far fewer
 * than between two ticks of a timer, whose handler may just delay a leader by more than the
 * patience. */
#define SHARED_READ_AGAIN 64u
/* Calls that calibration times at once: more are interrupted more often. */
#define SHARED_READ_BATCH 16u

/* The sequence is even while nobody reads, and odd while a leader does. */
struct shared_read {
	shared_value (*read)(void *device);
	void *device;
	uint32_t bits;	   /* of the device's counter */
	uint32_t patience; /* in polls; 0: nothing is shared */
	/* Fields that waiting callers poll; put the struct on a cache line of its own. */
	REMEDY_ATOMIC(uint32_t) sequence;
	REMEDY_ATOMIC(uint32_t) stuck; /* the odd sequence at which a caller lost patience */
	REMEDY_ATOMIC(uint32_t) rest;  /* reads until sharing is tried again */
	REMEDY_ATOMIC(uint32_t) pause; /* what rest began with, the last time */
	REMEDY_ATOMIC(shared_value) value;
};

/* shared_read_init - patience: in polls, 0 for one that shares nothing; calibrate() can find it */
static inline void shared_read_init(struct shared_read *shared, shared_value (*read)(void *),
				    void *device, uint32_t bits, uint32_t patience)
{
	shared->read = read;
	shared->device = device;
	shared->bits = bits;
	shared->patience = patience;
	REMEDY_STORE(&shared->sequence, 0u, relaxed);
	REMEDY_STORE(&shared->stuck, 0u, relaxed);
	REMEDY_STORE(&shared->rest, 0u, relaxed);
	REMEDY_STORE(&shared->pause, 0u, relaxed);
	REMEDY_STORE(&shared->value, (shared_value)0, relaxed);
}

/*
 * shared_read_direct - read the device oneself
 *
 * The difference to the last published value is signed: either may be the later.
 */
static inline shared_value shared_read_direct(struct shared_read *shared)
{
	const uint32_t unused = (uint32_t)(8 * sizeof(shared_value)) - shared->bits;
	shared_value last, sample;

	if (!unused)
		return shared->read(shared->device);
	last = REMEDY_LOAD(&shared->value, relaxed);
	sample = shared->read(shared->device);
	return last + (shared_value)((shared_difference)((sample - last) << unused) >> unused);
}

/* shared_read_lead_ - read and publish; the caller made the sequence odd: `even` + 1 */
static inline shared_value shared_read_lead_(struct shared_read *shared, uint32_t even)
{
	shared_value value;

	REMEDY_FENCE_AFTER_RMW(SHARED_READ_LEAD);
	value = shared_read_direct(shared);
	REMEDY_STORE(&shared->value, value, relaxed);
	REMEDY_STORE(&shared->sequence, even + 2, SHARED_READ_PUBLISH);
	return value;
}

/* shared_read_give_up_ - a caller lost patience: leave the mark, and share nothing for a while
 * where that comes again and again. Two who do so at once may leave the pause of either. */
static inline void shared_read_give_up_(struct shared_read *shared, uint32_t sequence)
{
	uint32_t last = REMEDY_LOAD(&shared->stuck, relaxed);
	uint32_t pause = REMEDY_LOAD(&shared->pause, relaxed);

	if (sequence == last)
		return;
	REMEDY_STORE(&shared->stuck, sequence, relaxed);
	if (!last || sequence - last > 2 * SHARED_READ_AGAIN)
		pause = 0;
	else if (pause < SHARED_READ_REST)
		pause = 2 * pause + 1;
	REMEDY_STORE(&shared->pause, pause, relaxed);
	REMEDY_STORE(&shared->rest, pause, relaxed);
}

/* shared_read_rests_ - whether nothing is shared just now; callers may count a read twice or not */
static inline int shared_read_rests_(struct shared_read *shared)
{
	uint32_t rest = REMEDY_LOAD(&shared->rest, relaxed);

	if (rest)
		REMEDY_STORE(&shared->rest, rest - 1, relaxed);
	return rest != 0;
}

/* shared_read_publish_ - read by oneself, and publish where nobody else reads */
static inline shared_value shared_read_publish_(struct shared_read *shared)
{
	uint32_t sequence = REMEDY_LOAD(&shared->sequence, relaxed);

	if (sequence % 2 == 0 && REMEDY_CAS(&shared->sequence, &sequence, sequence + 1, relaxed))
		return shared_read_lead_(shared, sequence);
	return shared_read_direct(shared);
}

/* shared_read_alone_ - read by oneself where nothing is shared; a counter that is extended needs
 * the last value */
static inline shared_value shared_read_alone_(struct shared_read *shared)
{
	return shared->bits < 8 * sizeof(shared_value) ? shared_read_publish_(shared)
						       : shared_read_direct(shared);
}

/*
 * shared_read_wait_ - return a value that was published at `need` or later, or an own one
 *
 * A later value than that of `need` may be seen: its leader stored it before this call returns.
 */
static inline shared_value shared_read_wait_(struct shared_read *shared, uint32_t sequence,
					     uint32_t need)
{
	for (uint32_t left = shared->patience; left; left--) {
		if ((int32_t)(sequence - need) >= 0)
			return REMEDY_LOAD(&shared->value, relaxed);
		if (sequence % 2 == 0) {
			if (REMEDY_CAS(&shared->sequence, &sequence, sequence + 1, relaxed))
				return shared_read_lead_(shared, sequence);
		} else if (sequence == REMEDY_LOAD(&shared->stuck, relaxed)) {
			return shared_read_direct(shared);
		} else {
			REMEDY_RELAX();
		}
		sequence = REMEDY_LOAD(&shared->sequence, SHARED_READ_POLL);
	}
	if (sequence % 2)
		shared_read_give_up_(shared, sequence);
	return shared_read_direct(shared);
}

/*
 * shared_read_strict - return a value that is not older than the call
 *
 * A read that goes on may have sampled before this call: the next is needed. From an even sequence
 * that is the one that ends 2 later, from an odd number 3 later.
 */
static inline shared_value shared_read_strict(struct shared_read *shared)
{
	uint32_t sequence;

	REMEDY_FENCE(SHARED_READ_ENTRY);
	if (!shared->patience || shared_read_rests_(shared))
		return shared_read_alone_(shared);
	sequence = REMEDY_LOAD(&shared->sequence, relaxed);
	return shared_read_wait_(shared, sequence, (sequence + 3) & ~1u);
}

/* shared_read_relaxed - return a value that may be older than the call; the read that goes on
 * will do */
static inline shared_value shared_read_relaxed(struct shared_read *shared)
{
	uint32_t sequence;

	if (!shared->patience || shared_read_rests_(shared))
		return shared_read_alone_(shared);
	sequence = REMEDY_LOAD(&shared->sequence, relaxed);
	return shared_read_wait_(shared, sequence, (sequence + 2) & ~1u);
}

/* shared_read_nowait - read the device oneself, for whoever waits too; for handlers of NMIs,
 * interrupts and signals */
static inline shared_value shared_read_nowait(struct shared_read *shared)
{
	return shared->patience ? shared_read_publish_(shared) : shared_read_alone_(shared);
}

/* What shared_read_calibrate() found, in ticks of the clock that it was given. */
struct shared_read_costs {
	uint64_t direct, strict; /* a read by a caller that is alone */
	uint64_t break_even;	 /* a device that takes less a read is not worth sharing */
	uint64_t poll;		 /* a look at the sequence */
};

/* shared_read_cost_ - return the least ticks per batch, and so without most interruptions */
static inline uint64_t shared_read_cost_(struct shared_read *shared,
					 shared_value (*form)(struct shared_read *),
					 uint64_t (*now)(void), uint32_t rounds)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t round = 0; round < rounds; round++) {
		uint64_t start = now(), ticks;

		for (uint32_t call = 0; call < SHARED_READ_BATCH; call++)
			form(shared);
		ticks = now() - start;
		least = ticks < least ? ticks : least;
	}
	return least;
}

/* shared_read_poll_ - as a caller that waits: for calibration */
static inline shared_value shared_read_poll_(struct shared_read *shared)
{
	REMEDY_RELAX();
	return REMEDY_LOAD(&shared->sequence, SHARED_READ_POLL) ==
	       REMEDY_LOAD(&shared->stuck, relaxed);
}

/*
 * shared_read_calibrate - measure, and set patience; 0 where sharing does not pay
 *
 * now: a fine clock, not the device itself; rounds: of a batch of reads of each kind, 64 and more
 * are wanted. Run it before anybody shares, on a CPU that does nothing else. Costs are of a
 * batch.
 */
static inline struct shared_read_costs shared_read_calibrate(struct shared_read *shared,
							     uint64_t (*now)(void), uint32_t rounds)
{
	struct shared_read_costs costs = {UINT64_MAX, UINT64_MAX, 0, UINT64_MAX};
	uint64_t patience;

	shared->patience = 1;
	/* In turns: both meet the same speed of the CPU. */
	for (uint32_t round = 0; round < rounds; round++) {
		uint64_t direct = shared_read_cost_(shared, shared_read_direct, now, 1);
		uint64_t strict = shared_read_cost_(shared, shared_read_strict, now, 1);
		uint64_t poll = shared_read_cost_(shared, shared_read_poll_, now, 1);

		costs.direct = direct < costs.direct ? direct : costs.direct;
		costs.strict = strict < costs.strict ? strict : costs.strict;
		costs.poll = poll < costs.poll ? poll : costs.poll;
	}
	if (costs.strict > costs.direct)
		costs.break_even = (costs.strict - costs.direct) * SHARED_READ_WORTH;
	patience = SHARED_READ_PATIENCE * costs.direct / (costs.poll ? costs.poll : 1) + 1;
	if (costs.direct < costs.break_even)
		patience = 0;
	shared->patience = patience > UINT32_MAX ? UINT32_MAX : (uint32_t)patience;
	return costs;
}

#endif
