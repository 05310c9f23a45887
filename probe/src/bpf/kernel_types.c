// SPDX-License-Identifier: MIT
#include "kernel_types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Types that a type is made of. */
#define FOLLOWED_MOST 16
#define STARS_MOST    4u

int kernel_types_open(struct kernel_types *types)
{
	struct btf_entry entry;
	int error;

	*types = (struct kernel_types){0};
	error = btf_text_read(&types->text);
	if (error)
		return error;
	/* No entry is smaller. */
	types->places = calloc(types->text.size / sizeof(entry.type) + 2, sizeof(*types->places));
	if (!types->places)
		return ENOMEM;
	entry = btf_text_first(&types->text);
	do {
		types->places[++types->count] = (uint32_t)entry.next;
	} while (btf_text_next(&types->text, &entry));
	types->count = entry.is_damaged ? 0 : types->count - 1;
	return entry.is_damaged ? EPROTO : 0;
}

void kernel_types_close(struct kernel_types *types)
{
	btf_text_close(&types->text);
	free(types->places);
	*types = (struct kernel_types){0};
}

/* entry_at - find an entry by its id; false: there is none */
static bool entry_at(const struct kernel_types *types, uint32_t id, struct btf_entry *entry)
{
	if (!id || id > types->count)
		return false;
	*entry = (struct btf_entry){.id = id - 1, .next = types->places[id]};
	return btf_text_next(&types->text, entry);
}

bool kernel_types_prototype(const struct kernel_types *types, uint32_t id,
			    struct btf_entry *prototype)
{
	for (unsigned i = 0; i < 3 && entry_at(types, id, prototype); i++) {
		if (prototype->kind == BTF_KIND_FUNC_PROTO)
			return true;
		if (prototype->kind != BTF_KIND_FUNC && prototype->kind != BTF_KIND_TYPEDEF &&
		    prototype->kind != BTF_KIND_PTR)
			return false;
		id = prototype->type.type;
	}
	return false;
}

/* describe - write the name of a type as C has it */
static void describe(const struct kernel_types *types, uint32_t id, char *text, size_t room)
{
	const char *word = "", *name = "void", *is_const = "";
	struct btf_entry entry;
	unsigned stars = 0;

	for (unsigned i = 0; i < FOLLOWED_MOST && entry_at(types, id, &entry); i++) {
		bool is_followed = entry.kind == BTF_KIND_PTR || entry.kind == BTF_KIND_CONST ||
				   entry.kind == BTF_KIND_VOLATILE ||
				   entry.kind == BTF_KIND_RESTRICT || !*entry.name;

		if (entry.kind == BTF_KIND_FUNC_PROTO) {
			name = "function";
			break;
		}
		if (!is_followed || entry.kind == BTF_KIND_STRUCT || entry.kind == BTF_KIND_UNION ||
		    entry.kind == BTF_KIND_ENUM) {
			word = entry.kind == BTF_KIND_STRUCT || entry.kind == BTF_KIND_FWD
				   ? "struct "
			       : entry.kind == BTF_KIND_UNION ? "union "
			       : entry.kind == BTF_KIND_ENUM  ? "enum "
							      : "";
			name = *entry.name ? entry.name : "?";
			break;
		}
		stars += entry.kind == BTF_KIND_PTR && stars < STARS_MOST;
		if (entry.kind == BTF_KIND_CONST)
			is_const = "const ";
		id = entry.type.type;
	}
	snprintf(text, room, "%s%s%s%s%.*s", is_const, word, name, stars ? " " : "", (int)stars,
		 "****");
}

bool kernel_types_argument(const struct kernel_types *types, const struct btf_entry *prototype,
			   uint32_t number, char *text, size_t room)
{
	struct btf_param parameter;
	uint64_t at = prototype->at + number * sizeof(parameter);
	const char *name;
	size_t length;

	if (number >= prototype->members || at + sizeof(parameter) > types->text.size)
		return false;
	memcpy(&parameter, types->text.data + at, sizeof(parameter));
	name = btf_text_string(&types->text, parameter.name_off);
	describe(types, parameter.type, text, room);
	length = strlen(text);
	snprintf(text + length, room - length, "%s%s",
		 !*name || (length && text[length - 1] == '*') ? "" : " ", name);
	return true;
}
