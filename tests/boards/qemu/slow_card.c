// SPDX-License-Identifier: GPL-2.0
/*
 * The handler of a virtio network card's receive interrupt takes SIZE_NS, once in PERIOD_NS.
 *
 * By a kprobe on the driver's own callback, which the interrupt's handler calls: whatever the
 * interrupt is called, no other device's takes longer.
 */
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/module.h>

/* Longer than most of what a busy host does to a virtual board. */
#define SIZE_NS	  (40 * NSEC_PER_MSEC)
#define PERIOD_NS (160 * NSEC_PER_MSEC)

static u64 slow_next_ns;

static int slow(struct kprobe *probe, struct pt_regs *regs)
{
	u64 now_ns = ktime_get_ns();

	if (now_ns < slow_next_ns)
		return 0;
	slow_next_ns = now_ns + PERIOD_NS;
	while (ktime_get_ns() < now_ns + SIZE_NS)
		cpu_relax();
	return 0;
}

static struct kprobe slow_probe = {.symbol_name = "skb_recv_done", .pre_handler = slow};

static int __init slow_start(void)
{
	return register_kprobe(&slow_probe);
}

static void __exit slow_end(void)
{
	unregister_kprobe(&slow_probe);
}

module_init(slow_start);
module_exit(slow_end);
MODULE_LICENSE("GPL");
