// SPDX-License-Identifier: MIT
/*
 * bulk_bounds ITEMS - run bulk_work.h in all small cases, beside what its contract promises
 *
 * Work: all chunks, pieces and answers to "does somebody wait?" of up to ITEMS items. Each is done
 * once, in order, with the lock held; a hold ends at its chunk, and at the first "yes".
 * Law: the quantile of the latency, beside those of somebody who comes at each moment of a hold and
 * of the gap after it.
 * Tuner: no chunk that is larger by a unit of time keeps the latency asked for, and none that is
 * smaller the cost.
 * Fit: the costs that a run was made of are found again.
 * Prints how many cases there were; 1 where a promise is broken.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../bulk_work.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
/* A chunk that no small case needs. */
#define ENDLESS 1000000u

struct worker {
	uint64_t chunk, least, items, answers; /* a bit an answer */
	uint64_t next, held, takes;
	unsigned looks, yields;
	bool holds, wanted, wrong;
};

static void take(void *context)
{
	struct worker *worker = context;

	worker->wrong |= worker->holds || worker->next >= worker->items;
	/* Each hold does something, or else it would never end. */
	if (worker->takes++ > worker->items) {
		printf("the lock was taken for nothing\n");
		exit(1);
	}
	worker->holds = true;
	worker->wanted = false;
	worker->held = 0;
}

static void give(void *context)
{
	struct worker *worker = context;

	worker->wrong |= !worker->holds || !worker->held;
	/* No hold is cut short for nobody. */
	worker->wrong |=
	    !worker->wanted && worker->held < worker->chunk && worker->next < worker->items;
	worker->holds = false;
}

static void work(void *context, uint64_t first, uint64_t end)
{
	struct worker *worker = context;
	uint64_t most = worker->least ? worker->least : worker->chunk;

	if (end <= first) {
		printf("work on no items\n");
		exit(1);
	}
	worker->wrong |= !worker->holds || worker->wanted || first != worker->next;
	worker->wrong |= end > worker->items || end - first > most;
	worker->held += end - first;
	worker->wrong |= worker->held > worker->chunk;
	worker->next = end;
}

static int is_wanted(void *context)
{
	struct worker *worker = context;

	worker->wrong |= !worker->holds;
	worker->wanted = worker->answers >> worker->looks++ & 1;
	return worker->wanted;
}

static void yield_cpu(void *context)
{
	struct worker *worker = context;

	worker->wrong |= worker->holds || !worker->wanted || worker->next >= worker->items;
	worker->yields++;
}

/* works - one run; whether it kept its promises */
static bool works(uint64_t chunk, uint64_t least, uint64_t items, uint64_t answers)
{
	struct worker worker = {0};
	struct bulk_work bulk = {&worker, take, give, work, is_wanted, yield_cpu, chunk, least};
	uint64_t holds;

	worker.chunk = chunk ? chunk : 1;
	worker.least = least;
	worker.items = items;
	worker.answers = answers;
	holds = bulk_work_run(&bulk, items);
	return !worker.wrong && !worker.holds && worker.next == items && holds == worker.takes;
}

/* follows_law - the quantile beside that of somebody who comes at each moment */
static bool follows_law(const struct bulk_costs *costs, uint64_t chunk, uint32_t per_mille)
{
	uint64_t item = per_mille > 500 ? costs->worst_milli : costs->item_milli;
	uint64_t hold = chunk * item / 1000, cycle = hold + costs->gap;
	uint64_t latency = bulk_work_latency(costs, chunk, per_mille), in_time = 0, earlier = 0;

	if (per_mille == 1000 && latency != costs->floor + hold)
		return false;
	for (uint64_t moment = 0; moment < cycle; moment++) {
		uint64_t waits = costs->floor + (moment < hold ? hold - moment : 0);

		in_time += waits <= latency + 1;
		earlier += waits < latency;
	}
	return in_time * 1000 >= cycle * per_mille && earlier * 1000 <= cycle * per_mille;
}

/* is_best - the tuner's choice beside its neighbours */
static bool is_best(const struct bulk_costs *costs, uint64_t asked, uint32_t per_mille,
		    uint32_t most_permille)
{
	struct bulk_choice choice = bulk_work_choose(costs, asked, per_mille, most_permille);
	uint64_t item = per_mille > 500 ? costs->worst_milli : costs->item_milli;
	uint64_t letting_go = costs->gap * 1000 * 1000, most = most_permille ? most_permille : 1;
	bool keeps_latency = choice.latency <= asked;
	bool keeps_cost = letting_go <= choice.chunk * costs->item_milli * most;
	bool keeps_smaller =
	    letting_go <= (choice.chunk - 1) * costs->item_milli * most && choice.chunk > 1;
	/* A unit of time, and the items that rounding may leave out. */
	uint64_t larger = choice.chunk + 2000 * 1000 / per_mille / item + 2;

	if (!choice.chunk || choice.chunk > ENDLESS ||
	    choice.latency != bulk_work_latency(costs, choice.chunk, per_mille) ||
	    choice.maximum != bulk_work_latency(costs, choice.chunk, 1000))
		return false;
	if (choice.reached)
		return keeps_latency && keeps_cost &&
		       bulk_work_latency(costs, larger, per_mille) >= asked;
	/* Nothing does: a single item is too long, or what is short enough costs too much. */
	return !keeps_latency ? choice.chunk == 1 || (keeps_cost && !keeps_smaller)
			      : keeps_cost && !keeps_smaller;
}

/* is_refitted - the costs of a run with nobody waiting are found again */
static bool is_refitted(uint64_t items, uint64_t coarse, uint64_t fine, uint64_t item, uint64_t gap)
{
	struct bulk_costs costs = {0};
	uint64_t coarse_holds = (items + coarse - 1) / coarse;
	uint64_t fine_holds = (items + fine - 1) / fine;
	int fits = bulk_work_fit(items, coarse, items * item + coarse_holds * gap, fine,
				 items * item + fine_holds * gap, &costs);

	if (fine >= coarse || fine_holds <= coarse_holds || !gap)
		return !fits;
	return fits && costs.gap == gap && costs.item_milli == item * 1000 &&
	       costs.worst_milli == item * 1000;
}

static unsigned long check_work(uint64_t most)
{
	unsigned long cases = 0;

	for (uint64_t items = 0; items <= most; items++)
		for (uint64_t chunk = 0; chunk <= most; chunk++)
			for (uint64_t least = 0; least <= chunk; least++)
				for (uint64_t answers = 0; answers < 1u << items; answers++) {
					cases++;
					if (works(chunk, least, items, answers))
						continue;
					printf("work: items %u, chunk %u, least %u, answers %x\n",
					       (unsigned)items, (unsigned)chunk, (unsigned)least,
					       (unsigned)answers);
					exit(1);
				}
	return cases;
}

static unsigned long check_tuner(void)
{
	static const uint64_t items[] = {40, 250, 999, 1000, 1001, 2500, 7000};
	static const uint64_t extra[] = {0, 1, 3000};
	static const uint32_t quantiles[] = {100, 500, 501, 990, 1000};
	static const uint32_t most[] = {0, 1, 50, 150, 1000};
	unsigned long cases = 0;

	for (size_t i = 0; i < LENGTH(items) * LENGTH(extra); i++) {
		struct bulk_costs costs = {0, items[i % LENGTH(items)], 0, 0};

		costs.worst_milli = costs.item_milli + extra[i / LENGTH(items)];
		for (costs.floor = 0; costs.floor <= 6; costs.floor += 3)
			for (costs.gap = 0; costs.gap <= 9; costs.gap++)
				for (size_t q = 0; q < LENGTH(quantiles); q++) {
					for (uint64_t chunk = 1; chunk <= 40; chunk++, cases++)
						if (!follows_law(&costs, chunk, quantiles[q])) {
							printf("law: chunk %u\n", (unsigned)chunk);
							exit(1);
						}
					for (uint64_t ask = 0; ask <= 60; ask++)
						for (size_t m = 0; m < LENGTH(most); m++, cases++) {
							if (is_best(&costs, ask, quantiles[q],
								    most[m]))
								continue;
							printf("tuner: asked %u, quantile %u, cost "
							       "%u, "
							       "floor %u, item %u to %u, gap %u\n",
							       (unsigned)ask, quantiles[q], most[m],
							       (unsigned)costs.floor,
							       (unsigned)costs.item_milli,
							       (unsigned)costs.worst_milli,
							       (unsigned)costs.gap);
							exit(1);
						}
				}
	}
	return cases;
}

static unsigned long check_fit(uint64_t most)
{
	unsigned long cases = 0;

	for (uint64_t items = 1; items <= most; items++)
		for (uint64_t coarse = 1; coarse <= most; coarse++)
			for (uint64_t fine = 1; fine <= most; fine++)
				for (uint64_t item = 1; item <= 4; item++)
					for (uint64_t gap = 0; gap <= 4; gap++, cases++)
						if (!is_refitted(items, coarse, fine, item, gap)) {
							printf("fit: items %u, chunks %u and %u\n",
							       (unsigned)items, (unsigned)coarse,
							       (unsigned)fine);
							exit(1);
						}
	return cases;
}

int main(int count, char **words)
{
	uint64_t most = count > 1 ? strtoull(words[1], NULL, 10) : 8;
	unsigned long work, tuner, fit;

	if (most < 1 || most > 16) {
		fprintf(stderr, "bulk_bounds: %s items; use 1 to 16\n", words[1]);
		return 2;
	}
	work = check_work(most);
	tuner = check_tuner();
	fit = check_fit(most);
	printf("%lu runs, %lu latencies and choices, %lu fits\n", work, tuner, fit);
	return 0;
}
