/* SPDX-License-Identifier: MIT */
/*
 * Marks of a section of your code, for whylate: where it begins and where it ends.
 *
 *     #include "whylate_section.h"
 *
 *     void play(struct player *player)
 *     {
 *             for (;;) {
 *                     WHYLATE_SECTION_BEGIN(frame);
 *                     decode(player);
 *                     show(player);
 *                     WHYLATE_SECTION_END(frame);
 *             }
 *     }
 *
 *     $ whylate section ./player:whylate:frame
 *
 * A mark is a nop and a note in the file (a USDT probe: readelf -n shows it). Nothing is linked,
 * and nothing is called: a program whose sections nobody times runs one nop more at each mark. The
 * marks stay in a stripped file. bpftrace and perf see them as the probes whylate:frame_begin and
 * whylate:frame_end.
 *
 * Rules:
 * - NAME is an identifier. All marks of a name in a file belong to the same section: it may begin
 * or end at several places, as in a function with two returns.
 * - A section begins and ends in the same thread. A beginning without an end is counted as left.
 * - The compiler keeps the order of marks and of what they enclose where that reads or writes
 * memory that others see. It may move pure arithmetic across them.
 *
 * For C and C++, GCC and Clang, on x86-64, 64-bit and 32-bit ARM, and 64-bit RISC-V. On 32-bit ARM
 * compile with -marm: the kernel cannot probe Thumb code. Elsewhere the marks are empty.
 */
#ifndef WHYLATE_SECTION_MARKS_H
#define WHYLATE_SECTION_MARKS_H

#define WHYLATE_SECTION_BEGIN(name) WHYLATE_MARK_(#name "_begin")
#define WHYLATE_SECTION_END(name)   WHYLATE_MARK_(#name "_end")

#if defined(__thumb__)
#error "whylate_section.h: the kernel cannot probe Thumb code: compile with -marm"
#elif defined(__x86_64__) && !defined(__ILP32__)
#define WHYLATE_ADDRESS_ ".8byte "
#elif defined(__aarch64__) && !defined(__ILP32__)
#define WHYLATE_ADDRESS_ ".8byte "
#elif defined(__riscv) && __riscv_xlen == 64
#define WHYLATE_ADDRESS_ ".8byte "
#elif defined(__arm__)
#define WHYLATE_ADDRESS_ ".4byte "
#endif

#ifndef WHYLATE_ADDRESS_
#define WHYLATE_MARK_(text) __asm__ volatile("" : : : "memory")
#else
/*
 * The note as https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation has it: the
 * address of the nop, of .stapsdt.base (which tells by how much a tool like prelink moved the
 * file), and of a semaphore (there is none); then provider, name and arguments. "?" puts it into
 * the group of the function's section, so that both are dropped together.
 */
#define WHYLATE_MARK_(text)                                                                        \
	__asm__ volatile(                                                                          \
	    "990:	nop\n"                                                                           \
	    "	.pushsection .note.stapsdt,\"?\",\"note\"\n"                                         \
	    "	.balign 4\n"                                                                         \
	    "	.4byte 992f-991f, 994f-993f, 3\n"                                                    \
	    "991:	.asciz \"stapsdt\"\n"                                                            \
	    "992:	.balign 4\n"                                                                     \
	    "993:	" WHYLATE_ADDRESS_ "990b\n"                                                \
	    "	" WHYLATE_ADDRESS_ "_.stapsdt.base\n"                                              \
	    "	" WHYLATE_ADDRESS_ "0\n"                                                           \
	    "	.asciz \"whylate\"\n"                                                                \
	    "	.asciz \"" text "\"\n"                                                             \
	    "	.asciz \"\"\n"                                                                       \
	    "994:	.balign 4\n"                                                                     \
	    "	.popsection\n"                                                                       \
	    "	.ifndef _.stapsdt.base\n"                                                            \
	    "	.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"               \
	    "	.weak _.stapsdt.base\n"                                                              \
	    "	.hidden _.stapsdt.base\n"                                                            \
	    "_.stapsdt.base:	.space 1\n"                                                           \
	    "	.size _.stapsdt.base, 1\n"                                                           \
	    "	.popsection\n"                                                                       \
	    "	.endif\n"                                                                            \
	    :                                                                                      \
	    :                                                                                      \
	    : "memory")
#endif

#endif
