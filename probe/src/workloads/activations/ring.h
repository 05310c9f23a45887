// SPDX-License-Identifier: MIT
/*
 * A ring of activations: one measuring thread writes, the sending thread reads.
 *
 * Neither ever waits for the other. Where the ring is full the activation is dropped, which leaves
 * a gap in the indices.
 */
#ifndef WHYLATE_RING_H
#define WHYLATE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define STAGE_COUNT 3u

struct activation {
	uint64_t index;	    /* due at start + index * interval */
	int64_t latency_ns; /* may be negative */
	uint32_t overruns;  /* activations after it that came due before it had woken */
	/* From due to its interrupt, its waking and its switch; WIRE_NOT_SEEN. Filled in by the
	 * sending thread. */
	int32_t stages_ns[STAGE_COUNT];
};

struct ring {
	/* Each side's counter has a cache line of its own: reading does not slow writing. */
	_Alignas(64) _Atomic uint64_t written;
	_Alignas(64) _Atomic uint64_t taken;
	uint64_t offered; /* of those written; the reading side's own */
	_Alignas(64) struct activation *slots;
	uint64_t size; /* a power of two */
};

static inline bool ring_put(struct ring *ring, struct activation activation)
{
	uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);

	if (written - atomic_load_explicit(&ring->taken, memory_order_acquire) == ring->size)
		return false;
	ring->slots[written & (ring->size - 1)] = activation;
	atomic_store_explicit(&ring->written, written + 1, memory_order_release);
	return true;
}

/* ring_written - count the activations that were ever written */
static inline uint64_t ring_written(struct ring *ring)
{
	return atomic_load_explicit(&ring->written, memory_order_acquire);
}

/* ring_at - an activation that was written and not taken, by its number in the ring */
static inline struct activation *ring_at(struct ring *ring, uint64_t number)
{
	return &ring->slots[number & (ring->size - 1)];
}

/* ring_peek - return the oldest activation that was offered and not consumed, or NULL */
static inline const struct activation *ring_peek(struct ring *ring)
{
	uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);

	return taken == ring->offered ? NULL : ring_at(ring, taken);
}

/* ring_is_empty - whether all that was written has been consumed */
static inline bool ring_is_empty(struct ring *ring)
{
	return ring_written(ring) == atomic_load_explicit(&ring->taken, memory_order_relaxed);
}

/* ring_drop - consume what ring_peek() returned */
static inline void ring_drop(struct ring *ring)
{
	uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);

	atomic_store_explicit(&ring->taken, taken + 1, memory_order_release);
}

#endif
