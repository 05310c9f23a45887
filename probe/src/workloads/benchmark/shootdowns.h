// SPDX-License-Identifier: MIT
/*
 * How often a CPU was interrupted to flush translations that another CPU made invalid.
 *
 * The row "TLB" of /proc/interrupts, which x86 has and no other architecture: there the hardware
 * carries the invalidation to all CPUs, and no kernel counts it.
 */
#ifndef WHYLATE_BENCHMARK_SHOOTDOWNS_H
#define WHYLATE_BENCHMARK_SHOOTDOWNS_H

#include <stddef.h>
#include <stdint.h>

struct shootdowns {
	int fd; /* negative: they are not counted */
	size_t column;
	size_t room;
	char *text;
};

/* shootdowns_open - count those of a CPU; returns 0, or an errno: ENOENT where the kernel has no
 * such row. After an error it can be read too, and closed. */
int shootdowns_open(struct shootdowns *shootdowns, uint16_t cpu);

/* shootdowns_read - read how many there were since the boot; 0 where they are not counted */
uint64_t shootdowns_read(const struct shootdowns *shootdowns);

void shootdowns_close(struct shootdowns *shootdowns);

#endif
