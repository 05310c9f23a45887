// SPDX-License-Identifier: MIT
/*
 * bulk_shapes - the tuner of remedies/bulk_work.h against a sweep of chunks, on simulated machines
 *
 * A machine is what an item costs, which may differ from item to item, and what letting go costs.
 * Time is counted and does not pass. The tuner sees what it sees on a board: the median time of 9
 * passes in chunks of 512 items and of 9 in chunks of 1, then of chunks 32 times larger and smaller
 * than these suggest. Somebody comes at random moments and waits until the lock is let go. Prints
 * for each machine and chunk: name, chunk, p50 and pass in ns, and whether the tuner chose that
 * chunk: it runs 20 times.
 */
#include <bulk_work.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS	 16384
#define PASSES	 9
#define COARSE	 512
#define NEAR	 32
#define ARRIVALS 50000
#define TUNINGS	 20
/* That a chunk is measured by: many, so that the tuner is judged and not the measurement. */
#define MEASURED 101
/* As in probe/src/workloads/bulk.c: of the work, in thousandths. */
#define AIMED 140

/* item_ns: of most items. dear_ns: of every dear_one_in-th at random. warm_ns: more for the first
 * item of each hold, as a lock's lines and code must come back. jitter: of a whole pass. */
struct machine {
	const char *name;
	double item_ns, dear_ns, gap_ns, warm_ns, floor_ns, jitter;
	unsigned dear_one_in;
};

static const struct machine machines[] = {
    {"desktop, lines of the cache", 96, 0, 310, 0, 3000, 0.01, 0},
    {"slow board, lines of the cache", 650, 0, 2400, 0, 14000, 0.02, 0},
    {"cheap items, dear lock", 12, 0, 1800, 0, 5000, 0.01, 0},
    {"dear items, cheap lock", 5000, 0, 90, 0, 2000, 0.01, 0},
    {"one item in 50 is 20 times dearer", 100, 2000, 400, 0, 3000, 0.03, 50},
    {"one item in 2000 is 1000 times dearer", 100, 100000, 400, 0, 3000, 0.05, 2000},
    {"the first item of a hold is dearer", 100, 0, 300, 700, 3000, 0.01, 0},
    {"passes that vary by a tenth", 100, 0, 300, 0, 3000, 0.1, 0},
};

/* Holds of one pass: when they begin and end. */
struct run {
	const struct machine *machine;
	double now, scale;
	bool first;
	double begun[ITEMS], ended[ITEMS];
	size_t holds;
};

static double uniform(void)
{
	return (double)rand() / ((double)RAND_MAX + 1);
}

static void take(void *context)
{
	struct run *run = context;

	run->now += run->machine->gap_ns / 2;
	run->begun[run->holds] = run->now;
	run->first = true;
}

static void give(void *context)
{
	struct run *run = context;

	run->ended[run->holds++] = run->now;
	run->now += run->machine->gap_ns / 2;
}

static void work(void *context, uint64_t first, uint64_t end)
{
	struct run *run = context;
	const struct machine *machine = run->machine;

	for (uint64_t i = first; i < end; i++) {
		bool dear = machine->dear_one_in && rand() % (int)machine->dear_one_in == 0;

		run->now += run->scale * (dear ? machine->dear_ns : machine->item_ns);
	}
	if (run->first)
		run->now += machine->warm_ns;
	run->first = false;
}

static double pass(struct run *run, uint64_t chunk, double jitter)
{
	struct bulk_work bulk = {
	    .context = run, .take = take, .give = give, .work = work, .chunk = chunk};

	run->now = 0;
	run->holds = 0;
	run->scale = 1 + jitter * (2 * uniform() - 1);
	bulk_work_run(&bulk, ITEMS);
	return run->now;
}

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median_pass(struct run *run, uint64_t chunk)
{
	double ns[PASSES];

	for (int i = 0; i < PASSES; i++)
		ns[i] = pass(run, chunk, run->machine->jitter);
	qsort(ns, PASSES, sizeof(*ns), ascending);
	return ns[PASSES / 2];
}

/* waited - return how long somebody waits who comes at that moment of a pass */
static double waited(const struct run *run, double at)
{
	size_t low = 0, high = run->holds;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (run->ended[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < run->holds && run->begun[low] <= at ? run->ended[low] - at : 0;
}

static void measure(struct run *run, uint64_t chunk, int tuned)
{
	static double delays[ARRIVALS], ns[MEASURED];

	/* The same items are dear whatever the chunk, and no pass varies. */
	srand(1);
	for (int i = 0; i < MEASURED; i++) {
		ns[i] = pass(run, chunk, 0);
		for (int j = i; j < ARRIVALS; j += MEASURED)
			delays[j] = run->machine->floor_ns + waited(run, uniform() * run->now);
	}
	qsort(delays, ARRIVALS, sizeof(*delays), ascending);
	qsort(ns, MEASURED, sizeof(*ns), ascending);
	printf("%s\t%llu\t%.1f\t%.1f\t%d\n", run->machine->name, (unsigned long long)chunk,
	       delays[ARRIVALS / 2], ns[MEASURED / 2], tuned);
}

/* choose - choose a chunk from passes in chunks of both sizes; 0: they do not show the costs */
static uint64_t choose(struct run *run, uint64_t coarse, uint64_t fine)
{
	struct bulk_costs costs = {.floor = (uint64_t)run->machine->floor_ns};
	double coarse_ns = median_pass(run, coarse), fine_ns = median_pass(run, fine);

	if (!bulk_work_fit(ITEMS, coarse, (uint64_t)coarse_ns, fine, (uint64_t)fine_ns, &costs))
		return 0;
	return bulk_work_choose(&costs, 0, 500, AIMED).chunk;
}

/* tune - choose a chunk as the probe does; 0: the costs could not be found */
static uint64_t tune(struct run *run)
{
	uint64_t first = choose(run, COARSE, 1), second;

	if (!first)
		return 0;
	second = choose(run, ITEMS / NEAR < first ? ITEMS : NEAR * first,
			first < NEAR ? 1 : first / NEAR);
	return second ? second : first;
}

int main(void)
{
	static struct run run;

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		run.machine = &machines[i];
		/* Four chunks an octave. */
		for (double chunk = 1; chunk < ITEMS * 1.01; chunk *= pow(2, 0.25))
			measure(&run, (uint64_t)llround(chunk), 0);
		for (int tuning = 0; tuning < TUNINGS; tuning++) {
			uint64_t choice;

			srand(100 + (unsigned)tuning);
			choice = tune(&run);
			if (!choice)
				return 1;
			measure(&run, choice, 1);
		}
	}
	return 0;
}
