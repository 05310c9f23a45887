// SPDX-License-Identifier: MIT
/*
 * Many threads wait for one event (poll() of an eventfd), and whoever tells them of it wakes them
 * all with interrupts off, which takes it size_us. How many it needs comes out while it acts.
 */
#include <poll.h>
#include <sys/eventfd.h>

#include "fault_beside.h"

#define MEMBERS 384
/* What it may take to wake one, at first; and to send one to sleep, at most. */
#define WAKE_NS	 2500ull
#define SLEEP_NS 50000ull

static sem_t go[MEMBERS];
static uint64_t on_cpu;
static int event;

static void *wait_for_event(void *mine)
{
	fault_named("_w");
	fault_become(on_cpu, 0);
	for (;;) {
		struct pollfd wanted = {.fd = event, .events = POLLIN};

		while (sem_wait(mine) != 0)
			;
		poll(&wanted, 1, -1);
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
	uint64_t size_ns, count, value = 1;
	struct fault fault = {0};

	(void)argc;
	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (event < 0)
		fault_fail("no eventfd");
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	on_cpu = bystander.cpu = fault_get(&fault, "cpu");
	fault_worker_start(&bystander);
	for (int i = 0; i < MEMBERS; i++) {
		sem_init(&go[i], 0, 0);
		fault_thread(&threads[i], wait_for_event, &go[i]);
	}
	count = next_count(size_ns / WAKE_NS, size_ns, size_ns);
	fault_become(on_cpu, 1);
	while (fault_wait(&fault)) {
		uint64_t start_ns, end_ns;

		for (uint64_t i = 0; i < count; i++)
			sem_post(&go[i]);
		fault_sleep(fault_now() + count * SLEEP_NS);
		fault_beside(&bystander, size_ns);
		start_ns = fault_now();
		if (write(event, &value, sizeof(value)) != sizeof(value))
			fault_fail("the event");
		end_ns = fault_now();
		fault_log(&fault, start_ns, end_ns, on_cpu);
		/* They have seen it before it is taken back. */
		fault_sleep(fault_now() + count * SLEEP_NS);
		if (read(event, &value, sizeof(value)) != sizeof(value))
			fault_fail("the event");
		value = 1;
		count = next_count(count, size_ns, end_ns - start_ns);
	}
	return 0;
}
