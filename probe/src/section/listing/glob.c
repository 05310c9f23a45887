// SPDX-License-Identifier: MIT
#include "glob.h"

#include <stddef.h>
#include <string.h>

/* end_of_set - return the ] of a set that begins at this [; NULL: there is none, and it is a
 * character like others */
static const char *end_of_set(const char *set)
{
	const char *from = set + 1 + (set[1] == '!');

	/* One that comes first is in the set. */
	return *from ? strchr(from + 1, ']') : NULL;
}

/* is_in_set - whether a character is in the set between [ and ] */
static bool is_in_set(const char *set, const char *end, char character)
{
	bool is_other = set[1] == '!', is_in = false;
	unsigned char wanted = (unsigned char)character;

	for (const char *at = set + 1 + is_other; at < end; at++) {
		unsigned char low = (unsigned char)*at, high = low;

		if (at[1] == '-' && at + 2 < end) {
			high = (unsigned char)at[2];
			at += 2;
		}
		is_in |= low <= wanted && wanted <= high;
	}
	return is_in != is_other;
}

/* match_one - match one character, and return the rest of the pattern; NULL: it does not match */
static const char *match_one(const char *pattern, char character)
{
	const char *end = *pattern == '[' ? end_of_set(pattern) : NULL;

	if (end)
		return is_in_set(pattern, end, character) ? end + 1 : NULL;
	return *pattern && (*pattern == '?' || *pattern == character) ? pattern + 1 : NULL;
}

bool glob_matches(const char *pattern, const char *name)
{
	/* Behind the last *, and where in the name its text ends for now. */
	const char *retry = NULL, *ends = NULL;

	while (*name) {
		const char *rest = *pattern == '*' ? NULL : match_one(pattern, *name);

		if (*pattern == '*') {
			retry = ++pattern;
			ends = name;
		} else if (rest) {
			pattern = rest;
			name++;
		} else if (retry) {
			pattern = retry;
			name = ++ends;
		} else {
			return false;
		}
	}
	return !pattern[strspn(pattern, "*")];
}

bool glob_is_name(const char *pattern)
{
	return !pattern[strcspn(pattern, "*?[")];
}
