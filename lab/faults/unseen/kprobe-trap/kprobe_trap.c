// SPDX-License-Identifier: GPL-2.0
/*
 * A probe on an instruction of the kernel (kprobe) that takes size_us in the breakpoint's
 * exception, with interrupts off.
 */
#include <linux/kprobes.h>

#include "fault_module_beside.h"

static int handler(struct kprobe *probe, struct pt_regs *regs) FAULT_NAMED("_f");
static void probed(void) FAULT_NAMED("_p");
extern char point[] FAULT_NAMED("_q");

static void behind(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static int handler(struct kprobe *probe, struct pt_regs *regs)
{
	u64 start_ns = ktime_get_ns();

	fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), smp_processor_id());
	return 0;
}

/* With a handler behind the instruction the breakpoint is never replaced by a jump. */
static struct kprobe probe = {.pre_handler = handler, .post_handler = behind};

/* probed - the probe is not at its begin, where it would be a call instead of a breakpoint */
static noinline void probed(void)
{
	asm volatile("nop\n" KBUILD_MODNAME "_q: nop\n" ::: "memory");
}

static void act(void)
{
	fault_beside();
	probed();
}

static int begin(void)
{
	int error = fault_beside_start();

	if (error)
		return error;
	probe.addr = (kprobe_opcode_t *)point;
	error = register_kprobe(&probe);
	if (error)
		fault_beside_stop();
	return error;
}

static void end(void)
{
	unregister_kprobe(&probe);
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
