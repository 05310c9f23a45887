// SPDX-License-Identifier: GPL-2.0
/*
 * A watched variable: the processor's debug registers raise an exception when it is written, and
 * the function that is called then takes size_us.
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "fault_module_beside.h"

static void slow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
    FAULT_NAMED("_f");

static struct perf_event * __percpu * watch;
static u32 watched __aligned(8);

static void slow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	u64 start_ns = ktime_get_mono_fast_ns(), now_ns;

	do {
		cpu_relax();
		now_ns = ktime_get_mono_fast_ns();
	} while (now_ns < start_ns + fault_size_ns());
	fault_log(start_ns, now_ns, smp_processor_id());
}

static void act(void)
{
	fault_beside();
	WRITE_ONCE(watched, watched + 1);
}

static int begin(void)
{
	struct perf_event_attr attr;
	int error = fault_beside_start();

	if (error)
		return error;
	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&watched;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_type = HW_BREAKPOINT_W;
	watch = register_wide_hw_breakpoint(&attr, slow, NULL);
	if (IS_ERR((void __force *)watch)) {
		fault_beside_stop();
		return PTR_ERR((void __force *)watch);
	}
	return 0;
}

static void end(void)
{
	unregister_wide_hw_breakpoint(watch);
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
