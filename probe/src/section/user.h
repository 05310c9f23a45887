// SPDX-License-Identifier: MIT
/* Places in user code where a section begins and ends, as offsets in a program or library. */
#ifndef WHYLATE_SECTION_USER_H
#define WHYLATE_SECTION_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Places where a USDT probe may be: in each function that its code was inlined into. */
#define USER_PLACES_MOST 128u

struct user_place {
	uint64_t offset;
	uint32_t counter; /* the offset of the probe's semaphore; 0: it has none */
};

struct user_places {
	struct user_place at[USER_PLACES_MOST];
	size_t count;
};

struct user_code {
	int fd;
	char path[32];	  /* of the open file: it stays the one that was read */
	bool is_function; /* from the entry to the return; begin: the entry */
	bool is_next;	  /* from a place to the next time; begin: the place */
	uint64_t pops;	  /* as return_pops of struct section_config */
	uint64_t bytes;	  /* of its code, from where it begins; 0: not known */
	struct user_places begin;
	struct user_places end;
};

/*
 * user_code_open - find the places in a file; returns 0, or an errno with the text
 *
 * file: a path, or a name to look for where libraries and programs are. begin, end: FUNCTION,
 * FUNCTION+0xBYTES, 0xOFFSET in the file, PROVIDER:NAME; an empty end: see is_function, is_next.
 * pid: a process whose root directory the path begins at; 0: the board's. is_forced: time returns
 * of functions that exceptions may leave, too.
 */
int user_code_open(struct user_code *code, const char *file, const char *begin, const char *end,
		   uint32_t pid, bool is_forced, char *text);
/* user_code_open_file - open the file alone; returns 0, or an errno with the text, which lacks the
 * file's name. The code is closed before. */
int user_code_open_file(struct user_code *code, const char *file, uint32_t pid, char *text);
void user_code_close(struct user_code *code);

#endif
