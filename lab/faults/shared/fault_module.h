/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An injected fault as a kernel module: its clock, its log and its thread.
 *
 * A fault does something for size_us, once every period_us, on one CPU, and logs what it really
 * did by the clock that the probe measures with (ktime_get() is CLOCK_MONOTONIC). The log is a
 * file of debugfs with the module's name: see shared/log.txt for its format.
 *
 * A module includes this file, writes act(), and ends with FAULT_THREAD(act, begin, end).
 */
#ifndef WHYLATE_FAULT_MODULE_H
#define WHYLATE_FAULT_MODULE_H

#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

/* As in the programs (fault_program.h): what a run of a minute needs at the shortest period. */
#define FAULT_EVENTS 16384

static uint period_us = 10000;
module_param(period_us, uint, 0444);
static uint size_us = 300;
module_param(size_us, uint, 0444);
static uint jitter_us = 1000;
module_param(jitter_us, uint, 0444);
static uint phase_us;
module_param(phase_us, uint, 0444);
static uint seed = 1;
module_param(seed, uint, 0444);
static uint cpu;
module_param(cpu, uint, 0444);
/* It then does nothing any more; 0: it goes on until it is removed. */
static uint seconds;
module_param(seconds, uint, 0444);

/* By so much longer than usual two readings of the clock are apart if something came between. */
#define FAULT_GAP_NS 1000

struct fault_event {
	u64 start_ns;
	u64 length_ns;
	u32 cpu;
	bool taken; /* by something else, out of an act */
};

static struct fault_event *fault_events;
static unsigned int fault_count;
static u64 fault_dropped;
static struct dentry *fault_file;
static struct task_struct *fault_task;

/* fault_note - one writer at a time; a reader sees whole events only */
static inline void fault_note(u64 start_ns, u64 end_ns, u32 on_cpu, bool taken)
{
	unsigned int n = fault_count;

	if (n == FAULT_EVENTS) {
		fault_dropped++;
		return;
	}
	fault_events[n] = (struct fault_event){start_ns, end_ns - start_ns, on_cpu, taken};
	smp_store_release(&fault_count, n + 1);
}

static inline void fault_log(u64 start_ns, u64 end_ns, u32 on_cpu)
{
	fault_note(start_ns, end_ns, on_cpu, false);
}

/* fault_spin - until that time; udelay() counts loops, which lie in virtual time */
static inline u64 fault_spin(u64 end_ns)
{
	u64 now_ns;

	do {
		cpu_relax();
		now_ns = ktime_get_ns();
	} while (now_ns < end_ns);
	return now_ns;
}

/* fault_busy_since - the same where interrupts may come: what they take is logged, and is not ours.
 * start_ns: the reading of the clock that the act begins with
 */
static inline u64 fault_busy_since(u64 start_ns, u64 end_ns, u32 on_cpu)
{
	static u64 least_ns = U64_MAX;
	u64 before_ns = start_ns, now_ns;

	do {
		cpu_relax();
		now_ns = ktime_get_ns();
		least_ns = min(least_ns, now_ns - before_ns);
		if (now_ns - before_ns > least_ns + FAULT_GAP_NS)
			fault_note(before_ns, now_ns - least_ns, on_cpu, true);
		before_ns = now_ns;
	} while (now_ns < end_ns);
	return now_ns;
}

static inline u64 fault_busy(u64 end_ns, u32 on_cpu)
{
	return fault_busy_since(ktime_get_ns(), end_ns, on_cpu);
}

static inline u64 fault_size_ns(void)
{
	return (u64)size_us * NSEC_PER_USEC;
}

static int fault_show(struct seq_file *file, void *unused)
{
	unsigned int count = smp_load_acquire(&fault_count), i;

	seq_printf(file, "whylate-fault-log 1 dropped %010llu\n", READ_ONCE(fault_dropped));
	for (i = 0; i < count; i++)
		seq_printf(file, "%llu %llu %s%u\n", fault_events[i].start_ns,
			   fault_events[i].length_ns, fault_events[i].taken ? "-" : "",
			   fault_events[i].cpu);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fault);

/* fault_random - of the numbers below `below`, the same ones for the same seed */
static inline u64 fault_random(u64 below)
{
	static u64 steps;
	u64 z = (seed + ++steps) * 0x9e3779b97f4a7c15ull;

	/* SplitMix64 (Steele, Lea, Flood 2014). */
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
#if BITS_PER_LONG == 32
	if (below)
		div64_u64_rem(z, below, &z);
	return below ? z : 0;
#else
	return below ? z % below : 0;
#endif
}

/*
 * fault_wait - until the k-th time; false when the fault is to end
 *
 * The times are a grid of periods, each moved by a random part of the jitter: what is timed is
 * periodic as well, and two grids would meet always or never.
 */
static inline bool fault_wait(u64 at_ns)
{
	ktime_t at = ns_to_ktime(at_ns);

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop()) {
			__set_current_state(TASK_RUNNING);
			return false;
		}
		if (ktime_get_ns() >= at_ns) {
			__set_current_state(TASK_RUNNING);
			return true;
		}
		schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
	}
}

/* fault_sleep - until somebody wakes this thread; false when it is to end */
static inline bool fault_sleep(void)
{
	set_current_state(TASK_INTERRUPTIBLE);
	if (!kthread_should_stop())
		schedule();
	__set_current_state(TASK_RUNNING);
	return !kthread_should_stop();
}

static inline int fault_run(void (*act)(void))
{
	u64 period_ns = (u64)period_us * NSEC_PER_USEC, jitter_ns = (u64)jitter_us * NSEC_PER_USEC;
	u64 begin_ns = ktime_get_ns();
	/* Counted from the clock's zero: the phases of several faults keep their distance. */
	u64 grid_ns =
	    (div64_u64(begin_ns, period_ns) + 1) * period_ns + (u64)phase_us * NSEC_PER_USEC;

	while (fault_wait(grid_ns + fault_random(jitter_ns))) {
		if (!seconds || ktime_get_ns() - begin_ns < (u64)seconds * NSEC_PER_SEC)
			act();
		/* What came due meanwhile is left out: a backlog would be no period. */
		do
			grid_ns += period_ns;
		while (grid_ns <= ktime_get_ns());
	}
	return 0;
}

static inline int fault_start(int (*run)(void *), unsigned int on_cpu)
{
	if (period_us < 100 || size_us > period_us / 2 || jitter_us > period_us / 2) {
		pr_err(KBUILD_MODNAME ": the period must be at least 100 us and twice the size\n");
		return -EINVAL;
	}
	if (cpu >= nr_cpu_ids || !cpu_online(cpu) || on_cpu >= nr_cpu_ids || !cpu_online(on_cpu)) {
		pr_err(KBUILD_MODNAME ": CPU %u or %u is not there\n", cpu, on_cpu);
		return -EINVAL;
	}
	fault_events = vzalloc(FAULT_EVENTS * sizeof(*fault_events));
	if (!fault_events)
		return -ENOMEM;
	fault_task = kthread_create(run, NULL, KBUILD_MODNAME);
	if (IS_ERR(fault_task)) {
		vfree(fault_events);
		return PTR_ERR(fault_task);
	}
	kthread_bind(fault_task, on_cpu);
	/* Above SCHED_OTHER loads, so that it acts when it is due; below whatever is measured. */
	sched_set_fifo_low(fault_task);
	fault_file = debugfs_create_file(KBUILD_MODNAME, 0444, NULL, NULL, &fault_fops);
	wake_up_process(fault_task);
	return 0;
}

/* FAULT_THREAD - a module whose act() runs in a thread; begin() and end() surround its life */
#define FAULT_THREAD_ON(on_cpu, act, begin, end)                                                   \
	static int fault_main(void *unused)                                                        \
	{                                                                                          \
		return fault_run(act);                                                             \
	}                                                                                          \
	static int __init fault_init(void)                                                         \
	{                                                                                          \
		int error = begin();                                                               \
                                                                                                   \
		if (error)                                                                         \
			return error;                                                              \
		error = fault_start(fault_main, on_cpu);                                           \
		if (error)                                                                         \
			end();                                                                     \
		return error;                                                                      \
	}                                                                                          \
	static void __exit fault_exit(void)                                                        \
	{                                                                                          \
		kthread_stop(fault_task);                                                          \
		end();                                                                             \
		debugfs_remove(fault_file);                                                        \
		vfree(fault_events);                                                               \
	}                                                                                          \
	module_init(fault_init);                                                                   \
	module_exit(fault_exit);                                                                   \
	MODULE_LICENSE("GPL");                                                                     \
	MODULE_DESCRIPTION("An injected fault of latency, for tests of whylate")

#define FAULT_THREAD(act, begin, end) FAULT_THREAD_ON(cpu, act, begin, end)

static inline int fault_no_begin(void)
{
	return 0;
}

static inline void fault_no_end(void)
{
}

#endif
