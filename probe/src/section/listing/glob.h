// SPDX-License-Identifier: MIT
/* Patterns of names: * is any text, ? a character, [abc] one of these, [!abc] another one. */
#ifndef WHYLATE_SECTION_LISTING_GLOB_H
#define WHYLATE_SECTION_LISTING_GLOB_H

#include <stdbool.h>

/* glob_matches - whether a whole name matches. It takes at most the product of both lengths, which
 * fnmatch(3) of some C libraries does not: names are others'. */
bool glob_matches(const char *pattern, const char *name);

/* glob_is_name - whether a pattern matches one name alone: itself */
bool glob_is_name(const char *pattern);

#endif
