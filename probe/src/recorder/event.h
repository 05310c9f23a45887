/* SPDX-License-Identifier: MIT */
/*
 * What the flight recorder keeps: one ring of events and one ring of stages for each CPU.
 *
 * Crosses the border to the kernel: the BPF programs write these structures into maps that the
 * probe has mapped. The tracefs engine fills the same ones from what it reads. So nothing is
 * included here, and the types are the kernel's own.
 */
#ifndef WHYLATE_RECORDER_EVENT_H
#define WHYLATE_RECORDER_EVENT_H

#ifndef __BPF__
#include <linux/types.h>
#endif

/* Numbers of the wire (schema/wire.toml, "events"): a new kind goes to the end. */
enum recorder_kind {
	EVENT_NONE = 0,
	EVENT_IRQ_ENTRY = 1,	 /* c: interrupt */
	EVENT_IRQ_EXIT = 2,	 /* c: interrupt */
	EVENT_VECTOR_ENTRY = 3,	 /* a: enum recorder_vector */
	EVENT_VECTOR_EXIT = 4,	 /* a: the same */
	EVENT_SOFTIRQ_RAISE = 5, /* a: vector */
	EVENT_SOFTIRQ_ENTRY = 6, /* a: vector */
	EVENT_SOFTIRQ_EXIT = 7,	 /* a: vector */
	EVENT_NMI = 8,		 /* at its end. e: how long, ns; f: address of the handler */
	EVENT_TIMER_ENTRY = 9,	 /* e: address of the function, f: of the hrtimer */
	EVENT_TIMER_EXIT = 10,	 /* f: address of the hrtimer */
	EVENT_WAKING = 11,	 /* on the waking CPU. a: prio, b: the CPU it goes to, c: pid */
	EVENT_SWITCH = 12,	 /* a: see SWITCH_, b: prio of prev | prio of next << 8,
				    c: pid of prev, d: pid of next, e and f: comm of next */
	EVENT_MIGRATE = 13,	 /* b: the CPU it goes to, c: pid */
	EVENT_LOCK_BEGIN = 14,	 /* a: flags of lock:contention_begin, e: address of the lock */
	EVENT_LOCK_END = 15,	 /* e: address of the lock */
	EVENT_IDLE_ENTRY = 16,	 /* b: state */
	EVENT_IDLE_EXIT = 17,
	EVENT_IPI_SEND = 18,	/* a: enum recorder_vector, 0 where the kernel does not say it,
				   b: the CPU it goes to, e: address of the callback or caller,
				   f: where it may go to several, a bit for each: CPU b + bit */
	EVENT_FAULT = 19,	/* page fault of user code. c: pid, e: address, f: instruction */
	EVENT_STEAL = 20,	/* e: ns that the hypervisor took since the preceding such event,
				   or since steal was last looked at */
	EVENT_STACK = 21,	/* a: enum recorder_stack, b: frames that follow, c: pid of whose
				   stack it is, d: ns that taking it took (0: not known),
				   e: instruction that was interrupted (0: not known),
				   f: the 8 bytes of code before it, the first in the lowest byte */
	EVENT_FRAMES = 22,	/* e, f: addresses of the next two frames, innermost first */
	EVENT_CALL_ENTRY = 23,	/* a function called from another CPU. e: its address */
	EVENT_CALL_EXIT = 24,	/* e: the same */
	EVENT_TIMER_START = 25, /* e: when it is to expire, by its own clock; f: of the hrtimer */
};

/* Vectors beside the device interrupts; their names are in whylate.wire.events. */
enum recorder_vector {
	VECTOR_OTHER = 0,
	VECTOR_LOCAL_TIMER = 1,
	VECTOR_RESCHEDULE = 2,
	VECTOR_CALL_FUNCTION = 3,
	VECTOR_CALL_FUNCTION_SINGLE = 4,
	VECTOR_IRQ_WORK = 5,
	VECTOR_THERMAL = 6,
	VECTOR_DEFERRED_ERROR = 7,
	VECTOR_THRESHOLD = 8,
	VECTOR_ERROR = 9,
	VECTOR_SPURIOUS = 10,
	VECTOR_PLATFORM_IPI = 11,
	VECTOR_CPU_STOP = 12,
	VECTOR_TIMER_BROADCAST = 13,
};

#define STACK_OF_USER 0x80 /* beside one of these: it was user code, which has no stack here */

enum recorder_stack {
	STACK_TIMER = 1,  /* what the late timer interrupt of a measured thread interrupted */
	STACK_SWITCH = 2, /* what ran until a measured thread, runnable for long, was switched to */
};

/* Why prev left the CPU, in EVENT_SWITCH: its state's low bits, or that it was preempted. */
#define SWITCH_PREEMPTED 0x80 /* still runnable */
#define SWITCH_STATE	 0x7f /* low bits of task_struct.__state; 0 where preempted */

/*
 * Who reads a ring while it is written to finds events by the numbers of the chunks. An event that
 * has another seq than its number was not complete, or was overwritten. The times of events next to
 * each other may be out of order by as long as an interrupt lasts: a program that is interrupted
 * has read the clock before.
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

/* Time on a CPU by where it went, running sums in ns since the recorder started. */
enum recorder_sum {
	SUM_IRQ,     /* device interrupts and vectors, less NMIs in them */
	SUM_SOFTIRQ, /* less interrupts in them */
	SUM_NMI,
	SUM_IDLE,   /* the idle thread, less interrupts and softirqs in it */
	SUM_THREAD, /* all other threads but the measured ones, less interrupts and softirqs */
	SUM_STEAL,  /* taken by the hypervisor; part of the others too, wherever it fell */
	RECORDER_SUMS,
};

/*
 * A ring is made of chunks, which are written to one after the other. One in which somebody wants
 * a window kept is held: it is left out until the reader is done with it. Both sides only count,
 * each for itself.
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

/* What a measured thread says to the recorder, which looks when it is switched away from. */
struct recorder_want {
	__u64 due_ns;	     /* of the first activation since then that is wanted; 0: none */
	__u64 above_ns;	     /* latencies above it are wanted, */
	__u64 control_every; /* and one of so many of the others; 0: none of them */
};

/* What woke a thread of a watched program, and so made it due (and when that was). */
enum recorder_origin {
	ORIGIN_TIMER = 1,     /* an hrtimer: its expiry */
	ORIGIN_INTERRUPT = 2, /* another interrupt: its entry */
	ORIGIN_SOFTIRQ =
	    3,		   /* a softirq: when it was raised, or its entry where that was not seen */
	ORIGIN_THREAD = 4, /* a thread: the waking itself */
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
	__u16 origin;		   /* enum recorder_origin */
	__u64 sums[RECORDER_SUMS]; /* at switched_ns */
};

/* Both powers of two. The stages last for many times as long as the probe needs to look. */
#define STAGES 8192u

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
	struct recorder_hold hold[HOLDS];
	struct recorder_chunk chunk[CHUNKS_MOST];
	struct recorder_stage stage[STAGES];
	/* struct recorder_event event[a power of two] follows. */
};

#endif
