// SPDX-License-Identifier: MIT
/*
 * Places of programs' code in files, and the names of the functions that are there.
 *
 * A place is the number of a file and an offset in it, as one number; so places of one file are
 * together once they are sorted. The files stay open: their programs may end before.
 */
#ifndef WHYLATE_SECTION_USER_FILES_H
#define WHYLATE_SECTION_USER_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define USER_FILES_MOST 64u
/* A place in no file that is known. */
#define USER_PLACE_UNKNOWN 1u

struct user_file {
	int fd;
	dev_t device;
	ino_t inode;
	char name[64]; /* without its folder */
};

struct user_files {
	struct user_file files[USER_FILES_MOST];
	size_t count;
};

/* user_files_locate - find the places of a process's addresses, up to the first 0; the rest of
 * places becomes 0 */
void user_files_locate(struct user_files *files, uint32_t pid, const uint64_t *addresses,
		       uint64_t *places, size_t count);

/* user_files_name - give the function, or else the file in brackets, of places that are sorted, and
 * how far behind its beginning each is; of a place that is not known nothing is given */
void user_files_name(const struct user_files *files, const uint64_t *places, size_t count,
		     void (*give)(void *context, size_t number, const char *name, uint64_t behind),
		     void *context);

void user_files_close(struct user_files *files);

#endif
