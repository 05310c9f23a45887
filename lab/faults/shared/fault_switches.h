/* SPDX-License-Identifier: MIT */
/*
 * When a thread really had its CPU, as the kernel's perf events tell it: what it does on its way
 * out of the kernel and into it delays others as well, and its own clock readings cannot say how
 * long. Its time begins when the kernel leaves whoever ran before, as every trace of it has it.
 * By what such a way took longer than the shortest so far, something else came between: an
 * interrupt, which may have been what made the delayed one due, so it is put at the way's end.
 */
#ifndef WHYLATE_FAULT_SWITCHES_H
#define WHYLATE_FAULT_SWITCHES_H

#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "fault_program.h"

#define FAULT_SWITCH_PAGES 64u
/* So many records are looked at between two readings of the clock, which is slow on some boards. */
#define FAULT_SWITCH_RECORDS 16
/* What an act logs: a stretch, and what others took of the way into it and out of it. */
#define FAULT_SWITCH_NOTES 3

struct fault_switches {
	struct perf_event_mmap_page *page; /* NULL: the kernel does not tell */
	size_t page_bytes;
	uint32_t thread;
	uint64_t in_ns;
	/* Of the last act: its first reading of the clock and its last. */
	uint64_t first_ns, last_ns;
	/* The shortest so far: the ways, so many records, and acts that log so much. */
	uint64_t least_in_ns, least_out_ns;
	uint64_t least_records_ns[FAULT_SWITCH_RECORDS + 1],
	    least_logged_ns[FAULT_SWITCH_NOTES + 1];
};

/* PERF_RECORD_SWITCH_CPU_WIDE with PERF_SAMPLE_TID and PERF_SAMPLE_TIME. */
struct fault_switch {
	struct perf_event_header header;
	uint32_t other_process, other;
	uint32_t process, thread;
	uint64_t time_ns;
};

/* fault_switches_open - of the calling thread, which stays on that CPU */
static inline void fault_switches_open(struct fault_switches *switches, uint64_t cpu)
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
	switches->least_in_ns = switches->least_out_ns = UINT64_MAX;
	memset(switches->least_records_ns, 0xFF, sizeof(switches->least_records_ns));
	memset(switches->least_logged_ns, 0xFF, sizeof(switches->least_logged_ns));
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return;
	map = mmap(NULL, (1 + FAULT_SWITCH_PAGES) * switches->page_bytes, PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		switches->page = map;
}

/* fault_switches_part - of an act that is no busy loop; what it took longer than the shortest so
 * far was taken by others. Its own length varies, and more on a slow CPU.
 */
static inline void fault_switches_part(struct fault *fault, uint64_t *least_ns, uint64_t start_ns,
				       uint64_t end_ns, uint64_t cpu)
{
	if (end_ns - start_ns < *least_ns)
		*least_ns = end_ns - start_ns;
	if (end_ns - start_ns > *least_ns + *least_ns / 2 + FAULT_GAP_NS)
		fault_note(fault, start_ns + *least_ns, end_ns, cpu, true);
}

/* fault_switches_is_act - whether a stretch between two switches is an act, or a part of one that
 * others interrupted; what is shorter otherwise is the wait for the next
 */
static inline bool fault_switches_is_act(const struct fault_switches *switches, uint64_t in_ns,
					 uint64_t least_ns, uint64_t out_ns)
{
	return in_ns && (out_ns - in_ns >= least_ns ||
			 (in_ns < switches->last_ns && out_ns > switches->first_ns));
}

/* fault_switches_act - a stretch between two switches, and the act's ways in it */
static inline void fault_switches_act(struct fault_switches *switches, struct fault *fault,
				      uint64_t in_ns, uint64_t out_ns, uint64_t cpu)
{
	fault_log(fault, in_ns, out_ns, cpu);
	if (switches->first_ns < in_ns || switches->last_ns > out_ns)
		return;
	fault_switches_part(fault, &switches->least_in_ns, in_ns, switches->first_ns, cpu);
	fault_switches_part(fault, &switches->least_out_ns, switches->last_ns, out_ns, cpu);
}

/* fault_switches_began - note when the thread begins; returns when the act began of which the
 * record is the end, 0 if it is none
 */
static inline uint64_t fault_switches_began(struct fault_switches *switches,
					    const struct fault_switch *record, uint64_t least_ns)
{
	uint64_t in_ns = switches->in_ns;

	if (record->header.type != PERF_RECORD_SWITCH_CPU_WIDE ||
	    !(record->header.misc & PERF_RECORD_MISC_SWITCH_OUT))
		return 0;
	if (record->other == switches->thread)
		switches->in_ns = record->time_ns;
	if (record->thread != switches->thread)
		return 0;
	/* Where the ring was full the next beginning is missing, and this one is not it. */
	switches->in_ns = 0;
	return fault_switches_is_act(switches, in_ns, least_ns, record->time_ns) ? in_ns : 0;
}

/* fault_switches_done - with a part of the work that began at since_ns; returns when the next does
 */
static inline uint64_t fault_switches_done(struct fault *fault, uint64_t *least_ns,
					   uint64_t since_ns, uint64_t cpu)
{
	uint64_t noted = fault->count, now_ns = fault_now();

	fault_switches_part(fault, least_ns, since_ns, now_ns, cpu);
	return fault->count == noted ? now_ns : fault_now();
}

/* fault_switches_log - each stretch that is over; shorter ones were no act.
 * first_ns, now_ns: of the act that goes on, its first reading of the clock and the present one
 */
static inline void fault_switches_log(struct fault_switches *switches, struct fault *fault,
				      uint64_t least_ns, uint64_t cpu, uint64_t first_ns,
				      uint64_t now_ns)
{
	const char *data = (const char *)switches->page + switches->page_bytes;
	uint64_t mask = FAULT_SWITCH_PAGES * switches->page_bytes - 1;
	uint64_t head = __atomic_load_n(&switches->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = switches->page->data_tail;
	int records = 0;

	while (at < head) {
		struct fault_switch record;
		uint64_t in_ns;

		/* Records are multiples of 8 bytes: what goes on at the ring's begin does so at
		 * one. */
		for (size_t i = 0; i < sizeof(record); i += 8)
			memcpy((char *)&record + i, data + ((at + i) & mask), 8);
		at += record.header.size;
		records++;
		in_ns = fault_switches_began(switches, &record, least_ns);
		if (in_ns || records == FAULT_SWITCH_RECORDS) {
			now_ns = fault_switches_done(fault, &switches->least_records_ns[records],
						     now_ns, cpu);
			records = 0;
		}
		if (in_ns) {
			uint64_t noted = fault->count;

			fault_switches_act(switches, fault, in_ns, record.time_ns, cpu);
			now_ns = fault_switches_done(
			    fault, &switches->least_logged_ns[fault->count - noted], now_ns, cpu);
		}
	}
	__atomic_store_n(&switches->page->data_tail, at, __ATOMIC_RELEASE);
	now_ns = fault_switches_done(fault, &switches->least_records_ns[records], now_ns, cpu);
	switches->first_ns = first_ns;
	switches->last_ns = now_ns;
}

#endif
