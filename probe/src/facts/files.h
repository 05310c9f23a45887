// SPDX-License-Identifier: MIT
/* Reading the board's files for the host: what facts are made of. */
#ifndef WHYLATE_FILES_H
#define WHYLATE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/constants.h"

/* One piece of one path. data is valid only during the call. */
struct files_piece {
	const char *path;
	int error;	/* errno, data is empty then */
	bool truncated; /* the file goes on beyond the limit */
	bool more;	/* another piece of this path follows */
	const uint8_t *data;
	size_t length;
};

/* files_read - hand out what matches a glob pattern, in pieces of at most piece_size bytes.
 * FILES_KERNEL_LOG asks the kernel and no file: the pattern is only the name of the answer.
 * `send` returning false ends it. Returns 0, or an errno for the pattern as a whole. */
int files_read(enum read_method method, const char *pattern, uint64_t offset, size_t limit,
	       size_t piece_size, bool (*send)(void *context, const struct files_piece *piece),
	       void *context);

#endif
