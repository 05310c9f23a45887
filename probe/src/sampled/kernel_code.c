// SPDX-License-Identifier: MIT
#include "kernel_code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bpf/peek.h"

#define IMAGE "/proc/kcore"

/* add_part - keep where a part of the memory lies in the image */
static void add_part(struct kernel_code *code, uint64_t address, uint64_t offset, uint64_t size)
{
	if (code->count == CODE_PARTS || !size)
		return;
	code->parts[code->count].address = address;
	code->parts[code->count].offset = offset;
	code->parts[code->count++].size = size;
}

/* read_headers - keep where all parts lie; returns 0 or an errno */
static int read_headers(struct kernel_code *code)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr of_32;
		Elf64_Ehdr of_64;
	} header;
	bool is_64;
	size_t count;

	if (pread(code->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.ident, ELFMAG, SELFMAG) != 0)
		return EINVAL;
	is_64 = header.ident[EI_CLASS] == ELFCLASS64;
	count = is_64 ? header.of_64.e_phnum : header.of_32.e_phnum;
	for (size_t i = 0; i < count; i++) {
		Elf64_Phdr of_64;
		Elf32_Phdr of_32;

		if (is_64 && pread(code->fd, &of_64, sizeof(of_64),
				   (off_t)(header.of_64.e_phoff + i * sizeof(of_64))) ==
				 (ssize_t)sizeof(of_64)) {
			if (of_64.p_type == PT_LOAD)
				add_part(code, of_64.p_vaddr, of_64.p_offset, of_64.p_memsz);
		} else if (!is_64 && pread(code->fd, &of_32, sizeof(of_32),
					   (off_t)(header.of_32.e_phoff + i * sizeof(of_32))) ==
					 (ssize_t)sizeof(of_32)) {
			if (of_32.p_type == PT_LOAD)
				add_part(code, of_32.p_vaddr, of_32.p_offset, of_32.p_memsz);
		}
	}
	return code->count ? 0 : EINVAL;
}

int kernel_code_open(struct kernel_code *code)
{
	int error;

	*code = (struct kernel_code){.peek = bpf_peek_open(), .fd = -1};
	if (code->peek >= 0)
		return 0;
	code->fd = open(IMAGE, O_RDONLY | O_CLOEXEC);
	if (code->fd < 0)
		return errno;
	error = read_headers(code);
	if (error)
		kernel_code_close(code);
	return error;
}

/* peek - read bytes by the program, a word at a time */
static bool peek(int program, uint64_t address, char *to, size_t size)
{
	for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
		size_t rest = size - at < sizeof(uint64_t) ? size - at : sizeof(uint64_t);
		uint64_t word;

		if (!bpf_peek(program, address + at, &word))
			return false;
		memcpy(to + at, &word, rest);
	}
	return true;
}

bool kernel_code_read(const struct kernel_code *code, uint64_t address, void *to, size_t size)
{
	if (code->peek >= 0)
		return peek(code->peek, address, to, size);
	for (size_t i = 0; code->fd >= 0 && i < code->count; i++) {
		uint64_t into = address - code->parts[i].address;

		if (address < code->parts[i].address || into >= code->parts[i].size ||
		    size > code->parts[i].size - into)
			continue;
		if (pread(code->fd, to, size, (off_t)(code->parts[i].offset + into)) ==
		    (ssize_t)size)
			return true;
	}
	return false;
}

void kernel_code_close(struct kernel_code *code)
{
	if (code->fd >= 0)
		close(code->fd);
	if (code->peek >= 0)
		close(code->peek);
	code->fd = code->peek = -1;
}
