// SPDX-License-Identifier: MIT
#include "kernel_btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdio.h>
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

struct text {
	char *data;
	size_t size;
};

/* read_all - read a file whose size is known, and which most kernels do not map */
static int read_all(struct text *text)
{
	int fd = open(PATH, O_RDONLY | O_CLOEXEC), error = 0;
	struct stat status;
	size_t have = 0;

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
	if (!error) {
		text->data[have] = '\0';
		text->size = have;
	}
	return error;
}

static bool matches(const struct kernel_name *wanted, uint32_t kind, const char *name)
{
	size_t prefix = strlen(wanted->prefix);

	return kind == wanted->kind && !strncmp(name, wanted->prefix, prefix) &&
	       !strcmp(name + prefix, wanted->name);
}

/* place - return where in a section the variables before it end */
static void place(const struct text *text, uint64_t at, uint32_t variables,
		  struct kernel_name *names, size_t count)
{
	struct btf_var_secinfo variable;

	for (; variables && at + sizeof(variable) <= text->size;
	     variables--, at += sizeof(variable)) {
		memcpy(&variable, text->data + at, sizeof(variable));
		for (size_t i = 0; i < count; i++)
			if (names[i].id == variable.type && names[i].kind == BTF_KIND_VAR)
				names[i].offset = variable.offset;
	}
}

/* find_member - set where in a struct its member is: in whole bytes, as all but bit fields are */
static void find_member(const struct text *text, uint64_t at, uint32_t members, uint64_t strings,
			struct kernel_name *name)
{
	struct btf_member member;

	for (; members && at + sizeof(member) <= text->size; members--, at += sizeof(member)) {
		memcpy(&member, text->data + at, sizeof(member));
		/* The text ends with a 0 byte. */
		if (strings + member.name_off < text->size &&
		    !strcmp(text->data + strings + member.name_off, name->member))
			name->offset = BTF_MEMBER_BIT_OFFSET(member.offset) / 8;
	}
}

/* keep_entry - an entry of the BTF has that name; at: what follows its struct btf_type */
static void keep_entry(const struct text *text, uint64_t at, uint32_t members, uint64_t strings,
		       struct kernel_name *name, uint32_t id)
{
	name->id = id;
	if (name->member)
		find_member(text, at, members, strings, name);
}

static int find(const struct text *text, struct kernel_name *names, size_t count)
{
	struct btf_header header;
	uint64_t types, strings;
	uint32_t id = 0;

	if (text->size < sizeof(header))
		return EPROTO;
	memcpy(&header, text->data, sizeof(header));
	types = (uint64_t)header.hdr_len + header.type_off;
	strings = (uint64_t)header.hdr_len + header.str_off;
	if (header.magic != MAGIC || types + header.type_len > text->size ||
	    strings + header.str_len > text->size)
		return EPROTO;
	for (uint64_t at = types; at + sizeof(struct btf_type) <= types + header.type_len;) {
		struct btf_type type;
		uint32_t kind, members;

		memcpy(&type, text->data + at, sizeof(type));
		kind = BTF_INFO_KIND(type.info) & 0x1f;
		members = BTF_INFO_VLEN(type.info);
		id++;
		if (kind >= sizeof(tails) / sizeof(tails[0]))
			return EPROTO;
		for (size_t i = 0; type.name_off && i < count; i++)
			if (type.name_off < header.str_len &&
			    matches(&names[i], kind, text->data + strings + type.name_off))
				keep_entry(text, at + sizeof(type), members, strings, &names[i],
					   id);
		if (kind == BTF_KIND_DATASEC)
			place(text, at + sizeof(type), members, names, count);
		at += sizeof(type) + tails[kind].fixed + (uint64_t)tails[kind].each * members;
	}
	return 0;
}

int kernel_btf_find(struct kernel_name *names, size_t count)
{
	struct text text = {0};
	int error = read_all(&text);

	if (!error)
		error = find(&text, names, count);
	free(text.data);
	return error;
}

/* entry_at - find an entry by its id; at: what follows its struct btf_type. false: there is none */
static bool entry_at(const struct text *text, uint32_t id, struct btf_type *type, uint64_t *at)
{
	struct btf_header header;
	uint64_t end;

	memcpy(&header, text->data, sizeof(header));
	*at = (uint64_t)header.hdr_len + header.type_off;
	end = *at + header.type_len;
	for (; id && *at + sizeof(*type) <= end; id--) {
		uint32_t kind;

		memcpy(type, text->data + *at, sizeof(*type));
		*at += sizeof(*type);
		if (id == 1)
			return true;
		kind = BTF_INFO_KIND(type->info) & 0x1f;
		if (kind >= sizeof(tails) / sizeof(tails[0]))
			return false;
		*at += tails[kind].fixed + (uint64_t)tails[kind].each * BTF_INFO_VLEN(type->info);
	}
	return false;
}

/* Names of types that are followed to what they stand for. */
#define FOLLOWED_MOST 16

/* bytes_of - how many bytes of an argument of that type count */
static uint32_t bytes_of(const struct text *text, uint32_t id)
{
	struct btf_type type;
	uint64_t at;

	for (unsigned i = 0; i < FOLLOWED_MOST && entry_at(text, id, &type, &at); i++) {
		uint32_t kind = BTF_INFO_KIND(type.info) & 0x1f;

		if (kind == BTF_KIND_INT || kind == BTF_KIND_ENUM)
			return type.size == 1 || type.size == 2 || type.size == 4 ? type.size : 8;
		if (kind != BTF_KIND_TYPEDEF && kind != BTF_KIND_CONST && kind != BTF_KIND_VOLATILE)
			break;
		id = type.type;
	}
	return 8;
}

/* find_argument - find an argument of that name in the parameters at `at`; the first of them is
 * the tracepoint's own */
static int find_argument(const struct text *text, uint64_t at, uint32_t parameters,
			 const char *name, struct kernel_argument *argument)
{
	struct btf_header header;
	char number[16];

	memcpy(&header, text->data, sizeof(header));
	for (uint32_t i = 1; i < parameters; i++) {
		struct btf_param parameter;
		uint64_t string;

		if (at + (i + 1) * sizeof(parameter) > text->size)
			return EPROTO;
		memcpy(&parameter, text->data + at + i * sizeof(parameter), sizeof(parameter));
		string = (uint64_t)header.hdr_len + header.str_off + parameter.name_off;
		snprintf(number, sizeof(number), "%u", i - 1);
		if (strcmp(name, number) != 0 &&
		    (string >= text->size || strcmp(text->data + string, name) != 0))
			continue;
		*argument = (struct kernel_argument){i - 1, bytes_of(text, parameter.type)};
		return 0;
	}
	return ESRCH;
}

int kernel_btf_argument(const char *tracepoint, const char *name, struct kernel_argument *argument)
{
	/* The function that calls what is attached has the names (Linux 5.10); the type of it,
	 * which every kernel has, is a pointer to a prototype: there parameters have none. */
	struct kernel_name names[] = {
	    {"__traceiter_", tracepoint, BTF_KIND_FUNC, 0, 0, NULL},
	    {"btf_trace_", tracepoint, BTF_KIND_TYPEDEF, 0, 0, NULL},
	};
	struct text text = {0};
	struct btf_type type;
	uint64_t at;
	int error = read_all(&text);
	bool has_function;

	if (!error)
		error = find(&text, names, 2);
	has_function = names[0].id != 0;
	if (!error && (!entry_at(&text, names[has_function ? 0 : 1].id, &type, &at) ||
		       !entry_at(&text, type.type, &type, &at) ||
		       (!has_function && !entry_at(&text, type.type, &type, &at)) ||
		       (BTF_INFO_KIND(type.info) & 0x1f) != BTF_KIND_FUNC_PROTO))
		error = ESRCH;
	if (!error)
		error = find_argument(&text, at, BTF_INFO_VLEN(type.info), name, argument);
	free(text.data);
	return error;
}
