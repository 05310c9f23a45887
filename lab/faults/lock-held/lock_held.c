// SPDX-License-Identifier: GPL-2.0
/*
 * A spinning lock that a thread on holder_cpu keeps for size_us, while the measured CPU wants it
 * with interrupts off. Logged is what the wait took on the measured CPU.
 *
 * traced=1: a queued reader-writer lock, whose wait the kernel's lock:contention_begin reports.
 * traced=0, and always with PREEMPT_RT, which has no such lock that spins: a raw spinlock, whose
 * first waiter spins before it reaches the tracepoint.
 *
 * spin_limit: the waiter tries to take the lock so often, and gives it up then; 0: it waits until
 * it has the lock. A waiter that tries is not in a queue, and reaches no tracepoint.
 */
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "fault_module.h"

static uint holder_cpu = 1;
module_param(holder_cpu, uint, 0444);
static uint traced = 1;
module_param(traced, uint, 0444);
static uint spin_limit;
module_param(spin_limit, uint, 0444);

static DEFINE_RAW_SPINLOCK(spinning);
static struct task_struct *waiter;
static u64 wanted_ns;
static u64 free_ns;

#ifdef CONFIG_PREEMPT_RT
#define traced_lock()	raw_spin_lock(&spinning)
#define traced_unlock() raw_spin_unlock(&spinning)
#define traced_try()	raw_spin_trylock(&spinning)
#else
static arch_rwlock_t queued = __ARCH_RW_LOCK_UNLOCKED;

#define traced_lock()	arch_write_lock(&queued)
#define traced_unlock() arch_write_unlock(&queued)
#define traced_try()	arch_write_trylock(&queued)
#endif

static void lock(void)
{
	if (traced)
		traced_lock();
	else
		raw_spin_lock(&spinning);
}

static void unlock(void)
{
	if (traced)
		traced_unlock();
	else
		raw_spin_unlock(&spinning);
}

/* lock_within - take the lock within spin_limit tries; false: it was given up */
static bool lock_within(void)
{
	uint tries;

	if (!spin_limit) {
		lock();
		return true;
	}
	for (tries = 0; tries < spin_limit; tries++) {
		if (traced ? traced_try() : raw_spin_trylock(&spinning))
			return true;
		cpu_relax();
	}
	return false;
}

/* act - the holder: takes the lock, lets the waiter want it, and keeps it so long */
static void act(void)
{
	unsigned long flags;

	local_irq_save(flags);
	preempt_disable();
	WRITE_ONCE(wanted_ns, 0);
	lock();
	wake_up_process(waiter);
	/* Counted from when the other CPU began to wait, which may take it a while. */
	free_ns = ktime_get_ns() + 4 * fault_size_ns();
	while (!READ_ONCE(wanted_ns) && ktime_get_ns() < free_ns)
		cpu_relax();
	if (READ_ONCE(wanted_ns))
		fault_spin(READ_ONCE(wanted_ns) + fault_size_ns());
	unlock();
	preempt_enable();
	local_irq_restore(flags);
}

static int wait(void *unused)
{
	while (fault_sleep()) {
		unsigned long flags;
		u64 start_ns, end_ns;
		bool locked;

		local_irq_save(flags);
		preempt_disable();
		start_ns = ktime_get_ns();
		WRITE_ONCE(wanted_ns, start_ns);
		locked = lock_within();
		end_ns = ktime_get_ns();
		if (locked)
			unlock();
		preempt_enable();
		local_irq_restore(flags);
		fault_log(start_ns, end_ns, cpu);
	}
	return 0;
}

static int begin(void)
{
	if (holder_cpu == cpu || holder_cpu >= nr_cpu_ids || !cpu_online(holder_cpu) ||
	    cpu >= nr_cpu_ids || !cpu_online(cpu)) {
		pr_err(KBUILD_MODNAME ": the lock is held on another CPU: it takes two\n");
		return -EINVAL;
	}
	waiter = kthread_create(wait, NULL, KBUILD_MODNAME "_w");
	if (IS_ERR(waiter))
		return PTR_ERR(waiter);
	kthread_bind(waiter, cpu);
	sched_set_fifo_low(waiter);
	wake_up_process(waiter);
	return 0;
}

static void end(void)
{
	kthread_stop(waiter);
}

FAULT_THREAD_ON(holder_cpu, act, begin, end);
