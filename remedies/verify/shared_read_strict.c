// SPDX-License-Identifier: MIT
/* Each thread ticks and reads: no value is older than its call, and none goes backwards. */
#define CLIENT_THREADS 3
#include "counter.h"
#include "client.h"

struct client {
	struct counter counter;
	struct shared_read shared;
};

static void client_init(struct client *client)
{
	REMEDY_STORE(&client->counter.ticks, (shared_value)0, relaxed);
	shared_read_init(&client->shared, counter_read, &client->counter, 8 * sizeof(shared_value),
			 3);
	/* The sequence wraps meanwhile. */
	REMEDY_STORE(&client->shared.sequence, UINT32_MAX - 1, relaxed);
}

static void client_thread(struct client *client, unsigned index)
{
	shared_value before = counter_tick(&client->counter);
	shared_value value = shared_read_strict(&client->shared);

	CLIENT_ASSERT(value >= before);
	if (index == 2)
		return;
	before = counter_tick(&client->counter);
	before = value > before ? value : before;
	value = index ? shared_read_nowait(&client->shared) : shared_read_strict(&client->shared);
	CLIENT_ASSERT(value >= before);
}

static void client_check(struct client *client)
{
	CLIENT_ASSERT(REMEDY_LOAD(&client->shared.sequence, relaxed) % 2 == 0);
}

CLIENT_MAIN
