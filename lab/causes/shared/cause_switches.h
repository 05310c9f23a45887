/* SPDX-License-Identifier: MIT */
/*
 * When a thread really had its CPU, as the kernel's perf events tell it: what it does on its way
 * out of the kernel and into it delays others as well, and its own clock readings cannot say how
 * long. Its time begins when the kernel leaves whoever ran before, as every trace of it has it.
 */
#ifndef WHYLATE_CAUSE_SWITCHES_H
#define WHYLATE_CAUSE_SWITCHES_H

#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "cause_program.h"

#define CAUSE_SWITCH_PAGES 64u

struct cause_switches {
	struct perf_event_mmap_page *page; /* NULL: the kernel does not tell */
	size_t page_bytes;
	uint32_t thread;
	uint64_t in_ns;
};

/* PERF_RECORD_SWITCH_CPU_WIDE with PERF_SAMPLE_TID and PERF_SAMPLE_TIME. */
struct cause_switch {
	struct perf_event_header header;
	uint32_t other_process, other;
	uint32_t process, thread;
	uint64_t time_ns;
};

/* cause_switches_open - of the calling thread, which stays on that CPU */
static inline void cause_switches_open(struct cause_switches *switches, uint64_t cpu)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_DUMMY,
	    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	    .context_switch = 1,
	    .sample_id_all = 1,
	    .use_clockid = 1,
	    .clockid = CLOCK_MONOTONIC,
	};
	void *map;
	int fd;

	switches->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	switches->thread = (uint32_t)syscall(SYS_gettid);
	switches->page = NULL;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return;
	map = mmap(NULL, (1 + CAUSE_SWITCH_PAGES) * switches->page_bytes, PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		switches->page = map;
}

/* cause_switches_log - each stretch that is over; shorter ones were no act */
static inline void cause_switches_log(struct cause_switches *switches, struct cause *cause,
				      uint64_t least_ns, uint64_t cpu)
{
	const char *data = (const char *)switches->page + switches->page_bytes;
	uint64_t mask = CAUSE_SWITCH_PAGES * switches->page_bytes - 1;
	uint64_t head = __atomic_load_n(&switches->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = switches->page->data_tail;

	while (at < head) {
		struct cause_switch record;

		/* Records are multiples of 8 bytes: what goes on at the ring's begin does so at
		 * one. */
		for (size_t i = 0; i < sizeof(record); i += 8)
			memcpy((char *)&record + i, data + ((at + i) & mask), 8);
		at += record.header.size;
		if (record.header.type != PERF_RECORD_SWITCH_CPU_WIDE ||
		    !(record.header.misc & PERF_RECORD_MISC_SWITCH_OUT))
			continue;
		if (record.other == switches->thread)
			switches->in_ns = record.time_ns;
		else if (record.thread == switches->thread && switches->in_ns &&
			 record.time_ns - switches->in_ns >= least_ns)
			cause_log(cause, switches->in_ns, record.time_ns, cpu);
	}
	__atomic_store_n(&switches->page->data_tail, at, __ATOMIC_RELEASE);
}

#endif
