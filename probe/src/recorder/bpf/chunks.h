/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The ring's chunks: which is written to next, and which are held. Part of cpu.h. */
#ifndef WHYLATE_RECORDER_BPF_CHUNKS_H
#define WHYLATE_RECORDER_BPF_CHUNKS_H

#define CHUNK_MASK (config.ring_mask / CHUNK_EVENTS)

/* Chunks that one call looks at: the verifier goes through each turn of a loop, and of a function
 * only once, however often it is called. */
#define LOOKED_AT 16

/* free_chunk - return the first chunk behind index that is not held, of LOOKED_AT; -1: there is
 * none */
FUNCTION int free_chunk(struct recorder_bpf_cpu *cpu, __u64 index)
{
	__u64 mask = CHUNK_MASK;

	if (!cpu)
		return -1;
#pragma clang loop unroll(disable)
	for (__u32 turns = LOOKED_AT; turns; turns--) {
		index = (index + 1) & mask;
		if (cpu->shared.chunk[index].held ==
		    *(volatile __u32 *)&cpu->shared.chunk[index].released)
			return index;
	}
	return -1;
}

/*
 * open_chunk - begin the chunk of that number in the next one that is not held
 *
 * The first event of a chunk opens it. An event that interrupts just that may open it as well, and
 * is lost then. Returns whether there is a chunk.
 */
FUNCTION int open_chunk(struct recorder_bpf_cpu *cpu, __u64 number, __u64 now)
{
	/* Known to the verifier: an index needs no other bound. */
	__u64 index, mask = CHUNK_MASK;
	struct recorder_chunk *chunk;
	int next = -1;

	if (!cpu)
		return 0;
	index = cpu->newest;
	if (cpu->open[number & 1].number == 1 + number)
		return 1;
	/* No more than half of them are held. */
#pragma clang loop unroll(disable)
	for (__u64 seen = 0; seen <= mask / 2; seen += LOOKED_AT) {
		next = free_chunk(cpu, index + seen);
		if (next >= 0)
			break;
	}
	if (next < 0)
		return 0;
	index = next & mask;
	chunk = &cpu->shared.chunk[index];
	if (cpu->shared.frozen && chunk->number)
		return 0;
	chunk->number = 1 + number;
	chunk->before = cpu->newest;
	chunk->first_ns = now;
	cpu->newest = index;
	cpu->open[number & 1].shift = (index - number) * CHUNK_EVENTS;
	barrier();
	cpu->open[number & 1].number = 1 + number;
	return 1;
}

/*
 * hold_window - hold what was recorded since due_ns, and some before it, against overwriting
 *
 * One chunk more than begins before due_ns: the switch before it shows what ran then. Half of all
 * chunks can be held; of a window that needs more, the end is held.
 */
FUNCTION int hold_window(struct recorder_bpf_cpu *cpu, __u64 due_ns, __u64 now)
{
	__u64 number, index, most = (CHUNK_MASK + 1) / 2, holds, held, released;
	struct recorder_hold *hold;
	__u32 count = 0;
	bool older = 0;

	if (!cpu)
		return 0;
	number = (cpu->shared.events - 1) / CHUNK_EVENTS;
	index = cpu->newest;
	holds = cpu->shared.holds;
	hold = &cpu->shared.hold[holds % HOLDS];
	held = cpu->chunks_held - *(volatile __u64 *)&cpu->shared.chunks_released;
	released = *(volatile __u64 *)&cpu->shared.holds_released;
	if (held >= most || holds - released >= HOLDS) {
		cpu->shared.not_held++;
		return 0;
	}
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < CHUNKS_MOST / 2; i++) {
		struct recorder_chunk *chunk = &cpu->shared.chunk[index % CHUNKS_MOST];

		if (chunk->number != 1 + number)
			break;
		__sync_fetch_and_add(&chunk->held, 1);
		count++;
		if (older || held + count >= most)
			break;
		older = chunk->first_ns < due_ns;
		index = chunk->before;
		number--;
	}
	hold->upto_ns = now;
	hold->newest = cpu->newest;
	hold->count = count;
	cpu->chunks_held += count;
	barrier();
	cpu->shared.holds = holds + 1;
	return 1;
}

#endif
