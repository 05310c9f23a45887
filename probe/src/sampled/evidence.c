// SPDX-License-Identifier: MIT
#include "evidence.h"

#include <string.h>

#include "sampled/bpf/layout.h"

/* ---------------------------------------------------------------- x86 */

#define X86_STI	 0xFB
#define X86_POPF 0x9D

/* What follows an opcode. */
#define MODRM  1u /* a byte of operands, and what that asks for */
#define BYTE   2u /* a number of 1 byte, */
#define SHORT  4u /* of 2, */
#define NUMBER 8u /* of 4, or of 2 with the prefix 66 */
#define BAD    16u

struct range {
	uint8_t first, last;
	uint8_t what;
};

/* Of opcodes of one byte: those not listed have nothing behind them. Prefixes are none. */
static const struct range one_byte[] = {
    {0x62, 0x62, BAD},
    {0x63, 0x63, MODRM},
    {0x68, 0x68, NUMBER},
    {0x69, 0x69, MODRM | NUMBER},
    {0x6A, 0x6A, BYTE},
    {0x6B, 0x6B, MODRM | BYTE},
    {0x70, 0x7F, BYTE},
    {0x80, 0x80, MODRM | BYTE},
    {0x81, 0x81, MODRM | NUMBER},
    {0x82, 0x82, BAD},
    {0x83, 0x83, MODRM | BYTE},
    {0x84, 0x8F, MODRM},
    {0x9A, 0x9A, BAD},
    {0xA8, 0xA8, BYTE},
    {0xA9, 0xA9, NUMBER},
    {0xB0, 0xB7, BYTE},
    {0xB8, 0xBF, NUMBER},
    {0xC0, 0xC1, MODRM | BYTE},
    {0xC2, 0xC2, SHORT},
    {0xC4, 0xC5, BAD},
    {0xC6, 0xC6, MODRM | BYTE},
    {0xC7, 0xC7, MODRM | NUMBER},
    {0xC8, 0xC8, BAD},
    {0xCD, 0xCD, BYTE},
    {0xD0, 0xD3, MODRM},
    {0xD4, 0xD7, BAD},
    {0xD8, 0xDF, MODRM},
    {0xE0, 0xE7, BYTE},
    {0xE8, 0xE9, NUMBER},
    {0xEA, 0xEA, BAD},
    {0xEB, 0xEB, BYTE},
    {0xF6, 0xF7, MODRM},
    {0xFE, 0xFF, MODRM},
};

/* Of those behind 0F: those not listed have operands and no number. */
static const struct range two_bytes[] = {
    {0x05, 0x09, 0},
    {0x0B, 0x0B, 0},
    {0x0E, 0x0E, 0},
    {0x30, 0x37, 0},
    {0x38, 0x38, MODRM},
    {0x3A, 0x3A, MODRM | BYTE},
    {0x70, 0x73, MODRM | BYTE},
    {0x77, 0x77, 0},
    {0x80, 0x8F, NUMBER},
    {0xA0, 0xA2, 0},
    {0xA4, 0xA4, MODRM | BYTE},
    {0xA8, 0xAA, 0},
    {0xAC, 0xAC, MODRM | BYTE},
    {0xBA, 0xBA, MODRM | BYTE},
    {0xC2, 0xC2, MODRM | BYTE},
    {0xC4, 0xC6, MODRM | BYTE},
    {0xC8, 0xCF, 0},
};

static unsigned lookup(const struct range *ranges, size_t count, uint8_t opcode, unsigned otherwise)
{
	for (size_t i = 0; i < count; i++)
		if (opcode >= ranges[i].first && opcode <= ranges[i].last)
			return ranges[i].what;
	return otherwise;
}

/* what_follows - of an opcode of one byte: the arithmetic ones have a pattern */
static unsigned what_follows(uint8_t opcode)
{
	if (opcode < 0x40)
		return (opcode & 7) < 4	   ? MODRM
		       : (opcode & 7) == 4 ? BYTE
		       : (opcode & 7) == 5 ? NUMBER
					   : BAD;
	return lookup(one_byte, sizeof(one_byte) / sizeof(*one_byte), opcode, 0);
}

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xF0 || byte == 0xF2 || byte == 0xF3 ||
	       byte == 0x2E || byte == 0x36 || byte == 0x3E || byte == 0x26 || byte == 0x64 ||
	       byte == 0x65;
}

/* operands_length - the bytes of the operands that begin there */
static size_t operands_length(const uint8_t *code)
{
	unsigned mode = code[0] >> 6, memory = code[0] & 7;
	size_t length = 1;

	if (mode == 3)
		return length;
	if (memory == 4) {
		length++;
		if (mode == 0 && (code[1] & 7) == 5)
			length += 4;
	} else if (mode == 0 && memory == 5) {
		length += 4;
	}
	return length + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

size_t evidence_x86_length(const uint8_t *code, size_t room)
{
	uint8_t copy[32] = {0}; /* what is read beyond the room is in it */
	bool is_short = false, is_wide = false;
	size_t at = 0;
	unsigned what;
	uint8_t opcode;

	memcpy(copy, code, room < sizeof(copy) / 2 ? room : sizeof(copy) / 2);
	while (at < 12 && is_prefix(copy[at]))
		is_short |= copy[at++] == 0x66;
	if ((copy[at] & 0xF0) == 0x40)
		is_wide = copy[at++] & 8;
	opcode = copy[at++];
	if (is_prefix(opcode))
		return 0;
	if (opcode == 0x0F) {
		opcode = copy[at++];
		what = lookup(two_bytes, sizeof(two_bytes) / sizeof(*two_bytes), opcode, MODRM);
		at += opcode == 0x38 || opcode == 0x3A;
		if (opcode >= 0x80 && opcode <= 0x8F)
			is_short = false;
	} else {
		what = what_follows(opcode);
		if (opcode == 0xF6 && !(copy[at] & 0x30))
			what |= BYTE;
		if (opcode == 0xF7 && !(copy[at] & 0x30))
			what |= NUMBER;
		if (opcode >= 0xB8 && opcode <= 0xBF && is_wide)
			at += 4;
		if (opcode >= 0xA0 && opcode <= 0xA3)
			at += 8;
		if (opcode == 0xE8 || opcode == 0xE9)
			is_short = false;
	}
	if (what & BAD)
		return 0;
	at += what & MODRM ? operands_length(copy + at) : 0;
	at += what & BYTE ? 1 : 0;
	at += what & SHORT ? 2 : 0;
	at += what & NUMBER ? (is_short && !is_wide ? 2 : 4) : 0;
	return at <= room && at <= 15 ? at : 0;
}

/* is_x86_evidence - follow all instructions of the function: bytes before an address may be of an
 * instruction, or of its numbers */
static bool is_x86_evidence(const uint8_t *code, size_t length)
{
	size_t at = 0, last = length, before = length;

	while (at < length) {
		size_t bytes = evidence_x86_length(code + at, length - at);

		if (!bytes)
			return false;
		before = last;
		last = at;
		at += bytes;
	}
	if (at != length || last == length)
		return false;
	return (code[last] == X86_POPF && last + 1 == length) ||
	       (before < last && code[before] == X86_STI && before + 1 == last);
}

/* last_word - the last 4 bytes of code, which has as many */
static uint32_t last_word(const uint8_t *code, size_t length)
{
	const uint8_t *last = code + length - 4;

	return last[0] | (uint32_t)last[1] << 8 | (uint32_t)last[2] << 16 | (uint32_t)last[3] << 24;
}

/* ---------------------------------------------------------------- arm64 */

static bool is_arm64_enable(uint32_t word)
{
	return (word & 0xFFFFF0FF) == 0xD50340FF || /* msr daifclr, #n */
	       (word & 0xFFFFFFE0) == 0xD51B4220 || /* msr daif, x */
	       (word & 0xFFFFFFE0) == 0xD5184600;   /* msr icc_pmr_el1, x */
}

/* may_follow - whether an instruction may stand between that and the interrupt: nop, isb, dsb */
static bool may_follow(uint32_t word)
{
	return word == 0xD503201F || (word & 0xFFFFF0FF) == 0xD50330DF ||
	       (word & 0xFFFFF0FF) == 0xD503309F;
}

static bool is_arm64_evidence(const uint8_t *code, size_t length)
{
	for (size_t at = length; at >= 4; at -= 4) {
		uint32_t word = last_word(code, at);

		if (!may_follow(word))
			return is_arm64_enable(word);
	}
	return false;
}

/* ---------------------------------------------------------------- 32-bit ARM */

/* is_arm_evidence - whether the last instruction enables interrupts; none may follow before they
 * come */
static bool is_arm_evidence(const uint8_t *code, size_t length)
{
	uint32_t word;

	if (length < 4)
		return false;
	word = last_word(code, length);
	return (word & 0xFFFFFEBF) == 0xF1080080 || /* cpsie i, with a or f as well */
	       (word & 0x0FFFFFF0) == 0x0121F000;   /* msr cpsr_c, r */
}

/* ---------------------------------------------------------------- riscv64 */

/* is_riscv_evidence - as on 32-bit ARM. Instructions have 2 bytes or 4: what stands there may be
 * parts of two, which are not these by chance */
static bool is_riscv_evidence(const uint8_t *code, size_t length)
{
	uint32_t word;

	if (length < 4)
		return false;
	word = last_word(code, length);
	return word == 0x10016073 ||		  /* csrsi sstatus, 2 */
	       (word & 0xFFF07FFF) == 0x10002073; /* csrs sstatus, x */
}

bool evidence_in_code(uint32_t machine, const uint8_t *code, size_t length)
{
	if (machine == SAMPLED_RISCV)
		return is_riscv_evidence(code, length);
	if (machine == SAMPLED_ARM)
		return is_arm_evidence(code, length);
	return machine == SAMPLED_ARM64 ? is_arm64_evidence(code, length)
					: is_x86_evidence(code, length);
}
