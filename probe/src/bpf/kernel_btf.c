// SPDX-License-Identifier: MIT
#include "kernel_btf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "btf_text.h"

static bool matches(const struct kernel_name *wanted, uint32_t kind, const char *name)
{
	size_t prefix = strlen(wanted->prefix);

	return kind == wanted->kind && !strncmp(name, wanted->prefix, prefix) &&
	       !strcmp(name + prefix, wanted->name);
}

/* place - return where in a section the variables before it end */
static void place(const struct btf_text *text, uint64_t at, uint32_t variables,
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
static void find_member(const struct btf_text *text, const struct btf_entry *entry,
			struct kernel_name *name)
{
	struct btf_member member;
	uint64_t at = entry->at;

	for (uint32_t i = 0; i < entry->members && at + sizeof(member) <= text->size;
	     i++, at += sizeof(member)) {
		memcpy(&member, text->data + at, sizeof(member));
		if (!strcmp(btf_text_string(text, member.name_off), name->member))
			name->offset = BTF_MEMBER_BIT_OFFSET(member.offset) / 8;
	}
}

/* keep_entry - an entry of the BTF has that name */
static void keep_entry(const struct btf_text *text, const struct btf_entry *entry,
		       struct kernel_name *name)
{
	name->id = entry->id;
	if (name->member)
		find_member(text, entry, name);
}

static int find(const struct btf_text *text, struct kernel_name *names, size_t count)
{
	struct btf_entry entry = btf_text_first(text);

	while (btf_text_next(text, &entry)) {
		for (size_t i = 0; *entry.name && i < count; i++)
			if (matches(&names[i], entry.kind, entry.name))
				keep_entry(text, &entry, &names[i]);
		if (entry.kind == BTF_KIND_DATASEC)
			place(text, entry.at, entry.members, names, count);
	}
	return entry.is_damaged ? EPROTO : 0;
}

int kernel_btf_find(struct kernel_name *names, size_t count)
{
	struct btf_text text;
	int error = btf_text_read(&text);

	if (!error)
		error = find(&text, names, count);
	btf_text_close(&text);
	return error;
}

/* entry_at - find an entry by its id; false: there is none */
static bool entry_at(const struct btf_text *text, uint32_t id, struct btf_entry *entry)
{
	*entry = btf_text_first(text);
	while (id && btf_text_next(text, entry))
		if (entry->id == id)
			return true;
	return false;
}

/* Names of types that are followed to what they stand for. */
#define FOLLOWED_MOST 16

/* bytes_of - how many bytes of an argument of that type count */
static uint32_t bytes_of(const struct btf_text *text, uint32_t id)
{
	struct btf_entry entry;

	for (unsigned i = 0; i < FOLLOWED_MOST && entry_at(text, id, &entry); i++) {
		uint32_t size = entry.type.size;

		if (entry.kind == BTF_KIND_INT || entry.kind == BTF_KIND_ENUM)
			return size == 1 || size == 2 || size == 4 ? size : 8;
		if (entry.kind != BTF_KIND_TYPEDEF && entry.kind != BTF_KIND_CONST &&
		    entry.kind != BTF_KIND_VOLATILE)
			break;
		id = entry.type.type;
	}
	return 8;
}

/* find_argument - find an argument of that name among the parameters of a prototype; the first of
 * them is the tracepoint's own */
static int find_argument(const struct btf_text *text, const struct btf_entry *prototype,
			 const char *name, struct kernel_argument *argument)
{
	char number[16];

	for (uint32_t i = 1; i < prototype->members; i++) {
		struct btf_param parameter;
		uint64_t at = prototype->at + i * sizeof(parameter);

		if (at + sizeof(parameter) > text->size)
			return EPROTO;
		memcpy(&parameter, text->data + at, sizeof(parameter));
		snprintf(number, sizeof(number), "%u", i - 1);
		if (strcmp(name, number) != 0 &&
		    strcmp(btf_text_string(text, parameter.name_off), name) != 0)
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
	struct btf_text text;
	struct btf_entry entry;
	int error = btf_text_read(&text);
	bool has_function;

	if (!error)
		error = find(&text, names, 2);
	has_function = names[0].id != 0;
	if (!error && (!entry_at(&text, names[has_function ? 0 : 1].id, &entry) ||
		       !entry_at(&text, entry.type.type, &entry) ||
		       (!has_function && !entry_at(&text, entry.type.type, &entry)) ||
		       entry.kind != BTF_KIND_FUNC_PROTO))
		error = ESRCH;
	if (!error)
		error = find_argument(&text, &entry, name, argument);
	btf_text_close(&text);
	return error;
}
