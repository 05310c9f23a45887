// SPDX-License-Identifier: MIT
/* A translation is taken away while a CPU switches to its address space: it is interrupted, or it
 * flushes when it comes back, or it never saw the translation. */
#define CLIENT_THREADS 2
#define ASID_TURNS     2u
#include "../asid_turns.h"
#include "client.h"

struct client {
	struct turns_cpu cpu;
	struct turns_context space, other, third;
	uint64_t filled[ASID_TURNS];   /* the address space whose translations a slot has */
	REMEDY_ATOMIC(uint32_t) table; /* the translation: 1 while it is there */
	uint32_t walked;	       /* the slot has the translation */
	uint32_t interrupted;
};

static void interrupt(void *context, uint32_t cpu)
{
	(void)cpu;
	((struct client *)context)->interrupted = 1;
}

static void client_init(struct client *client)
{
	turns_init(&client->cpu);
	turns_context_init(&client->space, 1);
	turns_context_init(&client->other, 2);
	turns_context_init(&client->third, 3);
	client->filled[0] = client->filled[1] = 0;
	REMEDY_STORE(&client->table, 1u, relaxed);
	client->walked = client->interrupted = 0;
}

/* run - switch to an address space, and walk its tables */
static void run(struct client *client, struct turns_context *space)
{
	struct turns_choice choice = turns_switch(&client->cpu, space);
	uint64_t *filled = &client->filled[choice.slot];

	if (choice.flush && *filled == client->space.name)
		client->walked = 0;
	CLIENT_ASSERT(choice.flush || *filled == space->name);
	*filled = space->name;
	if (space == &client->space)
		client->walked |= REMEDY_LOAD(&client->table, relaxed);
}

static void client_thread(struct client *client, unsigned index)
{
	if (!index) {
		run(client, &client->other);
		run(client, &client->space);
		run(client, &client->other);
		run(client, &client->space);
		run(client, &client->third);
		run(client, &client->other);
		run(client, &client->space);
		run(client, &client->other);
		run(client, &client->space);
		return;
	}
	REMEDY_STORE(&client->table, 0u, relaxed);
	turns_changed(&client->space, &client->cpu, 1, interrupt, client);
}

static void client_check(struct client *client)
{
	CLIENT_ASSERT(!client->walked || client->interrupted);
}

CLIENT_MAIN
