// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel module that knows each execution of a function: when it began and ended, and where.
 *
 * The function is the kernel's own srcu_notifier_call_chain(), which nothing else on a virtual
 * board calls: modules have no BTF there, so fentry cannot be set on theirs. It calls
 * executions_act(), which reads the clock first and last. Threads of one name make executions of
 * one kind; each kind has a log in debugfs:
 *
 *	PID BEGIN_NS END_NS BEGIN_CPU END_CPU
 *
 * END_NS is 0 where it did not return. A log has the newest LOG_EVENTS, the oldest first.
 */
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

/* A power of two; what the period of the quickest kind makes in about three seconds. */
#define LOG_EVENTS 8192u
#define SLEEPERS   40

static uint size_us = 50;
module_param(size_us, uint, 0444);

/* By their numbers in section_rig.py. */
enum kind { FIXED, NESTED, SLEEPS, EXITS, CROSSED, TWO, MANY, MARKED, KINDS };

/* A bit for each kind: those that are made now. */
static uint active;
module_param(active, uint, 0644);

static const char *const names[KINDS] = {"fixed",   "nested", "sleeps", "exits",
					 "crossed", "two",    "many",	"marked"};

struct execution {
	u64 begin_ns;
	u64 end_ns;
	u32 pid;
	u16 begin_cpu;
	u16 end_cpu;
};

static struct execution *events[KINDS];
static atomic_t counts[KINDS];

/* An execution that is planned; `inner` more begin in it, each in the one that precedes it. */
struct call {
	enum kind kind;
	u64 size_ns;
	unsigned int inner;
	struct execution *event;
};

static struct srcu_notifier_head chain;

/* size_us_of - 32-bit kernels divide 64 bits by a call */
static unsigned long size_us_of(const struct call *call)
{
	return (unsigned long)div_u64(call->size_ns, NSEC_PER_USEC);
}

static u64 spin_until(u64 end_ns)
{
	u64 now_ns;

	do {
		cpu_relax();
		now_ns = ktime_get_ns();
	} while (now_ns < end_ns);
	return now_ns;
}

static void begin_call(struct call call);

/* Marks of a module's own: where it begins and ends what is no function. The compiler makes one of
 * functions that are alike. */
static noinline void executions_begin(void)
{
	asm volatile("# begin");
}

static noinline void executions_end(void)
{
	asm volatile("# end");
}

static noinline int executions_act(struct notifier_block *block, unsigned long value, void *data)
{
	struct call *call = data;
	struct execution *event = call->event;
	u64 begin_ns;

	if (call->kind == MARKED)
		executions_begin();
	begin_ns = ktime_get_ns();
	event->begin_ns = begin_ns;
	event->begin_cpu = raw_smp_processor_id();
	/* Every second one ends on the other CPU. */
	if (call->kind == SLEEPS && (event - events[SLEEPS]) % 2)
		set_cpus_allowed_ptr(current, cpumask_of(1 - event->begin_cpu));
	if (call->kind == SLEEPS || call->kind == MANY)
		usleep_range(size_us_of(call), size_us_of(call) + 10);
	else
		spin_until(begin_ns + call->size_ns);
	if (call->kind == EXITS)
		kthread_complete_and_exit(NULL, 0);
	if (call->inner) {
		begin_call((struct call){call->kind, call->size_ns, call->inner - 1});
		spin_until(ktime_get_ns() + call->size_ns);
	}
	event->end_cpu = raw_smp_processor_id();
	event->end_ns = ktime_get_ns();
	if (call->kind == MARKED)
		executions_end();
	return NOTIFY_OK;
}

static struct notifier_block act = {.notifier_call = executions_act};

/* begin_call - make an execution */
static void begin_call(struct call call)
{
	unsigned int number = atomic_inc_return(&counts[call.kind]) - 1;

	call.event = &events[call.kind][number % LOG_EVENTS];
	*call.event = (struct execution){.pid = current->pid};
	srcu_notifier_call_chain(&chain, 0, &call);
}

/* wait_turn - sleep for so many milliseconds, at their begin, until that kind is made */
static void wait_turn(enum kind kind, unsigned int period_ms)
{
	u64 period_ns = period_ms * NSEC_PER_MSEC;

	do {
		ktime_t at = ns_to_ktime((div64_u64(ktime_get_ns(), period_ns) + 1) * period_ns);

		set_current_state(TASK_IDLE);
		schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
	} while (!(READ_ONCE(active) >> kind & 1));
}

/* of_kind - one thread's executions, for ever */
static int of_kind(void *data)
{
	static const unsigned int period_ms[KINDS] = {[FIXED] = 1, [NESTED] = 4, [SLEEPS] = 1,
						      [TWO] = 1,   [MANY] = 40,	 [MARKED] = 1};
	enum kind kind = (enum kind)(uintptr_t)data;
	struct call call = {kind, size_us * NSEC_PER_USEC};
	unsigned int number = 0;

	for (;;) {
		wait_turn(kind, period_ms[kind]);
		if (kind == NESTED) {
			/* Depths of 3, and of 12, which is more than are kept. */
			call.inner = number++ % 2 ? 11 : 2;
			call.size_ns = 2000;
		}
		if (kind == MANY)
			call.size_ns = 20 * NSEC_PER_MSEC;
		begin_call(call);
	}
	return 0;
}

/* The timer that crosses executions of the thread crossed. */
static struct hrtimer crossing;
static struct task_struct *crossed_task;

static enum hrtimer_restart cross(struct hrtimer *timer)
{
	if (current == crossed_task)
		begin_call((struct call){CROSSED, 1000});
	return HRTIMER_NORESTART;
}

/* crossed - executions that a timer interrupt crosses with one of its own: before, at each point
 * of the hook at the beginning, within, and at each point of the hook at the end */
static int crossed(void *unused)
{
	unsigned int delay_ns = 0;

	hrtimer_init(&crossing, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	crossing.function = cross;
	for (;;) {
		wait_turn(CROSSED, 1);
		hrtimer_start(&crossing, ns_to_ktime(ktime_get_ns() + delay_ns),
			      HRTIMER_MODE_ABS_PINNED_HARD);
		begin_call((struct call){CROSSED, 5000});
		hrtimer_cancel(&crossing);
		delay_ns = (delay_ns + 37) % 30000;
	}
	return 0;
}

static int exits_once(void *unused)
{
	begin_call((struct call){EXITS, 5000});
	return 0;
}

/* exits - threads that end in an execution */
static int exits(void *unused)
{
	for (;;) {
		wait_turn(EXITS, 2);
		kthread_run(exits_once, NULL, "exits");
	}
	return 0;
}

static int log_show(struct seq_file *file, void *unused)
{
	enum kind kind = (enum kind)(uintptr_t)file->private;
	unsigned int count = atomic_read(&counts[kind]);

	for (unsigned int i = count > LOG_EVENTS ? count - LOG_EVENTS : 0; i < count; i++) {
		struct execution *event = &events[kind][i % LOG_EVENTS];

		seq_printf(file, "%u %llu %llu %u %u\n", event->pid, event->begin_ns, event->end_ns,
			   event->begin_cpu, event->end_cpu);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

static void start(int (*run)(void *), enum kind kind, const char *name, unsigned int cpu)
{
	struct task_struct *task;

	/* Of some kinds there are none on a board with one CPU. */
	if (num_online_cpus() < 2 && (kind == SLEEPS || kind == CROSSED || kind == TWO))
		return;
	task = kthread_create(run, (void *)(uintptr_t)kind, "%s", name);
	if (IS_ERR(task))
		return;
	cpu %= num_online_cpus();
	kthread_bind(task, cpu);
	if (kind == CROSSED)
		crossed_task = task;
	/* Later set_cpus_allowed_ptr() is refused for a thread that was bound. */
	if (kind == SLEEPS)
		task->flags &= ~PF_NO_SETAFFINITY;
	wake_up_process(task);
}

static int __init executions_init(void)
{
	struct dentry *folder = debugfs_create_dir(KBUILD_MODNAME, NULL);

	srcu_init_notifier_head(&chain);
	srcu_notifier_chain_register(&chain, &act);
	for (int kind = 0; kind < KINDS; kind++) {
		events[kind] = vzalloc(LOG_EVENTS * sizeof(struct execution));
		if (!events[kind])
			return -ENOMEM;
		debugfs_create_file(names[kind], 0444, folder, (void *)(uintptr_t)kind, &log_fops);
	}
	start(of_kind, FIXED, "fixed", 0);
	start(of_kind, MARKED, "marked", 0);
	start(of_kind, NESTED, "nested", 0);
	start(of_kind, SLEEPS, "sleeps", 0);
	start(of_kind, TWO, "two", 0);
	start(of_kind, TWO, "two", 1);
	start(crossed, CROSSED, "crossed", 1);
	start(exits, EXITS, "exits_starter", 1);
	for (int i = 0; i < SLEEPERS; i++)
		start(of_kind, MANY, "many", i % 2);
	return 0;
}

/* There is no exit: it goes on until the board is off. */
module_init(executions_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Executions that are known, for tests of whylate");
