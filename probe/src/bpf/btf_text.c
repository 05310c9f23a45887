// SPDX-License-Identifier: MIT
#include "btf_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH  "/sys/kernel/btf/vmlinux"
#define MAGIC 0xeb9f

/* By how many bytes an entry is longer than struct btf_type: always, and for each member. Numbers,
 * because the headers of a build machine may not know the newer kinds. */
static const struct {
	uint8_t fixed;
	uint8_t each;
} tails[] = {
    [1] = {4, 0},  /* INT */
    [3] = {12, 0}, /* ARRAY */
    [4] = {0, 12}, /* STRUCT */
    [5] = {0, 12}, /* UNION */
    [6] = {0, 8},  /* ENUM */
    [13] = {0, 8}, /* FUNC_PROTO */
    [14] = {4, 0}, /* VAR */
    [15] = {0, 12} /* DATASEC */,
    [17] = {4, 0},  /* DECL_TAG */
    [19] = {0, 12}, /* ENUM64: the last there is */
};

/* header_of - read the header of a file that is long enough for it */
static struct btf_header header_of(const struct btf_text *text)
{
	struct btf_header header;

	memcpy(&header, text->data, sizeof(header));
	return header;
}

static int check(const struct btf_text *text)
{
	struct btf_header header;

	if (text->size < sizeof(header))
		return EPROTO;
	header = header_of(text);
	if (header.magic != MAGIC ||
	    (uint64_t)header.hdr_len + header.type_off + header.type_len > text->size ||
	    (uint64_t)header.hdr_len + header.str_off + header.str_len > text->size)
		return EPROTO;
	return 0;
}

/* What was read, while it is kept. */
static struct btf_text kept;
static bool is_keeping;

/* The size of the file is known, and most kernels do not map it. */
static int read_file(struct btf_text *text)
{
	int fd = open(PATH, O_RDONLY | O_CLOEXEC), error = 0;
	struct stat status;
	size_t have = 0;

	*text = (struct btf_text){0};
	if (fd < 0)
		return errno;
	if (fstat(fd, &status) || status.st_size <= 0)
		error = ENOENT;
	else if (!(text->data = malloc((size_t)status.st_size + 1)))
		error = ENOMEM;
	while (!error && have < (size_t)status.st_size) {
		ssize_t got = read(fd, text->data + have, (size_t)status.st_size - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			error = got ? errno : EIO;
		else
			have += (size_t)got;
	}
	close(fd);
	if (error)
		return error;
	text->data[have] = '\0';
	text->size = have;
	return check(text);
}

int btf_text_read(struct btf_text *text)
{
	int error;

	if (kept.data) {
		*text = kept;
		return 0;
	}
	error = read_file(text);
	if (!error && is_keeping)
		kept = *text;
	return error;
}

void btf_text_close(struct btf_text *text)
{
	if (text->data != kept.data)
		free(text->data);
	*text = (struct btf_text){0};
}

void btf_text_keep(void)
{
	is_keeping = true;
}

void btf_text_forget(void)
{
	free(kept.data);
	kept = (struct btf_text){0};
	is_keeping = false;
}

struct btf_entry btf_text_first(const struct btf_text *text)
{
	struct btf_header header = header_of(text);

	return (struct btf_entry){.name = "", .next = (uint64_t)header.hdr_len + header.type_off};
}

bool btf_text_next(const struct btf_text *text, struct btf_entry *entry)
{
	struct btf_header header = header_of(text);
	uint64_t end = (uint64_t)header.hdr_len + header.type_off + header.type_len;

	if (entry->next + sizeof(entry->type) > end)
		return false;
	memcpy(&entry->type, text->data + entry->next, sizeof(entry->type));
	entry->id++;
	entry->kind = BTF_INFO_KIND(entry->type.info) & 0x1f;
	entry->members = BTF_INFO_VLEN(entry->type.info);
	entry->is_damaged = entry->kind >= sizeof(tails) / sizeof(tails[0]);
	if (entry->is_damaged)
		return false;
	entry->name = btf_text_string(text, entry->type.name_off);
	entry->at = entry->next + sizeof(entry->type);
	entry->next = entry->at + tails[entry->kind].fixed +
		      (uint64_t)tails[entry->kind].each * entry->members;
	return true;
}

const char *btf_text_string(const struct btf_text *text, uint32_t offset)
{
	struct btf_header header = header_of(text);

	return offset < header.str_len ? text->data + header.hdr_len + header.str_off + offset : "";
}
