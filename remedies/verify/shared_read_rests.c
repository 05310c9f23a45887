// SPDX-License-Identifier: MIT
/*
 * Strict reads that share nothing, since the next ones rest or since there is no patience, beside
 * one that shares: what the caller did before its call comes before its sample.
 *
 * A third thread ticks, then looks at what the callers did. Of a caller and this thread one must
 * see the other (store buffering), however the caller's value came about.
 */
#define CLIENT_THREADS 3
#include "counter.h"
#include "client.h"

#define CALLS 3

struct client {
	struct counter counter;
	struct shared_read resting, unshared;
	REMEDY_ATOMIC(uint32_t) done[CALLS]; /* before the call */
	uint32_t was_done[CALLS];	     /* as the third thread saw it after its tick */
	shared_value value[CALLS];
};

static void client_init(struct client *client)
{
	REMEDY_STORE(&client->counter.ticks, (shared_value)0, relaxed);
	shared_read_init(&client->resting, counter_read, &client->counter, 8 * sizeof(shared_value),
			 3);
	/* One call rests, or both where they count at once; a call that does not may lead. */
	REMEDY_STORE(&client->resting.rest, 1u, relaxed);
	shared_read_init(&client->unshared, counter_read, &client->counter,
			 8 * sizeof(shared_value), 0);
	for (int call = 0; call < CALLS; call++)
		REMEDY_STORE(&client->done[call], 0u, relaxed);
}

static void client_call(struct client *client, struct shared_read *shared, unsigned call)
{
	/* An exchange: x86 orders it, where ThreadSanitizer has no fences. In the memory model it
	 * orders nothing. */
	REMEDY_EXCHANGE(&client->done[call], 1u, relaxed);
	client->value[call] = shared_read_strict(shared);
}

static void client_thread(struct client *client, unsigned index)
{
	if (index < 2)
		client_call(client, &client->resting, index);
	if (index == 1)
		client_call(client, &client->unshared, 2);
	if (index < 2)
		return;
	counter_tick(&client->counter);
	REMEDY_FENCE(seq_cst);
	for (int call = 0; call < CALLS; call++)
		client->was_done[call] = REMEDY_LOAD(&client->done[call], relaxed);
}

static void client_check(struct client *client)
{
	for (int call = 0; call < CALLS; call++)
		CLIENT_ASSERT(client->was_done[call] || client->value[call] == 1);
}

CLIENT_MAIN
