// SPDX-License-Identifier: MIT
/*
 * ELF files of programs and libraries: their segments, sections and functions.
 *
 * Nothing that a file holds is trusted. It is read piece by piece within its size, and not mapped:
 * it may become shorter meanwhile.
 */
#ifndef WHYLATE_SECTION_ELF_H
#define WHYLATE_SECTION_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest name of a function or of a USDT probe, and of its version. */
#define ELF_NAME_MOST 1024u

struct elf_segment {
	uint64_t offset;
	uint64_t address;
	uint64_t size; /* in the file */
	bool is_code;
	bool is_writable;
};

struct elf_section {
	uint32_t name;
	uint32_t type;
	uint32_t link;
	uint64_t address;
	uint64_t offset;
	uint64_t size;
};

struct elf {
	int fd; /* the caller's */
	uint64_t size;
	bool is_64;
	uint16_t type;
	uint16_t machine;
	struct elf_segment *segments; /* that are loaded */
	size_t segment_count;
	struct elf_section *sections;
	size_t section_count;
	char *names; /* of sections */
	size_t names_size;
};

/* elf_open - read the headers of a file; returns 0, or an errno with the text, which lacks the
 * file's name. elf_close is needed in either case. */
int elf_open(struct elf *elf, int fd, char *text);
void elf_close(struct elf *elf);

/* elf_read - read that piece of the file; returns 0 or an errno, EBADMSG where it is beyond the end
 */
int elf_read(const struct elf *elf, uint64_t offset, void *to, size_t size);

/* elf_load - read all of a section of at most that many bytes, with a '\0' behind it; NULL with
 * errno. The caller frees it. */
char *elf_load(const struct elf *elf, const struct elf_section *section, uint64_t most);

/* elf_section - find the first section of that name and type; NULL: there is none */
const struct elf_section *elf_section(const struct elf *elf, const char *name, uint32_t type);

/* elf_offset - find what lies at an address once loaded in the file: in code, or in data that can
 * be written to; false: nothing does */
bool elf_offset(const struct elf *elf, uint64_t address, bool is_code, uint64_t *offset);

/* elf_address - find where code at an offset is loaded; false: no code is there */
bool elf_address(const struct elf *elf, uint64_t offset, uint64_t *address);

#endif
