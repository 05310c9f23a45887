// SPDX-License-Identifier: MIT
/*
 * A translation is taken away while the address space gets another identifier on one CPU, and is
 * switched to on a second: who walked the tables before was invalidated, under the identifier that
 * it has.
 */
#define CLIENT_THREADS 3
#include "../asid.h"
#include "client.h"

struct client {
	struct asid_allocator ids;
	struct asid_cpu cpu[2];
	uint64_t used[1], kept[1];
	struct asid_context space, other[3];
	REMEDY_ATOMIC(uint32_t) table; /* the translation: 1 while it is there */
	uint32_t walked[2];	       /* the identifier under which it was walked, or 0 */
	uint32_t invalidated;
};

static void flush_local(void *context, uint32_t cpu)
{
	((struct client *)context)->walked[cpu] = 0;
}

static void park(void *context, uint32_t cpu)
{
	(void)context;
	(void)cpu;
}

static void install(void *context, uint32_t cpu, uint32_t number, struct asid_context *space)
{
	struct client *client = (struct client *)context;

	if (space == &client->space && REMEDY_LOAD(&client->table, relaxed))
		client->walked[cpu] = number;
}

static void client_init(struct client *client)
{
	struct asid_hooks hooks = {client, flush_local, park, install, NULL};

	REMEDY_STORE(&client->table, 1u, relaxed);
	client->walked[0] = client->walked[1] = client->invalidated = 0;
	REMEDY_STORE(&client->space.id, (uint64_t)0, relaxed);
	client->space.pins = 0;
	for (int i = 0; i < 3; i++) {
		REMEDY_STORE(&client->other[i].id, (uint64_t)0, relaxed);
		client->other[i].pins = 0;
	}
	CLIENT_ASSERT(
	    asid_init(&client->ids, &hooks, 2, 1, client->used, client->kept, client->cpu, 2, 0));
	/* The second generation has begun when threads start; the address space is of the first. */
	asid_switch(&client->ids, 0, &client->space);
	for (int i = 0; i < 3; i++)
		asid_switch(&client->ids, 0, &client->other[i]);
	asid_switch(&client->ids, 1, &client->other[1]);
}

static void client_thread(struct client *client, unsigned index)
{
	if (index < 2) {
		asid_switch(&client->ids, index, &client->space);
		return;
	}
	REMEDY_STORE(&client->table, 0u, relaxed);
	client->invalidated = asid_to_invalidate(&client->ids, &client->space);
}

static void client_check(struct client *client)
{
	for (int cpu = 0; cpu < 2; cpu++)
		CLIENT_ASSERT(!client->walked[cpu] || client->walked[cpu] == client->invalidated);
}

CLIENT_MAIN
