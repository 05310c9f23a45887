// SPDX-License-Identifier: MIT
/* Names that match, in their order. */
#ifndef WHYLATE_SECTION_LISTING_NAMES_H
#define WHYLATE_SECTION_LISTING_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than any kernel or library has: what a file holds is not trusted. */
#define NAMES_MOST (1u << 21)

struct listed_name {
	const char *name;
	const char *detail; /* "": none */
	uint64_t address;
	uint32_t same; /* how many have that name */
	uint32_t type; /* in the kernel's BTF; 0: none */
	uint8_t flags; /* the caller's */
	uint16_t hooks;
	uint8_t obstacle; /* enum obstacle */
};

struct listed_names {
	struct listed_name *at;
	size_t count;
	size_t room;
};

/* names_add - copy a name, unless no section can name it: it is too long, or not printed; returns 0
 * or an errno. names_close is needed in either case. */
int names_add(struct listed_names *names, const char *name, const char *detail, uint64_t address,
	      uint8_t flags);

/* names_sort - sort them by name, and count those of the same name; without duplicates, and with
 * each name once where is_unique */
void names_sort(struct listed_names *names, bool is_unique);

/* names_find - find the first of a name whose bytes end there; NULL: there is none */
struct listed_name *names_find(const struct listed_names *names, const char *name, size_t length);

void names_close(struct listed_names *names);

#endif
