// SPDX-License-Identifier: GPL-2.0
/*
 * The lock of the measured process's address space (mmap_lock) is held for size_us by a thread that
 * sleeps. The page that the measured thread returns to is not mapped: it faults, and waits for the
 * lock. The CPU is free for others.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/task_stack.h>

#include "fault_module_beside.h"

static void hold(struct mm_struct *mm, unsigned long address) FAULT_NAMED("_f");

/* take_page - out of the address space, as when it is moved; what the program wrote stays */
static void take_page(struct mm_struct *mm, unsigned long address)
{
	struct vm_area_struct *area = find_vma(mm, address);
	loff_t at;

	if (!area || address < area->vm_start || !area->vm_file)
		return;
	at = ((loff_t)area->vm_pgoff << PAGE_SHIFT) + ((address & PAGE_MASK) - area->vm_start);
	unmap_mapping_range(area->vm_file->f_mapping, at, PAGE_SIZE, 0);
}

static noinline void hold(struct mm_struct *mm, unsigned long address)
{
	u64 start_ns;
	ktime_t at;

	mmap_write_lock(mm);
	start_ns = ktime_get_ns();
	take_page(mm, address);
	at = ns_to_ktime(start_ns + fault_size_ns());
	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
	fault_log(start_ns, ktime_get_ns(), cpu);
	mmap_write_unlock(mm);
}

static void act(void)
{
	struct task_struct *task = fault_measured();
	struct mm_struct *mm = task ? get_task_mm(task) : NULL;

	if (mm) {
		/* It sleeps: this is where it goes on. */
		unsigned long address = instruction_pointer(task_pt_regs(task));

		fault_beside();
		hold(mm, address);
		mmput(mm);
	}
	if (task)
		put_task_struct(task);
}

FAULT_THREAD(act, fault_beside_start, fault_beside_stop);
