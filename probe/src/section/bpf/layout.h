/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the programs of a section and the probe share: memory that is mapped, and constants. */
#ifndef WHYLATE_SECTION_BPF_LAYOUT_H
#define WHYLATE_SECTION_BPF_LAYOUT_H

#include "wire/constants.h"

#ifndef __BPF__
#include <linux/types.h>
#endif

/* Numbers of places in programs. */
enum section_place {
	AT_SECTION_CPUS,
	AT_SECTION_OWNERS,
	AT_SECTION_CONFIG,
	AT_SECTION_EVENTS,
	AT_SECTION_PATHS,
	AT_SECTION_SAMPLES,
	AT_SECTION_WALK,
};

/* Executions of one owner that have begun and not ended, one within the other. */
#define SECTION_DEEPEST 8u
/* Owners with such executions at a time; a power of two. */
#define SECTION_OWNERS_BITS 12
#define SECTION_OWNERS	    (1u << SECTION_OWNERS_BITS)
/* Places in the table that an owner may have. */
#define SECTION_TRIES 8

/* What pairs a beginning with its end. */
#define KEY_THREAD   0
#define KEY_CPU	     1
#define KEY_ARGUMENT 2

#define SECTION_CONDITIONS 4

/* An argument of a tracepoint, compared with a number. */
struct section_condition {
	__u32 argument;
	__u32 bytes; /* 1, 2, 4 or 8 of it count */
	__u64 value;
};

/* Functions of the kernel that wait by spinning. */
#define SECTION_SPINS 24u

/* Where one lies; 0, 0: none. */
struct section_range {
	__u64 begin;
	__u64 end;
};

/* Constants once programs are loaded. */
struct section_config {
	__u64 row_mask; /* rows of a CPU - 1 */
	__u32 tgid;	/* executions of this process alone; 0: of all */
	__u32 key;	/* KEY_ */
	__u32 begin_argument;
	__u32 end_argument;
	__u32 has_comm;
	__u32 keeps_locks;     /* each wait for a lock is kept */
	__u16 is_user;	       /* it is user code */
	__u16 at_switch;       /* it begins or ends where threads are switched */
	__u32 condition_count; /* all of them hold at the beginning */
	char comm[16];	       /* threads of this name alone, where has_comm */
	struct section_condition conditions[SECTION_CONDITIONS];
	/* The stack pointer at a return is this much above that at the entry. */
	__u64 return_pops;
	__u64 counter_count;	/* events that are counted between the marks */
	__u32 keeps_paths;	/* call paths of longer executions are kept */
	__u32 path_flags;	/* BPF_F_USER_STACK where they are of user code; 0 */
	__u64 fault_pops;	/* as return_pops, of functions of the kernel */
	__u64 has_steal;	/* the kernel counts what a hypervisor takes, */
	__s64 steal_from_queue; /* so far behind the run queue of a CPU */
	__u64 keeps_samples;	/* where executions are in their own code is kept */
	struct section_range spins[SECTION_SPINS];
	/* enum section_treatment: what is read before executions that are drawn, */
	__u32 treatment;
	__u32 treatment_reads; /* how often, */
	__u64 code_address;    /* and where: of a function of the kernel; 0: where the hook is */
	__u64 walking;	       /* threads of this process walk: no execution of theirs is drawn */
};

/* What is read where the caches shall hold nothing of the section, */
#define WALK_BYTES (8u << 20)
/* line by line: none of these processors' with BPF has shorter ones in its unified caches. */
#define WALK_LINE_BYTES 64u
/* Lines of the section's own code that are read: 16 KiB. */
#define CODE_READS_MOST 256u

/* Why the code of a thread did not run. */
enum section_change { CHANGE_INTERRUPTED, CHANGE_PREEMPTED, CHANGE_SLEPT, CHANGE_STOLEN };

/* The last such times of an owner that are kept: as many as can come while an execution ends, and
 * more; a power of two. */
#define SECTION_CHANGES 8u

/* What has been added to a part. */
struct section_changed {
	__u64 until_ns;
	__u64 took_ns; /* all of it before then */
	__u64 part;    /* enum section_change */
};

/* Levels of interrupts and softirqs, one within the other. */
#define SECTION_LEVELS 8u

/* What a thread in the section did beside running its code, ns; each ns is in one of them. */
struct section_parts {
	__u64 interrupted_ns; /* interrupts and softirqs ran */
	__u64 preempted_ns;   /* another thread had the CPU, and this one was runnable */
	__u64 slept_ns;	      /* it slept, and was not yet switched to again */
	__u64 lock_ns;	      /* it waited for a lock, running or asleep */
	__u64 fault_ns;	      /* the kernel handled its page faults, running or asleep */
	__u64 steal_ns;	      /* a hypervisor had taken its CPU */
	__u64 faults;	      /* page faults; no time */
};

/* Counters of a CPU at some time, or what they counted in some time. */
struct section_counts {
	__u64 values[WIRE_MOST_EXECUTION_COUNTS];
	__u64 paused_ns; /* how long they were enabled and did not count, all together */
	__u64 refused;	 /* times that one could not be read */
};

/* What an owner is at a mark: the difference of two is of what is between them. */
struct section_mark {
	struct section_parts parts;
	__u64 changes;		      /* that it has had */
	struct section_counts counts; /* by its own code */
	__u64 refused_aside;	      /* times that what others count could not be read */
};

/* Callers of a wait for a lock that are kept, the innermost first; 0 ends them. */
#define SECTION_CALLERS 8u
/* Callers of the end of an execution that are kept, the innermost first; 0 ends them. */
#define SECTION_PATH_CALLERS 24u
/* Paths of a CPU that the probe has not read yet; a power of two. */
#define SECTION_PATHS 1024u
/* Room in them for programs that interrupt each other. */
#define SECTION_PATHS_GUARD 16u

/* The call path at the end of an execution. */
struct section_path {
	__u64 number; /* of the CPU's, from 1; written last */
	__u64 duration_ns;
	__u32 pid; /* of its process */
	__u32 is_longer;
	__u64 callers[SECTION_PATH_CALLERS];
};

/* Paths of a CPU. */
struct section_paths {
	__u64 written;
	__u64 read; /* by the probe */
	__u64 lost; /* longer executions that came while there was no room */
	__u64 until_control;
	/* Set by the probe: of executions that are drawn and were not longer one of so many, on
	 * average, has a path. */
	__u64 control_one_in;
	struct section_path paths[SECTION_PATHS];
};

/* Where an execution was in its own code. */
struct section_sample {
	__u64 of; /* when that began */
	__u64 callers[SECTION_PATH_CALLERS];
};

/* Waits of a CPU that are kept until the probe has read them; a power of two. */
#define SECTION_LOCKS 1024u

/* A wait for a lock of a thread in the section. */
struct section_lock {
	__u64 number; /* of the CPU's, from 1; written last */
	__u64 waited_ns;
	__u64 lock;  /* its address */
	__u64 flags; /* LCB_F_ of the kernel */
	__u64 callers[SECTION_CALLERS];
};

/* An execution that has begun. */
struct section_frame {
	__u64 place; /* on the stack: which execution it is. 0: of a pair of tracepoints */
	__u64 begin_ns;
	__u32 cpu;
	__u16 flags;		   /* enum execution_flag: those that are known */
	__u16 level;		   /* of interrupts, in which it runs */
	struct section_mark began; /* its owner, when it began */
	__u32 samples;		   /* times that it was seen in its own code, */
	__u32 spins;		   /* and of them in a function that waits by spinning */
};

/* Marks of an owner beside its key, and the number of its frames in use. */
#define OWNER_DEPTH 0x0full
#define OWNER_TAKEN 0x40ull /* someone has this place, or had it */
#define OWNER_BUSY  0x80ull /* a program works on it */

/* A thread, or what else pairs beginnings with ends. */
struct section_owner {
	__u64 state;	 /* key << 8 | OWNER_; 0: nobody had this place yet */
	__u64 place_now; /* of whoever marked it as busy */
	/* Of a thread while it is in the section. */
	struct section_parts parts;
	struct section_counts aside; /* what was counted while its code did not run */
	__u64 left_ns;		     /* when it left the CPU; 0: it has one */
	__u64 sleeps;		     /* it was not runnable then */
	__u64 changes;		     /* times that its code did not run, */
	__u64 changed_ns;	     /* until when the latest did not, */
	__u64 waited_ns;	     /* and the latest wait for a lock */
	__u64 recent_count;	     /* that were written to recent[] */
	struct section_changed recent[SECTION_CHANGES];
	__u64 lock_ns;		    /* since when it waits for a lock; 0: it does not */
	struct section_parts lock;  /* its parts at that time */
	struct section_lock wait;   /* of it, what is known then */
	__u64 fault_ns;		    /* since when a page fault is handled; 0: none is */
	__u64 fault_place;	    /* on the stack: which one it is */
	__u64 fault_now;	    /* a place, on its way to become a number */
	struct section_parts fault; /* its parts at that time */
	__u64 steal_at_ns;	    /* what was taken from its CPU when that was last looked at */
	struct section_sample sample;
	struct section_frame frames[SECTION_DEEPEST];
};

/* A row: an execution that is kept. */
struct section_row {
	__u64 number; /* of the CPU's rows, from 1; written last */
	__u64 begin_ns;
	__u64 duration_ns;
	struct section_parts parts;
	__u32 samples; /* as of the frame */
	__u32 spins;
	__u32 pid;
	__u16 begin_cpu;
	__u16 flags; /* enum execution_flag */
	/* Where events are counted: enum count_state, and what was counted. */
	__u64 count_state;
	__u64 counts[WIRE_MOST_EXECUTION_COUNTS];
};

/* An arm of an experiment: executions that were drawn for it. */
struct section_arm {
	__u64 entries;
	__u64 returned;
	__u64 failed; /* reads that found no memory there */
	/* By how long reading took before each: see block waits of the wire. */
	__u64 bins[WIRE_WAIT_BINS];
};

/* A CPU, with its rows behind it. Counts are of what happened on it. */
struct section_cpu {
	__u64 entries;
	__u64 too_deep;	 /* entries that were refused: SECTION_DEEPEST were in use, */
	__u64 no_room;	 /* or no place in the table was free */
	__u64 left;	 /* entries whose code was left without a return that was seen */
	__u64 unmatched; /* returns of none of the entries that are kept */
	__u64 missed;	 /* entries and returns whose owner was busy: neither is an entry */
	__u64 rows;	 /* that were begun */
	__u64 one_in;	 /* of so many executions one is drawn; set by the probe, 0 or 1: all are */
	__u64 locks_count; /* waits for locks */
	__u64 above_ns;	 /* one that takes longer is kept whether it is drawn or not; 0: none is */
	__u64 is_closed; /* none begins any more: set by the probe, or at the limit */
	__u64 limit;	 /* of entries, which the probe raises as it looks; 0: there is none */
	__u64 longer_ns; /* set by the probe: one that takes longer has a path; 0: not known */
	/* Set by the probe: faults are counted where they are handled, for want of a tracepoint. */
	__u64 counts_handled;
	/* Interrupts and softirqs that run, the outermost first: since when, and of it within inner
	 * ones. */
	__u64 level;
	struct {
		__u64 since_ns;
		__u64 inner_ns;
		__u64 lock_ns; /* of it, executions in it waited for locks */
		__u64 steal_at_ns;
		struct section_counts since;
		struct section_counts inner;
	} levels[SECTION_LEVELS];
	__u64 steal_address; /* where the kernel counts steal; 0: not known yet */
	struct section_lock locks[SECTION_LOCKS];
	struct section_arm arms[2]; /* placebo, treated */
	/* The next execution is of that arm: EXECUTION_TREATED or EXECUTION_PLACEBO, 0: of none.
	 * Where code is flushed, that of the first CPU, on whichever CPU it begins. */
	__u64 armed;
	/* Executions that have returned, by their durations: see block waits of the wire. */
	__u64 bins[WIRE_WAIT_BINS];
};

#endif
