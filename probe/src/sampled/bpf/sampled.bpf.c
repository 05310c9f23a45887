// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The program of the samples: it runs in the interrupt of a CPU's timer, which is set for the
 * points of a grid in time, and keeps what tells that interrupts or preemption were disabled there.
 */
#include "bpf/kernel.h"
#include "bpf/counted.h"
#include "layout.h"

/* A map of struct sampled_cpu. */
char sampled_cpus SECTION("maps");
const volatile struct sampled_config sampling SECTION(".rodata") = {};

/* Of arm64 and riscv64; x86 has the count in a variable of each CPU. */
struct thread_info___counting {
	__u64 preempt_count;
} KERNEL;

static void *(*const bpf_get_current_task)(void) = (void *)35;
static long (*const bpf_get_current_comm)(void *to, __u32 size) = (void *)16;

/* In assembly: the verifier permits only constant offsets of the context. They are those of
 * user_pt_regs of arm64, of user_regs_struct of riscv64, and of pt_regs of x86. */
ALWAYS_INLINE __u64 sampled_address(void *context)
{
	__u64 value;

	if (sampling.machine == SAMPLED_ARM64)
		__asm__ volatile("%0 = *(u64 *)(%1 + 256)" : "=r"(value) : "r"(context));
	else if (sampling.machine == SAMPLED_RISCV)
		__asm__ volatile("%0 = *(u64 *)(%1 + 0)" : "=r"(value) : "r"(context));
	else
		__asm__ volatile("%0 = *(u64 *)(%1 + 128)" : "=r"(value) : "r"(context));
	return value;
}

/* may_enable - whether the instruction before may have enabled interrupts; the probe looks closer.
 * On x86 interrupts come one instruction after sti, which has 1 to 11 bytes mostly. */
ALWAYS_INLINE bool may_enable(const __u8 *code)
{
	bool may = 0;

	if (sampling.machine == SAMPLED_ARM64) {
#pragma clang loop unroll(full)
		for (__u32 i = 0; i < SAMPLED_CODE; i += 4) {
			__u32 word = *(const __u32 *)(code + i);

			/* msr daifclr, #n; msr daif, x; msr icc_pmr_el1, x */
			may |= (word & 0xFFFFF0FF) == 0xD50340FF ||
			       (word & 0xFFFFFFE0) == 0xD51B4220 ||
			       (word & 0xFFFFFFE0) == 0xD5184600;
		}
		return may;
	}
	if (sampling.machine == SAMPLED_RISCV) {
		__u32 word = *(const __u32 *)(code + SAMPLED_CODE - 4);

		/* csrsi sstatus, 2; csrs sstatus, x */
		return word == 0x10016073 || (word & 0xFFF07FFF) == 0x10002073;
	}
	may = code[SAMPLED_CODE - 1] == 0x9D;
#pragma clang loop unroll(full)
	for (__u32 i = 2; i < SAMPLED_CODE - 1; i++)
		may |= code[i] == 0xFB;
	return may;
}

/* disabled_count - the kernel's count of what disables preemption on this CPU, without the levels
 * of interrupts */
ALWAYS_INLINE __u32 disabled_count(const struct sampled_cpu *cpu)
{
	struct thread_info___counting *task = bpf_get_current_task();
	__u32 count = 0;

	if (cpu->count_address)
		bpf_probe_read_kernel(&count, sizeof(count), (void *)cpu->count_address);
	else if (kernel_has(task->preempt_count))
		bpf_probe_read_kernel(&count, sizeof(count),
				      (char *)task + kernel_offset(task->preempt_count));
	return count & 0xFF;
}

/* The kernel sets the timer to the next point of the grid after the program has run: until then it
 * has the point for which the interrupt was due. */
SECTION("raw_tp/hrtimer_expire_entry") int expiry(__u64 *context)
{
	const struct hrtimer *timer = (const void *)context[0];
	__u32 here = bpf_get_smp_processor_id();
	struct sampled_cpu *cpu = bpf_map_lookup_elem(&sampled_cpus, &here);

	if (!cpu)
		return 0;
	bpf_probe_read_kernel(&cpu->due_ns, sizeof(cpu->due_ns),
			      (const char *)timer + kernel_offset(timer->_softexpires));
	if (sampling.counters && cpu->purpose == SAMPLED_INTERRUPTS) {
		__u64 now = bpf_ktime_get_ns();

		/* Interrupts are enabled: its own came in time. Those that came with a late one
		 * and were due before the sample are late, too. */
		if (now <= cpu->due_ns + cpu->limit_ns)
			read_counted(&cpu->counted, sampling.counters, now);
	}
	return 0;
}

SECTION("perf_event/sample") int sample(void *context)
{
	__u64 now = bpf_ktime_get_ns(), address = sampled_address(context), late_ns, number;
	__u32 here = bpf_get_smp_processor_id(), flags = 0, count = 0;
	struct sampled_cpu *cpu = bpf_map_lookup_elem(&sampled_cpus, &here);
	__u8 code[SAMPLED_CODE] = {0};
	struct counted since = {}, before;
	struct sampled_row *row;

	if (!cpu)
		return 0;
	cpu->samples++;
	if (sampling.counters) {
		read_counted(&since, sampling.counters, now);
		before = cpu->counted;
		cpu->counted = since;
		take_counted(&since, &before);
	}
	late_ns = now > cpu->due_ns ? now - cpu->due_ns : 0;
	if (late_ns > cpu->limit_ns)
		flags |= SAMPLED_LATE;
	if (!(address >> 63))
		flags |= SAMPLED_USER;
	else if (cpu->purpose == SAMPLED_INTERRUPTS &&
		 !bpf_probe_read_kernel(code, sizeof(code), (void *)(address - SAMPLED_CODE)) &&
		 may_enable(code))
		flags |= SAMPLED_CANDIDATE;
	if (cpu->purpose != SAMPLED_INTERRUPTS)
		count = disabled_count(cpu);
	if (cpu->purpose == SAMPLED_PREEMPTION && !(flags & SAMPLED_USER) &&
	    count != cpu->count_base)
		flags |= SAMPLED_COUNTED;
	if (cpu->purpose != SAMPLED_CALIBRATE &&
	    !(flags & (SAMPLED_LATE | SAMPLED_CANDIDATE | SAMPLED_COUNTED)))
		return 0;
	number = cpu->written;
	if (number - *(volatile __u64 *)&cpu->read >= SAMPLED_ROWS) {
		cpu->lost++;
		return 0;
	}
	row = &cpu->rows[number % SAMPLED_ROWS];
	row->time_ns = now;
	row->late_ns = late_ns;
	row->due_ns = cpu->due_ns;
	row->address = address;
	row->pid = bpf_get_current_pid_tgid();
	row->flags = flags;
	row->count = count;
	bpf_get_current_comm(row->comm, sizeof(row->comm));
	__builtin_memcpy(row->code, code, sizeof(code));
	row->counted = since;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < SAMPLED_CALLERS; i++)
		row->callers[i] = 0;
	if (cpu->purpose != SAMPLED_CALIBRATE && !(flags & SAMPLED_USER))
		bpf_get_stack(context, row->callers, sizeof(row->callers), 0);
	/* No other program writes here: the timer's interrupt does not nest. */
	cpu->written = number + 1;
	__sync_lock_test_and_set(&row->number, number + 1);
	return 0;
}
