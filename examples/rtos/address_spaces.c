// SPDX-License-Identifier: MIT
/*
 * address_spaces - tasks with tables of their own, more than there are identifiers
 *
 * The base register has the identifier in its upper 16 bits. Here are 3 bits of identifiers, so
 * that generations begin often, and the MMU stays off.
 */
#include "../../remedies/asid.h"

#include "bare.h"

#define BITS  3
#define TASKS 12u
#define CPUS  1

struct task {
	struct asid_context space; /* first: a hook is given it */
	uint64_t tables;
};

static uint64_t used[ASID_WORDS(BITS)], kept[ASID_WORDS(BITS)];
static struct asid_cpu cpu[CPUS];
static struct asid_allocator ids;
static struct task tasks[TASKS];
static uint64_t flushes;

static void flush_local(void *unused, uint32_t on)
{
	(void)unused;
	(void)on;
	flushes++;
	__asm__ volatile("tlbi vmalle1\n\tdsb nsh\n\tisb" : : : "memory");
}

static void install(void *unused, uint32_t on, uint32_t number, struct asid_context *space)
{
	uint64_t base = ((struct task *)space)->tables | (uint64_t)number << 48;

	(void)unused;
	(void)on;
	__asm__ volatile("msr ttbr0_el1, %0\n\tisb" : : "r"(base) : "memory");
}

/* unmap - after the entry was taken out of the task's tables */
static void unmap(struct task *task, uint64_t page)
{
	uint64_t number = asid_to_invalidate(&ids, &task->space);

	if (number)
		__asm__ volatile("tlbi vae1is, %0\n\tdsb ish"
				 :
				 : "r"(number << 48 | page)
				 : "memory");
}

void run_example(void)
{
	const struct asid_hooks hooks = {0, flush_local, 0, install, 0};
	uint64_t base;

	print("begun: ", (uint64_t)asid_init(&ids, &hooks, BITS, 1, used, kept, cpu, CPUS, 0));
	for (uint32_t i = 0; i < TASKS; i++)
		tasks[i].tables = (i + 1) * 4096;
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t before = mask();

		asid_switch(&ids, 0, &tasks[i * 5 % TASKS].space);
		restore(before);
	}
	unmap(&tasks[0], 1);
	__asm__ volatile("mrs %0, ttbr0_el1" : "=r"(base));
	/* The last was task 3: 99 * 5 % 12. */
	print("its tables: ", (base & 0xffffffffffff) == tasks[3].tables);
	print("generations: ", ids.rollovers > 0);
	print("a flush in each: ", flushes == ids.rollovers + 1);
}
