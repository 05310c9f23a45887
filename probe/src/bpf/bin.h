/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which bin a program counts a duration in. */
#ifndef WHYLATE_BPF_BIN_H
#define WHYLATE_BPF_BIN_H

#include "kernel.h"
#include "wire/constants.h"

/* bin_of - the bin of a duration: see block waits of the wire */
ALWAYS_INLINE __u32 bin_of(__u64 ns)
{
	__u32 octave = 0, bin;
	__u64 rest = ns;

	if (ns < 16)
		return ns;
#pragma clang loop unroll(full)
	for (int bits = 32; bits; bits /= 2)
		if (rest >> bits) {
			rest >>= bits;
			octave += bits;
		}
	bin = (octave - 3) * 16 + (ns >> (octave - 4) & 15);
	return bin < WIRE_WAIT_BINS ? bin : WIRE_WAIT_BINS - 1;
}

#endif
