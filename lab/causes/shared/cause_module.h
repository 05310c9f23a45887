/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A known cause as a kernel module: its clock, its log and its thread.
 *
 * A cause does something for size_us, once every period_us, on one CPU, and logs what it really
 * did by the clock that the probe measures with (ktime_get() is CLOCK_MONOTONIC). The log is a
 * file of debugfs with the module's name: see shared/log.txt for its format.
 *
 * A module includes this file, writes act(), and ends with CAUSE_THREAD(act, begin, end).
 */
#ifndef WHYLATE_CAUSE_MODULE_H
#define WHYLATE_CAUSE_MODULE_H

#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

/* As in the programs (cause_program.h): what a run of a minute needs at the shortest period. */
#define CAUSE_EVENTS 16384

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
#define CAUSE_GAP_NS 1000

struct cause_event {
	u64 start_ns;
	u64 length_ns;
	u32 cpu;
	bool taken; /* by something else, out of an act */
};

static struct cause_event *cause_events;
static unsigned int cause_count;
static u64 cause_dropped;
static struct dentry *cause_file;
static struct task_struct *cause_task;

/* cause_note - one writer at a time; a reader sees whole events only */
static inline void cause_note(u64 start_ns, u64 end_ns, u32 on_cpu, bool taken)
{
	unsigned int n = cause_count;

	if (n == CAUSE_EVENTS) {
		cause_dropped++;
		return;
	}
	cause_events[n] = (struct cause_event){start_ns, end_ns - start_ns, on_cpu, taken};
	smp_store_release(&cause_count, n + 1);
}

static inline void cause_log(u64 start_ns, u64 end_ns, u32 on_cpu)
{
	cause_note(start_ns, end_ns, on_cpu, false);
}

/* cause_spin - until that time; udelay() counts loops, which lie in virtual time */
static inline u64 cause_spin(u64 end_ns)
{
	u64 now_ns;

	do {
		cpu_relax();
		now_ns = ktime_get_ns();
	} while (now_ns < end_ns);
	return now_ns;
}

/* cause_busy - the same where interrupts may come: what they take is logged, and is not ours */
static inline u64 cause_busy(u64 end_ns, u32 on_cpu)
{
	static u64 least_ns = U64_MAX;
	u64 before_ns = ktime_get_ns(), now_ns = before_ns;

	while (now_ns < end_ns) {
		cpu_relax();
		now_ns = ktime_get_ns();
		least_ns = min(least_ns, now_ns - before_ns);
		if (now_ns - before_ns > least_ns + CAUSE_GAP_NS)
			cause_note(before_ns, now_ns - least_ns, on_cpu, true);
		before_ns = now_ns;
	}
	return now_ns;
}

static inline u64 cause_size_ns(void)
{
	return (u64)size_us * NSEC_PER_USEC;
}

static int cause_show(struct seq_file *file, void *unused)
{
	unsigned int count = smp_load_acquire(&cause_count), i;

	seq_printf(file, "whylate-cause-log 1 dropped %010llu\n", READ_ONCE(cause_dropped));
	for (i = 0; i < count; i++)
		seq_printf(file, "%llu %llu %s%u\n", cause_events[i].start_ns,
			   cause_events[i].length_ns, cause_events[i].taken ? "-" : "",
			   cause_events[i].cpu);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cause);

/* cause_random - of the numbers below `below`, the same ones for the same seed */
static inline u64 cause_random(u64 below)
{
	static u64 steps;
	u64 z = (seed + ++steps) * 0x9e3779b97f4a7c15ull;

	/* SplitMix64 (Steele, Lea, Flood 2014). */
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return below ? z % below : 0;
}

/*
 * cause_wait - until the k-th time; false when the cause is to end
 *
 * The times are a grid of periods, each moved by a random part of the jitter: what is timed is
 * periodic as well, and two grids would meet always or never.
 */
static inline bool cause_wait(u64 at_ns)
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

static inline int cause_run(void (*act)(void))
{
	u64 period_ns = (u64)period_us * NSEC_PER_USEC, jitter_ns = (u64)jitter_us * NSEC_PER_USEC;
	u64 begin_ns = ktime_get_ns();
	/* Counted from the clock's zero: the phases of several causes keep their distance. */
	u64 grid_ns = (begin_ns / period_ns + 1) * period_ns + (u64)phase_us * NSEC_PER_USEC;

	while (cause_wait(grid_ns + cause_random(jitter_ns))) {
		if (!seconds || ktime_get_ns() - begin_ns < seconds * NSEC_PER_SEC)
			act();
		/* What came due meanwhile is left out: a backlog would be no period. */
		do
			grid_ns += period_ns;
		while (grid_ns <= ktime_get_ns());
	}
	return 0;
}

static inline int cause_start(int (*run)(void *), unsigned int on_cpu)
{
	if (period_us < 100 || size_us > period_us / 2 || jitter_us > period_us / 2) {
		pr_err(KBUILD_MODNAME ": the period must be at least 100 us and twice the size\n");
		return -EINVAL;
	}
	if (cpu >= nr_cpu_ids || !cpu_online(cpu) || on_cpu >= nr_cpu_ids || !cpu_online(on_cpu)) {
		pr_err(KBUILD_MODNAME ": CPU %u or %u is not there\n", cpu, on_cpu);
		return -EINVAL;
	}
	cause_events = vzalloc(CAUSE_EVENTS * sizeof(*cause_events));
	if (!cause_events)
		return -ENOMEM;
	cause_task = kthread_create(run, NULL, KBUILD_MODNAME);
	if (IS_ERR(cause_task)) {
		vfree(cause_events);
		return PTR_ERR(cause_task);
	}
	kthread_bind(cause_task, on_cpu);
	/* Above ordinary loads, so that it acts when it is due; below whatever is measured. */
	sched_set_fifo_low(cause_task);
	cause_file = debugfs_create_file(KBUILD_MODNAME, 0444, NULL, NULL, &cause_fops);
	wake_up_process(cause_task);
	return 0;
}

/* CAUSE_THREAD - a module whose act() runs in a thread; begin() and end() surround its life */
#define CAUSE_THREAD_ON(on_cpu, act, begin, end)                                                   \
	static int cause_main(void *unused)                                                        \
	{                                                                                          \
		return cause_run(act);                                                             \
	}                                                                                          \
	static int __init cause_init(void)                                                         \
	{                                                                                          \
		int error = begin();                                                               \
                                                                                                   \
		if (error)                                                                         \
			return error;                                                              \
		error = cause_start(cause_main, on_cpu);                                           \
		if (error)                                                                         \
			end();                                                                     \
		return error;                                                                      \
	}                                                                                          \
	static void __exit cause_exit(void)                                                        \
	{                                                                                          \
		kthread_stop(cause_task);                                                          \
		end();                                                                             \
		debugfs_remove(cause_file);                                                        \
		vfree(cause_events);                                                               \
	}                                                                                          \
	module_init(cause_init);                                                                   \
	module_exit(cause_exit);                                                                   \
	MODULE_LICENSE("GPL");                                                                     \
	MODULE_DESCRIPTION("A known cause of latency, for tests of whylate")

#define CAUSE_THREAD(act, begin, end) CAUSE_THREAD_ON(cpu, act, begin, end)

static inline int cause_no_begin(void)
{
	return 0;
}

static inline void cause_no_end(void)
{
}

#endif
