// SPDX-License-Identifier: MIT
/*
 * Whether the place of a sample shows that interrupts were disabled until then.
 *
 * A timer's interrupt that waited comes as soon as interrupts are enabled: on arm64 before the next
 * instruction, on riscv64 as well, on x86 behind the one that follows sti, or right behind popf.
 * Elsewhere it comes there by chance alone, once in thousands of samples.
 */
#ifndef WHYLATE_SAMPLED_EVIDENCE_H
#define WHYLATE_SAMPLED_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest function whose instructions are followed, in bytes. */
#define EVIDENCE_MOST 16384u

/* evidence_in_code - whether the code of a function up to an address ends with instructions that
 * enable interrupts there; code: from the start of the function, where machine (SAMPLED_X86) has
 * instructions of several lengths, else the last bytes before the address */
bool evidence_in_code(uint32_t machine, const uint8_t *code, size_t length);

/* evidence_x86_length - the length of an instruction; 0: it is not known, or longer than the room
 */
size_t evidence_x86_length(const uint8_t *code, size_t room);

#endif
