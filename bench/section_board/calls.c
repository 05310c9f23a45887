// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel module that calls a function so many times, and knows how long each execution took.
 *
 * The function is the kernel's own srcu_notifier_call_chain(), which nothing else on a virtual
 * board calls: modules have no BTF there, so fentry cannot be set on theirs. It calls act(), which
 * reads the clock first and last, and spins in between. Interrupts are disabled in each call, so
 * that nothing but its hooks is in it.
 *
 * In debugfs:
 *
 *	calls/run	write CALLS LOOPS STEP INNER: so many calls; the first spins LOOPS rounds,
 *			and each further call STEP more; INNER more executions begin in each call,
 *			each in the one that precedes it
 *	calls/log	CALL_NS BEGIN_NS END_NS of each execution, or of the newest, in order of
 *			BEGIN_NS; CALL_NS: from before the call to after it
 *	calls/batch	how long all of it took, ns, interrupts between the calls among it
 */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define MOST_EXECUTIONS 16384u

struct execution {
	u64 call_ns;
	u64 begin_ns;
	u64 end_ns;
};

/* A call that is planned. */
struct call {
	unsigned long loops;
	unsigned int inner;
	struct execution *execution;
};

static struct execution *executions;
static unsigned int count;
static u64 batch_ns;
static struct srcu_notifier_head chain;
static DEFINE_MUTEX(batch);

/* spin - two instructions a round, whoever compiles it */
static void spin(unsigned long loops)
{
	if (loops)
		asm volatile("1: dec %0\n\tjnz 1b" : "+r"(loops)::"cc");
}

static void begin_call(unsigned long loops, unsigned int inner);

static noinline int act(struct notifier_block *block, unsigned long value, void *data)
{
	struct call *call = data;

	call->execution->begin_ns = ktime_get_ns();
	spin(call->loops);
	if (call->inner) {
		begin_call(call->loops, call->inner - 1);
		spin(call->loops);
	}
	call->execution->end_ns = ktime_get_ns();
	return NOTIFY_OK;
}

static struct notifier_block block = {.notifier_call = act};

/* begin_call - make an execution */
static void begin_call(unsigned long loops, unsigned int inner)
{
	struct call call = {loops, inner, &executions[count++ % MOST_EXECUTIONS]};
	u64 before_ns = ktime_get_ns();

	srcu_notifier_call_chain(&chain, 0, &call);
	call.execution->call_ns = ktime_get_ns() - before_ns;
}

static void make_calls(unsigned int calls, unsigned long loops, unsigned long step,
		       unsigned int inner)
{
	u64 before_ns = ktime_get_ns();

	count = 0;
	for (unsigned int i = 0; i < calls; i++) {
		unsigned long flags;

		local_irq_save(flags);
		begin_call(loops + i * step, inner);
		local_irq_restore(flags);
		cond_resched();
	}
	batch_ns = ktime_get_ns() - before_ns;
}

static ssize_t run_write(struct file *file, const char __user *from, size_t size, loff_t *offset)
{
	unsigned int calls, inner;
	unsigned long loops, step;
	char text[80];

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, size))
		return -EFAULT;
	text[size] = 0;
	if (sscanf(text, "%u %lu %lu %u", &calls, &loops, &step, &inner) != 4 || !calls ||
	    inner > 30 || (inner && calls > MOST_EXECUTIONS / (inner + 1)))
		return -EINVAL;
	mutex_lock(&batch);
	make_calls(calls, loops, step, inner);
	mutex_unlock(&batch);
	return size;
}

static const struct file_operations run_fops = {.owner = THIS_MODULE, .write = run_write};

static int log_show(struct seq_file *file, void *unused)
{
	mutex_lock(&batch);
	for (unsigned int i = count > MOST_EXECUTIONS ? count - MOST_EXECUTIONS : 0; i < count;
	     i++) {
		const struct execution *execution = &executions[i % MOST_EXECUTIONS];

		seq_printf(file, "%llu %llu %llu\n", execution->call_ns, execution->begin_ns,
			   execution->end_ns);
	}
	mutex_unlock(&batch);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

static int __init calls_init(void)
{
	struct dentry *folder = debugfs_create_dir(KBUILD_MODNAME, NULL);

	executions = vzalloc(MOST_EXECUTIONS * sizeof(*executions));
	if (!executions)
		return -ENOMEM;
	srcu_init_notifier_head(&chain);
	srcu_notifier_chain_register(&chain, &block);
	debugfs_create_file("run", 0200, folder, NULL, &run_fops);
	debugfs_create_file("log", 0400, folder, NULL, &log_fops);
	debugfs_create_u64("batch", 0400, folder, &batch_ns);
	return 0;
}

/* There is no exit: it goes on until the board is off. */
module_init(calls_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Calls of a known length, for benchmarks of whylate");
