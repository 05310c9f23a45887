// SPDX-License-Identifier: MIT
/* Bulk work and another holder never work at once, see each other's work, and the other one who
 * waits is served before the next chunk. */
#define CLIENT_THREADS 2
#include "../bulk_work.h"
#include "client.h"

#define ITEMS 3u

struct client {
	struct remedy_lock lock;
	/* Read and written by holders alone; relaxed, so that a lock without order is seen. */
	REMEDY_ATOMIC(uint32_t) items;
	REMEDY_ATOMIC(uint32_t) others;
	REMEDY_ATOMIC(uint32_t) inside;
	uint32_t holds;
};

static void take(void *context)
{
	remedy_lock_take(&((struct client *)context)->lock);
}

static void give(void *context)
{
	remedy_lock_give(&((struct client *)context)->lock);
}

static int is_wanted(void *context)
{
	return remedy_lock_is_wanted(&((struct client *)context)->lock);
}

/* enter - return a counter's value before this holder added to it; two at once would lose some */
static uint32_t enter(struct client *client, REMEDY_ATOMIC(uint32_t) * counter, uint32_t added)
{
	uint32_t before = REMEDY_LOAD(counter, relaxed);

	CLIENT_ASSERT(REMEDY_LOAD(&client->inside, relaxed) == 0);
	REMEDY_STORE(&client->inside, 1u, relaxed);
	REMEDY_STORE(counter, before + added, relaxed);
	REMEDY_STORE(&client->inside, 0u, relaxed);
	return before;
}

static void work(void *context, uint64_t first, uint64_t end)
{
	struct client *client = (struct client *)context;

	CLIENT_ASSERT(enter(client, &client->items, (uint32_t)(end - first)) == first);
}

static void client_init(struct client *client)
{
	remedy_lock_init(&client->lock);
	REMEDY_STORE(&client->items, 0u, relaxed);
	REMEDY_STORE(&client->others, 0u, relaxed);
	REMEDY_STORE(&client->inside, 0u, relaxed);
	client->holds = 0;
}

static void client_thread(struct client *client, unsigned index)
{
	if (!index) {
		struct bulk_work bulk = {client, take, give, work, is_wanted, NULL, ITEMS, 1};

		client->holds = (uint32_t)bulk_work_run(&bulk, ITEMS);
		return;
	}
	remedy_lock_take(&client->lock);
	enter(client, &client->others, 1);
	remedy_lock_give(&client->lock);
}

static void client_check(struct client *client)
{
	CLIENT_ASSERT(REMEDY_LOAD(&client->items, relaxed) == ITEMS);
	CLIENT_ASSERT(REMEDY_LOAD(&client->others, relaxed) == 1);
	/* There is a single waiter, for whom the lock is given up once. */
	CLIENT_ASSERT(client->holds >= 1 && client->holds <= 2);
}

CLIENT_MAIN
