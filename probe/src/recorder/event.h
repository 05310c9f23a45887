/* SPDX-License-Identifier: MIT */
/*
 * What the flight recorder keeps: one ring of events and one ring of stages for each CPU.
 *
 * Crosses the border to the kernel: the BPF programs write these structures into maps that the
 * probe has mapped. The tracefs engine fills the same ones from what it reads. So the types
 * are the kernel's own, and no other header is included.
 */
#ifndef WHYLATE_RECORDER_EVENT_H
#define WHYLATE_RECORDER_EVENT_H

#ifndef __BPF__
#include <linux/types.h>
#endif

/* Kinds of events and what their fields hold: schema/wire.toml. */
#include "wire/constants.h"

#define EVENT_NONE    0
#define RECORDER_SUMS SUM_COUNT

/*
 * Who reads a ring while it is written to finds events by the numbers of the chunks. An event that
 * has another seq than its number was not complete, or was overwritten. The times of events next to
 * each other may be out of order by as long as an interrupt lasts: a program that is interrupted
 * has read the clock before. A stack may be recorded long after the time that it has.
 */
struct recorder_event {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 seq;     /* low bits of 1 + its number on that CPU; written last */
	__u8 kind;
	__u8 a;
	__u16 b;
	__u32 c;
	__u32 d;
	__u64 e;
	__u64 f;
};

/*
 * A ring is made of chunks, which are written to one after the other. One with a
 * window that is wanted is held: it is left out until the reader is done with it. Both sides only
 * count, each for itself.
 */
#define CHUNK_EVENTS 256u
#define CHUNKS_MOST  256u

struct recorder_chunk {
	__u64 number;	/* 1 + the number of its first event / CHUNK_EVENTS; 0: never written to */
	__u32 before;	/* the chunk that was written to before */
	__u32 held;	/* for so many windows */
	__u32 released; /* the reader's: done with so many of them */
	__u32 reserved;
	__u64 first_ns; /* when it was begun with */
};

/* A window that is held: so many chunks, the newest and those before it. */
struct recorder_hold {
	__u64 upto_ns; /* the thread was switched away from */
	__u32 newest;
	__u32 count;
};

#define HOLDS 64u

/* recorder_is_drawn - whether an activation is in the random sample: the same whoever asks (the
 * finalizer of splitmix64, Steele, Lea and Flood 2014) */
static inline __attribute__((always_inline)) int recorder_is_drawn(__u16 cpu, __u64 index,
								   __u64 every)
{
	__u64 mixed = (index + 1) * 0x9E3779B97F4A7C15u + cpu;

	mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
	mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
	mixed ^= mixed >> 31;
	return every && mixed % every == 0;
}

/* What a measured thread asks of the recorder, which looks when it is switched away from. */
struct recorder_want {
	__u64 due_ns;	     /* of the first activation since then that is wanted; 0: none */
	__u64 above_ns;	     /* latencies above it are wanted, */
	__u64 control_every; /* and one of so many of the others; 0: none of them */
};

/* One time that a measured thread was switched to. 0: not seen. */
struct recorder_stage {
	__u64 switched_ns; /* switched to */
	__u64 waking_ns;   /* its sched_waking, the last before that */
	__u64 timer_ns;	   /* when the interrupt that woke it was entered */
	__u64 waking_cpu;  /* where it was woken */
	/* Of a watched program's threads alone. */
	__u64 due_ns;
	__u32 pid;
	__u16 prio;
	__u16 origin; /* enum recorder_origin */
	/* How long it was off the CPU before it was due, and in what. */
	__u64 waited_ns;	   /* 1 + that; 0: not known */
	__u64 futex;		   /* its address in the program; 0: of none, or not known */
	__u32 waker;		   /* pid of the thread that woke it; 0: an interrupt did */
	__u16 system_call;	   /* 1 + its number; 0: in none, or not known */
	__u16 wait_state;	   /* low bits of its task_struct.__state */
	__u64 sums[RECORDER_SUMS]; /* at switched_ns */
};

/* Both powers of two. The stages last for many times as long as the probe needs to look. */
#define STAGES 8192u

/* A stack that was recorded after the window that it belongs to. */
struct recorder_later {
	__u64 time_ns; /* in the window; the time of its event */
	__u64 number;  /* of that event */
};

/* A power of two: many times as many as windows are copied in the longest time between two looks.
 */
#define LATER_MOST 256u

/*
 * What comes again on a CPU has a place for its running maxima: an interrupt that is no device's
 * (enum recorder_vector), a softirq, and a device's interrupt by the low bits of its number.
 * Devices that would share a place are together in the last one.
 */
#define MAXIMA_SOFTIRQS	    16u
#define MAXIMA_DEVICES	    32u
#define MAXIMA_DEVICES_MOST 64u /* a power of two */
#define MAXIMA_OTHERS	    (MAXIMA_DEVICES + MAXIMA_DEVICES_MOST)
#define MAXIMA_MOST	    (MAXIMA_OTHERS + 1)

/*
 * Between which arrivals the shortest time is kept: of all that have 1, 4 or 16 gaps, and of those
 * with 64 or 256 gaps that begin with each 16th arrival. Of 15 gaps more than that, any stretch
 * holds one of those.
 */
#define MAXIMUM_SPANS	   5u
#define MAXIMUM_EXACT	   3u /* of these */
#define MAXIMUM_GAPS(i)	   (1u << 2 * (i))
#define MAXIMUM_ARRIVALS   16u
#define MAXIMUM_SIXTEENTHS 16u

/* Of up to how many executions in a row the longest total is kept. */
#define MAXIMUM_TOTALS	   2u
#define MAXIMUM_ROW(i)	   (4u << 2 * (i))
#define MAXIMUM_EXECUTIONS 16u

/*
 * The longest execution, without what interrupted it, the longest totals of several, and the
 * shortest times between arrivals. What each arrival reads is in one line of the cache, but for
 * began_ns, and what each end reads in that and another one, but for before_ns: mostly none of it
 * is there.
 */
struct recorder_maximum {
	__u64 device; /* 1 + the number of its interrupt; 0: of none yet */
	__u64 arrivals;
	__u64 span_ns[MAXIMUM_SPANS]; /* of MAXIMUM_GAPS(i), where there were so many */
	__u64 longest_ns;
	__u64 began_ns[MAXIMUM_ARRIVALS];	/* the last ones, by the low bits of their number */
	__u64 sixteenth_ns[MAXIMUM_SIXTEENTHS]; /* of each 16th */
	__u64 executions;			/* those whose time is known */
	__u64 total_ns;				/* of all of them */
	__u64 longest_total_ns[MAXIMUM_TOTALS]; /* of MAXIMUM_ROW(i) in a row, or all if fewer */
	__u64 longest_at_ns;			/* when the longest one began */
	__u64 reserved[3];			/* to a multiple of 64 bytes */
	__u64 before_ns[MAXIMUM_EXECUTIONS];	/* total_ns before the last ones */
};

struct recorder_cpu {
	__u64 events;  /* recorded since the start; the last is number events - 1 */
	__u64 stages;  /* the same for stages */
	__u64 missed;  /* events that could not be kept */
	__u64 left_ns; /* when the measured thread was last switched away from */
	__u64 left_sums[RECORDER_SUMS];
	__u64 measured; /* pid of the measured thread that is bound to this CPU; 0: none */
	__u64 frozen;	/* nothing that was recorded is overwritten any more */
	__u64 holds;	/* since the start; the last is in hold[(holds - 1) % HOLDS] */
	__u64 not_held; /* windows for which there was no room */
	struct recorder_want want;
	/* The reader's: done with so many holds, and so many chunks in them. */
	__u64 holds_released;
	__u64 chunks_released;
	__u64 attached_ns; /* when the recorder was attached again; what began before may lack an
			      end */
	__u64 awaited_ns; /* since when a stack is awaited, of a thread that must run first; 0: none
			   */
	__u64 laters;	  /* since the start; the last is later[(laters - 1) % LATER_MOST] */
	struct recorder_later later[LATER_MOST];
	struct recorder_hold hold[HOLDS];
	struct recorder_chunk chunk[CHUNKS_MOST];
	struct recorder_stage stage[STAGES];
	__u64 reserved[3]; /* to a multiple of 64 bytes, in the map too */
	struct recorder_maximum maximum[MAXIMA_MOST];
	/* struct recorder_event event[a power of two] follows. */
};

#endif
