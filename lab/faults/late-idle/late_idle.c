// SPDX-License-Identifier: GPL-2.0
/*
 * An idle state that takes size_us to leave: a cpuidle driver whose deep state polls for a pending
 * interrupt with interrupts off, as MWAIT waits for one, and then takes its time to come back.
 * Whoever holds /dev/cpu_dma_latency below size_us is kept out of it, as on hardware.
 */
#include <asm/apic.h>
#include <linux/cpuidle.h>

#include "fault_module.h"

static uint one_in = 1;
module_param(one_in, uint, 0444);

static bool pending(void)
{
	int i;

	for (i = 0; i < 8; i++)
		if (apic_read(APIC_IRR + i * 0x10))
			return true;
	return false;
}

static __cpuidle int shallow(struct cpuidle_device *device, struct cpuidle_driver *driver,
			     int index)
{
	raw_safe_halt();
	raw_local_irq_disable();
	return index;
}

static __cpuidle int deep(struct cpuidle_device *device, struct cpuidle_driver *driver, int index)
{
	static unsigned int left;
	u64 start_ns;

	while (!need_resched() && !pending())
		cpu_relax();
	start_ns = ktime_get_ns();
	if (smp_processor_id() == cpu && ++left % one_in == 0)
		fault_log(start_ns, fault_spin(start_ns + fault_size_ns()), cpu);
	return index;
}

static struct cpuidle_driver driver = {
    .name = KBUILD_MODNAME,
    /* No owner: the devices would hold the module, which is what takes them away again. */
    .states =
	{
	    {.enter = shallow, .name = "halt", .desc = "halt"},
	    {.enter = deep, .name = "deep", .desc = "late", .target_residency = 2},
	},
    .state_count = 2,
};

static int __init late_idle_init(void)
{
	int error;

	if (!size_us || !one_in || cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	fault_events = vzalloc(FAULT_EVENTS * sizeof(*fault_events));
	if (!fault_events)
		return -ENOMEM;
	driver.states[1].exit_latency = size_us;
	error = cpuidle_register(&driver, NULL);
	if (error) {
		pr_err(KBUILD_MODNAME ": the board has a driver for idle states already\n");
		vfree(fault_events);
		return error;
	}
	fault_file = debugfs_create_file(KBUILD_MODNAME, 0444, NULL, NULL, &fault_fops);
	return 0;
}

static void __exit late_idle_exit(void)
{
	cpuidle_unregister(&driver);
	debugfs_remove(fault_file);
	vfree(fault_events);
}

module_init(late_idle_init);
module_exit(late_idle_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("An injected fault of latency, for tests of whylate");
