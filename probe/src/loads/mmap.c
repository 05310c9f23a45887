// SPDX-License-Identifier: MIT
/*
 * mmap - two threads of one address space map, protect and unmap on different CPUs
 *
 * Stresses the lock of the address space, page faults, the page allocator, and above all TLB
 * shootdowns: a mapping that one CPU takes away must go from the TLB of every CPU that uses the
 * address space. On x86 that is an interrupt sent to the other CPU and a wait for its answer; on
 * ARM a broadcast instruction, which loads the interconnect and raises no interrupt.
 *
 * Shootdowns reach only CPUs that run this address space: the two threads are kept on different
 * CPUs, and move on together so that every CPU the load is allowed on gets its turn.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "kinds.h"
#include "thread.h"
#include "workers.h"

#define THREADS	   2
#define PAGES	   32
#define STAY_NS	   (20 * NS_PER_MS)
#define OPERATIONS 5 /* of one round */

/* touch - write to every page, so that there is something to shoot down */
static void touch(char *area, size_t page_bytes)
{
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)area)[i * page_bytes] = 1;
}

/* round_of_changes - one mapping from birth to death; 0, or -1 with errno */
static int round_of_changes(size_t page_bytes)
{
	size_t bytes = PAGES * page_bytes;
	char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return -1;
	touch(area, page_bytes);
	if (mprotect(area, bytes, PROT_READ) || mprotect(area, bytes, PROT_READ | PROT_WRITE))
		return -1;
	touch(area, page_bytes);
	if (madvise(area, bytes, MADV_DONTNEED))
		return -1;
	touch(area, page_bytes);
	return munmap(area, bytes);
}

/* change_mappings - one of the threads, round after round */
static void change_mappings(const struct worker *worker)
{
	const struct worker_cpus *cpus = worker->shared;
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t last = 0;

	for (;;) {
		/* Both threads compute the same stay from the clock. */
		uint64_t stay = clock_ns() / STAY_NS;
		if (stay != last && cpus->count)
			thread_pin(cpus->id[(stay + worker->index) % cpus->count]);
		last = stay;
		if (round_of_changes(page_bytes)) {
			load_fail(worker->context, "cannot change mappings: %s", strerror(errno));
			return;
		}
		load_count(worker->context, OPERATIONS);
	}
}

void load_mmap(struct load_context *context)
{
	/* Static, as threads may still read it when this function has returned. */
	static struct worker_cpus cpus;

	cpus.count = thread_cpus(cpus.id, WORKERS_MAX_CPUS);
	workers_run(context, THREADS, change_mappings, &cpus);
}
