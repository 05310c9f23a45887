// SPDX-License-Identifier: MIT
/*
 * Two CPUs with one shared TLB switch between four address spaces, with three identifiers: no
 * translation of another address space is ever in the TLB under the identifier that is loaded.
 */
#define CLIENT_THREADS 2
#include "../asid.h"
#include "client.h"

#define SPACES 4u

struct client {
	struct asid_allocator ids;
	struct asid_cpu cpu[2];
	uint64_t used[1], kept[1];
	struct asid_context space[SPACES];
	uint32_t loaded[2];		/* identifier and address space of each CPU */
	REMEDY_ATOMIC(uint32_t) tlb[4]; /* by identifier: the address space + 1 */
};

static void fill(struct client *client, uint32_t number, uint32_t space)
{
	uint32_t was = REMEDY_EXCHANGE(&client->tlb[number], space + 1, seq_cst);

	CLIENT_ASSERT(!was || was == space + 1);
}

/* speculate - the TLB may be filled for what is loaded, at any time */
static void speculate(struct client *client, uint32_t cpu)
{
	if (client->loaded[cpu])
		fill(client, client->loaded[cpu] / SPACES, client->loaded[cpu] % SPACES);
}

static void flush_local(void *context, uint32_t cpu)
{
	struct client *client = (struct client *)context;

	(void)cpu;
	for (int number = 0; number < 4; number++)
		REMEDY_STORE(&client->tlb[number], 0u, seq_cst);
}

static void park(void *context, uint32_t cpu)
{
	struct client *client = (struct client *)context;

	speculate(client, cpu);
	client->loaded[cpu] = 0;
}

static void install(void *context, uint32_t cpu, uint32_t number, struct asid_context *space)
{
	struct client *client = (struct client *)context;

	speculate(client, cpu);
	client->loaded[cpu] = number * SPACES + (uint32_t)(space - client->space);
	speculate(client, cpu);
}

static void client_init(struct client *client)
{
	struct asid_hooks hooks = {client, flush_local, park, install, NULL};

	for (uint32_t i = 0; i < SPACES; i++) {
		REMEDY_STORE(&client->space[i].id, (uint64_t)0, relaxed);
		REMEDY_STORE(&client->tlb[i], 0u, relaxed);
		client->space[i].pins = 0;
	}
	client->loaded[0] = client->loaded[1] = 0;
	CLIENT_ASSERT(
	    asid_init(&client->ids, &hooks, 2, 1, client->used, client->kept, client->cpu, 2, 1));
}

static void client_thread(struct client *client, unsigned index)
{
	static const uint32_t order[2][4] = {{0, 1, 0, 2}, {2, 3, 2, 0}};

	for (int turn = 0; turn < 4; turn++)
		asid_switch(&client->ids, index, &client->space[order[index][turn]]);
}

static void client_check(struct client *client)
{
	CLIENT_ASSERT(client->ids.rollovers >= 1);
}

CLIENT_MAIN
