// SPDX-License-Identifier: MIT
/*
 * Many threads of a low priority sleep until the same time, and one timer interrupt wakes them all,
 * which takes it size_us. How many it needs comes out while it acts.
 */
#include "fault_beside.h"

#define MEMBERS 384
#define LOW	1
/* What it may take to wake one, at first; and to send one to sleep, at most. */
#define WAKE_NS	 2500ull
#define SLEEP_NS 50000ull

static sem_t go[MEMBERS];
static uint64_t on_cpu;
/* The time, and when the first of those that it woke had the CPU. */
static _Atomic uint64_t at_ns, first_ns;

static void *sleep_until(void *mine)
{
	fault_named("_w");
	fault_become(on_cpu, LOW);
	for (;;) {
		uint64_t none = 0;

		while (sem_wait(mine) != 0)
			;
		fault_sleep(atomic_load(&at_ns));
		atomic_compare_exchange_strong(&first_ns, &none, fault_now());
	}
	return NULL;
}

/* next_count - half the way to what would take the size */
static uint64_t next_count(uint64_t count, uint64_t size_ns, uint64_t took_ns)
{
	count = (count + count * size_ns / took_ns + 1) / 2;
	return count > MEMBERS ? MEMBERS : count < 1 ? 1 : count;
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {0}};
	static struct fault_worker bystander = {.end = "_b"};
	static pthread_t threads[MEMBERS];
	struct fault fault = {0};
	uint64_t size_ns, count;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	on_cpu = bystander.cpu = fault_get(&fault, "cpu");
	fault_worker_start(&bystander);
	for (int i = 0; i < MEMBERS; i++) {
		sem_init(&go[i], 0, 0);
		fault_thread(&threads[i], sleep_until, &go[i]);
	}
	fault_become(on_cpu, LOW);
	count = next_count(size_ns / WAKE_NS, size_ns, size_ns);
	while (fault_wait(&fault)) {
		uint64_t now_ns = fault_now(),
			 time_ns = now_ns + count * SLEEP_NS + FAULT_BESIDE_NS;

		atomic_store(&at_ns, time_ns);
		atomic_store(&first_ns, 0);
		for (uint64_t i = 0; i < count; i++)
			sem_post(&go[i]);
		fault_sleep(time_ns - FAULT_BESIDE_NS);
		fault_worker_go(&bystander, time_ns + size_ns + FAULT_BESIDE_NS);
		/* Behind all of them. */
		fault_sleep(time_ns + 1);
		while (!atomic_load(&first_ns))
			sched_yield();
		fault_log(&fault, time_ns, atomic_load(&first_ns), on_cpu);
		count = next_count(count, size_ns, atomic_load(&first_ns) - time_ns);
	}
	return 0;
}
