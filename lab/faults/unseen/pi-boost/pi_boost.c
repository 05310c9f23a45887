// SPDX-License-Identifier: MIT
/*
 * A thread of a low priority has a lock that a thread of the highest one waits for, and is lent
 * its priority for size_us, until it lets go of the lock (priority inheritance).
 */
#include "fault_beside.h"

#define LOW  10
#define HIGH 98

static pthread_mutex_t lock;
static uint64_t on_cpu;
static sem_t go;

static void *wait_for_it(void *unused)
{
	(void)unused;
	fault_named("_w");
	fault_become(on_cpu, HIGH);
	for (;;) {
		while (sem_wait(&go) != 0)
			;
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct fault_parameter parameters[] = {FAULT_PARAMETERS, {0}};
	static struct fault_worker bystander = {.end = "_b"};
	pthread_mutexattr_t lends;
	struct fault fault = {0};
	pthread_t waiter;
	uint64_t size_ns;

	(void)argc;
	fault_open(&fault, parameters, argv);
	size_ns = fault_get(&fault, "size_us") * FAULT_NS;
	on_cpu = bystander.cpu = fault_get(&fault, "cpu");
	pthread_mutexattr_init(&lends);
	pthread_mutexattr_setprotocol(&lends, PTHREAD_PRIO_INHERIT);
	if (pthread_mutex_init(&lock, &lends) != 0)
		fault_fail("no lock that lends priority");
	sem_init(&go, 0, 0);
	fault_worker_start(&bystander);
	fault_thread(&waiter, wait_for_it, NULL);
	fault_become(on_cpu, LOW);
	while (fault_wait(&fault)) {
		uint64_t start_ns, end_ns;

		fault_beside(&bystander, size_ns);
		pthread_mutex_lock(&lock);
		/* The waiter comes at once, and waits. */
		sem_post(&go);
		start_ns = fault_now();
		end_ns = fault_busy(&fault, start_ns + size_ns, on_cpu);
		pthread_mutex_unlock(&lock);
		fault_log(&fault, start_ns, end_ns, on_cpu);
	}
	return 0;
}
