// SPDX-License-Identifier: GPL-2.0
/*
 * The timer that the measured thread sleeps for goes off on another CPU, as the kernel has it for
 * CPUs that are to be left alone (nohz_full), and interrupts are off there for size_us when it is
 * due. The measured CPU waits for nothing but its wakeup.
 */
#include <linux/irq_work.h>

#include "fault_module_beside.h"

static void hook(void *unused, struct hrtimer *started, enum hrtimer_mode mode) FAULT_NAMED("_h");
static void take(struct irq_work *unused) FAULT_NAMED("_t");
static void hold(void) FAULT_NAMED("_f");

static uint other_cpu = 1;
module_param(other_cpu, uint, 0444);

/* So long it waits for the measured thread to go to sleep. */
#define AROUND_NS 1200000
/* A timer that is due sooner stays where it is. */
#define MARGIN_NS 120000
/* By so much interrupts are off before it is due. */
#define EARLY_NS 40000

static struct tracepoint *tracepoint;
static enum hrtimer_restart (*wakeup)(struct hrtimer *timer);
static struct irq_work work = IRQ_WORK_INIT_HARD(take);
static int armed;
/* What the measured thread sleeps for, and whether nobody has it now. */
static struct hrtimer *timer;
static u64 due_ns;
static bool taken;

/* hook - on the measured CPU, with the lock of its timers held */
static void hook(void *unused, struct hrtimer *started, enum hrtimer_mode mode)
{
	if (smp_processor_id() != cpu || started->function != wakeup ||
	    !fault_is_measured(current) || cmpxchg(&armed, 1, 0) != 1)
		return;
	timer = started;
	due_ns = ktime_to_ns(hrtimer_get_expires(started));
	irq_work_queue(&work);
}

/* take - on the measured CPU, whose timer hardware then has the next one's time */
static void take(struct irq_work *unused)
{
	if (fault_is_measured(current) && ktime_get_ns() + MARGIN_NS < due_ns)
		taken = hrtimer_try_to_cancel(timer) == 1;
	wake_up_process(fault_task);
}

static void sleep_until(u64 at_ns)
{
	ktime_t at = ns_to_ktime(at_ns);

	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
}

static noinline void hold(void)
{
	unsigned long flags;
	u64 start_ns, end_ns;

	local_irq_save(flags);
	start_ns = ktime_get_ns();
	if (start_ns >= due_ns) {
		local_irq_restore(flags);
		return;
	}
	end_ns = fault_spin(due_ns + fault_size_ns());
	local_irq_restore(flags);
	fault_log(start_ns, end_ns, cpu);
}

static void act(void)
{
	ktime_t at = ns_to_ktime(ktime_get_ns() + AROUND_NS);

	taken = false;
	set_current_state(TASK_UNINTERRUPTIBLE);
	smp_store_release(&armed, 1);
	schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
	if (cmpxchg(&armed, 1, 0) == 1)
		return;
	irq_work_sync(&work);
	if (!taken)
		return;
	hrtimer_start(timer, ns_to_ktime(due_ns), HRTIMER_MODE_ABS_PINNED_HARD);
	/* The measured CPU is idle again when it is time. */
	fault_beside_until(due_ns - EARLY_NS - FAULT_BESIDE_NS / 2);
	sleep_until(due_ns - EARLY_NS);
	hold();
}

static int begin(void)
{
	int error;

	if (other_cpu == cpu) {
		pr_err(KBUILD_MODNAME ": the timer goes to another CPU: it takes two\n");
		return -EINVAL;
	}
	tracepoint = fault_tracepoint("hrtimer_start");
	wakeup = fault_address("hrtimer_wakeup");
	if (!tracepoint || !wakeup)
		return -ENOENT;
	error = fault_beside_start();
	if (error)
		return error;
	error = tracepoint_probe_register(tracepoint, hook, NULL);
	if (error)
		fault_beside_stop();
	return error;
}

static void end(void)
{
	tracepoint_probe_unregister(tracepoint, hook, NULL);
	tracepoint_synchronize_unregister();
	irq_work_sync(&work);
	fault_beside_stop();
}

FAULT_THREAD_ON(other_cpu, act, begin, end);
