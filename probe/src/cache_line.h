// SPDX-License-Identifier: MIT
/* Lines of the cache that a program writes back and drops, from all caches of all CPUs. */
#ifndef WHYLATE_CACHE_LINE_H
#define WHYLATE_CACHE_LINE_H

/* CACHE_LINE_CAN_FLUSH - whether programs have an instruction for that; else nothing is done */
#if defined(__x86_64__) || defined(__aarch64__)
#define CACHE_LINE_CAN_FLUSH true
#else
#define CACHE_LINE_CAN_FLUSH false
#endif

/* cache_line_flush - write the line back and drop it; not done before cache_line_wait() */
static inline void cache_line_flush(const volatile void *line)
{
#if defined(__x86_64__)
	__asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#else
	(void)line;
#endif
}

/* cache_line_wait - wait until all lines are flushed, and all stores done */
static inline void cache_line_wait(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb ish" : : : "memory");
#endif
}

#endif
