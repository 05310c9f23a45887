// SPDX-License-Identifier: MIT
#include "user_files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failure.h"
#include "section/elf.h"
#include "section/symbols.h"

#define FILE_SHIFT	 48
#define OFFSET_OF(place) ((place) & ((UINT64_C(1) << FILE_SHIFT) - 1))
/* A line of /proc/PID/maps. */
#define LINE_ROOM 4352

/* A mapping of a process. */
struct mapping {
	uint64_t start, end, offset;
	char name[64]; /* of its file, without its folder */
};

/* read_mapping - read a line of /proc/PID/maps; 0: it is of no file */
static int read_mapping(const char *line, struct mapping *mapping)
{
	unsigned long inode;
	const char *path, *slash;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %*x:%*x %lu %n", &mapping->start,
		   &mapping->end, &mapping->offset, &inode, &at) != 4 ||
	    !inode || !at)
		return 0;
	path = line + at;
	slash = strrchr(path, '/');
	snprintf(mapping->name, sizeof(mapping->name), "%.*s", (int)strcspn(path, "\n"),
		 slash ? slash + 1 : path);
	mapping->name[strcspn(mapping->name, "\n")] = '\0';
	return 1;
}

/* file_of - the number of a mapping's file from 1, which is opened; 0: it cannot be */
static uint64_t file_of(struct user_files *files, uint32_t pid, const struct mapping *mapping)
{
	struct user_file *file = &files->files[files->count];
	struct stat status;
	char path[96];
	int fd;

	/* As it is mapped: another file may have its path by now. */
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid,
		 mapping->start, mapping->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (fstat(fd, &status)) {
		close(fd);
		return 0;
	}
	for (size_t i = 0; i < files->count; i++)
		if (files->files[i].device == status.st_dev &&
		    files->files[i].inode == status.st_ino) {
			close(fd);
			return i + 1;
		}
	if (files->count == USER_FILES_MOST || !S_ISREG(status.st_mode)) {
		close(fd);
		return 0;
	}
	*file = (struct user_file){.fd = fd, .device = status.st_dev, .inode = status.st_ino};
	memcpy(file->name, mapping->name, sizeof(file->name));
	return ++files->count;
}

void user_files_locate(struct user_files *files, uint32_t pid, const uint64_t *addresses,
		       uint64_t *places, size_t count)
{
	char line[LINE_ROOM], path[32];
	struct mapping mapping;
	FILE *maps;

	for (size_t i = 0; i < count; i++)
		places[i] = addresses[i] && (!i || places[i - 1]) ? USER_PLACE_UNKNOWN : 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		uint64_t file = 0;

		if (!read_mapping(line, &mapping))
			continue;
		for (size_t i = 0; i < count && places[i]; i++) {
			uint64_t offset = addresses[i] - mapping.start + mapping.offset;

			if (addresses[i] < mapping.start || addresses[i] >= mapping.end ||
			    offset >> FILE_SHIFT)
				continue;
			if (!file)
				file = file_of(files, pid, &mapping);
			if (file)
				places[i] = file << FILE_SHIFT | offset;
		}
	}
	if (maps)
		fclose(maps);
}

/* A place that wants a name. */
struct wanted {
	uint64_t address; /* once loaded, by its file */
	uint64_t behind;
	size_t number;
	char name[128];
};

static int compare(const void *first, const void *second)
{
	const struct wanted *a = first, *b = second;

	return (a->address > b->address) - (a->address < b->address);
}

/* name_by - name the places within a symbol that have no name yet; they are sorted by address */
static void name_by(struct wanted *wanted, size_t count, const struct symbol *symbol)
{
	size_t first = 0, end = count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (wanted[middle].address < symbol->address)
			first = middle + 1;
		else
			end = middle;
	}
	for (; first < count && wanted[first].address - symbol->address < symbol->size; first++)
		if (!wanted[first].name[0]) {
			snprintf(wanted[first].name, sizeof(wanted[first].name), "%s",
				 symbol->name);
			wanted[first].behind = wanted[first].address - symbol->address;
		}
}

/* name_in - name the places in a file by its symbols */
static void name_in(const struct user_file *file, struct wanted *wanted, size_t count)
{
	static const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};
	char text[FAILURE_TEXT];
	struct symbols *symbols;
	struct symbol symbol;
	struct elf elf;
	size_t known = 0;

	if (!elf_open(&elf, file->fd, text)) {
		for (size_t i = 0; i < count; i++)
			if (elf_address(&elf, wanted[i].behind, &wanted[i].address))
				wanted[known++] = wanted[i];
		qsort(wanted, known, sizeof(*wanted), compare);
		for (size_t i = 0; i < 2; i++) {
			if (symbols_open(&elf, tables[i], &symbols))
				continue;
			while (symbols_next(symbols, &symbol))
				if (symbol.is_defined && symbol.type == STT_FUNC)
					name_by(wanted, known, &symbol);
			symbols_close(symbols);
		}
	}
	elf_close(&elf);
}

void user_files_name(const struct user_files *files, const uint64_t *places, size_t count,
		     void (*give)(void *context, size_t number, const char *name, uint64_t behind),
		     void *context)
{
	struct wanted *wanted = calloc(count, sizeof(*wanted));

	for (size_t first = 0, end; wanted && first < count; first = end) {
		uint64_t number = places[first] >> FILE_SHIFT;
		const struct user_file *file;
		char name[sizeof(files->files[0].name) + 2];

		for (end = first; end < count && places[end] >> FILE_SHIFT == number; end++)
			wanted[end - first] =
			    (struct wanted){.behind = OFFSET_OF(places[end]), .number = end};
		if (!number || number > files->count)
			continue;
		file = &files->files[number - 1];
		snprintf(name, sizeof(name), "[%s]", file->name);
		for (size_t i = first; i < end; i++)
			give(context, i, name, OFFSET_OF(places[i]));
		name_in(file, wanted, end - first);
		for (size_t i = 0; i < end - first; i++)
			if (wanted[i].name[0])
				give(context, wanted[i].number, wanted[i].name, wanted[i].behind);
	}
	free(wanted);
}

void user_files_close(struct user_files *files)
{
	while (files->count)
		close(files->files[--files->count].fd);
}
