// SPDX-License-Identifier: MIT
#include "listing.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/btf_text.h"
#include "failure.h"
#include "kinds.h"
#include "section/hooks.h"
#include "wire/send.h"

#define ARGUMENT_ROOM 128
#define FILE_ROOM     (WIRE_LONGEST_PLACE + 1)
#define HOOKS_MOST    6

/* A list of strings that is being written. */
struct strings {
	uint8_t data[WIRE_MAX_PAYLOAD / 2];
	struct wire_list list;
};

/* add_string - append a string where it fits */
static void add_string(struct strings *strings, const char *text)
{
	struct wire_list *list = &strings->list;
	size_t length = strlen(text);

	if (list->size + 2 + length > sizeof(strings->data))
		return;
	wire_store(strings->data + list->size, length, 2);
	memcpy(strings->data + list->size + 2, text, length);
	list->size = (uint16_t)(list->size + 2 + length);
	list->data = strings->data;
	list->count++;
}

/* ---------------------------------------------------------------- names */

/* add_arguments - append the arguments of a tracepoint: the first is its own */
static void add_arguments(const struct listing *listing, uint32_t type, struct strings *arguments)
{
	struct btf_entry prototype;
	char text[ARGUMENT_ROOM];

	if (!kernel_types_prototype(&listing->types, type, &prototype))
		return;
	for (uint32_t i = 1;
	     kernel_types_argument(&listing->types, &prototype, i, text, sizeof(text)); i++)
		add_string(arguments, text);
}

/* send_names - send the first names of a kind; returns how many there are */
static uint32_t send_names(struct sender *sender, const struct listing *listing,
			   const struct listed_names *names, enum listed_kind kind)
{
	for (size_t i = 0; i < names->count && i < WIRE_MOST_LISTED && !sender_look(sender); i++) {
		const struct listed_name *name = &names->at[i];
		struct strings arguments = {.list = {arguments.data, 0, 0}};

		if (kind == LISTED_TRACEPOINT)
			add_arguments(listing, name->type, &arguments);
		SEND(sender, listed_place, LISTED_PLACE, .kind = (uint8_t)kind,
		     .name = wire_text(name->name), .detail = wire_text(name->detail),
		     .hooks = name->hooks, .obstacle = name->obstacle, .same = name->same,
		     .offset = kind == LISTED_USER ? name->address : 0,
		     .arguments = arguments.list);
	}
	return (uint32_t)names->count;
}

/* ---------------------------------------------------------------- hooks */

/* try_once - try a hook, unless it was */
static void try_once(struct tried_hooks *tried, enum section_kind kind, enum section_hook hook)
{
	char *text = tried->text[hook];
	int error;

	if (tried->is_tried[hook])
		return;
	tried->is_tried[hook] = true;
	error = floor_of_hook(kind, hook, &tried->floor[hook], text);
	if (!error)
		text[0] = '\0';
	else if (!text[0])
		snprintf(text, FAILURE_TEXT, "%s", strerror(error));
}

/* send_listed - try the hooks of a kind, and send how they are and how much matched */
static void send_listed(struct sender *sender, struct tried_hooks *tried,
			const struct listing *listing, enum section_kind kind, uint32_t matched)
{
	const struct section_method *const *methods = section_methods(kind, false);
	uint64_t floor_ns[HOOKS_MOST], with_ns[HOOKS_MOST], without_ns[HOOKS_MOST];
	uint8_t floor_room[8 * HOOKS_MOST], with_room[8 * HOOKS_MOST], without_room[8 * HOOKS_MOST];
	uint8_t hooks_room[2 * HOOKS_MOST];
	struct strings texts = {.list = {texts.data, 0, 0}};
	uint16_t hooks[HOOKS_MOST];
	bool works = false;
	size_t count = 0;

	for (; matched && methods[count] && count < HOOKS_MOST; count++) {
		enum section_hook hook = methods[count]->kind;

		try_once(tried, kind, hook);
		hooks[count] = (uint16_t)hook;
		works |= !tried->text[hook][0];
	}
	/* Trace events are for where no program works, as in a run. */
	if (matched && !works && kind != SECTION_USER && count < HOOKS_MOST) {
		hooks[count] = kind == SECTION_FUNCTION ? HOOK_KPROBE_EVENT : HOOK_TRACE_EVENT;
		try_once(tried, kind, hooks[count++]);
	}
	for (size_t i = 0; i < count; i++) {
		const struct section_floor *floor = &tried->floor[hooks[i]];

		add_string(&texts, tried->text[hooks[i]]);
		floor_ns[i] = floor->floor_ns;
		with_ns[i] = floor->with_ns;
		without_ns[i] = floor->without_ns;
	}
	SEND(sender, places_listed, PLACES_LISTED, .matched = matched, .lacks = listing->lacks,
	     .hooks = wire_list_of_u16(hooks_room, hooks, count), .texts = texts.list,
	     .floor_ns = wire_list_of_u64(floor_room, floor_ns, count),
	     .with_ns = wire_list_of_u64(with_room, with_ns, count),
	     .without_ns = wire_list_of_u64(without_room, without_ns, count));
}

/* ---------------------------------------------------------------- all */

/* is_printed - whether a text has characters that names have, and no others */
static bool is_printed(const char *text)
{
	for (; *text; text++)
		if (!isgraph((unsigned char)*text))
			return false;
	return true;
}

/* list - find what matches, and send it */
static int list(struct sender *sender, struct tried_hooks *tried,
		const struct wire_list_places *asked, const char *pattern, const char *file,
		struct listing *listing, char *text)
{
	enum section_kind kind = asked->kind;
	uint32_t matched;
	int error = kind == SECTION_FUNCTION ? list_functions(listing, pattern, text)
		    : kind == SECTION_TRACEPOINTS
			? list_tracepoints(listing, pattern, text)
			: list_file(listing, pattern, file, asked->pid, text);

	if (error)
		return error;
	matched = send_names(sender, listing, &listing->names,
			     kind == SECTION_FUNCTION	   ? LISTED_FUNCTION
			     : kind == SECTION_TRACEPOINTS ? LISTED_TRACEPOINT
							   : LISTED_USER);
	matched += send_names(sender, listing, &listing->probes, LISTED_USDT);
	send_listed(sender, tried, listing, kind, matched);
	return 0;
}

int listing_send(struct sender *sender, struct tried_hooks *tried,
		 const struct wire_list_places *asked, char *text)
{
	char pattern[WIRE_LONGEST_PATTERN + 1], file[FILE_ROOM];
	struct listing listing = {0};
	int error;

	if (!wire_copy_text(asked->pattern, pattern, sizeof(pattern)) || !*pattern ||
	    !is_printed(pattern))
		return fail(text, EINVAL, "no pattern of names");
	if (!wire_copy_text(asked->file, file, sizeof(file)) ||
	    (asked->kind == SECTION_USER) != (*file != '\0'))
		return fail(text, EINVAL, "no name of a file");
	btf_text_keep();
	error = list(sender, tried, asked, pattern, file, &listing, text);
	names_close(&listing.names);
	names_close(&listing.probes);
	kernel_types_close(&listing.types);
	btf_text_forget();
	return error;
}
