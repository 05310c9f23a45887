// SPDX-License-Identifier: MIT
/*
 * memory - streaming copies through a set far larger than the last cache
 *
 * Stresses the memory bus and every shared cache: what the measured threads had in the caches is
 * evicted between two activations, and their misses queue behind the copies. It stays in user
 * mode, so that what it costs a wakeup is the hardware's share alone.
 *
 * Both buffers are written before the first copy, and source and target change places after
 * every pass: a source that was never written is one shared page of zeros, which lies in the
 * first-level cache and makes a copy look twice as fast as memory is. The copies go in blocks
 * below the size at which C libraries switch to stores that bypass the caches.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kinds.h"
#include "memory_size.h"

#define MIB	    (1024ull * 1024)
#define BLOCK_BYTES (256ull * 1024)
#define LEAST_BYTES (2 * MIB) /* below that the set would sit in many a cache */

/*
 * set_bytes - return the size of both buffers together
 *
 * Four times the last cache, as both streams pass through it; never more than an eighth of what
 * is available, so that several of these loads do not push the board into swapping.
 */
static uint64_t set_bytes(void)
{
	uint64_t bytes = 4 * memory_last_cache_bytes();
	uint64_t most = memory_available_bytes() / 8;

	if (bytes < 32 * MIB)
		bytes = 32 * MIB;
	if (bytes > 256 * MIB)
		bytes = 256 * MIB;
	if (bytes > most)
		bytes = most;
	return bytes - bytes % (2 * BLOCK_BYTES);
}

/* copy_block - one block that somebody might read: the compiler must not drop the copy */
static void copy_block(struct load_context *context, char *to, const char *from)
{
	memcpy(to, from, BLOCK_BYTES);
	__asm__ volatile("" : : "r"(to) : "memory");
	load_count(context, BLOCK_BYTES);
}

void load_memory(struct load_context *context)
{
	uint64_t set = set_bytes();
	size_t half = (size_t)(set / 2);

	if (set < LEAST_BYTES) {
		load_fail(context, "too little memory: the memory load needs %llu MiB available",
			  8 * LEAST_BYTES / MIB);
		return;
	}
	char *both =
	    mmap(NULL, (size_t)set, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (both == MAP_FAILED) {
		load_fail(context, "cannot map %llu MiB for the memory load: %s",
			  (unsigned long long)(set / MIB), strerror(errno));
		return;
	}
	/* The first block is handed on through the set: writing all of it is work already. */
	memset(both, 0x5a, BLOCK_BYTES);
	for (size_t at = BLOCK_BYTES; at < set; at += BLOCK_BYTES)
		copy_block(context, both + at, both + at - BLOCK_BYTES);
	char *from = both;
	char *to = both + half;
	for (;;) {
		for (size_t at = 0; at < half; at += BLOCK_BYTES)
			copy_block(context, to + at, from + at);
		char *swap = from;
		from = to;
		to = swap;
	}
}
