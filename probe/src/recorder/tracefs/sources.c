// SPDX-License-Identifier: MIT
#include "sources.h"

#include "recorder/event.h"

#define VECTOR(event, number)                                                                      \
	{.name = "irq_vectors:" event "_entry",                                                    \
	 .kind = EVENT_VECTOR_ENTRY,                                                               \
	 .vector = (number),                                                                       \
	 .where = SOURCE_ON_X86},                                                                  \
	{                                                                                          \
		.name = "irq_vectors:" event "_exit", .kind = EVENT_VECTOR_EXIT,                   \
		.vector = (number), .where = SOURCE_ON_X86                                         \
	}

const struct source sources[] = {
    {.name = "sched:sched_switch",
     .kind = EVENT_SWITCH,
     .fields = {{"prev_state", TARGET_STATE},
		{"prev_prio", TARGET_PRIO_PREV},
		{"next_prio", TARGET_PRIO_NEXT},
		{"prev_pid", TARGET_C},
		{"next_pid", TARGET_D},
		{"next_comm", TARGET_COMM}}},
    {.name = "sched:sched_waking",
     .kind = EVENT_WAKING,
     .fields = {{"prio", TARGET_A}, {"target_cpu", TARGET_B}, {"pid", TARGET_C}}},
    {.name = "sched:sched_migrate_task",
     .kind = EVENT_MIGRATE,
     .fields = {{"dest_cpu", TARGET_B}, {"pid", TARGET_C}}},
    {.name = "irq:irq_handler_entry", .kind = EVENT_IRQ_ENTRY, .fields = {{"irq", TARGET_C}}},
    {.name = "irq:irq_handler_exit", .kind = EVENT_IRQ_EXIT, .fields = {{"irq", TARGET_C}}},
    {.name = "irq:softirq_raise", .kind = EVENT_SOFTIRQ_RAISE, .fields = {{"vec", TARGET_A}}},
    {.name = "irq:softirq_entry", .kind = EVENT_SOFTIRQ_ENTRY, .fields = {{"vec", TARGET_A}}},
    {.name = "irq:softirq_exit", .kind = EVENT_SOFTIRQ_EXIT, .fields = {{"vec", TARGET_A}}},
    {.name = "timer:hrtimer_start",
     .kind = EVENT_TIMER_START,
     .only_watching = true,
     .fields = {{"softexpires", TARGET_E}, {"hrtimer", TARGET_F}}},
    {.name = "timer:hrtimer_expire_entry",
     .kind = EVENT_TIMER_ENTRY,
     .fields = {{"function", TARGET_E}, {"hrtimer", TARGET_F}}},
    {.name = "timer:hrtimer_expire_exit",
     .kind = EVENT_TIMER_EXIT,
     .fields = {{"hrtimer", TARGET_F}}},
    {.name = "timer:timer_expire_entry",
     .kind = EVENT_DEFERRED_ENTRY,
     .fields = {{"function", TARGET_E}, {"timer", TARGET_F}}},
    {.name = "timer:timer_expire_exit",
     .kind = EVENT_DEFERRED_EXIT,
     .fields = {{"timer", TARGET_F}}},
    {.name = "workqueue:workqueue_execute_start",
     .kind = EVENT_DEFERRED_ENTRY,
     .fields = {{"function", TARGET_E}, {"work", TARGET_F}}},
    {.name = "workqueue:workqueue_execute_end",
     .kind = EVENT_DEFERRED_EXIT,
     .fields = {{"work", TARGET_F}}},
    {.name = "irq:tasklet_entry",
     .kind = EVENT_DEFERRED_ENTRY,
     .fields = {{"func", TARGET_E}, {"tasklet", TARGET_F}}},
    {.name = "irq:tasklet_exit", .kind = EVENT_DEFERRED_EXIT, .fields = {{"tasklet", TARGET_F}}},
    {.name = "sched:sched_pi_setprio",
     .kind = EVENT_PRIO,
     .fields = {{"newprio", TARGET_A}, {"pid", TARGET_C}}},
    {.name = "lock:contention_begin",
     .kind = EVENT_LOCK_BEGIN,
     .fields = {{"flags", TARGET_A}, {"lock_addr", TARGET_E}}},
    {.name = "lock:contention_end", .kind = EVENT_LOCK_END, .fields = {{"lock_addr", TARGET_E}}},
    {.name = "power:cpu_idle", .kind = EVENT_IDLE_ENTRY, .fields = {{"state", TARGET_IDLE}}},
    {.name = "nmi:nmi_handler",
     .kind = EVENT_NMI,
     .fields = {{"delta_ns", TARGET_E}, {"handler", TARGET_F}}},
    {.name = "ipi:ipi_send_cpu",
     .kind = EVENT_IPI_SEND,
     .fields = {{"cpu", TARGET_B}, {"callback", TARGET_E}, {"callsite", TARGET_E_OR}}},
    {.name = "ipi:ipi_send_cpumask",
     .kind = EVENT_IPI_SEND,
     .fields = {{"cpumask", TARGET_MASK}, {"callback", TARGET_E}, {"callsite", TARGET_E_OR}}},
    {.name = "csd:csd_function_entry", .kind = EVENT_CALL_ENTRY, .fields = {{"func", TARGET_E}}},
    {.name = "csd:csd_function_exit", .kind = EVENT_CALL_EXIT, .fields = {{"func", TARGET_E}}},
    {.name = "exceptions:page_fault_user",
     .kind = EVENT_FAULT,
     .only_measured = true,
     .where = SOURCE_ON_X86,
     .fields = {{"common_pid", TARGET_PID}, {"address", TARGET_E}, {"ip", TARGET_F}}},
    VECTOR("local_timer", VECTOR_LOCAL_TIMER),
    VECTOR("reschedule", VECTOR_RESCHEDULE),
    VECTOR("call_function", VECTOR_CALL_FUNCTION),
    VECTOR("call_function_single", VECTOR_CALL_FUNCTION_SINGLE),
    VECTOR("irq_work", VECTOR_IRQ_WORK),
    VECTOR("thermal_apic", VECTOR_THERMAL),
    VECTOR("deferred_error_apic", VECTOR_DEFERRED_ERROR),
    VECTOR("threshold_apic", VECTOR_THRESHOLD),
    VECTOR("error_apic", VECTOR_ERROR),
    VECTOR("spurious_apic", VECTOR_SPURIOUS),
    VECTOR("x86_platform_ipi", VECTOR_PLATFORM_IPI),
    {.name = "ipi:ipi_raise",
     .where = SOURCE_NOT_ON_X86,
     .kind = EVENT_IPI_SEND,
     .fields = {{"target_cpus", TARGET_MASK}, {"reason", TARGET_REASON}}},
    {.name = "ipi:ipi_entry",
     .where = SOURCE_NOT_ON_X86,
     .kind = EVENT_VECTOR_ENTRY,
     .fields = {{"reason", TARGET_REASON}}},
    {.name = "ipi:ipi_exit",
     .where = SOURCE_NOT_ON_X86,
     .kind = EVENT_VECTOR_EXIT,
     .fields = {{"reason", TARGET_REASON}}},
};
const size_t source_count = sizeof(sources) / sizeof(*sources);

bool source_is_for_us(const struct source *source)
{
#if defined(__x86_64__) || defined(__i386__)
	return source->where != SOURCE_NOT_ON_X86;
#else
	return source->where != SOURCE_ON_X86;
#endif
}
