// SPDX-License-Identifier: MIT
#include "bpf_sources.h"

#include "bpf/programs.h"
#include "bpf_maps.h"
#include "engine.h"

#define VECTOR(name)                                                                               \
	{"irq_vectors:" name "_exit", PROGRAM_VECTOR_EXIT, false, false},                          \
	{                                                                                          \
		"irq_vectors:" name "_entry", PROGRAM_VECTOR_ENTRY, false, false                   \
	}

/* They are attached in this order: exits first, so that no entry is without its exit. */
const struct bpf_source bpf_sources[] = {
    {"irq:irq_handler_exit", PROGRAM_IRQ_EXIT, false, false},
    {"irq:irq_handler_entry", PROGRAM_IRQ_ENTRY, false, false},
    {"irq:softirq_exit", PROGRAM_SOFTIRQ_EXIT, false, false},
    {"irq:softirq_entry", PROGRAM_SOFTIRQ_ENTRY, false, false},
    {"irq:softirq_raise", PROGRAM_SOFTIRQ_RAISE, false, false},
    {"ipi:ipi_exit", PROGRAM_IPI_EXIT, false, false},
    {"ipi:ipi_entry", PROGRAM_IPI_ENTRY, false, false},
    VECTOR("local_timer"),
    VECTOR("reschedule"),
    VECTOR("call_function"),
    VECTOR("call_function_single"),
    {"irq_vectors:irq_work_exit", PROGRAM_VECTOR_EXIT, false, false},
    {"irq_vectors:irq_work_entry", PROGRAM_IRQ_WORK_ENTRY, false, false},
    /* A kernel whose symbols lack the lists (CONFIG_KALLSYMS_ALL) refuses the former. */
    {"irq_vectors:irq_work_entry", PROGRAM_VECTOR_ENTRY, false, true},
    VECTOR("thermal_apic"),
    VECTOR("deferred_error_apic"),
    VECTOR("threshold_apic"),
    VECTOR("error_apic"),
    VECTOR("spurious_apic"),
    VECTOR("x86_platform_ipi"),
    {"nmi:nmi_handler", PROGRAM_NMI, false, false},
    {"timer:hrtimer_expire_exit", PROGRAM_TIMER_EXIT, false, false},
    {"timer:hrtimer_expire_entry", PROGRAM_TIMER_ENTRY, false, false},
    {"timer:timer_expire_exit", PROGRAM_DEFERRED_EXIT, false, false},
    {"timer:timer_expire_entry", PROGRAM_TIMER_LIST_ENTRY, false, false},
    {"workqueue:workqueue_execute_end", PROGRAM_DEFERRED_EXIT, false, false},
    {"workqueue:workqueue_execute_start", PROGRAM_WORK_ENTRY, false, false},
    {"irq:tasklet_exit", PROGRAM_DEFERRED_EXIT, false, false},
    {"irq:tasklet_entry", PROGRAM_TASKLET_ENTRY, false, false},
    {"rcu:rcu_batch_end", PROGRAM_RCU_BATCH_END, false, false},
    {"rcu:rcu_invoke_callback", PROGRAM_RCU_CALLBACK, false, false},
    {"rcu:rcu_invoke_kvfree_callback", PROGRAM_RCU_FREES, false, false},
    {"rcu:rcu_invoke_kfree_bulk_callback", PROGRAM_RCU_FREES, false, false},
    {"lock:contention_end", PROGRAM_LOCK_END, false, false},
    {"lock:contention_begin", PROGRAM_LOCK_BEGIN, false, false},
    {"power:cpu_idle", PROGRAM_IDLE, false, false},
    {"csd:csd_function_exit", PROGRAM_CALL_EXIT, false, false},
    {"csd:csd_function_entry", PROGRAM_CALL_ENTRY, false, false},
    {"ipi:ipi_send_cpumask", PROGRAM_IPI_SEND_MASK, false, false},
    {"ipi:ipi_send_cpu", PROGRAM_IPI_SEND, false, false},
    {"ipi:ipi_raise", PROGRAM_IPI_RAISE, false, true},
    {"exceptions:page_fault_user", PROGRAM_FAULT, false, false},
    {"sched:sched_pi_setprio", PROGRAM_INHERIT, false, false},
    {"sched:sched_migrate_task", PROGRAM_MIGRATE, false, false},
    {"sched:sched_waking", PROGRAM_WAKING, true, false},
    {"sched:sched_switch", PROGRAM_SWITCH_THREADS, true, false},
};

const size_t bpf_source_count = sizeof(bpf_sources) / sizeof(bpf_sources[0]);
_Static_assert(sizeof(bpf_sources) / sizeof(bpf_sources[0]) <= RECORDER_SOURCES, "one each");

_Static_assert(PROGRAMS <= PROGRAMS_MOST, "the engine has room for them");

const int bpf_hook_entry = PROGRAM_HOOK_ENTRY;
const int bpf_hook_return = PROGRAM_HOOK_RETURN;
const struct bpf_program *const bpf_programs = programs;
const size_t bpf_program_count = PROGRAMS;
const void *const bpf_btf = program_btf;
const size_t bpf_btf_size = PROGRAM_BTF_SIZE;
