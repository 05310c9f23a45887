/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the programs and the engine that loads them have in common. */
#ifndef WHYLATE_RECORDER_BPF_LAYOUT_H
#define WHYLATE_RECORDER_BPF_LAYOUT_H

#include "../event.h"

/* What programs are linked with, by its number: tools/bpfgen.py knows their names in programs. */
enum recorder_place {
	AT_CPUS,   /* the map of struct recorder_bpf_cpu */
	AT_CONFIG, /* struct recorder_config, in its map */
	AT_WOKEN,  /* the map of struct recorder_woken */
	AT_LEFT,   /* the map of struct recorder_left */
	AT_RAISED, /* the kernel's per-CPU list of raised irq_work */
	AT_LAZY,   /* that of irq_work that waits for a tick */
	AT_RETURN, /* that of notifiers of a return to user code */
};

/* Set once, before the programs are loaded; constants to the verifier. */
struct recorder_config {
	__u64 ring_mask;      /* events in a ring - 1 */
	__u64 stack_after_ns; /* 0: no stacks */
	/* Of the kernel's per-CPU variables: how far behind hrtimer_bases __irq_regs lies, the
	 * registers that the running interrupt found; 0: not known. */
	__s64 registers_at;
	__u64 reads_kernel;   /* programs may read any memory of the kernel's: not under lockdown */
	__u64 finds_tasks;    /* programs may look a task up by its pid: Linux 6.2 */
	__u64 shows_irq_work; /* programs know where the lists of irq_work are */
	__u64 shows_returns;  /* and that of notifiers of a return to user code, */
	__u64 calls_returns;  /* which this function calls; 0: there is none */
	/* Threads whose wakings are watched: of a process, or of a name; see watched(). */
	__u64 watch_pid;
	__u64 watch_comm[2];
};

/* A watched thread that was woken and was not switched to yet; by pid. */
struct recorder_woken {
	__u64 waking_ns;
	__u64 due_ns;
	__u64 timer_ns;
	__u32 cpu;
	__u32 origin;
	__u32 waker; /* pid of the thread that woke it; 0: an interrupt did */
	__u32 reserved;
};

/* A watched thread that left the CPU to wait; by pid, until it runs again. */
struct recorder_left {
	__u64 left_ns;
	__u64 futex; /* that it waits for; 0: for none, or not known */
	__u32 state;
	__u32 system_call; /* 1 + its number; 0: in none, or not known */
};

#define WOKEN_MOST   4096 /* of either */
#define SOFTIRQ_ROOM 16	  /* a power of two above the vectors there are */

#define NESTED_MOST   4	 /* interrupts in each other whose time is known; a power of two */
#define HOOKS_DEEPEST 4	 /* functions of others in each other; a power of two */
#define SUMS_ROOM     8	 /* a power of two above RECORDER_SUMS: an index can be masked */
#define STACK_ROOM    64 /* frames that are looked through for the interrupted one */
/* The frame of a function that switches interrupts on for its caller is no larger. */
#define HELPER_WORDS 5

/* A thread that a measured one took the CPU from. */
struct recorder_culprit {
	__u64 task;	   /* its task_struct's address; 0: none is wanted */
	__u64 pid;	   /* the address may be another thread's by then */
	__u64 switches;	   /* as often it had left a CPU when this one was taken from it, */
	__u64 switched_ns; /* at that time; 0: it held the CPU for too short */
	__u64 late_ns;	   /* when the late timer interrupted it; 0: its callers are of no use */
	__u64 late_instruction;
};

/*
 * One CPU: an element of the map. First what is the programs' own, written on that CPU alone but
 * for waking_ns and timer_ns; then what the probe reads, and its ring of events.
 */
struct recorder_bpf_cpu {
	/* Where time goes: everything up to since_ns is in the sums. */
	__u64 since_ns; /* 0: nothing was counted yet */
	__u64 nmi_ns;	/* sums[SUM_NMI] at since_ns */
	__u64 sums[SUMS_ROOM];
	__u64 thread;	      /* where the time of the running thread goes */
	__u64 in_softirq;     /* the running thread is handling softirqs */
	__u64 softirq_thread; /* 1 + pid of the thread that began to; 0: none */
	__u64 interrupts;     /* depth: on arm64 an IPI is an interrupt as well */
	__u64 interrupt_ns;   /* when the outermost of them was entered */
	__u64 steal_ns;	      /* rq->prev_steal_time_rq when last looked at */
	__u64 in_idle_state;  /* entered and not left: but for interrupts nothing runs */

	/* The measured thread. */
	__u64 timer;	 /* that it sleeps on, on its own stack; 0: none expired yet */
	__u64 task;	 /* its task_struct's address; 0: it was not switched to yet */
	__u64 waking_ns; /* its last sched_waking; 0: none since it was switched away from */
	__u64 timer_ns;	 /* the interrupt that this was in; 0: in none */
	__u64 waking_cpu;
	__u64 prio; /* 1 + its priority when last looked at; 0: not yet */

	/* Why threads are due, where a program is watched. */
	__u64 expired_ns; /* when the timer was due whose function runs; 0: none does */
	__u64 expired_in; /* interrupts when it began to */
	__u64 softirq_ns; /* when the softirq was raised that is handled */
	__u64 raised_ns[SOFTIRQ_ROOM]; /* 0: not since it was handled */

	/* The ring: chunks that are open, by the lowest bit of their number; see event.h. */
	struct {
		__u64 number;
		__u64 shift; /* from an event's number to its place in the ring */
	} open[2];
	__u64 newest;	   /* the chunk that was opened last */
	__u64 chunks_held; /* since the start */

	/* The RCU callback that runs: its function, and since when; 0: none does. */
	__u64 callback;
	__u64 callback_ns;

	__u64 frames[STACK_ROOM]; /* scratch: too much for the stack of a program */

	/* What taking a stack costs, by those that were taken, and how many were. */
	__u64 stack_ns;
	__u64 stacks;
	__u64 settled; /* 1: a switch has nothing of stacks to look after */
	/* Threads whose stacks are to be taken: see take_later(). */
	struct recorder_culprit culprit;
	struct recorder_culprit awaited;
	/* What the measured thread's late timer interrupted: see look_at_timer(). */
	__u64 late_ns;	      /* when the timer came */
	__u64 late_to_record; /* it is recorded once the thread is done and its window wanted */
	__u64 late_deep;      /* the stack of who it interrupted is of use */
	__u64 late_copied;    /* late_words are what was on that stack */
	__u64 late_took_ns;
	__u64 late_pid;
	__u64 late_instruction;
	__u64 late_words[HELPER_WORDS]; /* off its stack: the caller may be among them */
	__u64 reserved[6];		/* to a multiple of 64 bytes */

	/* Functions of others that have begun: see hook.h. */
	__u64 hooks_open;
	struct {
		__u64 caller;	/* that was entered */
		__u64 function; /* the notifier that it calls, or itself */
		__u64 since_ns;
	} hooks[HOOKS_DEEPEST];

	/* Interrupts that have begun, by their depth, and the softirq: see maxima.h. */
	struct {
		__u64 place; /* in shared.maximum */
		__u64 since_ns;
		__u64 inner_ns; /* in others that interrupted it */
	} nested[NESTED_MOST];
	__u64 softirq; /* 1 + its vector; 0: none, or its beginning is not known */
	__u64 softirq_since_ns;
	__u64 softirq_sum_ns; /* sums[SUM_SOFTIRQ] then */

	struct recorder_cpu shared;
	/* struct recorder_event event[ring_mask + 1] follows. */
};

#endif
