/* SPDX-License-Identifier: MIT */
/*
 * bare - what a 64-bit Arm board without an operating system needs to run the examples: a stack, a
 * UART, interrupts disabled, and the end; for QEMU's machine `virt`
 */
#ifndef BARE_H
#define BARE_H

#include <stdint.h>

void run_example(void);

/* No static constructors, no C library: a stack, floating point off, and the example. */
__asm__(".section .text.start\n"
	".global _start\n"
	"_start:\n"
	"	ldr x0, =stack_end\n"
	"	mov sp, x0\n"
	"	bl run_example\n"
	"	ldr x0, =0x84000008\n" /* PSCI SYSTEM_OFF */
	"	hvc #0\n"
	"1:	b 1b\n"
	".bss\n"
	".balign 16\n"
	"	.skip 16384\n"
	"stack_end:\n"
	".text\n");

/* print - a word and a number, as a line */
static inline void print(const char *word, uint64_t number)
{
	volatile uint32_t *const uart = (volatile uint32_t *)0x09000000;
	char digits[20];
	int count = 0;

	while (*word)
		*uart = (uint32_t)*word++;
	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		*uart = (uint32_t)digits[--count];
	*uart = '\n';
}

/* ticks - a counter that is fine and quick to read */
static inline uint64_t ticks(void)
{
	uint64_t now;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now) : : "memory");
	return now;
}

/* mask - disable interrupts, and return what restore() needs */
static inline uint64_t mask(void)
{
	uint64_t before;

	__asm__ volatile("mrs %0, daif\n\tmsr daifset, #3" : "=r"(before) : : "memory");
	return before;
}

static inline void restore(uint64_t before)
{
	__asm__ volatile("msr daif, %0" : : "r"(before) : "memory");
}

#endif
