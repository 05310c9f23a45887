// SPDX-License-Identifier: MIT
#include "elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failure.h"

#define SEGMENTS_MOST	   1024u
#define SECTIONS_MOST	   65536u
#define SECTION_NAMES_MOST ((uint64_t)4 << 20)

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__arm__)
#define MACHINE EM_ARM
#elif defined(__riscv)
#define MACHINE EM_RISCV
#else
#define MACHINE EM_NONE
#endif

int elf_read(const struct elf *elf, uint64_t offset, void *to, size_t size)
{
	char *at = to;

	if (offset > elf->size || size > elf->size - offset)
		return EBADMSG;
	while (size) {
		ssize_t count = pread(elf->fd, at, size, (off_t)offset);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return errno;
		if (!count)
			return EBADMSG;
		at += count;
		offset += (uint64_t)count;
		size -= (size_t)count;
	}
	return 0;
}

static int read_section(const struct elf *elf, const Elf64_Ehdr *file, uint64_t number,
			struct elf_section *section)
{
	size_t size = elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	Elf32_Shdr narrow;
	Elf64_Shdr wide;
	int error;

	if (file->e_shentsize != size || file->e_shoff > elf->size)
		return EBADMSG;
	if (elf->is_64) {
		error = elf_read(elf, file->e_shoff + number * size, &wide, size);
		if (!error)
			*section = (struct elf_section){wide.sh_name, wide.sh_type,   wide.sh_link,
							wide.sh_addr, wide.sh_offset, wide.sh_size};
	} else {
		error = elf_read(elf, file->e_shoff + number * size, &narrow, size);
		if (!error)
			*section =
			    (struct elf_section){narrow.sh_name, narrow.sh_type,   narrow.sh_link,
						 narrow.sh_addr, narrow.sh_offset, narrow.sh_size};
	}
	return error;
}

/* read_file_header - read the first bytes, in the wider class; returns 0 or an errno */
static int read_file_header(struct elf *elf, Elf64_Ehdr *file)
{
	unsigned char identity[EI_NIDENT];
	Elf32_Ehdr narrow;
	int error = elf_read(elf, 0, identity, sizeof(identity));

	if (error)
		return error;
	if (memcmp(identity, ELFMAG, SELFMAG) != 0 || identity[EI_DATA] != ELFDATA2LSB)
		return EBADMSG;
	elf->is_64 = identity[EI_CLASS] == ELFCLASS64;
	if (elf->is_64)
		return elf_read(elf, 0, file, sizeof(*file));
	error = elf_read(elf, 0, &narrow, sizeof(narrow));
	*file = (Elf64_Ehdr){.e_type = narrow.e_type,
			     .e_machine = narrow.e_machine,
			     .e_phoff = narrow.e_phoff,
			     .e_shoff = narrow.e_shoff,
			     .e_phentsize = narrow.e_phentsize,
			     .e_phnum = narrow.e_phnum,
			     .e_shentsize = narrow.e_shentsize,
			     .e_shnum = narrow.e_shnum,
			     .e_shstrndx = narrow.e_shstrndx};
	return error;
}

static int read_segments(struct elf *elf, const Elf64_Ehdr *file)
{
	size_t size = elf->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

	if (file->e_phentsize != size || file->e_phnum > SEGMENTS_MOST || file->e_phoff > elf->size)
		return EBADMSG;
	elf->segments = calloc(file->e_phnum, sizeof(*elf->segments));
	if (!elf->segments)
		return ENOMEM;
	for (uint64_t i = 0; i < file->e_phnum; i++) {
		Elf64_Phdr wide;
		Elf32_Phdr narrow;
		int error = elf_read(elf, file->e_phoff + i * size,
				     elf->is_64 ? (void *)&wide : (void *)&narrow, size);

		if (error)
			return error;
		if (!elf->is_64)
			wide = (Elf64_Phdr){.p_type = narrow.p_type,
					    .p_flags = narrow.p_flags,
					    .p_offset = narrow.p_offset,
					    .p_vaddr = narrow.p_vaddr,
					    .p_filesz = narrow.p_filesz};
		if (wide.p_type == PT_LOAD)
			elf->segments[elf->segment_count++] =
			    (struct elf_segment){wide.p_offset, wide.p_vaddr, wide.p_filesz,
						 wide.p_flags & PF_X, wide.p_flags & PF_W};
	}
	return 0;
}

/* read_sections - read the headers of sections; a file needs none to run */
static int read_sections(struct elf *elf, const Elf64_Ehdr *file)
{
	uint64_t count = file->e_shnum, names = file->e_shstrndx;
	struct elf_section first;
	int error;

	if (!file->e_shoff)
		return 0;
	error = read_section(elf, file, 0, &first);
	if (error)
		return error;
	/* More than 65,279 of them are counted there. */
	if (!count)
		count = first.size;
	if (names == SHN_XINDEX)
		names = first.link;
	if (count > SECTIONS_MOST)
		return EBADMSG;
	elf->sections = calloc(count ? count : 1, sizeof(*elf->sections));
	if (!elf->sections)
		return ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		error = read_section(elf, file, i, &elf->sections[i]);
		if (error)
			return error;
	}
	elf->section_count = count;
	if (names >= count)
		return 0;
	elf->names = elf_load(elf, &elf->sections[names], SECTION_NAMES_MOST);
	elf->names_size = elf->names ? elf->sections[names].size : 0;
	return 0;
}

/* is_native - whether programs of that machine run here */
static bool is_native(uint16_t machine)
{
	return machine == MACHINE || (MACHINE == EM_X86_64 && machine == EM_386);
}

int elf_open(struct elf *elf, int fd, char *text)
{
	Elf64_Ehdr file;
	struct stat status;
	int error;

	*elf = (struct elf){.fd = fd};
	if (fstat(fd, &status))
		return fail(text, errno, "%s", strerror(errno));
	elf->size = (uint64_t)status.st_size;
	error = read_file_header(elf, &file);
	if (error == EBADMSG)
		return fail(text, error,
			    "it is no ELF file of a program or library: a script has "
			    "none, name its interpreter");
	if (error)
		return fail(text, error, "%s", strerror(error));
	elf->type = file.e_type;
	elf->machine = file.e_machine;
	if (elf->type != ET_EXEC && elf->type != ET_DYN)
		return fail(text, EINVAL,
			    "it is an object file, no program or library: name what "
			    "it is linked into, and a function of a kernel module "
			    "without its file");
	if (!is_native(elf->machine))
		return fail(text, EINVAL, "it is of another architecture than this board");
	error = read_segments(elf, &file);
	if (!error)
		error = read_sections(elf, &file);
	return error ? fail(text, error, "its headers are damaged: %s", strerror(error)) : 0;
}

void elf_close(struct elf *elf)
{
	free(elf->segments);
	free(elf->sections);
	free(elf->names);
	*elf = (struct elf){.fd = -1};
}

char *elf_load(const struct elf *elf, const struct elf_section *section, uint64_t most)
{
	char *data;
	int error;

	if (section->type == SHT_NOBITS || section->offset > elf->size ||
	    section->size > elf->size - section->offset) {
		errno = EBADMSG;
		return NULL;
	}
	if (section->size > most) {
		errno = EFBIG;
		return NULL;
	}
	data = malloc((size_t)section->size + 1);
	if (!data)
		return NULL;
	error = elf_read(elf, section->offset, data, (size_t)section->size);
	data[section->size] = '\0';
	if (!error)
		return data;
	free(data);
	errno = error;
	return NULL;
}

const struct elf_section *elf_section(const struct elf *elf, const char *name, uint32_t type)
{
	for (size_t i = 0; i < elf->section_count; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (section->type == type && section->name < elf->names_size &&
		    !strcmp(elf->names + section->name, name))
			return section;
	}
	return NULL;
}

bool elf_offset(const struct elf *elf, uint64_t address, bool is_code, uint64_t *offset)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];

		if (!(is_code ? segment->is_code : segment->is_writable) ||
		    address < segment->address || address - segment->address >= segment->size)
			continue;
		*offset = address - segment->address + segment->offset;
		return *offset >= segment->offset && *offset < elf->size;
	}
	return false;
}

bool elf_address(const struct elf *elf, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct elf_segment *segment = &elf->segments[i];

		if (!segment->is_code || offset >= elf->size || offset < segment->offset ||
		    offset - segment->offset >= segment->size)
			continue;
		*address = offset - segment->offset + segment->address;
		return true;
	}
	return false;
}
