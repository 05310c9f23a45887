// SPDX-License-Identifier: MIT
/*
 * What the two engines of the flight recorder have in common.
 *
 * An engine fills one struct recorder_cpu and one ring of events for each CPU of the board: by BPF
 * programs, in memory that the kernel and the probe share; or from the buffers of tracefs, in
 * memory of the probe's own. All functions but freeze and detach are called by one thread of the
 * probe.
 */
#ifndef WHYLATE_RECORDER_ENGINE_H
#define WHYLATE_RECORDER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "hooks.h"

#define RECORDER_SOURCES 64

/* A measured thread: whose stages are kept, whose late wakeups get their stack. */
struct recorder_thread {
	uint32_t pid; /* gettid() */
	uint16_t cpu;
};

/* A program whose threads' wakings are recorded: those of a process, or those of that name. */
struct recorder_watch {
	uint32_t pid; /* 0: by name */
	char comm[16];
};

struct recorder_plan {
	const struct recorder_thread *threads;
	size_t thread_count;
	const struct recorder_watch *watch; /* instead of threads; NULL */
	uint16_t cpu_limit;		    /* highest CPU number + 1 */
	uint64_t ring_bytes;		    /* for the events of one CPU; the engine rounds */
	uint64_t stack_after_ns; /* a stage that took longer than this gets its stack; 0: none */
	bool measure_cost;	 /* measure the time that recording takes, which costs more */
};

/* A tracepoint that is recorded, or is missing. */
struct recorder_source {
	const char *name; /* as the kernel calls it: "irq:irq_handler_entry" */
	bool attached;
	int error; /* why not; an errno */
};

struct recorder {
	const struct recorder_engine *engine;
	void *state;			/* the engine's own */
	struct recorder_cpu **cpus;	/* by CPU number; NULL where a CPU is not there */
	struct recorder_event **events; /* by CPU number: the ring */
	uint16_t cpu_limit;
	uint64_t ring_size;   /* events in a ring, a power of two */
	uint64_t gathered_ns; /* all events and stages until then are in the rings */
	/* Of a watched program's wakings: */
	uint64_t gaps;	 /* how often events were lost, and with them any number of wakings */
	bool hides_idle; /* the kernel does not trace switches from the idle thread */
	struct recorder_source sources[RECORDER_SOURCES];
	size_t source_count;
	struct hook hooks[HOOKS_MOST];
	size_t hook_count;
	bool shows_hooks; /* the kernel shows what is at its tracepoints */
};

/* What recording cost, as far as the kernel reports it. */
struct recorder_cost {
	uint64_t runs;	 /* of programs while they were measured, or of events; since the start */
	uint64_t run_ns; /* time that so many runs took; 0: not known (see measure) */
	uint64_t missed; /* events that came while another was being recorded */
};

struct recorder_engine {
	const char *name; /* "bpf", "tracefs" */
	/* start - begin to record; returns 0, or an errno with the text, and then nothing has
	 * changed
	 */
	int (*start)(struct recorder *recorder, const struct recorder_plan *plan, char *text);
	/* gather - bring what was recorded until now into the rings; may do nothing */
	void (*gather)(struct recorder *recorder);
	/* freeze - overwrite no event from now on; any thread may call it */
	void (*freeze)(struct recorder *recorder);
	void (*cost)(struct recorder *recorder, struct recorder_cost *cost);
	/* measure - let the kernel measure the time of each event from now on, which makes it
	 * longer, or stop that; returns 0 or an errno. NULL: it cannot. */
	int (*measure)(struct recorder *recorder, bool on);
	/* pause - keep no events until it is called again with false; returns 0 or an errno. For
	 * engines that cannot measure. */
	int (*pause)(struct recorder *recorder, bool paused);
	/* detach - let the kernel run nothing of the recorder's at any event until it is called
	 * again with false; returns 0, or the errno of the first source that is not attached again.
	 * It interrupts other CPUs, and takes as long as the kernel needs. */
	int (*detach)(struct recorder *recorder, bool detached);
	/* stop - end recording and free everything, the rings too */
	void (*stop)(struct recorder *recorder);
};

extern const struct recorder_engine recorder_bpf;
extern const struct recorder_engine recorder_tracefs;

#endif
