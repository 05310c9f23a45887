// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel module that knows each execution of a function: when it began and ended, and where.
 *
 * The function is the kernel's own srcu_notifier_call_chain(), which nothing else on a virtual
 * board calls: modules have no BTF there, so fentry cannot be set on theirs. It calls
 * executions_act(), which reads the clock first and last. Threads of one name make executions of
 * one kind; each kind has a log in debugfs:
 *
 *	PID BEGIN_NS END_NS BEGIN_CPU END_CPU REASON WAIT_BEGIN_NS WAIT_END_NS ROUNDS
 *
 * END_NS is 0 where it did not return. REASON is why one of kind mixed took longer, 0: nothing
 * does. A wait is for a lock that another thread holds: within an execution of kind waits, or
 * before it; 0: there is none. ROUNDS are of a loop of two instructions, in one of kind counted. A
 * log has the newest LOG_EVENTS, the oldest first.
 */
#include <linux/anon_inodes.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

/* A power of two. They are made until the log is read, some seconds after the run. */
#define LOG_EVENTS 16384u
#define SLEEPERS   40

static uint size_us = 50;
module_param(size_us, uint, 0444);

/* By their numbers in section_rig.py. */
enum kind {
	FIXED,
	NESTED,
	SLEEPS,
	EXITS,
	CROSSED,
	TWO,
	MANY,
	MARKED,
	MIXED,
	WAITS,
	COUNTED,
	LOOPS,
	KINDS
};

/* Why an execution of kind mixed takes longer; by their numbers in section_rig.py. */
enum reason {
	NOTHING,
	INTERRUPT,
	PREEMPTED,
	ASLEEP,
	LOCK,
	FAULT,
	SLOW_FAULT,
	LONGER,
	SPIN,
	REASONS
};

/* A bit for each kind: those that are made now. */
static uint active;
module_param(active, uint, 0644);

/* Whether a loop begins in the middle of a run, and not before it. */
static uint later;
module_param(later, uint, 0644);

static const char *const names[KINDS] = {"fixed", "nested", "sleeps", "exits", "crossed", "two",
					 "many",  "marked", "mixed",  "waits", "counted", "loops"};

struct execution {
	u64 begin_ns;
	u64 end_ns;
	u32 pid;
	u16 begin_cpu;
	u16 end_cpu;
	enum reason reason;
	u64 wait_begin_ns;
	u64 wait_end_ns;
	u32 rounds;
};

static struct execution *events[KINDS];
static atomic_t counts[KINDS];

/* An execution that is planned; `inner` more begin in it, each in the one that precedes it. */
struct call {
	enum kind kind;
	u64 size_ns;
	unsigned int inner;
	struct execution *event;
	enum reason reason;
	/* As the log has it: of one that waits before it begins. */
	u64 wait_begin_ns;
	u64 wait_end_ns;
	u32 rounds;
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

/* ---------------------------------------------------------------- mixed */

/* Loops of an execution, and of what makes one longer: some times as much. */
#define OWN_LOOPS  10000u
#define MORE_LOOPS 40000u
/* Of who has the CPU, or the lock, which are quicker. */
#define OTHER_LOOPS 150000u
/* When the timer comes, from before the beginning on. */
#define TIMER_NS 20000
/* Pages that are touched, of a mapping that has them for all executions. */
#define FAULTS 24u
#define PAGES  65536u

static struct mm_struct *mapping_mm;
/* Shared memory, and of a file each of whose pages takes a while. */
static unsigned long mapping, slow_mapping, next_page, next_slow;
static struct hrtimer mixed_timer;
static enum reason timer_reason;
static struct task_struct *rival, *holder;
static DEFINE_MUTEX(held);
/* Of one that waits for a spinlock, and is the first, no tracepoint tells. */
static DEFINE_SPINLOCK(spun);
static enum reason asked;
static unsigned int held_loops = OTHER_LOOPS;
static bool is_held, is_spinning;

/* work - so many instructions, which no time ends */
static noinline void work(unsigned int loops)
{
	for (unsigned int i = 0; i < loops; i++) {
		barrier();
		/* This kernel preempts nowhere else. */
		if (i % 1024 == 0 && !in_interrupt())
			cond_resched();
	}
}

/* executions_longer - the longer path */
static noinline void executions_longer(void)
{
	work(MORE_LOOPS);
	/* Its frame is there until then. */
	barrier();
}

static enum hrtimer_restart mixed_timer_comes(struct hrtimer *timer)
{
	if (timer_reason == INTERRUPT)
		work(MORE_LOOPS);
	else
		wake_up_process(rival);
	return HRTIMER_NORESTART;
}

/* rivals - has the CPU of the thread for a while, when it is woken */
static int rivals(void *unused)
{
	for (;;) {
		set_current_state(TASK_IDLE);
		schedule();
		for (unsigned int i = 0; i < OTHER_LOOPS; i++)
			barrier();
	}
	return 0;
}

/* is_pending - whether a CPU waits for the spinlock; true where locks do not tell */
static bool is_pending(void)
{
	/* On x86 a guest has no queue, and its emulator turns to the other CPU where one waits. */
#if defined(CONFIG_QUEUED_SPINLOCKS) && !defined(CONFIG_X86)
	return atomic_read(&spun.rlock.raw_lock.val) & _Q_PENDING_MASK;
#else
	return true;
#endif
}

/* is_wanted - whether anyone waits for the lock, spinning or asleep */
static bool is_wanted(enum reason reason)
{
	if (reason == SPIN)
		return READ_ONCE(is_spinning) && is_pending();
	return osq_is_locked(&held.osq) || atomic_long_read(&held.owner) & 1;
}

static void hold(enum reason reason)
{
	if (reason == SPIN)
		spin_lock(&spun);
	else
		mutex_lock(&held);
	smp_store_release(&is_held, true);
	while (!is_wanted(reason))
		cpu_relax();
	for (unsigned int i = 0; i < held_loops; i++)
		barrier();
	if (reason == SPIN)
		spin_unlock(&spun);
	else
		mutex_unlock(&held);
}

/* holds - takes a lock when asked to, and has it for a while after it is waited for: CPUs of an
 * emulator take turns */
static int holds(void *unused)
{
	for (;;) {
		set_current_state(TASK_IDLE);
		if (!READ_ONCE(asked)) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		hold(xchg(&asked, NOTHING));
	}
	return 0;
}

static void touch(unsigned long from, unsigned long page)
{
	if (put_user(1, (char __user *)(from + page % PAGES * PAGE_SIZE)))
		pr_err("executions: no page\n");
}

/* slow_fault - a page as if from a disk */
static vm_fault_t slow_fault(struct vm_fault *fault)
{
	usleep_range(500, 510);
	fault->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	return fault->page ? 0 : VM_FAULT_OOM;
}

static const struct vm_operations_struct slow_operations = {.fault = slow_fault};

static int slow_mmap(struct file *file, struct vm_area_struct *area)
{
	area->vm_ops = &slow_operations;
	return 0;
}

static const struct file_operations slow_file = {.owner = THIS_MODULE, .mmap = slow_mmap};

/* prepare - what must have begun before the execution that takes longer for it */
static void prepare(enum reason reason)
{
	timer_reason = reason;
	if (reason == INTERRUPT || reason == PREEMPTED)
		hrtimer_start(&mixed_timer, ns_to_ktime(ktime_get_ns() + TIMER_NS),
			      HRTIMER_MODE_ABS_PINNED_HARD);
	if (reason != LOCK && reason != SPIN)
		return;
	is_held = is_spinning = false;
	WRITE_ONCE(asked, reason);
	wake_up_process(holder);
	while (!smp_load_acquire(&is_held))
		cond_resched();
}

static void mixed_call(enum reason reason)
{
	work(OWN_LOOPS);
	switch (reason) {
	case ASLEEP:
		usleep_range(500, 510);
		break;
	case LOCK:
		mutex_lock(&held);
		mutex_unlock(&held);
		break;
	case SPIN:
		WRITE_ONCE(is_spinning, true);
		spin_lock(&spun);
		spin_unlock(&spun);
		break;
	case FAULT:
		for (unsigned int i = 0; i < FAULTS; i++)
			touch(mapping, next_page++);
		break;
	case SLOW_FAULT:
		touch(slow_mapping, next_slow++);
		break;
	case LONGER:
		executions_longer();
		break;
	default:
		break;
	}
}

/* ---------------------------------------------------------------- waits */

/* wait_for_lock - wait for the lock, which another thread holds, and log when */
static void wait_for_lock(u64 *begin_ns, u64 *end_ns)
{
	*begin_ns = ktime_get_ns();
	mutex_lock(&held);
	*end_ns = ktime_get_ns();
	mutex_unlock(&held);
}

/* ---------------------------------------------------------------- counted */

/* executions_counted - as the kernel's bpf_fentry_test1(), which probes measure as an empty
 * section, but for two instructions each round */
static noinline __attribute__((noipa)) int executions_counted(int number, unsigned long rounds)
{
#if defined(__aarch64__)
	asm volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds)::"cc");
#endif
	return number + 1;
}

/* ---------------------------------------------------------------- all */

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
	if (call->kind == MIXED)
		mixed_call(call->reason);
	else if (call->kind == COUNTED)
		executions_counted(1, call->rounds);
	else if (call->kind == WAITS && !call->wait_end_ns)
		wait_for_lock(&event->wait_begin_ns, &event->wait_end_ns);
	else if (call->kind == SLEEPS || call->kind == MANY)
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
	*call.event = (struct execution){.pid = current->pid,
					 .reason = call.reason,
					 .wait_begin_ns = call.wait_begin_ns,
					 .wait_end_ns = call.wait_end_ns,
					 .rounds = call.rounds};
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

/* mixed - executions of which every third takes longer, for a reason after the other */
static int mixed(void *unused)
{
	unsigned int number = 0;

	hrtimer_init(&mixed_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	mixed_timer.function = mixed_timer_comes;
	kthread_use_mm(mapping_mm);
	for (;;) {
		struct call call = {.kind = MIXED};

		wait_turn(MIXED, 1);
		if (number % 3 == 0)
			call.reason = 1 + number / 3 % (REASONS - 1);
		number++;
		prepare(call.reason);
		begin_call(call);
		hrtimer_cancel(&mixed_timer);
	}
	return 0;
}

/* waits - executions that wait for a lock, and that come after such a wait, by turns */
static int waits(void *unused)
{
	unsigned int number = 0;

	for (;;) {
		struct call call = {.kind = WAITS, .size_ns = size_us * NSEC_PER_USEC};

		wait_turn(WAITS, 1);
		held_loops = OTHER_LOOPS / 4 * (1 + number / 2 % 4);
		prepare(LOCK);
		if (number++ % 2)
			wait_for_lock(&call.wait_begin_ns, &call.wait_end_ns);
		begin_call(call);
	}
	return 0;
}

/* counted - executions of as many instructions as it is told */
static int counted(void *unused)
{
	unsigned int number = 0;

	for (;;) {
		wait_turn(COUNTED, 1);
		begin_call((struct call){.kind = COUNTED, .rounds = 1 + number++ % 10 * 100});
	}
	return 0;
}

/* Calls between two looks at whether it goes on; and those by which hooks are seen. */
#define LOOP_CALLS 1024u
#define LOOK_CALLS 8u
/* A call takes a few ns, and with hooks many times as long. */
#define HOOKED_NS 200

static bool is_hooked(void)
{
	u64 began_ns, took_ns;

	local_irq_disable();
	began_ns = ktime_get_ns();
	for (unsigned int i = 0; i < LOOK_CALLS; i++)
		noop_fsync(NULL, 0, 0, 0);
	took_ns = ktime_get_ns() - began_ns;
	local_irq_enable();
	return took_ns > LOOK_CALLS * HOOKED_NS;
}

/* wait_for_run - a few calls each millisecond, until hooks have been tried and are there again */
static void wait_for_run(void)
{
	for (int changes = 0; changes < 3; wait_turn(LOOPS, 1))
		changes += is_hooked() == (changes != 1);
}

/* loops - calls of the kernel's own noop_fsync(), which nothing else here calls, without a pause;
 * the log has how many of each time that it is active */
static int loops(void *unused)
{
	for (;;) {
		struct execution *event;

		wait_turn(LOOPS, 1);
		if (later)
			wait_for_run();
		event = &events[LOOPS][(atomic_inc_return(&counts[LOOPS]) - 1) % LOG_EVENTS];
		*event = (struct execution){.pid = current->pid, .begin_ns = ktime_get_ns()};
		while (READ_ONCE(active) >> LOOPS & 1) {
			for (unsigned int i = 0; i < LOOP_CALLS; i++)
				noop_fsync(NULL, 0, 0, 0);
			event->rounds += LOOP_CALLS;
			event->end_ns = ktime_get_ns();
			/* The kernel removes hooks once each thread has been here. */
			cond_resched_tasks_rcu_qs();
		}
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

		seq_printf(file, "%u %llu %llu %u %u %u %llu %llu %u\n", event->pid,
			   event->begin_ns, event->end_ns, event->begin_cpu, event->end_cpu,
			   event->reason, event->wait_begin_ns, event->wait_end_ns, event->rounds);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

static struct task_struct *start(int (*run)(void *), enum kind kind, const char *name,
				 unsigned int cpu)
{
	struct task_struct *task;

	/* Of some kinds there are none on a board with one CPU. */
	if (num_online_cpus() < 2 && (kind == SLEEPS || kind == CROSSED || kind == TWO ||
				      kind == MIXED || kind == WAITS || kind == LOOPS))
		return NULL;
	task = kthread_create(run, (void *)(uintptr_t)kind, "%s", name);
	if (IS_ERR(task))
		return NULL;
	cpu %= num_online_cpus();
	kthread_bind(task, cpu);
	if (kind == CROSSED)
		crossed_task = task;
	/* Later set_cpus_allowed_ptr() is refused for a thread that was bound. */
	if (kind == SLEEPS)
		task->flags &= ~PF_NO_SETAFFINITY;
	wake_up_process(task);
	return task;
}

/* start_mixed - what is mapped, of which no page is there, is in the address space of insmod: that
 * is kept */
static void start_mixed(void)
{
	struct file *file = anon_inode_getfile("slow", &slow_file, NULL, O_RDWR);

	if (IS_ERR(file))
		return;
	slow_mapping = vm_mmap(file, 0, PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	fput(file);
	mapping = vm_mmap(NULL, 0, PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, 0);
	mapping_mm = get_task_mm(current);
	if (IS_ERR_VALUE(mapping) || IS_ERR_VALUE(slow_mapping) || !mapping_mm)
		return;
	rival = start(rivals, MIXED, "rival", 0);
	holder = start(holds, MIXED, "holder", 1);
	if (!rival || !holder)
		return;
	sched_set_fifo(rival);
	start(mixed, MIXED, "mixed", 0);
	start(waits, WAITS, "waits", 0);
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
	start(counted, COUNTED, "counted", 0);
	start(loops, LOOPS, "loops", 1);
	start(crossed, CROSSED, "crossed", 1);
	start(exits, EXITS, "exits_starter", 1);
	for (int i = 0; i < SLEEPERS; i++)
		start(of_kind, MANY, "many", i % 2);
	start_mixed();
	return 0;
}

/* There is no exit: it goes on until the board is off. */
module_init(executions_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Executions that are known, for tests of whylate");
