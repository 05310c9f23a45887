/* SPDX-License-Identifier: MIT */
/*
 * bulk_work - long work under a lock, in chunks, so that whoever wants the lock need not wait for
 * all of it
 *
 * Cleaning 16,384 cache lines under a lock that disables interrupts delays every interrupt by up to
 * 1.6 ms. In chunks of 128 lines it delays them by 12 us, and takes 6 % longer. bulk_work_run()
 * does the work, bulk_work_choose() finds the chunk, bulk_work_fit() the costs that it needs.
 *
 * Contract
 * - Callers. bulk_work_run(): whoever may take the lock. Work on a chunk must leave what the lock
 *   protects as others may see it: they run between two chunks.
 * - Progress. The lock is held for at most `chunk` items; where somebody waits and `is_wanted` can
 *   know that, for at most `least` items after they came.
 * - Fairness. That of the lock. With remedy_lock (first come, first served) everybody who waits
 * when a chunk ends is served before the next chunk. An unfair lock may be taken again by the
 * worker before a waiter runs: then give `yield`, which is called without the lock after each chunk
 * that ended because somebody waits.
 * - Memory order. What the lock gives.
 *
 * The law of the latency (all in the same unit, such as ns)
 * Somebody comes at a moment that does not depend on the work. While chunks are held for
 * H = chunk * item and the lock is free for `gap` in between, somebody who comes during a hold
 * waits for what is left of it, which is uniform in [0, H]:
 *
 *     quantile q:  floor + max(0, q * (H + gap) - gap)
 *     median:      floor + H / 2 where gap is short
 *     p99:         floor + 0.99 * H
 *     maximum:     floor + H
 *
 * where floor is the latency without any bulk work, `gap` what it costs to let go and take the lock
 * again. The maximum needs the dearest item rather than the mean: `item` for the median, `worst`
 * for p99 and maximum. With `is_wanted` the hold that counts is that of `least` items. The work
 * takes items * item + holds * gap: letting go costs gap / H of it.
 */
#ifndef BULK_WORK_H
#define BULK_WORK_H

#include "remedy_lock.h"

/* What bulk_work_run() calls, each with `context`. */
struct bulk_work {
	void *context;
	void (*take)(void *context);
	void (*give)(void *context);
	/* Work on the items first to end - 1. */
	void (*work)(void *context, uint64_t first, uint64_t end);
	int (*is_wanted)(void *context); /* whether somebody waits for the lock; or NULL */
	void (*yield)(void *context);	 /* let a waiter run, where the lock is unfair; or NULL */
	uint64_t chunk;			 /* items for which the lock is held at most */
	uint64_t least;			 /* items between two calls of is_wanted; 0: as chunk */
};

/* bulk_work_run - do items 0 to items - 1 and return how often the lock was taken. A chunk of 0
 * counts as 1 */
static inline uint64_t bulk_work_run(const struct bulk_work *bulk, uint64_t items)
{
	const uint64_t chunk = bulk->chunk ? bulk->chunk : 1;
	const uint64_t step =
	    bulk->is_wanted && bulk->least && bulk->least < chunk ? bulk->least : chunk;
	uint64_t holds = 0, at = 0;

	while (at < items) {
		uint64_t held = 0;
		int wanted = 0;

		bulk->take(bulk->context);
		holds++;
		while (at < items && held < chunk && !wanted) {
			uint64_t now = step;

			now = now < chunk - held ? now : chunk - held;
			now = now < items - at ? now : items - at;
			bulk->work(bulk->context, at, at + now);
			at += now;
			held += now;
			wanted = bulk->is_wanted && bulk->is_wanted(bulk->context);
		}
		bulk->give(bulk->context);
		if (wanted && bulk->yield && at < items)
			bulk->yield(bulk->context);
	}
	return holds;
}

/* What work costs, in one unit of time; of items in thousandths of it. */
struct bulk_costs {
	uint64_t floor;	      /* the latency of a waiter while there is no bulk work */
	uint64_t item_milli;  /* an item, on average */
	uint64_t worst_milli; /* an item, at worst */
	uint64_t gap;	      /* to let go and take the lock again */
};

/* bulk_work_fit - find the costs of an item and of letting go from two runs over the same items
 *
 * coarse, fine: what the work took (its median over runs) with chunks of coarse_chunk and of
 * fine_chunk items, and nobody waiting. T = items * item + holds * gap for each. After many items a
 * hold may cost more than after one: where chunks of 1 found the costs, fit again with chunks
 * around the choice. Returns 0 where the runs cannot tell: fine_chunk not below coarse_chunk, or
 * the fine run not the longer.
 */
static inline int bulk_work_fit(uint64_t items, uint64_t coarse_chunk, uint64_t coarse,
				uint64_t fine_chunk, uint64_t fine, struct bulk_costs *costs)
{
	uint64_t coarse_holds, fine_holds, letting_go;

	if (!items || !fine_chunk || fine_chunk >= coarse_chunk || fine <= coarse)
		return 0;
	coarse_holds = (items + coarse_chunk - 1) / coarse_chunk;
	fine_holds = (items + fine_chunk - 1) / fine_chunk;
	if (fine_holds <= coarse_holds)
		return 0;
	costs->gap = (fine - coarse) / (fine_holds - coarse_holds);
	letting_go = costs->gap * coarse_holds;
	costs->item_milli = (coarse > letting_go ? coarse - letting_go : 0) * 1000 / items;
	if (costs->worst_milli < costs->item_milli)
		costs->worst_milli = costs->item_milli;
	return costs->item_milli != 0;
}

/* bulk_work_latency - return the quantile of the latency with this chunk; per_mille 1000: maximum
 */
static inline uint64_t bulk_work_latency(const struct bulk_costs *costs, uint64_t chunk,
					 uint32_t per_mille)
{
	uint64_t item = per_mille > 500 ? costs->worst_milli : costs->item_milli;
	uint64_t hold = chunk * item / 1000;
	uint64_t come = (hold + costs->gap) * per_mille / 1000;

	return costs->floor + (come > costs->gap ? come - costs->gap : 0);
}

/* What bulk_work_choose() recommends. */
struct bulk_choice {
	uint64_t chunk;		/* in items */
	uint64_t latency;	/* the quantile asked for, with it */
	uint64_t maximum;	/* the largest latency, with it */
	uint32_t cost_permille; /* letting go, of the time that the items take */
	int reached;		/* whether both the latency and the cost are kept */
};

/*
 * bulk_work_choose - return the chunk for a latency asked for
 *
 * The largest chunk whose quantile is at most `asked`: a larger one costs less. Where letting go
 * would then cost more than `most_permille`, the chunk is the smallest that costs no more, and
 * `reached` is 0, as where one item is too long. The quantile is in thousandths: 500, 990, 1000.
 * A `most_permille` of 0 counts as 1. The latency is kept to a unit of time.
 */
static inline struct bulk_choice bulk_work_choose(const struct bulk_costs *costs, uint64_t asked,
						  uint32_t per_mille, uint32_t most_permille)
{
	struct bulk_choice choice = {1, 0, 0, 0, 0};
	uint64_t item = per_mille > 500 ? costs->worst_milli : costs->item_milli;
	uint64_t mean = costs->item_milli ? costs->item_milli : 1;
	/* What letting go may cost an item, in thousandths of thousandths. */
	uint64_t most = mean * (most_permille ? most_permille : 1);
	uint64_t cheapest, hold, cost;

	if (asked > costs->floor && per_mille && item) {
		/* Of q * (H + gap) - gap <= asked - floor. */
		hold = (asked - costs->floor + costs->gap) * 1000 / per_mille;
		choice.chunk = (hold > costs->gap ? hold - costs->gap : 0) * 1000 / item;
	}
	choice.chunk = choice.chunk ? choice.chunk : 1;
	choice.latency = bulk_work_latency(costs, choice.chunk, per_mille);
	choice.reached = choice.latency <= asked;
	cheapest = (costs->gap * 1000 * 1000 + most - 1) / most;
	if (choice.chunk < cheapest) {
		choice.chunk = cheapest;
		choice.reached = 0;
	}
	choice.latency = bulk_work_latency(costs, choice.chunk, per_mille);
	choice.maximum = bulk_work_latency(costs, choice.chunk, 1000);
	cost = costs->gap * 1000 * 1000 / (choice.chunk * mean);
	choice.cost_permille = cost > UINT32_MAX ? UINT32_MAX : (uint32_t)cost;
	return choice;
}

#endif
