// SPDX-License-Identifier: MIT
/*
 * What can be timed on this board: names that match a pattern, and which hooks work.
 *
 * The kernel's lists of its functions are larger than a host should be sent, so they are searched
 * here. Nothing is attached to what is listed: the lists say where a hook may be, and each hook is
 * tried, and measured, on an empty section.
 */
#ifndef WHYLATE_SECTION_LISTING_H
#define WHYLATE_SECTION_LISTING_H

#include <stdbool.h>

#include "failure.h"
#include "section/floor.h"
#include "wire/messages.h"

#define LISTED_HOOKS (HOOK_KPROBE_MULTI + 1)

struct sender;

/* Hooks that were tried: each is tried once, by enum section_hook. */
struct tried_hooks {
	bool is_tried[LISTED_HOOKS];
	char text[LISTED_HOOKS][FAILURE_TEXT]; /* why it does not work; "": it does */
	struct section_floor floor[LISTED_HOOKS];
};

/* listing_send - send what matches; returns 0, or an errno with the text */
int listing_send(struct sender *sender, struct tried_hooks *tried,
		 const struct wire_list_places *asked, char *text);

#endif
