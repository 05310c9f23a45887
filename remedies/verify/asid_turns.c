// SPDX-License-Identifier: MIT
/* A translation is taken away while a CPU switches to its address space: it is interrupted, or it
 * flushes when it comes back, or it never saw the translation. */
#define CLIENT_THREADS 2
#define ASID_TURNS     2u
#include "../asid_turns.h"
#include "client.h"

struct client {
	struct turns_cpu cpu;
	struct turns_context space, other;
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
	REMEDY_STORE(&client->table, 1u, relaxed);
	client->walked = client->interrupted = 0;
}

static void run(struct client *client)
{
	if (turns_switch(&client->cpu, &client->space).flush)
		client->walked = 0;
	client->walked |= REMEDY_LOAD(&client->table, relaxed);
}

static void client_thread(struct client *client, unsigned index)
{
	if (!index) {
		run(client);
		turns_switch(&client->cpu, &client->other);
		run(client);
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
