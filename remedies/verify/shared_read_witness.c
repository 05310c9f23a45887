// SPDX-License-Identifier: MIT
/* A third thread ticks: no reader gets a value older than what it saw before its call. */
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
}

static void client_thread(struct client *client, unsigned index)
{
	shared_value seen, value;

	if (!index) {
		counter_tick(&client->counter);
		return;
	}
	seen = counter_read(&client->counter);
	value = shared_read_strict(&client->shared);
	CLIENT_ASSERT(value >= seen);
}

static void client_check(struct client *client)
{
	CLIENT_ASSERT(REMEDY_LOAD(&client->shared.sequence, relaxed) % 2 == 0);
}

CLIENT_MAIN
