// SPDX-License-Identifier: GPL-2.0
/* An interrupt that cannot be masked (NMI), whose handler takes size_us. */
#include <asm/apic.h>
#include <asm/nmi.h>

#include "fault_module_beside.h"

static int handler(unsigned int type, struct pt_regs *regs) FAULT_NAMED("_f");

static int armed;

static int handler(unsigned int type, struct pt_regs *regs)
{
	u64 start_ns, now_ns;

	if (!READ_ONCE(armed) || smp_processor_id() != cpu)
		return NMI_DONE;
	WRITE_ONCE(armed, 0);
	/* The clock that can be read anywhere. */
	start_ns = ktime_get_mono_fast_ns();
	do {
		cpu_relax();
		now_ns = ktime_get_mono_fast_ns();
	} while (now_ns < start_ns + fault_size_ns());
	fault_log(start_ns, now_ns, cpu);
	return NMI_HANDLED;
}

static void act(void)
{
	fault_beside();
	WRITE_ONCE(armed, 1);
	apic->send_IPI(cpu, NMI_VECTOR);
}

static int begin(void)
{
	int error = fault_beside_start();

	if (error)
		return error;
	error = register_nmi_handler(NMI_LOCAL, handler, 0, KBUILD_MODNAME);
	if (error)
		fault_beside_stop();
	return error;
}

static void end(void)
{
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
	fault_beside_stop();
}

FAULT_THREAD(act, begin, end);
