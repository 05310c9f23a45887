// SPDX-License-Identifier: MIT
/* Relaxed values may be old, but were sampled, and never go backwards for a thread
 * that keeps its patience. */
#define CLIENT_THREADS 2
#include "counter.h"
#include "client.h"

struct client {
	struct counter counter;
	struct shared_read shared;
};

static void client_init(struct client *client)
{
	REMEDY_STORE(&client->counter.ticks, (shared_value)5, relaxed);
	shared_read_init(&client->shared, counter_read, &client->counter, 8 * sizeof(shared_value),
			 1000000);
	/* The sequence wraps meanwhile. */
	REMEDY_STORE(&client->shared.sequence, UINT32_MAX - 1, relaxed);
}

static void client_thread(struct client *client, unsigned index)
{
	shared_value last = 0;

	(void)index;
	for (int call = 0; call < 3; call++) {
		shared_value value = shared_read_relaxed(&client->shared);

		CLIENT_ASSERT(value >= 5 && value >= last);
		last = value;
		counter_tick(&client->counter);
	}
}

static void client_check(struct client *client)
{
	CLIENT_ASSERT(REMEDY_LOAD(&client->counter.ticks, relaxed) == 11);
}

CLIENT_MAIN
