// SPDX-License-Identifier: GPL-2.0
/*
 * Threads on all CPUs that stamp a batch of records each, at once, by one clock that is slow to
 * read: one after the other under a raw spinlock, as kernels read such timers (remedy=0), or by
 * the strict (1) or relaxed (2) form of shared_read.h. Interrupts are off during a batch. Logged is
 * that of the measured CPU; how often the clock was read, and what came of it, is in a file of
 * debugfs.
 */
#include <linux/spinlock.h>

#include "fault_module.h"

#include "shared_read.h"

/* Of calls, when patience is found: of a batch each. */
#define ROUNDS 64
/* So long before their batches the threads are woken, in ns. */
#define WAKE_NS 50000

static uint remedy;
module_param(remedy, uint, 0444);
static uint service_us = 10;
module_param(service_us, uint, 0444);

static struct task_struct *helpers[NR_CPUS];
static u64 begins_ns[NR_CPUS]; /* when the batch of each CPU begins */
static DEFINE_RAW_SPINLOCK(clock_lock);
static struct shared_read timer ____cacheline_aligned;
static u64 free_ns; /* when the clock's next read may begin */
static u64 latest;  /* of the values that somebody has */
static uint stamps; /* of a batch */

/* calls, and what came of them: reads of the clock; values less than one that somebody had before
 * the call; values sampled before the call */
static atomic64_t calls, reads, back, old;
static struct dentry *counts_file;

/* raise - let `latest` be `value` at least; returns what it was */
static u64 raise(u64 value)
{
	u64 before = READ_ONCE(latest);

	while (before < value && !try_cmpxchg(&latest, &before, value))
		;
	return before;
}

/* read_clock - it serves one read at a time, and samples as a read begins */
static shared_value read_clock(void *unused)
{
	u64 service_ns = (u64)service_us * NSEC_PER_USEC, asked_ns = ktime_get_ns(), begins_ns;
	u64 before = READ_ONCE(free_ns);

	do
		begins_ns = max(before, asked_ns);
	while (!try_cmpxchg(&free_ns, &before, begins_ns + service_ns));
	fault_spin(begins_ns + service_ns);
	atomic64_inc(&reads);
	return begins_ns;
}

static u64 read_locked(void)
{
	unsigned long flags;
	u64 value;

	raw_spin_lock_irqsave(&clock_lock, flags);
	value = read_clock(NULL);
	raw_spin_unlock_irqrestore(&clock_lock, flags);
	return value;
}

static void stamp(void)
{
	/* Both have their memory barriers: what was known before the call is no later than it. */
	u64 known = raise(0), called_ns = ktime_get_ns(), value;

	value = remedy == 0   ? read_locked()
		: remedy == 1 ? shared_read_strict(&timer)
			      : shared_read_relaxed(&timer);
	atomic64_inc(&calls);
	if (value < known)
		atomic64_inc(&back);
	if (value < called_ns)
		atomic64_inc(&old);
	raise(value);
}

static void stamp_batch(bool is_measured)
{
	unsigned long flags;
	u64 start_ns;
	uint i;

	local_irq_save(flags);
	start_ns = ktime_get_ns();
	for (i = 0; i < stamps; i++)
		stamp();
	if (is_measured)
		fault_log(start_ns, ktime_get_ns(), cpu);
	local_irq_restore(flags);
}

static int help(void *of_cpu)
{
	while (fault_sleep())
		if (fault_wait(READ_ONCE(*(u64 *)of_cpu)))
			stamp_batch(false);
	return 0;
}

/* act - batches begin within a read of each other, and who comes first differs each time */
static void act(void)
{
	u64 at_ns = ktime_get_ns() + WAKE_NS;
	uint of;

	for_each_online_cpu(of)
	{
		WRITE_ONCE(begins_ns[of], at_ns + fault_random((u64)service_us * NSEC_PER_USEC));
		if (helpers[of])
			wake_up_process(helpers[of]);
	}
	if (fault_wait(begins_ns[cpu]))
		stamp_batch(true);
}

static int counts_show(struct seq_file *file, void *unused)
{
	seq_printf(file, "calls %lld\nreads %lld\nback %lld\nold %lld\npatience %u\n",
		   atomic64_read(&calls), atomic64_read(&reads), atomic64_read(&back),
		   atomic64_read(&old), timer.patience);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counts);

static void end(void)
{
	uint other;

	debugfs_remove(counts_file);
	for (other = 0; other < nr_cpu_ids; other++)
		if (helpers[other])
			kthread_stop(helpers[other]);
}

static int begin(void)
{
	uint other;

	if (num_online_cpus() < 2) {
		pr_err(KBUILD_MODNAME ": a clock is contended between CPUs: it takes two\n");
		return -EINVAL;
	}
	stamps = max(size_us / (num_online_cpus() * max(service_us, 1u)), 1u);
	shared_read_init(&timer, read_clock, NULL, 64, 0);
	shared_read_calibrate(&timer, ktime_get_ns, ROUNDS);
	atomic64_set(&reads, 0);
	for_each_online_cpu(other)
	{
		struct task_struct *helper;

		if (other == cpu)
			continue;
		helper = kthread_create(help, &begins_ns[other], KBUILD_MODNAME "_%u", other);
		if (IS_ERR(helper)) {
			end();
			return PTR_ERR(helper);
		}
		kthread_bind(helper, other);
		sched_set_fifo_low(helper);
		helpers[other] = helper;
		wake_up_process(helper);
	}
	counts_file = debugfs_create_file(KBUILD_MODNAME "_counts", 0444, NULL, NULL, &counts_fops);
	return 0;
}

FAULT_THREAD(act, begin, end);
