// SPDX-License-Identifier: MIT
/* How much memory a load may take, and how much it must take to get past the caches. */
#ifndef WHYLATE_LOAD_ROOM_H
#define WHYLATE_LOAD_ROOM_H

#include <stdint.h>

/* room_available_bytes - memory that can be had without swapping, by the kernel's estimate */
uint64_t room_available_bytes(void);

/* room_last_cache_bytes - read the largest cache of any CPU; 0: the board does not report it */
uint64_t room_last_cache_bytes(void);

#endif
