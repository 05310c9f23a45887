// SPDX-License-Identifier: MIT
/* How much memory a load may use, and how much it must use to exceed the caches. */
#ifndef WHYLATE_LOAD_MEMORY_SIZE_H
#define WHYLATE_LOAD_MEMORY_SIZE_H

#include <stdint.h>

/* memory_available_bytes - memory that can be had without swapping, by the kernel's estimate */
uint64_t memory_available_bytes(void);

/* memory_last_cache_bytes - read the largest cache of any CPU; 0: the board does not report it */
uint64_t memory_last_cache_bytes(void);

#endif
